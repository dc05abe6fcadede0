"""The similarity: how alike two values are, from 0 to 1, computed in whole matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_text
from .._errors import ConsilienceError
from ._comparators import Comparator, Ignore, Ordered
from ._paths import EACH, ROOT, Path
from ._ratios import text_ratios

if TYPE_CHECKING:
    from ._ratios import Matrix

__all__ = ["Similarity", "kind_of"]

_DEEPEST = 30
"""Below this depth values are equal or not: what is nested deeper says little about what an item is."""

_CELLS = 1 << 22
"""The most cells of a matrix that is only needed on the way to another one."""


def kind_of(value: Any) -> str:
    """``"object"``, ``"list"`` or ``"scalar"``."""
    return "object" if type(value) is dict else "list" if type(value) is list else "scalar"


@dataclass(frozen=True, slots=True)
class Similarity:
    """How alike values are, by one set of rules.

    Args:
        rules: pattern of a path -> how the values there are compared.

    Example:
        >>> Similarity().matrix(["USA"], ["U.S.A.", "USA", 1]).round(3).tolist()
        [[0.667, 1.0, 0.0]]
    """

    rules: Mapping[Path, Comparator] = field(default_factory=dict)

    def matrix(self, left: Sequence[Any], right: Sequence[Any], pattern: Path = ROOT, depth: int = 0) -> Matrix:
        """Compare every value on the left with every value on the right.

        Objects are as alike as their fields are on average, a field that only one side has counting 0; lists as the
        best partners of their items are; texts by the normalised indel similarity; all else is equal (1) or not (0).
        What a comparator takes for equal is equal, and what is never voted on is left out. Equal values are compared
        once.

        Args:
            left: JSON values.
            right: JSON values.
            pattern: where they stand.
            depth: how deep inside the values compared these are.

        Returns:
            A matrix with a row for each value on the left and a column for each on the right, values from 0 to 1.

        Raises:
            ConsilienceError: a comparator raised; the message names the pattern.
        """
        import numpy as np

        rows, columns = _Distinct.among(left), _Distinct.among(right)
        result = np.zeros((len(rows.values), len(columns.values)))
        for kind, compare in (("scalar", self._scalars), ("object", self._objects), ("list", self._lists)):
            ours, theirs = rows.of_kind(kind), columns.of_kind(kind)
            if ours and theirs and depth <= _DEEPEST:
                block = compare([rows.values[i] for i in ours], [columns.values[i] for i in theirs], pattern, depth)
                result[_place(ours, theirs, result)] = block
        for text, row in rows.places.items():
            if text in columns.places:
                result[row, columns.places[text]] = 1.0
        return result if result.shape == (len(left), len(right)) else result[np.ix_(rows.codes, columns.codes)]

    def _scalars(self, left: list[Any], right: list[Any], pattern: Path, _depth: int) -> Matrix:
        import numpy as np

        result = np.zeros((len(left), len(right)))
        rows = [index for index, value in enumerate(left) if type(value) is str]
        columns = [index for index, value in enumerate(right) if type(value) is str]
        if rows and columns:
            ratios = text_ratios([left[index] for index in rows], [right[index] for index in columns])
            result[_place(rows, columns, result)] = ratios
        rule = self.rules.get(pattern)
        if rule is None:
            return result
        try:
            return np.where(rule.equal_pairs(left, right), 1.0, result)
        except Exception as error:
            raise ConsilienceError(f"the comparator of {pattern} raised {type(error).__name__}: {error}") from error

    def _objects(self, left: list[Any], right: list[Any], pattern: Path, depth: int) -> Matrix:
        import numpy as np

        total, common = np.zeros((len(left), len(right))), np.zeros((len(left), len(right)))
        sizes_left, sizes_right = np.zeros((len(left), 1)), np.zeros((1, len(right)))
        for key in dict.fromkeys(chain.from_iterable(chain(left, right))):
            below = Path((*pattern, key))
            if isinstance(self.rules.get(below), Ignore):
                continue
            rows = [index for index, record in enumerate(left) if key in record]
            columns = [index for index, record in enumerate(right) if key in record]
            sizes_left[rows] += 1
            sizes_right[:, columns] += 1
            if rows and columns:
                ours, theirs = [left[index][key] for index in rows], [right[index][key] for index in columns]
                block = self.matrix(ours, theirs, below, depth + 1)
                place = _place(rows, columns, total)
                total[place] += block
                common[place] += 1
        union = sizes_left + sizes_right - common
        return np.where(union == 0, 1.0, total / np.maximum(union, 1))

    def _lists(self, left: list[list[Any]], right: list[list[Any]], pattern: Path, depth: int) -> Matrix:
        """How well lists can be paired at best: every item with its best partner, summed from the side that has less.

        This is the optimal assignment wherever no two items want the same partner, and never less than it. Unlike
        the assignment it can be computed for all pairs of lists together.
        """
        import numpy as np

        if isinstance(self.rules.get(pattern), Ordered):
            return self._objects([dict(enumerate(each)) for each in left], [dict(enumerate(each)) for each in right],
                                 pattern, depth)  # fmt: skip
        result = np.zeros((len(left), len(right)))
        rows = [index for index, items in enumerate(left) if items]
        columns = [index for index, items in enumerate(right) if items]
        if not rows or not columns:
            return result
        ours, theirs = [left[index] for index in rows], [right[index] for index in columns]
        below = Path((*pattern, EACH))
        items = list(chain.from_iterable(theirs))
        starts, sizes = _starts(theirs), np.array([len(each) for each in theirs])
        done = 0
        for block in _blocks(ours, len(items)):
            alike = self.matrix(list(chain.from_iterable(block)), items, below, depth + 1)
            partners = np.add.reduceat(np.maximum.reduceat(alike, starts, axis=1), _starts(block), axis=0)
            wanted = np.add.reduceat(np.maximum.reduceat(alike, _starts(block), axis=0), starts, axis=1)
            longer = np.maximum(np.array([len(each) for each in block])[:, None], sizes[None, :])
            result[np.ix_(rows[done : done + len(block)], columns)] = np.minimum(partners, wanted) / longer
            done += len(block)
        return result


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The different ones among some values: ``codes`` says which of them each value is, ``places`` which a text is."""

    values: list[Any]
    codes: list[int]
    places: dict[str, int]

    @classmethod
    def among(cls, values: Sequence[Any]) -> _Distinct:
        places: dict[str, int] = {}
        distinct: list[Any] = []
        codes = []
        for value in values:
            code = places.setdefault(canonical_text(value), len(distinct))
            if code == len(distinct):
                distinct.append(value)
            codes.append(code)
        return cls(distinct, codes, places)

    def of_kind(self, kind: str) -> list[int]:
        return [index for index, value in enumerate(self.values) if kind_of(value) == kind]


def _place(rows: list[int], columns: list[int], matrix: Matrix) -> Any:
    """The index of some rows and columns of a matrix; the slice of all of them takes no time."""
    import numpy as np

    return ... if (len(rows), len(columns)) == matrix.shape else np.ix_(rows, columns)


def _starts(lists: Sequence[Sequence[Any]]) -> list[int]:
    """Where each list starts when all items stand in a row."""
    starts, place = [], 0
    for items in lists:
        starts.append(place)
        place += len(items)
    return starts


def _blocks(lists: list[list[Any]], width: int) -> Iterator[list[list[Any]]]:
    """The lists in runs whose items, times ``width``, do not need too much memory."""
    run: list[list[Any]] = []
    cells = 0
    for items in lists:
        if run and cells + len(items) * width > _CELLS:
            yield run
            run, cells = [], 0
        run.append(items)
        cells += len(items) * width
    yield run
