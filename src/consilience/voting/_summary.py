"""The summary: what a result says beside the decision, gathered from the samples in order of index."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ..evidence._corroboration import corroborated
from ..replies._reply import Reply
from ._ballots import ballot, fields_of
from ._judging import Judged
from ._normalizers import field_normalizer
from ._readonly import ReadOnlyMapping
from ._sample import Sample
from ._settings import VoteSettings

__all__ = ["Spellings", "corroboration", "distinct_replies", "field_agreement", "named_sources", "usage", "votes_of"]

_DEEPEST_USAGE = 8


@dataclass(slots=True)
class Spellings:
    """One answer with its spellings: for each the number of votes and the first vote."""

    votes: int = 0
    spelled: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def add(self, spelling: str, vote: Any) -> None:
        """Count one vote."""
        self.votes += 1
        number, first = self.spelled.get(spelling, (0, vote))
        self.spelled[spelling] = (number + 1, first)

    @property
    def value(self) -> Any:
        """The most common original spelling; of several, the one seen first."""
        return max(self.spelled.values(), key=lambda counted: counted[0])[1]


def votes_of(judged: Iterable[Judged]) -> dict[str, Spellings]:
    """The answers by ballot, most votes first, then first seen."""
    answers: dict[str, Spellings] = {}
    for sample, ballot_text, spelling, _ in judged:
        if ballot_text is not None and spelling is not None:
            answers.setdefault(ballot_text, Spellings()).add(spelling, sample.vote)
    return dict(sorted(answers.items(), key=lambda answer: -answer[1].votes))


def field_agreement(samples: Sequence[Sample], settings: VoteSettings) -> ReadOnlyMapping[float]:
    """For each top-level field, the share of the denominator that agrees on its most common value."""
    counts: dict[str, dict[str, int]] = {}
    normalizers: dict[str, Any] = {}
    for sample in samples:
        for key, value in _fields(sample).items():
            name = _plain_name(key)
            if name is None or name == settings.confidence_field:
                continue
            if name not in counts:
                counts[name] = {}
                normalizers[name] = field_normalizer(settings.normalize, settings.key, name)
            text = _field_ballot(value, normalizers[name])
            counts[name][text] = counts[name].get(text, 0) + 1
    denominator = len(samples) if settings.count_failures else sum(sample.ok for sample in samples)
    return ReadOnlyMapping({name: max(values.values()) / denominator for name, values in counts.items()})


def _fields(sample: Sample) -> Mapping[Any, Any]:
    return sample.record if type(sample.record) is dict else _fields_guarded(sample.record)


def _fields_guarded(record: Any) -> Mapping[Any, Any]:
    try:
        return fields_of(record) or {}
    except Exception:
        return {}


def _plain_name(key: Any) -> str | None:
    """The name of a field as plain text, since a subclass may have overridden anything; None for another key."""
    if type(key) is str:
        return key
    return str.__str__(key) if isinstance(key, str) else None


def _field_ballot(value: Any, normalizer: Any) -> str:
    if normalizer is None:
        return ballot(value)
    try:
        return ballot(normalizer(value))
    except Exception:
        return ballot(value)


def distinct_replies(samples: Iterable[Sample]) -> int:
    """How many different replies came in."""
    seen: set[str] = set()
    for sample in samples:
        content = sample.raw.content if isinstance(sample.raw, Reply) else sample.raw
        if content is not None:
            # Texts and objects are told apart by a mark, so that a text is never taken for the object it spells.
            seen.add(content if type(content) is str else "\0" + ballot(content))
    return len(seen)


def usage(samples: Iterable[Sample]) -> dict[str, Any] | None:
    """The numbers that replies reported, summed by name, inside nested records too; None when none did."""
    total: dict[str, Any] | None = None
    for sample in samples:
        if isinstance(sample.raw, Reply) and sample.raw.usage is not None:
            total = {} if total is None else total
            _add_usage(total, sample.raw.usage, 0)
    return total


def _add_usage(total: dict[str, Any], usage: Any, depth: int) -> None:
    for key, value in _fields_guarded(usage).items():
        name, number = _plain_name(key), _number(value)
        if name is None:
            continue
        if number is not None:
            total[name] = _sum(total.get(name), number)
        elif depth < _DEEPEST_USAGE and _fields_guarded(value):
            nested = total.setdefault(name, {})
            if isinstance(nested, dict):
                _add_usage(nested, value, depth + 1)


def _number(value: Any) -> int | float | Decimal | None:
    """A number of a client's as a plain one, whatever methods a subclass overrides; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Decimal):
        return Decimal(value) if Decimal.is_finite(value) else None
    try:
        return operator.index(value)  # numpy's integers
    except Exception:
        return None


def _sum(before: Any, number: Any) -> Any:
    if not isinstance(before, (int, float, Decimal)):
        return number
    try:
        exact = isinstance(before, Decimal) is isinstance(number, Decimal) or int in (type(before), type(number))
        return before + number if exact else float(before) + float(number)
    except ArithmeticError:  # too large for a float
        return before


def named_sources(samples: Iterable[Sample]) -> tuple[str, ...]:
    """The named sources of ``samples``, first seen first."""
    return tuple(dict.fromkeys(sample.source for sample in samples if sample.source is not None))


def corroboration(winning: Iterable[Sample]) -> float | None:
    """What the winning side is worth together; None without confidences."""
    return corroborated((sample.source, sample.confidence) for sample in winning)
