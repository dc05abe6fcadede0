"""Trust: how much each revision counts, by how much it has in common with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_text
from ._tree import Node

if TYPE_CHECKING:
    from ._similarity import Matrix

__all__ = ["FULL_TRUST", "mean_similarities", "trust_weights"]

FULL_TRUST = 0.9
"""A revision with at least this share of the median raw weight has the full weight."""

_BATCH = 1 << 18


def trust_weights(similarities: Mapping[int, float], bonus: Mapping[int, float]) -> dict[int, float]:
    """Turn mean similarities into weights.

    The raw weight is 0.5 + 0.5 × mean similarity (times the bonus). Those that reach 0.9 of the median weigh alike;
    only a revision that falls behind, hallucinated or lazy, counts less, in proportion. Weighing those in the
    middle by small differences costs more agreement than it gains: it turns every even split into a near miss.

    Args:
        similarities: revision -> mean similarity to the others, 0 to 1.
        bonus: revision -> factor, 1 where it is missing.

    Returns:
        revision -> weight, at a mean of 1.

    Example:
        >>> trust_weights({0: 0.5, 1: 0.5, 2: 0.0}, {})
        {0: 1.125, 1: 1.125, 2: 0.75}
    """
    raw = {revision: 0.5 + 0.5 * mean for revision, mean in similarities.items()}
    middle = median(raw.values())
    weights = {
        revision: (1.0 if weight >= FULL_TRUST * middle else weight / middle) * bonus.get(revision, 1.0)
        for revision, weight in raw.items()
    }
    scale = len(weights) / sum(sorted(weights.values()))
    return {revision: weight * scale for revision, weight in weights.items()}


def mean_similarities(root: Node, revisions: Sequence[int]) -> dict[int, float]:
    """The mean similarity of every revision to the others, over the leaves that either of the two has.

    Texts are as alike as their normalised indel similarity says, other values are equal (1) or not (0), and a leaf
    that only one side has counts 0. Two revisions without any leaf are alike.

    Args:
        root: the joint tree of the revisions.
        revisions: at least two of them.

    Returns:
        revision -> mean similarity, 0 to 1. The order of the revisions does not matter, to the last bit.
    """
    import numpy as np

    alike = _Alike({revision: place for place, revision in enumerate(revisions)})
    for leaf in root.leaves():
        alike.add(leaf)
    common, either = alike.sums()
    ratio = np.where(either > 0, common / np.maximum(either, 1), 1.0)
    # Rounded to whole units of 1e-9: sums of integers do not depend on their order.
    units = np.rint(ratio * 1e9).astype(np.int64)
    totals = units.sum(axis=1) - np.diagonal(units)
    return {revision: int(totals[place]) / 1e9 / (len(revisions) - 1) for place, revision in enumerate(revisions)}


class _Alike:
    """Sums up, for every two revisions, how alike their leaves are and how many leaves either has."""

    def __init__(self, places: Mapping[int, int]) -> None:
        import numpy as np

        size = len(places)
        self._places = places
        self._same = np.zeros((size, size), dtype=np.int64)
        self._present = np.zeros((size, size), dtype=np.int64)
        self._everywhere = 0  # leaves that all revisions have, and all the same
        self._pairs: list[tuple[int, int, str, str]] = []

    def add(self, leaf: Mapping[int, Any]) -> None:
        groups: dict[str, list[int]] = {}
        texts: dict[str, str] = {}
        for revision, value in leaf.items():
            key = canonical_text(value)
            groups.setdefault(key, []).append(self._places[revision])
            if type(value) is str:
                texts[key] = value
        if len(groups) == 1 and len(leaf) == len(self._places):
            self._everywhere += 1
            return
        present = [place for group in groups.values() for place in group]
        for one in present:
            self._present[one, present] += 1
        for group in groups.values():
            for one in group:
                self._same[one, group] += 1_000_000_000
        self._compare(list(texts), groups, texts)

    def _compare(self, keys: list[str], groups: Mapping[str, list[int]], texts: Mapping[str, str]) -> None:
        """Put the pairs of different texts on the list of those to be compared, all in one go."""
        for index, one in enumerate(keys):
            for other in keys[index + 1 :]:
                for first in groups[one]:
                    self._pairs.extend((first, second, texts[one], texts[other]) for second in groups[other])
        if len(self._pairs) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        import numpy as np
        from rapidfuzz.fuzz import ratio
        from rapidfuzz.process import cpdist

        if self._pairs:
            rows, columns, left, right = zip(*self._pairs, strict=True)
            units = np.rint(cpdist(left, right, scorer=ratio, dtype=np.float64) * 1e7).astype(np.int64)
            np.add.at(self._same, (rows, columns), units)
            np.add.at(self._same, (columns, rows), units)
            self._pairs.clear()

    def sums(self) -> tuple[Matrix, Matrix]:
        import numpy as np

        self._flush()
        own = np.diagonal(self._present)
        either = own[:, None] + own[None, :] - self._present
        return self._same / 1e9 + self._everywhere, np.asarray(either + self._everywhere, dtype=float)
