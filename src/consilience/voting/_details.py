"""Details: the one sentence by which a result says what decided it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._excerpts import excerpt, excerpt_value, plural
from ._quorum import Decision
from ._reasons import Failure, Reason
from ._sample import Sample
from ._settings import VoteSettings
from ._weights import UNIT

__all__ = ["Verdict", "detail_of", "most_often"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision with what happened around it: ``reason`` may come from an early end, ``value`` is the leader's."""

    decision: Decision
    reason: str | None
    value: Any
    planned: int


def detail_of(verdict: Verdict, samples: Sequence[Sample], settings: VoteSettings) -> str:
    """One sentence for a human, printable whatever the replies were."""
    if verdict.reason == Reason.DEADLINE:
        progress = f"{len(samples)} of {plural(verdict.planned, 'sample')}"
        return f"the deadline ended the vote after {progress}: {_of_rules(verdict, samples, settings)}"
    if verdict.reason == Reason.QUORUM_UNREACHABLE:
        return _unreachable(verdict, samples, settings)
    return _of_rules(verdict, samples, settings)


def _of_rules(verdict: Verdict, samples: Sequence[Sample], settings: VoteSettings) -> str:
    decision = verdict.decision
    match decision.reason:
        case None:
            return f"{excerpt_value(verdict.value)} won with {_share(decision, settings)}"
        case Reason.NO_VALID:
            return _nothing_valid(samples)
        case Reason.TOO_FEW_VALID:
            valid = sum(sample.ok for sample in samples)
            return (
                f"only {valid} of {len(samples)} samples were valid "
                f"({decision.valid_ratio:.2f} is below min_valid {settings.min_valid:g}){most_often(samples)}"
            )
        case Reason.TIE:
            return _tie(decision, settings)
        case Reason.LOW_AGREEMENT:
            return (
                f"{excerpt_value(verdict.value)} has only {_share(decision, settings)} "
                f"({decision.agreement:.2f} is below min_agreement {settings.min_agreement:g})"
            )
        case _:
            return (
                f"{excerpt_value(verdict.value)} is supported by {plural(decision.sources, 'source')} only, "
                f"min_sources is {settings.min_sources}"
            )


def _share(decision: Decision, settings: VoteSettings) -> str:
    voice = "source" if settings.one_vote_per_source else "vote"
    share = f"{decision.support} of {plural(decision.electorate, voice)}"
    return share if settings.weights is None else f"{share}, {decision.agreement:.2f} of the weight"


def _tie(decision: Decision, settings: VoteSettings) -> str:
    if decision.leader is None:
        return "tie: every source is tied within itself"
    if settings.weights is not None:
        return f"tie: {decision.tied} answers have a weight of {decision.lead_weight / UNIT:.9g} each"
    voice = "source" if settings.one_vote_per_source else "vote"
    return f"tie: {decision.tied} answers have {plural(decision.support, voice)} each"


def _nothing_valid(samples: Sequence[Sample]) -> str:
    if any(sample.ok for sample in samples):
        return "no valid sample has any weight"
    if not samples:
        return "there are no samples"
    if len(samples) == 1:
        return f"the only sample was not valid{most_often(samples)}"
    return f"none of {len(samples)} samples was valid{most_often(samples)}"


def _unreachable(verdict: Verdict, samples: Sequence[Sample], settings: VoteSettings) -> str:
    decision = verdict.decision
    progress = f"after {len(samples)} of {plural(verdict.planned, 'sample')} no answer can meet the quorum any more"
    if decision.leader is None:
        return progress + most_often(samples)
    return f"{progress}: {excerpt_value(verdict.value)} leads with {_share(decision, settings)}{most_often(samples)}"


def _commonest_error(samples: Sequence[Sample]) -> str | None:
    """The first error of the commonest kind (of kinds equally common, the one seen first); None without failures."""
    first: dict[str, str] = {}
    times: dict[str, int] = {}
    for sample in samples:
        if sample.error is not None:
            kind = _kind(sample.error)
            first.setdefault(kind, sample.error)
            times[kind] = times.get(kind, 0) + 1
    return first[max(times, key=lambda kind: times[kind])] if times else None


def _kind(error: str) -> str:
    """The code, with the type of what a sampler raised: its messages often differ, by the number of a request say."""
    code, *rest = error.split(": ", 2)
    return f"{code}: {rest[0]}" if rest and code == Failure.SAMPLER_ERROR else code


def most_often(samples: Sequence[Sample]) -> str:
    """The end of a sentence about failures: the commonest error, shortened; empty without failures."""
    error = _commonest_error(samples)
    return "" if error is None else f"; most often: {excerpt(error, 120)}"
