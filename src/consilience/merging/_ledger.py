"""The ledger of a consensus: which call comes next, and when no field can change any more."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from ..drawing._calls import Call, Drawing, Outcome
from ..voting._display import sample_line
from ..voting._excerpts import plural
from ..voting._judging import Judge, Origin
from ..voting._reasons import Failure
from ..voting._sample import Sample
from ..voting._turns import Turns
from ._merge import NO_FIT, Merger, log_result
from ._resolvers import OMIT
from ._result import ConsensusReason, ConsensusResult
from ._settings import ConsensusSettings, reading_settings
from ._settling import Said, Settling

__all__ = ["ConsensusLedger"]

logger = logging.getLogger("consilience")


class ConsensusLedger:
    """A run of ``settings.n`` calls, as a driver sees it (see ``drawing._calls.Ledger``)."""

    def __init__(self, settings: ConsensusSettings, turns: Turns) -> None:
        self._settings = settings
        self._turns = turns
        self._reading = reading_settings(settings)
        self._judge = Judge(self._reading)
        self._merger = Merger(settings)
        # What is likely to come back is what leads, though more sources have yet to say so.
        self._likely = Merger(replace(settings, min_sources=1)) if settings.early_stop else self._merger
        self._samples: dict[int, Sample] = {}
        self._revisions: dict[int, Any] = {}
        self._started = 0
        self._settled = False

    def next_call(self) -> Call | None:
        """The next call to start now, None when none should be started before another outcome has come in.

        With early stop, no call is started that would not be needed if all calls in flight agreed with what is there.
        """
        if self.finished or self._started == self._settings.n:
            return None
        in_flight = self._started - len(self._samples)
        if self._settings.early_stop and in_flight and self._may_suffice():
            return None
        self._started += 1
        return self._turns.call(self._started - 1)

    def receive(self, outcome: Outcome) -> None:
        """Take the outcome of a call in flight; what comes after the end is ignored."""
        if self.finished:
            return
        sample = self._judged(outcome)
        self._samples[sample.index] = sample
        self._announce(sample)
        if self._settings.early_stop and len(self._samples) < self._settings.n:
            failed = len(self._samples) - len(self._revisions)
            self._settled = self._is_settled(self._said(), failed, self._open())

    @property
    def finished(self) -> bool:
        """True once no further outcome is wanted."""
        return self._settled or not self._open()

    def result(self, drawing: Drawing) -> ConsensusResult:
        """The outcome of the run, once its driver has returned."""
        samples = [self._samples[index] for index in sorted(self._samples)]
        result = self._merger.merge(samples)
        ended_late = drawing.hit_deadline and bool(self._open()) and not self._settled
        stopped_by = "when_settled" if self._settled else "deadline" if ended_late else None
        if ended_late and result.reason in (ConsensusReason.NO_VALID, ConsensusReason.TOO_FEW_VALID):
            progress = f"{len(samples)} of {plural(self._settings.n, 'sample')}"
            detail = f"the deadline ended the consensus after {progress}: {result.detail}"
            result = replace(result, reason=ConsensusReason.DEADLINE, detail=detail)
        result = replace(
            result,
            n_planned=self._settings.n,
            stopped_early=stopped_by is not None,
            stopped_by=stopped_by,
            abandoned=drawing.abandoned,
            elapsed=drawing.elapsed,
        )
        log_result(result)
        return result

    def _open(self) -> int:
        return self._settings.n - len(self._samples)

    def _judged(self, outcome: Outcome) -> Sample:
        call = outcome.call
        origin = Origin(call.index, call.prompt_index, call.source, outcome.attempts, outcome.elapsed)
        if outcome.timed_out:
            message = f"no reply within {self._settings.timeout:g} s"
            return self._judge.failure(origin, Failure.TIMEOUT, message).sample
        if outcome.error is not None:
            return self._judge.error(origin, outcome.error).sample
        sample = self._judge.reply(origin, outcome.content).sample
        return self._as_revision(sample) if sample.ok else sample

    def _as_revision(self, sample: Sample) -> Sample:
        """The sample of a reply that was read, failed after all if it is not JSON or does not fit the schema."""
        try:
            record = self._merger.clean(sample).record
        except (TypeError, ValueError) as error:
            return self._refused(sample, str(error))
        if record is OMIT:
            return self._refused(sample, NO_FIT)
        self._revisions[sample.index] = record
        return sample

    def _refused(self, sample: Sample, message: str) -> Sample:
        origin = Origin(sample.index, sample.prompt_index, sample.source, sample.attempts, sample.elapsed)
        return self._judge.failure(origin, Failure.INVALID, message, raw=sample.raw).sample

    def _announce(self, sample: Sample) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s", sample_line(sample, "has", sample.record))
        if self._settings.on_sample is None:
            return
        try:
            self._settings.on_sample(sample)
        except Exception:
            logger.exception("on_sample raised for sample %d; the consensus goes on", sample.index)

    def _may_suffice(self) -> bool:
        """Whether the outcome would be settled if all calls in flight came back with what is agreed so far."""
        revisions = self._said()
        likely = self._likely.merge(list(self._samples.values())).partial if revisions else {}
        failed = len(self._samples) - len(revisions)
        flight = [Said(likely, self._turns.source(i)) for i in range(self._started) if i not in self._samples]
        return self._is_settled(revisions + flight, failed, self._settings.n - self._started)

    def _said(self) -> list[Said]:
        return [Said(record, self._samples[index].source) for index, record in self._revisions.items()]

    def _is_settled(self, revisions: list[Said], failed: int, still_open: int) -> bool:
        return self._merger.can_settle and Settling(self._settings, self._merger.rules, still_open).is_settled(
            revisions, failed
        )
