"""The likeness: how alike revisions are at the leaves, with every two texts at a leaf compared once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from ._ratios import paired_ratios, text_ratios

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._tree import Answer, Node

    Integers = NDArray[np.int64]

__all__ = ["mean_likeness", "measured_likeness"]

UNIT = 1_000_000_000
"""Similarities are summed in whole units of 1e-9, so that the order of the revisions does not matter."""

_CELLS = 1 << 20
"""The most pairs of values that are looked at together."""

_MANY = 32
"""So many texts at one leaf are compared by themselves: a matrix of them takes half the time of as many pairs."""


def measured_likeness(root: Node, revisions: Sequence[int]) -> Integers:
    """Compare every two revisions over the leaves that either of them has.

    Texts are as alike as their normalised indel similarity says, other values are equal (1) or not (0), and a leaf
    that only one side has counts 0. Two revisions without any leaf are alike. Every leaf is told its ``likeness``.

    Args:
        root: the joint tree of the revisions.
        revisions: all of them.

    Returns:
        The mean similarity of every two revisions, in units of 1e-9; 0 on the diagonal.
    """
    import numpy as np

    size = len(revisions)
    ones, others = np.tril_indices(size, -1)
    common, either, alike = (np.zeros(len(ones), dtype=np.int64) for _ in range(3))
    rare = _Rare(revisions)
    for block in _blocks(root, revisions, len(ones), rare):
        common += block.unanimous
        either += block.unanimous
        if block.leaves and len(ones):
            equal, present, similar = block.compare(ones, others)
            common += equal
            either += present
            alike += similar
    if rare.used:
        common += rare.common[ones, others]
        either += rare.having[ones] + rare.having[others] - rare.both[ones, others]
        alike += rare.alike[ones, others]
    ratio = np.where(either > 0, (common + alike / UNIT) / np.maximum(either, 1), 1.0)
    units = np.zeros((size, size), dtype=np.int64)
    units[ones, others] = units[others, ones] = np.rint(ratio * UNIT)
    return units


def mean_likeness(texts: Mapping[str, int]) -> float | None:
    """The mean similarity of two revisions' texts; None with fewer than two.

    Args:
        texts: text -> the number of revisions that have it.

    Example:
        >>> round(mean_likeness({"USA": 2, "U.S.A.": 1}), 3)
        0.778
    """
    count = sum(texts.values())
    if count < 2:
        return None
    import numpy as np

    spellings, times = list(texts), np.array(list(texts.values()))
    # All pairs in both directions, without each revision's comparison with itself.
    return float(times @ text_ratios(spellings, spellings) @ times - count) / (count * (count - 1))


@dataclass(slots=True)
class _Block:
    """Some leaves at which not all revisions say the same, and the number of those at which they do.

    ``codes`` has a row for each leaf with the number of each revision's answer there, -1 for none; texts come first,
    as they do in canonical order, and ``texts`` has them for each leaf.
    """

    unanimous: int = 0
    leaves: list[Node] = field(default_factory=list)
    codes: list[list[int]] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)

    def add(self, leaf: Node, answers: Sequence[Answer], places: Mapping[int, int]) -> None:
        row, texts = [-1] * len(places), []
        for code, (value, behind) in enumerate(answers):
            for revision in behind:
                row[places[revision]] = code
            if type(value) is str:
                texts.append(value)
        self.leaves.append(leaf)
        self.codes.append(row)
        self.texts.append(texts)

    def compare(self, ones: NDArray[np.intp], others: NDArray[np.intp]) -> tuple[Integers, Integers, Integers]:
        """For every two revisions: the leaves where they are equal, the leaves of either, the similarity of texts."""
        import numpy as np

        codes = np.array(self.codes, dtype=np.int64)
        sizes = np.array(list(map(len, self.texts)), dtype=np.int64)[:, None]
        left, right = codes[:, ones], codes[:, others]
        low, high = np.minimum(left, right), np.maximum(left, right)
        equal = (low == high) & (low >= 0)
        are_texts = (low >= 0) & (high < sizes)
        # Where each pair of texts stands among the pairs of all leaves; behind them stands what is no such pair.
        pairs = sizes * (sizes - 1) // 2
        place = np.cumsum(pairs)[:, None] - pairs + low * (2 * sizes - low - 1) // 2 + high - low - 1
        units = np.append(np.rint(self._ratios() * UNIT).astype(np.int64), 0)
        similar = units[np.where(are_texts & (low != high), place, -1)]
        same = (equal & are_texts).sum(axis=1, dtype=np.int64)
        self._tell_leaves(similar.sum(axis=1) + UNIT * same, are_texts.sum(axis=1))
        return equal.sum(axis=0), (high >= 0).sum(axis=0), similar.sum(axis=0)

    def _ratios(self) -> NDArray[np.float64]:
        """How alike every two texts of a leaf are, leaf by leaf."""
        import numpy as np

        if len(self.texts) == 1:
            [texts] = self.texts
            return text_ratios(texts, texts)[np.triu_indices(len(texts), 1)]
        pairs = [pair for texts in self.texts for pair in combinations(texts, 2)]
        return paired_ratios([one for one, _ in pairs], [other for _, other in pairs])

    def _tell_leaves(self, total: Integers, pairs: Integers) -> None:
        for leaf, similarity, count in zip(self.leaves, total.tolist(), pairs.tolist(), strict=True):
            leaf.likeness = similarity / UNIT / count if count else None


class _Rare:
    """The leaves that few of many revisions have: only those few are compared there, not every two of all.

    ``having`` is the number of such leaves of each revision, ``both`` that of every two of them.
    """

    def __init__(self, revisions: Sequence[int]) -> None:
        self._places = {revision: place for place, revision in enumerate(revisions)}
        self.used = False

    def takes(self, answers: Sequence[Answer]) -> bool:
        """Whether so few revisions have this leaf that it is worth the trouble."""
        size = len(self._places)
        return size >= _MANY and 4 * sum(len(behind) for _, behind in answers) <= size

    def add(self, leaf: Node, answers: Sequence[Answer]) -> None:
        import numpy as np

        if not self.used:
            self.used, size = True, len(self._places)
            self.having = np.zeros(size, dtype=np.int64)
            self.both, self.common, self.alike = (np.zeros((size, size), dtype=np.int64) for _ in range(3))
        those = sorted(self._places[revision] for _, behind in answers for revision in behind)
        self.having[those] += 1
        if len(those) < 2:
            return
        ones, others = np.tril_indices(len(those), -1)
        block, names = _Block(), {place: index for index, place in enumerate(those)}
        block.add(leaf, answers, {revision: names[place] for revision, place in self._places.items() if place in names})
        equal, present, similar = block.compare(ones, others)
        rows, columns = np.array(those)[ones], np.array(those)[others]
        for total, counted in ((self.both, present), (self.common, equal), (self.alike, similar)):
            total[rows, columns] += counted


def _blocks(root: Node, revisions: Sequence[int], pairs: int, rare: _Rare) -> Iterator[_Block]:
    """Some of the leaves at a time, so that all pairs of revisions there do not need too much memory.

    Those that few have go to ``rare`` instead.
    """
    places = {revision: place for place, revision in enumerate(revisions)}
    most = max(1, _CELLS // max(pairs, 1))
    block = _Block()
    for leaf, answers in root.leaves():
        if len(answers) == 1:
            [(value, behind)] = answers
            leaf.likeness = 1.0 if type(value) is str and len(behind) > 1 else None
            if len(behind) == len(revisions):
                block.unanimous += 1
                continue
        if rare.takes(answers):
            rare.add(leaf, answers)
            continue
        if len(answers) >= _MANY:
            alone = _Block()
            alone.add(leaf, answers, places)
            yield alone
            continue
        block.add(leaf, answers, places)
        if len(block.leaves) == most:
            yield block
            block = _Block()
    yield block
