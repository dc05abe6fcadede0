"""Trust: how much each revision counts, by how much it has in common with the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from ._likeness import UNIT

if TYPE_CHECKING:
    from ._likeness import Integers

__all__ = ["FULL_TRUST", "mean_similarities", "trust_weights"]

FULL_TRUST = 0.9
"""A revision with at least this share of the median raw weight has the full weight."""


def trust_weights(
    similarities: Mapping[int, float], bonus: Mapping[int, float], sources: Mapping[int, str | None] | None = None
) -> dict[int, float]:
    """Turn mean similarities into weights.

    The raw weight is 0.5 + 0.5 × mean similarity (times the bonus). Those that reach 0.9 of the median weigh alike;
    only a revision that falls behind, hallucinated or lazy, counts less, in proportion. Weighing those in the
    middle by small differences costs more agreement than it gains: it turns every even split into a near miss.

    Args:
        similarities: revision -> mean similarity to the others, 0 to 1.
        bonus: revision -> factor, 1 where it is missing.
        sources: revision -> source; with them the median is over the sources, each with the median of its revisions.

    Returns:
        revision -> weight, at a mean of 1.

    Example:
        >>> trust_weights({0: 0.5, 1: 0.5, 2: 0.0}, {})
        {0: 1.125, 1: 1.125, 2: 0.75}
    """
    raw = {revision: 0.5 + 0.5 * mean for revision, mean in similarities.items()}
    middle = median(raw.values()) if sources is None else _median_of_sources(raw, sources)
    weights = {
        revision: (1.0 if weight >= FULL_TRUST * middle else weight / middle) * bonus.get(revision, 1.0)
        for revision, weight in raw.items()
    }
    scale = len(weights) / sum(sorted(weights.values()))
    return {revision: weight * scale for revision, weight in weights.items()}


def _median_of_sources(raw: Mapping[int, float], sources: Mapping[int, str | None]) -> float:
    said: dict[str | None, list[float]] = {}
    for revision, weight in raw.items():
        said.setdefault(sources[revision], []).append(weight)
    return median(map(median, said.values()))


def mean_similarities(
    likeness: Integers, revisions: Sequence[int], sources: Mapping[int, str | None] | None = None
) -> dict[int, float]:
    """The mean similarity of every revision to the others.

    With ``sources``, it is the mean over the other sources of the mean similarity to their revisions: that a source
    agrees with itself is no reason to trust it.

    Args:
        likeness: how alike every two revisions are (see ``measured_likeness``).
        revisions: at least two of them, in the order of the rows.
        sources: revision -> source, at least two of them; by default every revision is a source of its own.

    Returns:
        revision -> mean similarity, 0 to 1. The order of the revisions does not matter, to the last bit.
    """
    if sources is None:
        totals = likeness.sum(axis=1).tolist()
        return {revision: total / UNIT / (len(totals) - 1) for revision, total in zip(revisions, totals, strict=True)}
    places: dict[str | None, list[int]] = {}
    for place, revision in enumerate(revisions):
        places.setdefault(sources[revision], []).append(place)
    means = {source: likeness[:, own].sum(axis=1) / len(own) for source, own in places.items()}
    return {
        revision: math.fsum(mean[place] for source, mean in means.items() if source != sources[revision])
        / UNIT
        / (len(places) - 1)
        for place, revision in enumerate(revisions)
    }
