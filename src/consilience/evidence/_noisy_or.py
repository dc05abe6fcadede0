"""Noisy-OR: what several independent confidences in one thing are worth together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .._errors import SettingsError

__all__ = ["noisy_or"]


def noisy_or(confidences: Iterable[float]) -> float:
    """One minus the product of (1 - confidence): the probability that at least one of the sightings is right.

    Args:
        confidences: numbers from 0 to 1, each an independent sighting of the same thing.

    Returns:
        A number from 0 to 1; 0.0 for none. The order of the confidences does not matter.

    Raises:
        SettingsError: a confidence is not a number from 0 to 1.

    Source: Pearl 1988, Probabilistic Reasoning in Intelligent Systems (the noisy-OR gate).

    Example:
        >>> round(noisy_or([0.9, 0.8]), 6)
        0.98
    """
    sightings = sorted(confidences)
    for confidence in sightings:
        if not 0 <= confidence <= 1:
            raise SettingsError(f"confidences must be numbers from 0 to 1, got {confidence!r}")
    return 1.0 - math.prod(1.0 - confidence for confidence in sightings)
