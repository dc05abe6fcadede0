"""The outlook: whether what is still pending can change the outcome.

An answer has *won* when it passes every rule in every completion of the run, and the vote is *lost* when no answer can
pass in any completion. Each rule is monotone in the pending votes, so looking at its own worst (or best) completion is
enough. For votes of equal weight without ``one_vote_per_source`` these extremes are attained and the verdict is exact;
otherwise they may be bounds: never wrong, at times a call late.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ._count import Answer, Count
from ._pending import Tranche
from ._quorum import Quorum, number_of_sources
from ._source_outlook import FRESH, KnownSources, UnknownSources
from ._weights import Weigher

__all__ = ["Outlook", "outlook"]


class Outlook(Enum):
    """What the pending calls can still do."""

    OPEN = "open"
    WON = "won"
    LOST = "lost"


def outlook(count: Count, pending: Tranche, quorum: Quorum, weigher: Weigher) -> Outlook:
    """Whether the outcome is settled, given the samples that are in and the calls that are pending."""
    if not pending.samples:
        return Outlook.LOST if quorum.decide(count).reason else Outlook.WON
    planned = count.drawn + pending.samples
    if (count.valid + pending.samples) / planned < quorum.min_valid:
        return Outlook.LOST
    extremes: _Samples | KnownSources | UnknownSources
    if not quorum.one_vote_per_source:
        extremes = _Samples(count, pending, quorum)
    elif pending.by_source is None:
        extremes = UnknownSources(count, pending, quorum, weigher)
    else:
        extremes = KnownSources(count, pending, quorum, weigher)
    if count.valid / planned >= quorum.min_valid and extremes.is_won():
        return Outlook.WON
    return Outlook.OPEN if extremes.is_winnable() else Outlook.LOST


@dataclass(slots=True)
class _Samples:
    """Every sample has a voice."""

    count: Count
    pending: Tranche
    quorum: Quorum

    def is_won(self) -> bool:
        """Worst case: the leader gets nothing more, and its rival everything."""
        leader = self.count.leader
        if leader is None or not leader.weight:
            return False
        return (
            self._stays_ahead(leader)
            and leader.weight / (self._denominator() + self.pending.weight) >= self.quorum.min_agreement
            and self._sources(leader.ballot, reached=False) >= self.quorum.min_sources
        )

    def is_winnable(self) -> bool:
        """Best case: one answer gets everything. Only a lack of sources can make that any other than the leader."""
        leader = self.count.leader
        if leader is None:
            return self._can_win(Answer(FRESH, 0, 0, self.pending.lowest))
        if self._can_win(leader):
            return True
        if self.quorum.min_sources < 2:
            return False
        others = [*self.count.answers.values(), Answer(FRESH, 0, 0, self.pending.lowest)]
        return any(self._can_win(answer) for answer in others if answer.ballot != leader.ballot)

    def _stays_ahead(self, leader: Answer) -> bool:
        rival = self.count.runner_up
        rival_weight = (rival.weight if rival else 0) + self.pending.weight
        if leader.weight != rival_weight or self.quorum.abstain_on_tie:
            return leader.weight > rival_weight
        # A tie goes to the lowest index, and a call that is pending may have a lower one than the leader's first vote.
        first = self.pending.lowest if rival is None else min(rival.first, self.pending.lowest)
        return leader.first < first

    def _can_win(self, answer: Answer) -> bool:
        weight = answer.weight + self.pending.weight
        return (
            weight > 0
            and self._can_lead(answer, weight)
            and weight / (self._denominator() + self.pending.weight) >= self.quorum.min_agreement
            and self._sources(answer.ballot, reached=True) >= self.quorum.min_sources
        )

    def _can_lead(self, answer: Answer, weight: int) -> bool:
        leader, runner_up = self.count.leader, self.count.runner_up
        rival = runner_up if leader is not None and answer.ballot == leader.ballot else leader
        if rival is None or weight != rival.weight or self.quorum.abstain_on_tie:
            return rival is None or weight > rival.weight
        return min(answer.first, self.pending.lowest) < rival.first

    def _denominator(self) -> int:
        return self.count.valid_weight + (self.count.failed_weight if self.quorum.count_failures else 0)

    def _sources(self, ballot: str, *, reached: bool) -> int:
        if self.quorum.min_sources < 2:
            return 1
        supporters = set(self.count.supporters(ballot, by_plurality=False))
        if reached and self.pending.by_source is None:  # each pending call may bring a source of its own
            return len(supporters - {None}) + self.pending.samples
        return number_of_sources(supporters.union(self.pending.by_source or () if reached else ()))
