"""The settings of a consensus: every option, checked once, in one frozen object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .._arguments import check_names, check_share, check_threshold
from .._coroutines import require_plain_function
from .._errors import SettingsError
from ..replies._extraction import Repair
from ..voting._sample import Sample
from ..voting._settings import VoteSettings
from ._comparators import Comparator, as_comparator
from ._constraints import Constraint
from ._mentions import check_mentions
from ._paths import Path, parse_path, pattern_of
from ._resolvers import ConflictResolver, check_resolver, leading_up_to_half
from ._schema import as_schema

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "MAX_WEIGHT",
    "MERGING_OPTIONS",
    "ConsensusOptions",
    "ConsensusSettings",
    "Weighting",
    "consensus_settings",
    "reading_settings",
]

MAX_WEIGHT = 1e6
"""The most that a revision can weigh."""

Weighting = Literal["trust", "confidence"] | Sequence[float] | Mapping[str, float] | Callable[[Sample], float] | None


class ConsensusOptions(TypedDict, total=False):
    """The options of ``ConsensusSettings`` as key words; see there."""

    n: int
    schema: Any
    validator: Any
    min_valid: float
    min_agreement: float
    min_support: float | None
    min_sources: int
    one_vote_per_source: bool
    min_confidence: float
    required: Iterable[str]
    conflict_resolver: ConflictResolver
    compare: Mapping[str, Any]
    weights: Weighting
    constraints: Iterable[Constraint]
    max_repairs: int
    on_unmet: Literal["keep", "abstain"]
    confidence_field: str | None
    repair: Repair
    allow_nan: bool
    prefer: Literal["first", "last"]
    concurrency: int
    early_stop: bool
    timeout: float | None
    deadline: float | None
    raise_on: type[BaseException] | tuple[type[BaseException], ...]
    limiter: Any
    on_sample: Callable[[Sample], object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusSettings:
    """Every option of a consensus; the key words of ``consensus``, ``aconsensus`` and ``merge`` are sugar for it.

    Args:
        n: the number of calls in all, at least 1.
        schema: a pydantic model class or a JSON Schema dict. It gives every field its type and its comparator; a value
            that does not fit is dropped from its revision, and the merged record must satisfy it.
        validator: what a whole reply must pass, as in a vote; most users want ``schema`` instead.
        min_valid: the least share of valid revisions, 0 to 1.
        min_agreement: the least share of the weight that a value needs, above 0 and at most 1; with 1 all must agree.
        min_support: the least share of the weight that must have an item of a list, above 0 and at most 1; by default
            what ``min_agreement`` says, and more weight must have it than lack it.
        min_confidence: the least ``consensus_confidence_score``, 0 to 1; below it the result abstains.
        required: paths without which the result abstains.
        conflict_resolver: what to do with a field on which no value meets the threshold; by default the value that
            leads alone is taken and marked as resolved; without one, or with a ``min_agreement`` above 0.5, the field
            is left out.
        compare: path or pattern (``"items[].name"``) -> comparator, beside those in the schema's annotations.
        min_sources: the least number of different sources that must support a value or an item of a list; what has
            fewer is a conflict for the resolver.
        one_vote_per_source: whether each source has one vote at every place, by its own plurality there, and is
            trusted for what other sources confirm.
        weights: ``"trust"`` (by similarity to the others), None (one vote each), ``"confidence"``, a list with a
            weight for each revision, a mapping from source to weight, or a function of the sample.
        constraints: what must hold between several fields (see ``constraint``).
        max_repairs: the most combinations to try when the constraints are not met.
        on_unmet: ``"keep"`` the plain consensus or ``"abstain"`` when no combination satisfies the constraints.
        confidence_field: the field with the model's own confidence, for ``weights="confidence"``.
        repair, allow_nan, prefer: how replies are read; as in ``VoteSettings``.
        concurrency, timeout, deadline, raise_on, limiter, on_sample: how replies are drawn; as in ``VoteSettings``.
        early_stop: stop once no field's outcome can change; only with ``weights=None``, and without
            ``one_vote_per_source``.

    Raises:
        SettingsError: a value that is not allowed (also a ValueError).
        TypeError: a value of the wrong type.
        MissingExtraError: an option needs an extra that is not installed.

    Example:
        >>> ConsensusSettings(min_agreement=0.6).min_agreement
        0.6
        >>> ConsensusSettings(min_agreement=0)
        Traceback (most recent call last):
        ...
        consilience._errors.SettingsError: min_agreement must be a number above 0 and at most 1, got 0
    """

    n: int = 5
    schema: Any = None
    validator: Any = None
    min_valid: float = 0.5
    min_agreement: float = 0.5
    min_support: float | None = None
    min_sources: int = 1
    one_vote_per_source: bool = False
    min_confidence: float = 0.0
    required: tuple[Path, ...] = ()
    conflict_resolver: ConflictResolver = leading_up_to_half
    compare: Mapping[Path, Comparator] | None = None
    weights: Weighting = "trust"
    constraints: tuple[Constraint, ...] = ()
    max_repairs: int = 2000
    on_unmet: Literal["keep", "abstain"] = "keep"
    confidence_field: str | None = None
    repair: Repair = False
    allow_nan: bool = True
    prefer: Literal["first", "last"] = "first"
    concurrency: int = 1
    early_stop: bool = False
    timeout: float | None = None
    deadline: float | None = None
    raise_on: type[BaseException] | tuple[type[BaseException], ...] = ()
    limiter: Any = None
    on_sample: Callable[[Sample], object] | None = None

    def __post_init__(self) -> None:
        check_threshold("min_agreement", self.min_agreement)
        if self.min_support is not None:
            check_threshold("min_support", self.min_support)
        check_share("min_confidence", self.min_confidence)
        check_resolver("conflict_resolver", self.conflict_resolver)
        if isinstance(self.max_repairs, bool) or not isinstance(self.max_repairs, int):
            raise TypeError(f"max_repairs must be an int, got {self.max_repairs!r}")
        if self.max_repairs < 0:
            raise SettingsError(f"max_repairs must be an int of at least 0, got {self.max_repairs}")
        if self.on_unmet not in ("keep", "abstain"):
            raise SettingsError(f'on_unmet must be "keep" or "abstain", got {self.on_unmet!r}')
        _check_weighting(self.weights)
        if self.early_stop and self.weights is not None:
            raise SettingsError(
                f"early_stop needs weights=None, got {self.weights!r}: the weights of revisions that are not drawn "
                "yet are not known, and they change those of the others"
            )
        if self.early_stop and self.one_vote_per_source:
            raise SettingsError(
                "early_stop needs one_vote_per_source=False: a source can change its mind on every field, and with it "
                "the say of all its other revisions"
            )
        object.__setattr__(self, "required", _paths("required", self.required))
        object.__setattr__(self, "compare", _comparators(self.compare))
        object.__setattr__(self, "constraints", _constraints(self.constraints))
        schema = as_schema(self.schema)
        if schema is not None:
            check_mentions(self, schema)
        reading_settings(self)

    def with_options(self, **options: Unpack[ConsensusOptions]) -> ConsensusSettings:
        """These settings with ``options`` in place of their own.

        Raises:
            TypeError: an option that does not exist; the message names the one that is meant.
            SettingsError: a value that is not allowed.

        Example:
            >>> ConsensusSettings(n=9, min_agreement=0.6).with_options(n=3).min_agreement
            0.6
        """
        return consensus_settings("ConsensusSettings", self, options)


_NAMES = tuple(field.name for field in fields(ConsensusSettings))
_SHARED = tuple(
    name for name in _NAMES if name in VoteSettings.__dataclass_fields__ and name not in ("weights", "min_agreement")
)
_DRAWING = frozenset(["n", "concurrency", "early_stop", "timeout", "deadline", "raise_on", "limiter", "on_sample"])
_READING = frozenset(["validator", "repair", "allow_nan", "prefer"])
MERGING_OPTIONS = tuple(name for name in _NAMES if name not in _DRAWING | _READING)
"""The options that mean something without calls: what ``merge`` takes."""


def consensus_settings(
    verb: str, settings: ConsensusSettings | None, options: Mapping[str, Any], allowed: tuple[str, ...] = _NAMES
) -> ConsensusSettings:
    """``settings`` (or the defaults) with ``options`` in place of its own.

    Raises:
        TypeError: for options that do not exist, or that are not among those ``allowed`` to this verb.
    """
    if settings is not None and not isinstance(settings, ConsensusSettings):
        raise TypeError(f"settings must be a ConsensusSettings or None, got {type(settings).__name__}")
    check_names(verb, options, allowed)
    if settings is None:
        return ConsensusSettings(**options) if options else _default_settings()
    return replace(settings, **options) if options else settings


@lru_cache(maxsize=1)
def _default_settings() -> ConsensusSettings:
    return ConsensusSettings()


def reading_settings(settings: ConsensusSettings) -> VoteSettings:
    """The options of drawing and reading, which are those of a vote on the whole record."""
    return VoteSettings(**{name: getattr(settings, name) for name in _SHARED})


def _check_weighting(weights: Any) -> None:
    if isinstance(weights, str):
        if weights not in ("trust", "confidence"):
            raise SettingsError(
                f'weights must be "trust", "confidence", None, a list, a mapping or a function, got {weights!r}'
            )
    elif isinstance(weights, Mapping):
        for source, weight in weights.items():
            _check_weight(f"weights[{source!r}]", weight)
    elif isinstance(weights, Sequence):
        for index, weight in enumerate(weights):
            _check_weight(f"weights[{index}]", weight)
        if weights and not any(weights):
            raise SettingsError(f"weights must not all be 0, got {weights!r}")
    elif weights is not None and not callable(weights):
        raise TypeError(
            f'weights must be "trust", "confidence", None, a list, a mapping or a function, '
            f"got {type(weights).__name__}"
        )
    else:
        require_plain_function("weights", weights)


def _check_weight(name: str, weight: Any) -> None:
    """Raise unless a weight is a number from 0 to a million."""
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise TypeError(f"{name} must be a number, got {weight!r}")
    if not 0 <= weight <= MAX_WEIGHT:
        raise SettingsError(f"{name} must be a number from 0 to 1000000, got {weight!r}")


def _paths(name: str, texts: Any) -> tuple[Path, ...]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise TypeError(f'{name} must be a list of paths such as ["customer.city"], got {texts!r}')
    return tuple(parse_path(text) for text in texts)


def _comparators(compare: Any) -> Mapping[Path, Comparator] | None:
    if compare is None:
        return None
    if not isinstance(compare, Mapping):
        raise TypeError(f"compare must be a mapping from path to comparator, got {type(compare).__name__}")
    return {_pattern(path): as_comparator(given, f"compare[{path!r}]") for path, given in compare.items()}


def _pattern(text: Any) -> Path:
    """A path that names every item of a list, not one position: positions mean something else in every revision."""
    path = parse_path(text)
    pattern = pattern_of(path)
    if pattern != path:
        raise SettingsError(
            f"compare[{text!r}] names one position, but items are paired across revisions: write {pattern}"
        )
    return pattern


def _constraints(constraints: Any) -> tuple[Constraint, ...]:
    given = (constraints,) if isinstance(constraints, Constraint) else constraints
    if not isinstance(given, Iterable):
        raise TypeError(f"constraints must be a list of constraint(…), got {type(constraints).__name__}")
    found = tuple(Constraint(each) if callable(each) else each for each in given)
    for each in found:
        if not isinstance(each, Constraint):
            raise TypeError(f"constraints must be a list of constraint(…), got {each!r} in it")
    return found
