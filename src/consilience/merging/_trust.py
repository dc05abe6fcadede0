"""Trust: how much each revision counts, by how much it has in common with the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from ._tree import Node

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._ratios import Matrix

__all__ = ["FULL_TRUST", "mean_similarities", "trust_weights"]

FULL_TRUST = 0.9
"""A revision with at least this share of the median raw weight has the full weight."""

UNIT = 1_000_000_000

_CELLS = 1 << 20
"""The most pairs of values that are looked at together."""


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


def mean_similarities(
    root: Node, revisions: Sequence[int], sources: Mapping[int, str | None] | None = None
) -> dict[int, float]:
    """The mean similarity of every revision to the others, over the leaves that either of the two has.

    With ``sources``, it is the mean over the other sources of the mean similarity to their revisions: that a source
    agrees with itself is no reason to trust it.

    Texts are as alike as their normalised indel similarity says, other values are equal (1) or not (0), and a leaf
    that only one side has counts 0. Two revisions without any leaf are alike.

    Args:
        root: the joint tree of the revisions.
        revisions: at least two of them.
        sources: revision -> source, at least two of them; by default every revision is a source of its own.

    Returns:
        revision -> mean similarity, 0 to 1. The order of the revisions does not matter, to the last bit.
    """
    import numpy as np

    codes, texts = _coded(root, revisions)
    size = len(revisions)
    common, either = np.zeros((size, size)), np.ones((size, size))
    for one in range(size):
        for other in range(one):
            first, second = codes[:, one], codes[:, other]
            common[one, other] = np.count_nonzero((first == second) & (first >= 0))
            either[one, other] = np.count_nonzero((first >= 0) | (second >= 0))
    common += _text_similarities(codes, texts)
    ratio = np.where(either > 0, common / np.maximum(either, 1), 1.0)
    np.fill_diagonal(ratio, 0.0)
    units = np.rint((np.tril(ratio) + np.tril(ratio).T) * UNIT).astype(np.int64)
    if sources is None:
        return {revision: int(units[place].sum()) / UNIT / (size - 1) for place, revision in enumerate(revisions)}
    places: dict[str | None, list[int]] = {}
    for place, revision in enumerate(revisions):
        places.setdefault(sources[revision], []).append(place)
    means = {source: units[:, own].sum(axis=1) / len(own) for source, own in places.items()}
    return {
        revision: math.fsum(mean[place] for source, mean in means.items() if source != sources[revision])
        / UNIT
        / (len(places) - 1)
        for place, revision in enumerate(revisions)
    }


def _coded(root: Node, revisions: Sequence[int]) -> tuple[NDArray[np.int64], list[str | None]]:
    """A row for each leaf with a code for each revision's value (-1 without one), and the text behind each code.

    Codes of texts, and of values that are not text (None), are never mixed up: each leaf has codes of its own.
    """
    import numpy as np

    places = {revision: place for place, revision in enumerate(revisions)}
    rows: list[list[int]] = []
    texts: list[str | None] = []
    for leaf, marks in root.leaves():
        row, known = [-1] * len(revisions), {}
        for revision, value in leaf.items():
            mark = marks[revision]
            if mark not in known:
                known[mark] = len(texts)
                texts.append(value if type(value) is str else None)
            row[places[revision]] = known[mark]
        rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(revisions)), texts


def _text_similarities(codes: NDArray[np.int64], texts: list[str | None]) -> Matrix:
    """The sum of the similarities of different texts at one leaf, for every two revisions (below the diagonal).

    Every pair of texts is compared once. The sums are of whole units of 1e-9, so that their order does not matter.
    """
    import numpy as np
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cpdist

    size = codes.shape[1]
    is_text = np.array([text is not None for text in texts] + [False])  # the last one is for -1
    ones, others = np.tril_indices(size, -1)
    totals = np.zeros(len(ones), dtype=np.int64)
    several = np.flatnonzero((is_text[codes] & (codes != codes.max(axis=1, initial=-1, keepdims=True))).any(axis=1))
    for leaves in _blocks(several, len(ones)):
        left, right = codes[np.ix_(leaves, ones)], codes[np.ix_(leaves, others)]
        places, pairs = np.nonzero((left != right) & is_text[left] & is_text[right])
        if not len(pairs):
            continue
        low, high = np.sort(np.stack([left[places, pairs], right[places, pairs]]), axis=0)
        distinct, where = np.unique(low * len(texts) + high, return_inverse=True)
        first, second = np.divmod(distinct, len(texts))
        alike = cpdist(
            [texts[code] for code in first], [texts[code] for code in second], scorer=ratio, dtype=np.float64
        )
        np.add.at(totals, pairs, np.rint(alike / 100 * UNIT).astype(np.int64)[where])
    matrix = np.zeros((size, size))
    matrix[ones, others] = totals / UNIT
    return matrix


def _blocks(leaves: NDArray[np.intp], pairs: int) -> Iterator[NDArray[np.intp]]:
    """Some of the leaves at a time, so that all pairs of revisions there do not need too much memory."""
    step = max(1, _CELLS // max(pairs, 1))
    for start in range(0, len(leaves), step):
        yield leaves[start : start + step]
