"""The settings of a vote: every option, checked once, in one frozen object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .._arguments import check_names
from .._coroutines import require_plain_function
from .._errors import SettingsError, received
from ..replies._extraction import Repair, check_repair
from ..replies._validation import as_validator
from ._keys import Key, key_reader
from ._normalizers import Normalize, vote_normalizer
from ._quorum import Quorum
from ._sample import Sample
from ._weights import Weigher, Weights, check_weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._stopping import StoppingRule

__all__ = [
    "JUDGING_OPTIONS",
    "VoteOptions",
    "VoteSettings",
    "exceptions_of",
    "merged_settings",
    "quorum_of",
    "rules_of",
    "weigher_of",
]


class VoteOptions(TypedDict, total=False):
    """The options of ``VoteSettings`` as key words; see there."""

    n: int
    key: Key
    validator: Any
    normalize: Normalize
    min_valid: float
    min_agreement: float
    count_failures: bool
    abstain_on_tie: bool
    confidence_field: str | None
    weights: Weights
    max_weight: float
    min_sources: int
    one_vote_per_source: bool
    repair: Repair
    allow_nan: bool
    prefer: Literal["first", "last"]
    concurrency: int
    early_stop: bool
    stop: StoppingRule | tuple[StoppingRule, ...] | list[StoppingRule] | None
    eager: bool
    timeout: float | None
    deadline: float | None
    raise_on: type[BaseException] | tuple[type[BaseException], ...]
    limiter: Any
    on_sample: Callable[[Sample], object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteSettings:
    """Every option of a vote; the key words of ``vote``, ``avote`` and ``tally`` are sugar for it.

    Args:
        n: the number of calls in all, at least 1.
        key: what is voted on: a field name, a path ("customer.city", "items[0].sku"; a key that contains the dot wins),
            a tuple of them, a function of the record, or None for the whole record (without ``confidence_field``).
        validator: what a record must pass: a callable, a pydantic model class or a JSON Schema dict.
        normalize: how votes are made coarser before they are compared: "text", "number", "date", a function of the
            vote, or a mapping from field to one of these.
        min_valid: the least share of valid samples, 0 to 1.
        min_agreement: the least share of the denominator that the leader must have, 0 to 1.
        count_failures: whether failed samples count in the denominator, as votes against every answer.
        abstain_on_tie: whether a tie for first place abstains; if not, the answer seen first (lowest index) wins.
        confidence_field: the field (or path) with the model's own confidence.
        weights: None (each vote weighs 1), "confidence", a mapping from source to weight (other sources weigh 1), or a
            function of the sample; from 0 to ``max_weight``.
        max_weight: the largest weight, from 1 to 1e100.
        min_sources: the least number of different sources that must support the winner.
        one_vote_per_source: whether each source has one vote, by its own plurality.
        repair: how far reading may go: False, "lenient", True or "truncated" (see ``extract_json``).
        allow_nan: whether NaN and Infinity are read.
        prefer: which of several valid answers in one reply counts, the "first" or the "last".
        concurrency: the most calls at once, at least 1.
        early_stop: stop once the outcome is settled; the same as ``stop=when_settled()``.
        stop: a stopping rule, or several, of which the first that says so stops the vote.
        eager: with a stopping rule, start calls up to ``concurrency`` even if they may turn out not to be needed.
        timeout: seconds for one call, retries included; None (the default) waits for ever.
        deadline: seconds for the whole vote; None (the default) waits for ever.
        raise_on: types of exceptions of the sampler that propagate instead of making failed samples.
        limiter: a context manager that is entered around each call (asynchronous in ``avote``).
        on_sample: called with each ``Sample`` as it lands.

    Raises:
        SettingsError: a value that is not allowed (also a ValueError).
        TypeError: a value of the wrong type.
        MissingExtraError: an option needs an extra that is not installed.

    Example:
        >>> VoteSettings(n=9, key="team", min_agreement=0.6).n
        9
        >>> VoteSettings(min_valid=60)
        Traceback (most recent call last):
        ...
        consilience._errors.SettingsError: min_valid must be a number from 0 to 1, got 60
    """

    n: int = 5
    key: Key = None
    validator: Any = None
    normalize: Normalize = None
    min_valid: float = 0.5
    min_agreement: float = 0.5
    count_failures: bool = True
    abstain_on_tie: bool = True
    confidence_field: str | None = None
    weights: Weights = None
    max_weight: float = 1.0
    min_sources: int = 1
    one_vote_per_source: bool = False
    repair: Repair = False
    allow_nan: bool = True
    prefer: Literal["first", "last"] = "first"
    concurrency: int = 1
    early_stop: bool = False
    stop: StoppingRule | tuple[StoppingRule, ...] | list[StoppingRule] | None = None
    eager: bool = False
    timeout: float | None = None
    deadline: float | None = None
    raise_on: type[BaseException] | tuple[type[BaseException], ...] = ()
    limiter: Any = None
    on_sample: Callable[[Sample], object] | None = None

    def __post_init__(self) -> None:
        for name in ("n", "min_sources", "concurrency"):
            _check_count(name, getattr(self, name))
        for name in ("min_valid", "min_agreement"):
            _check_number(name, getattr(self, name), least=0, most=1)
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {received(getattr(self, name))}")
        _check_number("max_weight", self.max_weight, least=1, most=_LARGEST_WEIGHT)
        for name in ("timeout", "deadline"):
            if getattr(self, name) is not None:
                _check_seconds(name, getattr(self, name))
        if not (isinstance(self.prefer, str) and self.prefer in ("first", "last")):
            raise SettingsError(f'prefer must be "first" or "last", got {received(self.prefer)}')
        if self.on_sample is not None:
            if not callable(self.on_sample):
                raise TypeError(
                    f"on_sample must be a function of a Sample or None, got {type(self.on_sample).__name__}"
                )
            require_plain_function("on_sample", self.on_sample)
        if self.confidence_field is not None:
            if not isinstance(self.confidence_field, str):
                raise TypeError(f"confidence_field must be a str or None, got {type(self.confidence_field).__name__}")
            if not self.confidence_field:
                raise SettingsError("confidence_field must be a field name or a path, got ''")
        key_reader(self.key)
        vote_normalizer(self.normalize, self.key)
        as_validator(self.validator)
        check_weights(self.weights, self.max_weight)
        check_repair(self.repair)
        object.__setattr__(self, "stop", _rules(self.stop))
        object.__setattr__(self, "raise_on", _exception_types(self.raise_on))

    def with_options(self, **options: Unpack[VoteOptions]) -> VoteSettings:
        """These settings with ``options`` in place of their own.

        Raises:
            TypeError: an option that does not exist; the message names the one that is meant.
            SettingsError: a value that is not allowed.

        Example:
            >>> VoteSettings(n=9, key="team").with_options(n=3).key
            'team'
        """
        return merged_settings("VoteSettings", self, options)


_LARGEST_COUNT = 1_000_000_000
_LARGEST_WEIGHT = 1e100
"""Sums over many of them are still numbers that a float can hold."""

_FLAGS = ("count_failures", "abstain_on_tie", "one_vote_per_source", "allow_nan", "early_stop", "eager")
_NAMES = tuple(field.name for field in fields(VoteSettings))
_DRAWING_OPTIONS = frozenset(
    ["n", "concurrency", "early_stop", "stop", "eager", "timeout", "deadline", "raise_on", "limiter"],
)
JUDGING_OPTIONS = tuple(name for name in _NAMES if name not in _DRAWING_OPTIONS)
"""The options that mean something without calls: what ``tally`` takes."""


def merged_settings(
    verb: str, settings: VoteSettings | None, options: Mapping[str, Any], allowed: tuple[str, ...] = _NAMES
) -> VoteSettings:
    """``settings`` (or the defaults) with ``options`` in place of its own.

    Raises:
        TypeError: for options that do not exist, or that are not among those ``allowed`` to this verb.
    """
    if settings is not None and not isinstance(settings, VoteSettings):
        raise TypeError(f"settings must be a VoteSettings or None, got {type(settings).__name__}")
    check_names(verb, options, allowed)
    if settings is None:
        return VoteSettings(**options)
    return replace(settings, **options) if options else settings


def quorum_of(settings: VoteSettings) -> Quorum:
    """The rules that the winner must meet."""
    return Quorum(
        min_valid=settings.min_valid,
        min_agreement=settings.min_agreement,
        count_failures=settings.count_failures,
        abstain_on_tie=settings.abstain_on_tie,
        min_sources=settings.min_sources,
        one_vote_per_source=settings.one_vote_per_source,
    )


def weigher_of(settings: VoteSettings) -> Weigher:
    """What samples weigh."""
    return Weigher(settings.weights, settings.max_weight)


def rules_of(settings: VoteSettings) -> tuple[StoppingRule, ...]:
    """The stopping rules, those of ``stop`` before that of ``early_stop``."""
    from ._stopping import when_settled  # the rules look at the tally, which is judged by these settings

    given = settings.stop if isinstance(settings.stop, tuple) else ()
    return (*given, when_settled()) if settings.early_stop else given


def exceptions_of(settings: VoteSettings) -> tuple[type[BaseException], ...]:
    """``raise_on`` as a tuple."""
    return settings.raise_on if isinstance(settings.raise_on, tuple) else (settings.raise_on,)


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int of at least 1, got {received(value)}")
    if value < 1:
        raise SettingsError(f"{name} must be an int of at least 1, got {received(value)}")
    if value > _LARGEST_COUNT:
        raise SettingsError(f"{name} must be an int of at most {_LARGEST_COUNT}, got {received(value)}")


def _check_number(name: str, value: Any, *, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {received(value)}")
    if not least <= value <= most:
        raise SettingsError(f"{name} must be a number from {least:g} to {most:g}, got {received(value)}")


def _check_seconds(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be seconds or None, got {received(value)}")
    if not 0 < value <= sys.float_info.max:
        raise SettingsError(f"{name} must be more than 0 seconds, or None for no limit, got {received(value)}")


def _rules(stop: Any) -> tuple[Any, ...]:
    rules = () if stop is None else tuple(stop) if isinstance(stop, (list, tuple)) else (stop,)
    for rule in rules:
        if isinstance(rule, type) or not callable(rule):
            raise TypeError(f"stop must be a stopping rule such as when_settled(), or several, got {received(rule)}")
        require_plain_function("stop", rule)
    return rules


def _exception_types(raise_on: Any) -> tuple[type[BaseException], ...]:
    types = tuple(raise_on) if isinstance(raise_on, (list, tuple)) else (raise_on,)
    for each in types:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            raise TypeError(f"raise_on must be a type of exception or a tuple of them, got {received(each)}")
    return types
