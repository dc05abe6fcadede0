"""The ledger of a vote: which call comes next, and when there have been enough of them."""

from __future__ import annotations

from ..drawing._calls import Call, Drawing, Outcome
from ._count import Count
from ._judging import Judged, Origin
from ._outlook import Outlook, outlook
from ._pending import Pending, Tranche
from ._reasons import Failure, Reason
from ._result import VoteResult
from ._settings import VoteSettings, rules_of, weigher_of
from ._stopping import TallyState, first_to_stop
from ._tally import Ending, Tally
from ._turns import Turns

__all__ = ["VoteLedger"]


class VoteLedger:
    """A run of ``settings.n`` calls, as a driver sees it (see ``drawing._calls.Ledger``)."""

    def __init__(self, settings: VoteSettings, turns: Turns) -> None:
        self._settings = settings
        self._turns = turns
        self._tally = Tally(settings)
        self._rules = rules_of(settings)
        self._weigher = weigher_of(settings)
        self._pending = Pending(settings.n, turns, self._weigher, track_sources=self._tally.quorum.track_sources)
        self._stopped_by: str | None = None
        self._finished = False

    def next_call(self) -> Call | None:
        """The next call to start now, None when none should be started before another outcome has come in.

        With a stopping rule launching is frugal: no call is started that would not be needed if all calls in flight
        agreed with the leader.
        """
        if self._finished or self._pending.started == self._settings.n:
            return None
        if self._rules and not self._settings.eager and self._pending.in_flight and self._may_suffice():
            return None
        return self._turns.call(self._pending.launch())

    def receive(self, outcome: Outcome, *, known: bool = False) -> None:
        """Take the outcome of a call in flight; what comes after the end is ignored.

        ``known`` is for one that another ledger has seen before: it is not logged again.
        """
        if self._finished:
            return
        self._pending.land(outcome.call.index)
        self._tally.take(self._judged(outcome), known=known)
        if self._rules and self._pending.samples:
            self._stopped_by = first_to_stop(self._rules, self._state())
        self._finished = self._stopped_by is not None or not self._pending.samples

    @property
    def finished(self) -> bool:
        """True once no further outcome is wanted."""
        return self._finished

    def result(self, drawing: Drawing) -> VoteResult:
        """The outcome of the run, once its driver has returned."""
        stopped_by, reason = self._stopped_by, None
        if drawing.hit_deadline and self._pending.samples:
            stopped_by, reason = "deadline", Reason.DEADLINE
        elif stopped_by is not None and self._outlook() is Outlook.LOST:
            reason = Reason.QUORUM_UNREACHABLE
        return self._tally.result(
            Ending(self._settings.n, stopped_by, reason, abandoned=drawing.abandoned, elapsed=drawing.elapsed)
        )

    def _judged(self, outcome: Outcome) -> Judged:
        call = outcome.call
        origin = Origin(call.index, call.prompt_index, call.source, outcome.attempts, outcome.elapsed)
        judge = self._tally.judge
        if outcome.timed_out:
            return judge.failure(origin, Failure.TIMEOUT, f"no reply within {self._settings.timeout:g} s")
        if outcome.error is not None:
            return judge.error(origin, outcome.error)
        return judge.reply(origin, outcome.content)

    def _may_suffice(self) -> bool:
        """Whether a rule would stop if all calls in flight came back valid and for the leader."""
        flight = self._pending.flight()
        count = self._tally.count.supposing(flight, self._leader())
        return first_to_stop(self._rules, self._state_of(count, self._pending.waiting(), flight.samples)) is not None

    def _leader(self) -> str | None:
        count = self._tally.count
        by_source = self._tally.quorum.decide(count).leader if self._tally.quorum.one_vote_per_source else None
        return by_source or (None if count.leader is None else count.leader.ballot)

    def _outlook(self) -> Outlook:
        return outlook(self._tally.count, self._pending.everything(), self._tally.quorum, self._weigher)

    def _state(self) -> TallyState:
        return self._state_of(self._tally.count, self._pending.everything(), 0)

    def _state_of(self, count: Count, pending: Tranche, supposed: int) -> TallyState:
        return TallyState(supposed, count, pending, self._tally.quorum, self._weigher, self._tally.ballots)
