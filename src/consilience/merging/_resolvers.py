"""Resolvers: what to do with a field on which no value meets the threshold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from .._arguments import check_threshold
from .._canonical import canonical_text
from .._coroutines import require_plain_function
from .._errors import SettingsError
from ..voting._quorum import number_of_sources
from ._clusters import cluster_texts
from ._comparators import Tolerance, is_finite, is_number, matrix_of
from ._paths import Path, parse_path, pattern_of
from ._ratios import text_ratios

if TYPE_CHECKING:
    from ._clusters import TextMatrix
    from ._ratios import Scorer
    from ._semantic import Embed

__all__ = [
    "OMIT",
    "Conflict",
    "ConflictResolver",
    "NumericResolver",
    "Resolver",
    "SimilarityClusterResolver",
    "by_path",
    "by_type",
    "check_resolver",
    "default_conflict_resolver",
    "leading_up_to_half",
    "named_paths",
    "omits_everything",
    "prefer_leading_resolver",
    "prefer_most_common_resolver",
    "resolve",
]


class _Omit:
    """The type of ``OMIT``, which a resolver returns to leave the field out.

    Example:
        >>> repr(OMIT)
        'OMIT'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "OMIT"

    def __reduce__(self) -> str:
        return "OMIT"


OMIT: Final = _Omit()
"""What a resolver returns to leave the field out; None is a real value."""

ConflictResolver = Callable[[Path, list[Any], list[float]], Any]
"""``resolver(path, values, weights)``: the value of every revision that has one, and what each revision weighs."""

_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field on which no value meets the threshold.

    ``values``, ``weights`` and ``sources`` are one for each voice that has a value there (a revision, or with one vote
    per source a source), in canonical order; ``total`` is the weight of all that hold the parent, those included that
    lack the field.

    Example:
        >>> conflict = Conflict(Path(("ram",)), [16, 32], [1.0, 1.0], total=3.0, min_agreement=0.5)
        >>> conflict.only(lambda value: value > 16).values
        [32]
    """

    path: Path
    values: list[Any]
    weights: list[float]
    total: float
    min_agreement: float
    sources: list[str | None] = field(default_factory=list)
    min_sources: int = 1

    def is_supported(self, values: Iterable[Any]) -> bool:
        """Whether these values together have as many different sources as ``min_sources`` demands."""
        if self.min_sources == 1:
            return True
        texts = set(map(canonical_text, values))
        supporters = [s for s, value in zip(self.sources, self.values, strict=True) if canonical_text(value) in texts]
        return number_of_sources(supporters) >= self.min_sources

    def meets(self, weight: int, threshold: float | None = None) -> bool:
        """Whether a weight, in units of 1e-9, is the share of the total that an answer needs."""
        total = round(self.total / _EQUAL)
        return total > 0 and weight / total >= (self.min_agreement if threshold is None else threshold) - _EQUAL

    def only(self, keep: Callable[[Any], bool]) -> Conflict:
        """The same conflict among some of the values."""
        kept = [index for index, value in enumerate(self.values) if keep(value)]
        values, weights = [self.values[index] for index in kept], [self.weights[index] for index in kept]
        sources = [self.sources[index] for index in kept] if self.sources else []
        return replace(self, values=values, weights=weights, sources=sources)


class Resolver(ABC):
    """A resolver that also knows the threshold and the weight of the revisions that lack the field.

    Example:
        >>> class Smallest(Resolver):
        ...     def resolve(self, conflict):
        ...         return min(conflict.values)
        >>> Smallest()(("ram",), [32, 16])
        16
    """

    __slots__ = ()

    def __call__(self, path: Path, values: list[Any], weights: list[float] | None = None) -> Any:
        """Resolve a conflict among these values alone, at the threshold of 0.5."""
        known = [1.0] * len(values) if weights is None else list(weights)
        return self.resolve(Conflict(Path(path), list(values), known, sum(known), 0.5))

    @abstractmethod
    def resolve(self, conflict: Conflict) -> Any:
        """The value to take, or ``OMIT``."""


def check_resolver(name: str, resolver: Any) -> None:
    """Raise unless a resolver is a plain function of path, values and weights."""
    if not callable(resolver) or isinstance(resolver, type):
        raise TypeError(f"{name} must be a function of path, values and weights, got {resolver!r}")
    require_plain_function(name, resolver)


def resolve(resolver: ConflictResolver, conflict: Conflict) -> Any:
    """Ask a resolver of either form."""
    if isinstance(resolver, Resolver):
        return resolver.resolve(conflict)
    return resolver(conflict.path, list(conflict.values), list(conflict.weights))


def default_conflict_resolver(path: Path, values: list[Any], weights: list[float] | None = None) -> Any:  # noqa: ARG001
    """Leave the field out: what is not agreed on is no answer.

    Example:
        >>> default_conflict_resolver(("ram",), [16, 32], [1.0, 1.0])
        OMIT
    """
    return OMIT


def prefer_most_common_resolver(path: Path, values: list[Any], weights: list[float] | None = None) -> Any:  # noqa: ARG001
    """Take the heaviest value, below the threshold or not; of equally heavy ones the first in canonical order.

    Example:
        >>> prefer_most_common_resolver(("ram",), [16, 32, 32], [1.0, 1.0, 1.0])
        32
    """
    ranking = _ranking(values, weights)
    return ranking[0][1] if ranking else OMIT


def _ranking(values: Sequence[Any], weights: Sequence[float] | None) -> list[tuple[float, Any]]:
    """The distinct values with their weights, heaviest first, then in canonical order."""
    known = weights if weights is not None else [1.0] * len(values)
    heap: dict[str, list[Any]] = {}
    for value, weight in zip(values, known, strict=True):
        entry = heap.setdefault(canonical_text(value), [0.0, value])
        entry[0] += weight
    ranked = sorted(heap.items(), key=lambda item: (-round(item[1][0] / _EQUAL), item[0]))
    return [(weight, value) for _, (weight, value) in ranked]


@dataclass(frozen=True, slots=True)
class _PreferLeading(Resolver):
    """Take the heaviest value, below the threshold or not, if nothing else weighs as much, absence included.

    A value that has fewer sources than ``min_sources`` demands is not taken, nor is any where ``min_agreement`` is
    above ``up_to``.

    Example:
        >>> prefer_leading_resolver(("ram",), [16, 32, 32, 64, 8], [1.0] * 5)
        32
        >>> prefer_leading_resolver(("ram",), [16, 32], [1.0] * 2)
        OMIT
    """

    up_to: float = 1.0

    def __repr__(self) -> str:  # it is shown in signatures, as the default
        return "leading_up_to_half" if self.up_to == 0.5 else "prefer_leading_resolver"

    def resolve(self, conflict: Conflict) -> Any:
        if conflict.min_agreement > self.up_to:
            return OMIT
        absent = conflict.total - sum(conflict.weights)
        ranking = _ranking(conflict.values, conflict.weights)
        rivals = [weight for weight, _ in ranking[1:]] + [absent]
        leads = bool(ranking) and ranking[0][0] - max(rivals) > _EQUAL
        return ranking[0][1] if leads and conflict.is_supported([ranking[0][1]]) else OMIT


prefer_leading_resolver = _PreferLeading()
"""Takes the heaviest value, below the threshold or not, if nothing else weighs as much; else omits the field."""

leading_up_to_half = _PreferLeading(up_to=0.5)
"""The same where ``min_agreement`` is at most 0.5: who asks for more gets nothing that has less."""


def omits_everything(resolver: ConflictResolver, min_agreement: float) -> bool:
    """Whether a resolver is sure to leave every conflict out at this threshold."""
    lets_nothing_through = isinstance(resolver, _PreferLeading) and min_agreement > resolver.up_to
    return resolver is default_conflict_resolver or lets_nothing_through


@dataclass(frozen=True, slots=True)
class SimilarityClusterResolver(Resolver):
    """Take values that are alike as one; the heaviest group wins if it meets the threshold.

    Texts are grouped by average linkage; texts that differ in a number, a sign, a negation or a symbol are never one
    group. What is not text stands for itself. The group's most typical member is reported: its heaviest spelling, on
    a tie the one most like all values at the path.

    Args:
        similarity_threshold: the least mean similarity within a group, above 0 and at most 1.
        scorer: how alike two texts are, 0 to 1; the normalised indel similarity by default.
        semantic: True to compare meanings with the model of ``consilience[semantic]``, or an ``embed(texts)`` function.
        consensus_threshold: the least share of the weight that a group needs; that of the merge by default.

    Example:
        >>> resolver = SimilarityClusterResolver()
        >>> resolver(("country",), ["USA", "U.S.A.", "United States", "France"], [1, 1, 1, 1])
        'USA'
    """

    similarity_threshold: float = 0.6
    scorer: Scorer | None = None
    semantic: bool | Embed | None = None
    consensus_threshold: float | None = None

    def __post_init__(self) -> None:
        check_threshold("similarity_threshold", self.similarity_threshold)
        if self.consensus_threshold is not None:
            check_threshold("consensus_threshold", self.consensus_threshold)
        require_plain_function("scorer", self.scorer)
        require_plain_function("semantic", self.semantic)
        if self.scorer is not None and self.semantic:
            raise SettingsError("give scorer or semantic, not both: each says how alike two texts are")
        if self.semantic:
            from ._semantic import embedder

            embedder(self.semantic)

    def resolve(self, conflict: Conflict) -> Any:
        ranking = sorted(_ranking(conflict.values, conflict.weights), key=lambda entry: canonical_text(entry[1]))
        groups = self._groups([value for _, value in ranking])
        weights = [round(sum(ranking[index][0] for index in group) / _EQUAL) for group in groups]
        if not groups:
            return OMIT
        heaviest = max(weights)
        if weights.count(heaviest) > 1 or not conflict.meets(heaviest, self.consensus_threshold):
            return OMIT
        group = [ranking[index] for index in groups[weights.index(heaviest)]]
        return self._typical(group, conflict) if conflict.is_supported(value for _, value in group) else OMIT

    def _groups(self, values: list[Any]) -> list[list[int]]:
        texts = [index for index, value in enumerate(values) if type(value) is str]
        found = cluster_texts([values[index] for index in texts], self.similarity_threshold, self._measure())
        grouped = [[texts[place] for place in group] for group in found]
        return grouped + [[index] for index, value in enumerate(values) if type(value) is not str]

    def _measure(self) -> TextMatrix | None:
        if self.semantic:
            from ._semantic import semantic_matrix

            return semantic_matrix(self.semantic)
        return None if self.scorer is None else matrix_of(self.scorer)

    def _typical(self, group: list[tuple[float, Any]], conflict: Conflict) -> Any:
        heaviest = max(round(weight / _EQUAL) for weight, _ in group)
        spellings = [value for weight, value in group if round(weight / _EQUAL) == heaviest]
        if len(spellings) == 1:
            return spellings[0]
        texts = [value for value in conflict.values if type(value) is str]
        means = text_ratios(spellings, texts).mean(axis=1).round(9)
        return spellings[int(means.argmax())]


@dataclass(frozen=True, slots=True)
class NumericResolver(Resolver):
    """Take the weighted median of the numbers that lie close together, if they meet the threshold.

    Two groups of the same weight are no answer. Infinity and NaN lie close to nothing.

    Args:
        tolerance: the largest difference from the centre of the group, in the unit of the field.
        rel: the same as a share of the larger number, 0 to 1.

    Example:
        >>> NumericResolver(0.5)(("weight",), [9.9, 10.0, 10.2, 55], [1.0, 1.0, 1.0, 1.0])
        10.0
    """

    tolerance: float = 0.0
    rel: float = 0.0

    def __post_init__(self) -> None:
        Tolerance(self.tolerance, self.rel)

    def resolve(self, conflict: Conflict) -> Any:
        numbers = sorted(
            (entry for entry in _ranking(conflict.values, conflict.weights) if is_finite(entry[1])),
            key=lambda entry: (entry[1], canonical_text(entry[1])),
        )
        if not numbers:
            return OMIT
        weights = [round(weight / _EQUAL) for weight, _ in numbers]
        groups = Tolerance(self.tolerance, self.rel).groups([value for _, value in numbers], weights)
        sums = [sum(weights[index] for index in group) for group in groups]
        if sums.count(max(sums)) > 1 or not conflict.meets(max(sums)):
            return OMIT
        best = groups[sums.index(max(sums))]
        if not conflict.is_supported(numbers[index][1] for index in best):
            return OMIT
        return numbers[_median(best, weights)][1]


def _median(group: list[int], weights: list[int]) -> int:
    """The lower weighted median: the first member at which half of the group's weight is reached."""
    whole, reached = sum(weights[index] for index in group), 0
    for index in group:
        reached += weights[index]
        if 2 * reached >= whole:
            return index
    return group[-1]


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "str": lambda value: type(value) is str,
    "number": is_number,
    "bool": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "object": lambda value: type(value) is dict,
    "list": lambda value: type(value) is list,
}


@dataclass(frozen=True, slots=True)
class _ByType(Resolver):
    resolvers: Mapping[str, ConflictResolver]
    otherwise: ConflictResolver

    def resolve(self, conflict: Conflict) -> Any:
        """Ask the resolver of the type that weighs most at the path about the values of that type."""
        weight = {name: sum(conflict.only(belongs).weights) for name, belongs in _TYPES.items()}
        heaviest = max(sorted(weight), key=lambda name: round(weight[name] / _EQUAL))
        if heaviest not in self.resolvers:
            return resolve(self.otherwise, conflict)
        return resolve(self.resolvers[heaviest], conflict.only(_TYPES[heaviest]))


def by_type(*, otherwise: ConflictResolver = default_conflict_resolver, **resolvers: ConflictResolver) -> Resolver:
    """Choose the resolver by the type of value that weighs most at the path.

    Args:
        otherwise: for types that are not named.
        resolvers: ``str``, ``number``, ``bool``, ``null``, ``object``, ``list``.

    Raises:
        SettingsError: a name that is not one of these types.
        TypeError: a resolver that is no plain function.

    Example:
        >>> resolver = by_type(str=SimilarityClusterResolver(), number=NumericResolver(1))
        >>> resolver(("ram",), [16, 16.5, 32], [1.0, 1.0, 1.0])
        16
    """
    for name, resolver in (*resolvers.items(), ("otherwise", otherwise)):
        if name not in (*_TYPES, "otherwise"):
            raise SettingsError(f"by_type takes {', '.join(_TYPES)} and otherwise, got {name!r}")
        check_resolver(f"by_type({name}=…)", resolver)
    return _ByType(resolvers, otherwise)


@dataclass(frozen=True, slots=True)
class _ByPath(Resolver):
    resolvers: Mapping[Path, ConflictResolver]
    otherwise: ConflictResolver

    def resolve(self, conflict: Conflict) -> Any:
        pattern = pattern_of(conflict.path)
        chosen = self.resolvers.get(conflict.path) or self.resolvers.get(pattern) or self.otherwise
        return resolve(chosen, conflict)


def by_path(
    resolvers: Mapping[str, ConflictResolver], *, otherwise: ConflictResolver = default_conflict_resolver
) -> Resolver:
    """Choose the resolver by the path.

    Args:
        resolvers: path or pattern (``"items[].name"``) -> resolver.
        otherwise: for paths that are not named.

    Raises:
        SettingsError: a path that cannot be read.
        TypeError: a resolver that is no plain function.

    Example:
        >>> resolver = by_path({"items[].name": prefer_most_common_resolver})
        >>> resolver(("items", 3, "name"), ["mug", "cup", "mug"], [1.0, 1.0, 1.0])
        'mug'
    """
    if not isinstance(resolvers, Mapping):
        raise TypeError(f"by_path takes a mapping from path to resolver, got {type(resolvers).__name__}")
    for path, resolver in (*resolvers.items(), ("otherwise", otherwise)):
        check_resolver(f"by_path[{path!r}]", resolver)
    return _ByPath({parse_path(path): resolver for path, resolver in resolvers.items()}, otherwise)


def named_paths(resolver: ConflictResolver) -> Iterator[Path]:
    """The paths that a resolver tells apart, those within others included.

    Example:
        >>> [str(path) for path in named_paths(by_type(str=by_path({"to.city": prefer_most_common_resolver})))]
        ['to.city']
    """
    if isinstance(resolver, _ByPath):
        yield from resolver.resolvers
    if isinstance(resolver, _ByPath | _ByType):
        for each in (*resolver.resolvers.values(), resolver.otherwise):
            yield from named_paths(each)
