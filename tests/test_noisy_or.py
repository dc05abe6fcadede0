"""Noisy-OR: the formula against exact arithmetic, its bounds, and no dependence on order."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._errors import SettingsError
from consilience.evidence import noisy_or

shares = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 5e-324, 1e-300, 1e-17, 0.5, 0.999, math.nextafter(1, 0)])
several = st.lists(shares, min_size=1, max_size=6)


def exact(confidences: list[float], correlation: float = 0.0, leak: float = 0.0) -> Fraction:
    """The formula as it is written, in rational numbers (but for 1 - correlation, which loses digits near 1)."""
    strongest, *further = sorted(map(Fraction, confidences), reverse=True)
    none_right = (1 - strongest) * (1 - Fraction(leak))
    for confidence in further:
        none_right *= 1 - Fraction(1.0 - correlation) * confidence
    return 1 - none_right


def assert_close(value: float, expected: Fraction) -> None:
    assert abs(Fraction(value) - expected) <= max(expected * Fraction(1, 10**15), Fraction(5e-324) * 6)


def test_the_formula() -> None:
    assert noisy_or([]) == 0.0
    assert noisy_or([0.9]) == 0.9
    assert noisy_or([0.9, 0.8]) == pytest.approx(0.98, abs=1e-15)
    assert noisy_or([0.5, 0.5, 0.5]) == 0.875
    assert noisy_or([1.0, 0.1]) == 1.0
    assert noisy_or([0.8, 0.8]) == pytest.approx(0.96, abs=1e-15)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan, math.inf])
def test_other_numbers_are_errors(confidence: float) -> None:
    with pytest.raises(SettingsError, match="from 0 to 1"):
        noisy_or([0.5, confidence])


def test_certainty_and_impossibility() -> None:
    assert noisy_or([0.0]) == 0.0
    assert noisy_or([0.0, 0.0, 0.0]) == 0.0
    assert noisy_or([1.0, 1.0, 0.0]) == 1.0
    assert noisy_or([1.0], correlation=1.0, leak=1.0) == 1.0


def test_a_product_that_underflows() -> None:
    assert noisy_or([0.999] * 1000) == 1.0  # the product is 1e-3000
    assert noisy_or([0.5] * 2000) == 1.0
    assert noisy_or([math.nextafter(1, 0)] * 100) == 1.0


def test_confidences_that_one_minus_would_lose() -> None:
    assert noisy_or([5e-324]) == 5e-324
    assert noisy_or([5e-324, 5e-324]) == 1e-323
    assert noisy_or([1e-20] * 1000) == pytest.approx(1e-17, rel=1e-15)
    assert noisy_or([1e-300, 2e-300]) == pytest.approx(3e-300, rel=1e-15)


def test_many_weak_sources() -> None:
    assert_close(noisy_or([0.001] * 1000), exact([0.001] * 1000))


@given(several)
def test_the_value_is_that_of_exact_arithmetic(confidences: list[float]) -> None:
    assert_close(noisy_or(confidences), exact(confidences))


@given(several, shares, shares)
def test_also_with_correlation_and_leak(confidences: list[float], correlation: float, leak: float) -> None:
    value = noisy_or(confidences, correlation=correlation, leak=leak)
    assert_close(value, exact(confidences, correlation, leak))


@given(several, shares, shares)
def test_the_value_lies_between_the_highest_and_one(confidences: list[float], correlation: float, leak: float) -> None:
    assert max(*confidences, leak) <= noisy_or(confidences, correlation=correlation, leak=leak) <= 1.0


@given(several, shares)
def test_one_more_source_never_lowers_it(confidences: list[float], further: float) -> None:
    assert noisy_or([*confidences, further]) >= noisy_or(confidences)


@given(several, shares, shares)
def test_nor_does_one_that_depends_on_others(confidences: list[float], further: float, correlation: float) -> None:
    # But for the last digit: the one that was strongest may now be among the discounted.
    before = noisy_or(confidences, correlation=correlation)
    assert noisy_or([*confidences, further], correlation=correlation) >= before - 4 * math.ulp(before)


@given(st.lists(shares, max_size=5), shares, shares)
def test_the_order_changes_nothing(confidences: list[float], correlation: float, leak: float) -> None:
    values = {noisy_or(order, correlation=correlation, leak=leak) for order in itertools.permutations(confidences)}
    assert len(values) == 1


@given(several)
def test_the_ends_of_correlation(confidences: list[float]) -> None:
    assert noisy_or(confidences, correlation=1.0) == max(confidences)
    assert noisy_or(confidences, correlation=0.0) == noisy_or(confidences)


@given(several, st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted))
def test_more_correlation_is_never_worth_more(confidences: list[float], correlations: list[float]) -> None:
    less, more = (noisy_or(confidences, correlation=correlation) for correlation in correlations)
    assert more <= less + 4 * math.ulp(less)


def test_a_leak_is_the_value_without_evidence() -> None:
    assert noisy_or([], leak=0.1) == 0.1
    assert noisy_or([0.0], leak=0.1) == 0.1
    assert noisy_or([0.8], leak=0.1) == pytest.approx(0.82, abs=1e-15)
