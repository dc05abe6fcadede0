"""Corroboration: what the sources of one answer are worth together."""

from __future__ import annotations

from collections.abc import Iterable

from ._noisy_or import noisy_or

__all__ = ["corroborated"]


def corroborated(sightings: Iterable[tuple[str | None, float | None]]) -> float | None:
    """The noisy-OR over sources, each with its highest confidence.

    Args:
        sightings: the source of each sighting (all those without a name are one source) and its confidence, 0 to 1;
            those without one are left out.

    Returns:
        A number from the highest confidence to 1; None without confidences.

    Raises:
        SettingsError: a confidence is not a number from 0 to 1.

    Example:
        >>> round(corroborated([("a", 0.8), ("a", 0.7), ("b", 0.5), ("c", None)]), 6)
        0.9
    """
    highest: dict[str | None, float] = {}
    for source, confidence in sightings:
        if confidence is not None:
            highest[source] = max(highest.get(source, confidence), confidence)
    return noisy_or(highest.values()) if highest else None
