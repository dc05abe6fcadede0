"""Noisy-OR: what several confidences in one thing are worth together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .._errors import SettingsError

__all__ = ["noisy_or"]


def noisy_or(confidences: Iterable[float], *, correlation: float = 0.0, leak: float = 0.0) -> float:
    """One minus the product of (1 - confidence): the probability that at least one of the sightings is right.

    Args:
        confidences: numbers from 0 to 1, one for each source of the same thing.
        correlation: the share, 0 to 1, by which each confidence but the highest is discounted: 0 takes the sources for
            independent, 1 for copies of the strongest.
        leak: the probability, 0 to 1, that the thing is so although no source is right (a prior).

    Returns:
        A number from the highest confidence to 1, right to a few units in its last place also where the confidences are
        tiny or the product underflows; ``leak`` for none. The order of the confidences does not matter.

    Raises:
        SettingsError: a confidence is not a number from 0 to 1.

    Source: Pearl 1988, Probabilistic Reasoning in Intelligent Systems (the noisy-OR gate); Henrion 1989, Some practical
        issues in constructing belief networks (the leak).

    Example:
        >>> round(noisy_or([0.9, 0.8]), 6)
        0.98
        >>> round(noisy_or([0.9, 0.8], correlation=0.5), 6)
        0.94
    """
    chances = list(confidences)
    for confidence in chances:
        if not 0 <= confidence <= 1:
            raise SettingsError(f"confidences must be numbers from 0 to 1, got {confidence!r}")
    if correlation and len(chances) > 1:
        chances.sort(reverse=True)
        chances[1:] = [(1.0 - correlation) * chance for chance in chances[1:]]
    if leak:
        chances.append(leak)
    return _any_of(chances)


def _any_of(chances: list[float]) -> float:
    """The probability that at least one of several independent things is so.

    In logarithms, because 1 - chance loses the digits of a small chance. Their exact sum does not depend on the order.
    """
    highest = max(chances, default=0.0)
    if highest in (0.0, 1.0):
        return float(highest)  # log1p(-1) is an error
    terms = [math.log1p(-chance) for chance in chances if chance]
    if len(terms) == 1:
        return float(highest)  # not a rounding error away from itself
    return max(float(highest), -math.expm1(math.fsum(terms)))
