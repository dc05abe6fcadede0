"""Confidence: what a model says about its own answer, as a number from 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

__all__ = ["coerce_confidence", "mean_confidence"]

_NUMERAL = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)\s*(%?)\s*", re.ASCII)
_LONGEST_NUMERAL = 100


def coerce_confidence(value: Any) -> float | None:
    """A self-reported confidence as a float from 0 to 1, or None when the value is not a usable report.

    Args:
        value: a number, numeric text ("0.8") or percent text ("80%"); anything outside 0..1 is clamped, so that a
            bare 85 becomes 1.0.

    Returns:
        The confidence, or None for booleans, words, NaN and missing values: such a report is left out, not counted
        as 0.

    Example:
        >>> coerce_confidence("80%"), coerce_confidence(85), coerce_confidence("high")
        (0.8, 1.0, None)
    """
    if type(value) is float:
        return _clamped(value)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _from_text(value)
    try:
        # Clamped before it becomes a float: an int may be too large for one.
        return _clamped(value) if isinstance(value, (int, float, Decimal)) else _clamped(float(value.__float__()))
    except Exception:
        return None


def _clamped(number: float | Decimal) -> float | None:
    return None if number != number else float(min(max(number, 0), 1))


def _from_text(text: str) -> float | None:
    match = _NUMERAL.fullmatch(text) if len(text) <= _LONGEST_NUMERAL else None
    if match is None:
        return None
    number = Decimal(match[1])
    return _clamped(number / 100 if match[2] else number)


def mean_confidence(confidences: Sequence[float]) -> float | None:
    """The exact mean, rounded once (as ``statistics.mean`` gives it); None for an empty sequence.

    Example:
        >>> mean_confidence([0.9, 0.8, 0.7])
        0.8
    """
    if not confidences:
        return None
    from statistics import mean  # imports fractions and random, which importing consilience should not

    return mean(confidences)
