"""Comparators: what counts as equal for one field."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from .._arguments import check_threshold
from .._canonical import canonical_text
from .._coroutines import require_plain_function
from .._errors import ConsilienceError, SettingsError
from ..voting._ballots import ballot
from ..voting._normalizers import Normalizer, vote_normalizer
from ._centres import Run, around_the_heaviest, heaviest_first
from ._clusters import cluster_texts, distinction
from ._paths import Path
from ._ratios import text_ratios

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._ratios import Matrix, Scorer

    Pairs = NDArray[np.bool_]

__all__ = [
    "Comparator",
    "Custom",
    "Exact",
    "Ignore",
    "Keyed",
    "Normalized",
    "Ordered",
    "Similar",
    "Tolerance",
    "Unordered",
    "as_comparator",
    "partition",
]


class Comparator(ABC):
    """How the values of one field are compared; use one of the subclasses, or write your own.

    Example:
        >>> class SameLength(Comparator):
        ...     def groups(self, values, weights, /):
        ...         lengths = sorted({len(value) for value in values})
        ...         return [[i for i, value in enumerate(values) if len(value) == length] for length in lengths]
        >>> SameLength().groups(["ab", "c", "de"], [1, 1, 1])
        [[1], [0, 2]]
    """

    __slots__ = ()

    @abstractmethod
    def groups(self, values: Sequence[Any], weights: Sequence[int], /) -> list[list[int]]:
        """Part distinct values, given in canonical order, into groups of equals (as positions)."""

    def equal_pairs(self, left: Sequence[Any], right: Sequence[Any], /) -> Pairs:
        """Which value on the left equals which on the right, each two by themselves: a matrix of true and false.

        The items of lists are paired by it. It follows from ``groups``; a comparator can have a faster one.
        """
        return _pairs_where(self._are_equal, left, right)

    def _are_equal(self, one: Any, other: Any) -> bool:
        distinct = sorted({canonical_text(value): value for value in (one, other)}.items())
        return len(self.groups([value for _, value in distinct], [1] * len(distinct))) == 1


class _Plain(Comparator):
    """Values are equal if they are the same JSON."""

    __slots__ = ()

    def groups(self, values: Sequence[Any], _weights: Sequence[int], /) -> list[list[int]]:
        return [[index] for index in range(len(values))]

    def equal_pairs(self, left: Sequence[Any], right: Sequence[Any], /) -> Pairs:
        return _equal_codes(list(map(canonical_text, left)), list(map(canonical_text, right)))


@dataclass(frozen=True, slots=True)
class Exact(_Plain):
    """Values are equal if they are the same JSON: true, 1, 1.0 and "1" all differ. The default.

    Example:
        >>> Exact().groups([1, 1.0], [1, 1])
        [[0], [1]]
    """


@dataclass(frozen=True, slots=True)
class Ignore(_Plain):
    """The field is not voted on but copied from the most trusted revision that has it.

    Example:
        >>> Ignore()
        Ignore()
    """


@dataclass(frozen=True, slots=True)
class Ordered(_Plain):
    """A list whose positions mean something (coordinates, ranks): items are paired by position.

    Example:
        >>> Ordered()
        Ordered()
    """


@dataclass(frozen=True, slots=True)
class Unordered(_Plain):
    """A list whose order means nothing: the result comes in the order of the most trusted list.

    Example:
        >>> Unordered()
        Unordered()
    """


@dataclass(frozen=True, slots=True, init=False)
class Keyed(_Plain):
    """A list of records that are identified by one or several fields.

    Args:
        fields: names of fields of an item; items with equal values there are the same item.

    Example:
        >>> Keyed("sku", "size").fields
        ('sku', 'size')
    """

    fields: tuple[str, ...]

    def __init__(self, *fields: str) -> None:
        if not fields or not all(isinstance(name, str) for name in fields):
            raise TypeError(f"Keyed takes one or several field names, got {fields!r}")
        object.__setattr__(self, "fields", fields)


@dataclass(frozen=True, slots=True)
class Normalized(Comparator):
    """Values are equal if they are after normalising; the heaviest spelling is reported.

    Args:
        how: ``"text"``, ``"number"`` or ``"date"`` as in ``vote(normalize=…)``, or a function of the value.

    Example:
        >>> Normalized("text").groups(["ACME", "Acme"], [1, 1])
        [[0, 1]]
    """

    how: Literal["text", "number", "date"] | Normalizer

    def __post_init__(self) -> None:
        vote_normalizer(self.how, None)

    def groups(self, values: Sequence[Any], _weights: Sequence[int], /) -> list[list[int]]:
        found: dict[str, list[int]] = {}
        for index, text in enumerate(self._normalized(values)):
            found.setdefault(text, []).append(index)
        return list(found.values())

    def equal_pairs(self, left: Sequence[Any], right: Sequence[Any], /) -> Pairs:
        return _equal_codes(self._normalized(left), self._normalized(right))

    def _normalized(self, values: Sequence[Any]) -> list[str]:
        normalize = vote_normalizer(self.how, None) or (lambda value: value)
        return [ballot(normalize(value)) for value in values]


@dataclass(frozen=True, slots=True)
class Similar(Comparator):
    """Texts are equal if they are alike enough; the heaviest spelling is reported.

    Texts that differ in a number, a sign, a negation or a symbol are never equal, whatever their similarity.

    Args:
        threshold: the least mean similarity within a group, above 0 and at most 1.
        scorer: how alike two texts are, 0 to 1; the normalised indel similarity by default.

    Example:
        >>> Similar(0.6).groups(["France", "U.S.A.", "USA"], [1, 1, 1])
        [[0], [1, 2]]
    """

    threshold: float
    scorer: Scorer | None = None

    def __post_init__(self) -> None:
        check_threshold("threshold", self.threshold)
        require_plain_function("scorer", self.scorer)

    def groups(self, values: Sequence[Any], _weights: Sequence[int], /) -> list[list[int]]:
        texts = [index for index, value in enumerate(values) if type(value) is str]
        measure = None if self.scorer is None else matrix_of(self.scorer)
        alike = cluster_texts([values[index] for index in texts], self.threshold, measure)
        others = [[index] for index, value in enumerate(values) if type(value) is not str]
        return sorted([[texts[place] for place in group] for group in alike] + others)

    def equal_pairs(self, left: Sequence[Any], right: Sequence[Any], /) -> Pairs:
        import numpy as np

        rows = [index for index, value in enumerate(left) if type(value) is str]
        columns = [index for index, value in enumerate(right) if type(value) is str]
        equal = np.zeros((len(left), len(right)), dtype=bool)
        if rows and columns:
            ours, theirs = [left[index] for index in rows], [right[index] for index in columns]
            ratios = text_ratios(ours, theirs) if self.scorer is None else _scores(self.scorer, ours, theirs)
            same = _equal_codes(list(map(distinction, ours)), list(map(distinction, theirs)))
            equal[np.ix_(rows, columns)] = same & (ratios >= self.threshold - 1e-9)
        return equal


@dataclass(frozen=True, slots=True)
class Tolerance(Comparator):
    """Numbers are equal if they are close; the heaviest of them is reported.

    Args:
        abs: the largest difference, in the unit of the field.
        rel: the largest difference as a share of the larger number, 0 to 1.

    Example:
        >>> Tolerance(0.01).groups([9.99, 10.0, 12.0], [1, 1, 1])
        [[0, 1], [2]]
    """

    abs: float = 0.0
    rel: float = 0.0

    def __post_init__(self) -> None:
        for name in ("abs", "rel"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"Tolerance {name} must be a number, got {value!r}")
            if not 0 <= value < math.inf:
                raise SettingsError(f"Tolerance {name} must be a number of at least 0, got {value!r}")

    def groups(self, values: Sequence[Any], weights: Sequence[int], /) -> list[list[int]]:
        exact = [_exact(value) for value in values]
        if self.rel > 1:  # then a number can be close to one far away and not to those between
            return around_the_heaviest(exact, weights, self._is_close)
        # What is close to a number are its neighbours in order of size: a run, which moves on with the number.
        numbers = {place: number for place, number in enumerate(exact) if number is not None}
        by_size = sorted(numbers, key=numbers.__getitem__)
        reach: list[Sequence[int]] = [(place,) for place in range(len(values))]
        start = end = 0
        for place in by_size:
            while not self._is_close(numbers[by_size[start]], numbers[place]):
                start += 1
            while end < len(by_size) and self._is_close(numbers[place], numbers[by_size[end]]):
                end += 1
            reach[place] = Run(by_size, start, end)
        return heaviest_first(reach, weights)

    def equal_pairs(self, left: Sequence[Any], right: Sequence[Any], /) -> Pairs:
        ours, theirs = [_exact(value) for value in left], [_exact(value) for value in right]
        # Whole matrices in floating point first, because exact fractions take a hundred times as long.
        near, open_ = self._roughly_close(ours, theirs)
        for row, column in zip(*open_.nonzero(), strict=True):
            near[row, column] = self._is_close(ours[row], theirs[column])
        return near

    def _roughly_close(self, left: Sequence[Fraction | None], right: Sequence[Fraction | None]) -> tuple[Pairs, Pairs]:
        """Which numbers are close, and of which floating point cannot tell: at the edge, and where it has no room."""
        import numpy as np

        one, other = (np.array([_rounded(number) for number in side]) for side in (left, right))
        one, other = one[:, None], other[None, :]
        with np.errstate(all="ignore"):
            larger = np.maximum(np.abs(one), np.abs(other))
            room = np.maximum(_rounded(_decimal(self.abs)), _rounded(_decimal(self.rel)) * larger) - np.abs(one - other)
            at_the_edge = (np.abs(room) <= 1e-9 * larger + 1e-300) | (~np.isfinite(room) & ~np.isnan(larger))
            return np.asarray(room > 0), np.asarray(at_the_edge)

    def _is_close(self, one: Fraction | None, other: Fraction | None) -> bool:
        if one is None or other is None:
            return False
        largest = max(_decimal(self.abs), _decimal(self.rel) * max(abs(one), abs(other)))
        return abs(one - other) <= largest


@dataclass(frozen=True, slots=True)
class Custom(Comparator):
    """Values are equal if a function of two values says so.

    Args:
        same: ``same(one, other)`` is true for equal values.

    Example:
        >>> Custom(lambda one, other: one[:1] == other[:1]).groups(["Ann", "Anna", "Bo"], [1, 1, 1])
        [[0, 1], [2]]
    """

    same: Callable[[Any, Any], bool]

    def __post_init__(self) -> None:
        require_plain_function("same", self.same)

    def groups(self, values: Sequence[Any], weights: Sequence[int], /) -> list[list[int]]:
        return around_the_heaviest(values, weights, self.same)

    def equal_pairs(self, left: Sequence[Any], right: Sequence[Any], /) -> Pairs:
        return _pairs_where(self.same, left, right)


def as_comparator(value: Any, name: str) -> Comparator:
    """A comparator as given, by the name of a normaliser, or as a function of two values."""
    if isinstance(value, Comparator):
        return value
    if isinstance(value, type) and issubclass(value, Comparator):
        try:
            return value()
        except TypeError:
            raise TypeError(f"{name} needs its arguments: {value.__name__}(…), got the class") from None
    if isinstance(value, str):
        return Normalized(value)  # type: ignore[arg-type]  # checked there, with a message for other names
    if callable(value):
        require_plain_function(name, value)
        return Custom(value)
    raise TypeError(f"{name} must be a comparator, a function of two values or a str, got {type(value).__name__}")


def partition(rule: Comparator, values: Sequence[Any], weights: Sequence[int], pattern: Path) -> list[list[int]]:
    """The groups that a comparator makes of distinct values, checked: each value is in exactly one of them.

    Raises:
        ConsilienceError: the comparator raised, or left a value out; the message names the path.
    """
    try:
        groups = [list(group) for group in rule.groups(values, weights)]
        if sorted(index for group in groups for index in group) != list(range(len(values))) or not all(groups):
            raise ValueError(f"groups() must have each of {len(values)} positions once, got {groups!r}")
    except Exception as error:
        raise ConsilienceError(f"the comparator of {pattern} raised {type(error).__name__}: {error}") from error
    return groups


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number; true and false are not."""
    return type(value) is int or type(value) is float


def _exact(value: Any) -> Fraction | None:
    """The number that a JSON value is, as it is written; None for what is no finite number."""
    return _decimal(value) if is_finite(value) else None


def _decimal(number: float) -> Fraction:
    """A number as it is written: in binary fractions 10.00 and 9.99 are a hair further apart than 0.01."""
    return Fraction(number) if isinstance(number, int) else Fraction(float.__repr__(number))


def _rounded(number: Fraction | None) -> float:
    if number is None:
        return math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf


def is_finite(value: Any) -> bool:
    """Whether a JSON value is a number, and neither infinity nor NaN."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def matrix_of(scorer: Scorer) -> Callable[[Sequence[str]], Matrix]:
    """A scorer of two texts as a measure of many."""
    return lambda texts: _scores(scorer, texts, texts)


def _scores(scorer: Scorer, left: Sequence[str], right: Sequence[str]) -> Matrix:
    import numpy as np

    return np.array([[float(scorer(one, other)) for other in right] for one in left])


def _pairs_where(same: Callable[[Any, Any], bool], left: Sequence[Any], right: Sequence[Any]) -> Pairs:
    import numpy as np

    return np.array([[bool(same(one, other)) for other in right] for one in left], dtype=bool)


def _equal_codes(left: Sequence[Hashable], right: Sequence[Hashable]) -> Pairs:
    import numpy as np

    codes: dict[Hashable, int] = {}
    rows, columns = ([codes.setdefault(mark, len(codes)) for mark in side] for side in (left, right))
    return np.asarray(np.array(rows)[:, None] == np.array(columns)[None, :])
