"""The source model: one piece of evidence a source, and how sources depend on each other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from consilience import SettingsError
from consilience.evidence._provenance import in_order
from consilience.evidence._source_model import SourceModel


def worth(*sightings: tuple[str, float], said: str = "", **options: Any) -> tuple[float, int]:
    provenance = in_order((confidence, source, "", said) for source, confidence in sightings)
    exact, sources = SourceModel(**options).worth(provenance)
    return round(exact, 6), sources


def test_sources_are_independent_and_their_repetitions_are_not() -> None:
    assert worth(("a", 0.8), ("b", 0.8)) == (0.96, 2)
    assert worth(("a", 0.7), ("a", 0.8), ("a", 0.8)) == (0.8, 1)
    assert worth(("a", 0.7), ("a", 0.5), ("b", 0.5), ("b", 0.2)) == (0.85, 2)


def test_unknown_sources_are_one() -> None:
    assert worth(("", 0.5), ("", 0.6)) == (0.6, 1)
    assert worth(("", 0.5), ("a", 0.5)) == (0.75, 2)


def test_correlation_discounts_all_but_the_strongest() -> None:
    assert worth(("a", 0.8), ("b", 0.5), correlation=0.5) == (0.85, 2)
    assert worth(("a", 0.8), ("b", 0.5), correlation=1) == (0.8, 2)


def test_a_leak_is_there_before_the_evidence() -> None:
    assert worth(("a", 0.8), leak=0.5) == (0.9, 1)
    assert worth(("a", 0.0), leak=0.5) == (0.5, 1)


def test_near_duplicates_are_one_source() -> None:
    both = ("a", 0.8), ("b", 0.7)
    assert worth(*both, said="the very same words") == (0.94, 2)
    assert worth(*both, said="the very same words", near_duplicates=True) == (0.8, 1)
    assert worth(*both, said="the very same words", near_duplicates=1.0) == (0.8, 1)
    assert worth(*both, said="", near_duplicates=True) == (0.94, 2)


@pytest.mark.parametrize("name", ["correlation", "leak", "near_duplicates"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_shares_are_from_0_to_1(name: str, value: float) -> None:
    with pytest.raises(SettingsError, match=f"{name} must be a number from 0 to 1, got {value!r}"):
        SourceModel(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("correlation", True), ("leak", "0.5"), ("near_duplicates", None)])
def test_shares_are_numbers(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a number"):
        SourceModel(**{name: value})


def test_everything_would_be_a_near_duplicate_at_0() -> None:
    with pytest.raises(SettingsError, match="near_duplicates must be True, False, or a number above 0"):
        SourceModel(near_duplicates=0)
