"""The tally: samples in, result out. It knows no call, no thread and no clock."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ._confidence import mean_confidence
from ._count import Count
from ._details import Verdict, detail_of
from ._display import result_line, sample_line
from ._fingerprint import fingerprint
from ._judging import Judge, Judged
from ._quorum import Decision
from ._reasons import Reason
from ._result import VoteResult
from ._sample import Sample
from ._settings import VoteSettings, quorum_of
from ._summary import (
    Spellings,
    corroboration,
    distinct_replies,
    field_agreement,
    named_sources,
    usage,
    votes_of,
)

__all__ = ["Ending", "Tally"]

logger = logging.getLogger("consilience")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: ``stopped_by`` is None after a full run; ``reason`` is one that only an early end can give."""

    planned: int
    stopped_by: str | None = None
    reason: str | None = None
    abandoned: int = 0
    elapsed: float = 0.0


class Tally:
    """Counts samples in whatever order they come in; the result depends on their index alone."""

    def __init__(self, settings: VoteSettings) -> None:
        self.settings = settings
        self.judge = Judge(settings)
        self.quorum = quorum_of(settings)
        self.count = Count(track_sources=self.quorum.track_sources)
        self._judged: list[Judged] = []
        self.ballots: list[str | None] = []

    def take(self, judged: Judged, *, known: bool = False) -> None:
        """Count one sample; one that is already known is not logged again."""
        sample, ballot, _, weight = judged
        self._judged.append(judged)
        self.ballots.append(ballot)
        if ballot is None:
            self.count.add_failure(weight, sample.source)
        else:
            blank_weight = self.judge.blank_weight(sample.source)
            self.count.add_vote(sample.index, ballot, weight, sample.source, blank_weight)
        if not known and logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s", sample_line(sample, "voted", sample.vote))
        if self.settings.on_sample is not None:
            self._announce(sample)

    def _announce(self, sample: Sample) -> None:
        try:
            assert self.settings.on_sample is not None
            self.settings.on_sample(sample)
        except Exception:
            logger.exception("on_sample raised for sample %d; the vote goes on", sample.index)

    def result(self, ending: Ending) -> VoteResult:
        """The outcome for the samples that are in."""
        settings = self.settings
        judged = sorted(self._judged, key=lambda each: each.sample.index)
        samples = tuple(each.sample for each in judged)
        decision = self.quorum.decide(self.count)
        reason = self._reason(decision, ending)
        answers = votes_of(judged)
        leader = None if decision.leader is None else answers[decision.leader]
        behind = [each.sample for each in judged if leader is not None and each.ballot == decision.leader]
        winning = behind if reason is None else []
        value = leader.value if leader is not None else None
        verdict = Verdict(decision, reason, value, ending.planned)
        result = VoteResult(
            abstained=reason is not None,
            value=value if reason is None else None,
            reason=reason,
            detail=detail_of(verdict, samples, settings),
            agreement=decision.agreement,
            valid_ratio=decision.valid_ratio,
            confidence=mean_confidence([s.confidence for s in winning if s.confidence is not None]),
            counts=_counts(answers),
            record=winning[0].record if winning and value is not None else None,
            field_agreement=field_agreement(samples, settings),
            samples=samples,
            n_planned=ending.planned,
            stopped_early=ending.stopped_by is not None,
            stopped_by=ending.stopped_by,
            distinct_replies=distinct_replies(samples),
            usage=usage(samples),
            sources=self._sources(decision, behind),
            corroboration=corroboration(winning),
            abandoned=ending.abandoned,
            settings_hash=fingerprint(settings),
            elapsed=ending.elapsed,
        )
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", result_line("vote", result))
        return result

    def _reason(self, decision: Decision, ending: Ending) -> str | None:
        if ending.reason == Reason.DEADLINE:
            return Reason.DEADLINE if decision.reason else None
        return ending.reason or decision.reason

    def _sources(self, decision: Decision, behind: Sequence[Sample]) -> tuple[str, ...]:
        if decision.leader is None or (decision.tied > 1 and decision.reason is not None):
            return ()
        if not self.quorum.one_vote_per_source:
            return named_sources(behind)
        supporters = set(self.count.supporters(decision.leader, by_plurality=True))
        return named_sources(sample for sample in behind if sample.source in supporters)


def _counts(answers: dict[str, Spellings]) -> tuple[tuple[object, int], ...]:
    return tuple((answer.value, answer.votes) for answer in answers.values())
