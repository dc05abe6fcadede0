"""Confidence: what counts as a report, and the exact mean."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.voting import coerce_confidence
from consilience.voting._confidence import mean_confidence


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.8, 0.8),
        (1, 1.0),
        (0, 0.0),
        (85, 1.0),
        (-3, 0.0),
        (10**400, 1.0),
        (math.inf, 1.0),
        (-math.inf, 0.0),
        ("0.8", 0.8),
        (" .5 ", 0.5),
        ("1.", 1.0),
        ("8e-1", 0.8),
        ("80%", 0.8),
        ("80 %", 0.8),
        ("85.5%", 0.855),
        ("150%", 1.0),
        ("-5%", 0.0),
        ("85", 1.0),
        ("+0.25", 0.25),
        (Decimal("0.8"), 0.8),
        (Fraction(1, 4), 0.25),
        (np.float32(0.5), 0.5),
        (np.int64(1), 1.0),
    ],
    ids=repr,
)
def test_numbers_numeric_text_and_percents_are_reports(value: Any, expected: float) -> None:
    result = coerce_confidence(value)
    assert result == expected
    assert type(result) is float


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        math.nan,
        Decimal("NaN"),
        "high",
        "",
        "nan",
        "inf",
        "0,8",
        "80 percent",
        "0.8.1",
        "1e99999",
        "٠٫٨",
        "�",
        "9" * 1000,
        [],
        {},
        [0.8],
        object(),
        1j,
        b"0.8",
        float,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_everything_else_is_left_out(value: Any) -> None:
    assert coerce_confidence(value) is None


@given(st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.booleans())
def test_it_never_raises_and_stays_in_range(value: Any) -> None:
    result = coerce_confidence(value)
    assert result is None or 0.0 <= result <= 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_mean_is_exact(values: list[float]) -> None:
    assert mean_confidence(values) == statistics.mean(values)
    assert mean_confidence(values) == float(sum(map(Fraction, values)) / len(values))


def test_there_is_no_mean_of_nothing() -> None:
    assert mean_confidence([]) is None
