"""Corroboration: one rule for the winning side of a vote and the candidates of a consensus."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import SettingsError
from consilience.evidence._corroboration import corroborated

SIGHTINGS = st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.none() | st.floats(0, 1)), max_size=8)


def test_worked_values() -> None:
    assert corroborated([]) is None
    assert corroborated([("a", None), (None, None)]) is None
    assert corroborated([("a", 0.8), ("b", 0.8)]) == pytest.approx(0.96, abs=1e-15)
    assert corroborated([("a", 0.8), ("a", 0.7)]) == 0.8
    assert corroborated([(None, 0.5), (None, 0.5)]) == 0.5
    assert corroborated([("a", 0.0)]) == 0.0


@given(SIGHTINGS)
def test_against_exact_arithmetic(sightings) -> None:
    sources = {source for source, confidence in sightings if confidence is not None}
    found = corroborated(sightings)
    if not sources:
        assert found is None
        return
    best = [max(c for s, c in sightings if s == source and c is not None) for source in sources]
    exact = 1 - prod((1 - Fraction(confidence) for confidence in best), start=Fraction(1))
    assert found == pytest.approx(float(exact), rel=1e-14)
    assert max(best) <= found <= 1


@given(SIGHTINGS, st.randoms())
def test_the_order_does_not_matter(sightings, rng) -> None:
    shuffled = rng.sample(sightings, len(sightings))
    assert corroborated(shuffled) == corroborated(sightings)


@pytest.mark.parametrize("confidence", [-0.1, 1.5, float("nan")])
def test_confidences_outside_are_refused(confidence) -> None:
    with pytest.raises(SettingsError, match="confidences must be numbers from 0 to 1"):
        corroborated([("a", confidence)])
