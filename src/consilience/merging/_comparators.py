"""Comparators: what counts as equal for one field."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._arguments import check_threshold
from .._errors import SettingsError
from ..voting._ballots import ballot
from ..voting._normalizers import Normalizer, vote_normalizer
from ._clusters import cluster_texts

if TYPE_CHECKING:
    from ._similarity import Matrix, Scorer

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


class _Plain(Comparator):
    """Values are equal if they are the same JSON."""

    __slots__ = ()

    def groups(self, values: Sequence[Any], _weights: Sequence[int], /) -> list[list[int]]:
        return [[index] for index in range(len(values))]


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
        normalize = vote_normalizer(self.how, None) or (lambda value: value)
        found: dict[str, list[int]] = {}
        for index, value in enumerate(values):
            found.setdefault(ballot(normalize(value)), []).append(index)
        return list(found.values())


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

    def groups(self, values: Sequence[Any], _weights: Sequence[int], /) -> list[list[int]]:
        texts = [index for index, value in enumerate(values) if type(value) is str]
        measure = None if self.scorer is None else matrix_of(self.scorer)
        alike = cluster_texts([values[index] for index in texts], self.threshold, measure)
        others = [[index] for index, value in enumerate(values) if type(value) is not str]
        return sorted([[texts[place] for place in group] for group in alike] + others)


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
        return around_the_heaviest(values, weights, self._is_close)

    def _is_close(self, one: Any, other: Any) -> bool:
        if not (is_number(one) and is_number(other)):
            return False
        # The slack keeps 10.00 and 9.99 within 0.01 although binary fractions put them a hair further apart.
        slack = 1e-9 * max(1.0, math.fabs(one), math.fabs(other))
        return math.fabs(one - other) <= max(self.abs, self.rel * max(math.fabs(one), math.fabs(other))) + slack


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

    def groups(self, values: Sequence[Any], weights: Sequence[int], /) -> list[list[int]]:
        return around_the_heaviest(values, weights, self.same)


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
        return Custom(value)
    raise TypeError(f"{name} must be a comparator, a function of two values or a str, got {type(value).__name__}")


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number; true and false are not."""
    return type(value) is int or type(value) is float


def matrix_of(scorer: Scorer) -> Callable[[Sequence[str]], Matrix]:
    """A scorer of two texts as a measure of many."""

    def measure(texts: Sequence[str]) -> Matrix:
        import numpy as np

        return np.array([[float(scorer(one, other)) for other in texts] for one in texts])

    return measure


def around_the_heaviest(
    values: Sequence[Any], weights: Sequence[int], same: Callable[[Any, Any], bool]
) -> list[list[int]]:
    """Groups for a relation that need not be transitive: every value within reach of a centre, heaviest group first."""
    reach = {
        one: [other for other in range(len(values)) if one == other or same(values[one], values[other])]
        for one in range(len(values))
    }
    groups = []
    while reach:
        centre = max(reach, key=lambda one: (sum(weights[other] for other in reach[one]), weights[one], -one))
        group = sorted(reach[centre])
        groups.append(group)
        taken = set(group)
        reach = {
            one: [other for other in others if other not in taken] for one, others in reach.items() if one not in taken
        }
    return sorted(groups)
