"""Noisy-OR: the formula, its bounds, and no dependence on order."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._errors import SettingsError
from consilience.evidence import noisy_or


def test_the_formula() -> None:
    assert noisy_or([]) == 0.0
    assert noisy_or([0.9]) == pytest.approx(0.9, abs=1e-15)
    assert noisy_or([0.9, 0.8]) == pytest.approx(0.98, abs=1e-15)
    assert noisy_or([0.5, 0.5, 0.5]) == 0.875
    assert noisy_or([1.0, 0.1]) == 1.0


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan, math.inf])
def test_other_numbers_are_errors(confidence: float) -> None:
    with pytest.raises(SettingsError, match="from 0 to 1"):
        noisy_or([0.5, confidence])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_more_evidence_is_never_worth_less(confidences: list[float]) -> None:
    together = noisy_or(confidences)
    assert max(confidences) - 1e-15 <= together <= 1.0
    assert {noisy_or(order) for order in itertools.permutations(confidences)} == {together}
