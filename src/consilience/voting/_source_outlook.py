"""The outlook where every source has one voice: bounds on what pending calls can still make of the sources.

A source changes its mind only when another ballot catches up within it, so each source is looked at alone: which
ballots can it still support, and which is it sure to support? Where it is known whose the pending calls are, sources do
not depend on each other and the worst of every source at once can happen: for votes of equal weight a win is then seen
at the first moment. Where it is not known, it is a bound, because shared calls cannot do all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ._count import Count, SourceCount
from ._pending import Tranche
from ._quorum import Quorum, Voices, number_of_sources
from ._weights import UNIT, Weigher

__all__ = ["FRESH", "KnownSources", "UnknownSources"]

FRESH = ""
"""Stands for an answer that nobody has given yet; no canonical JSON text is empty."""


class KnownSources:
    """It is known how many of the pending calls belong to which source."""

    def __init__(self, count: Count, pending: Tranche, quorum: Quorum, weigher: Weigher) -> None:
        self._quorum = quorum
        self._leader = quorum.decide(count).leader
        self._answers = [*count.answers, FRESH]
        self._ties = _Ties(count, pending, quorum)
        counted, calls = count.by_source or {}, pending.by_source or {}
        self._sources = [
            _Source(counted.get(source), *calls.get(source, (0, 0)), fixed=weigher.fixed)
            for source in dict.fromkeys([*counted, *calls])
        ]

    def is_won(self) -> bool:
        """Worst case for the leader: each source that can still leave it does so, for the rival where it can."""
        ballot = self._leader
        if ballot is None:
            return False
        safe = [source for source in self._sources if source.is_sure_of(ballot)]
        others = [source for source in self._sources if not source.is_sure_of(ballot)]
        weight = sum(source.least for source in safe)
        return (
            weight > 0
            and all(
                self._ties.stay_ahead(weight - sum(s.most for s in others if s.can_support(rival)), ballot, rival)
                for rival in self._rivals(ballot)
            )
            and weight / (weight + sum(self._most_burden(ballot, s) for s in others)) >= self._quorum.min_agreement
            and len(safe) >= self._quorum.min_sources
        )

    def is_winnable(self) -> bool:
        """Best case for each answer: every source that can support it does."""
        return any(self._can_win(ballot) for ballot in self._answers)

    def _can_win(self, ballot: str) -> bool:
        helpers = [source for source in self._sources if source.can_support(ballot)]
        others = [source for source in self._sources if not source.can_support(ballot)]
        weight = sum(source.most for source in helpers)
        burden = sum(source.least_burden(self._quorum.count_failures) for source in others)
        return (
            weight > 0
            and all(
                self._ties.can_lead(weight - sum(s.least for s in others if s.is_sure_of(rival)), ballot, rival)
                for rival in self._rivals(ballot)
            )
            and weight / (weight + burden) >= self._quorum.min_agreement
            and len(helpers) >= self._quorum.min_sources
        )

    def _most_burden(self, ballot: str, source: _Source) -> int:
        return source.most_burden(ballot, self._quorum.count_failures)

    def _rivals(self, ballot: str) -> Iterator[str]:
        return (rival for rival in self._answers if rival != ballot)


class _Source:
    """What one source says so far, and what ``calls`` further votes of at most ``ceiling`` can make of it."""

    __slots__ = (
        "_best",
        "_blank",
        "_calls",
        "_first",
        "_least_blank",
        "_reach",
        "_second",
        "_weights",
        "least",
        "most",
    )

    def __init__(self, counted: SourceCount | None, calls: int, ceiling: int, *, fixed: bool) -> None:
        so_far = counted or SourceCount({}, {}, ceiling if fixed else UNIT)
        choice = so_far.choice()
        self._weights = so_far.weights
        self._best, self._first, self._second = so_far.places()
        self._calls = calls
        self._reach = calls * ceiling
        self._blank = so_far.blank_weight
        self._least_blank = so_far.blank_weight if fixed or not calls else 0
        self.least = 0 if choice is None else so_far.heaviest[choice]
        self.most = max(ceiling, *so_far.heaviest.values(), 0) if calls else self.least

    def is_sure_of(self, ballot: str) -> bool:
        """Whether the source supports ``ballot``, whatever its further votes are."""
        rival = max(self._second, 0) if self._calls else self._second
        return self._best == ballot and self._first > rival + self._reach

    def can_support(self, ballot: str) -> bool:
        """Whether there are further votes with which the source supports ``ballot``."""
        rival = self._second if self._best == ballot else self._first
        return self._weights.get(ballot, 0 if self._calls else -1) + self._reach > rival

    def least_burden(self, count_failures: bool) -> int:
        """What the source at least adds to the denominator."""
        if self._best is not None and self.is_sure_of(self._best):
            return self.least
        return self._least_blank if count_failures else 0

    def most_burden(self, ballot: str, count_failures: bool) -> int:
        """What the source at most adds to the denominator, where it does not support ``ballot``."""
        may_be_blank = count_failures and not (self._best is not None and self.is_sure_of(self._best))
        return max(self.most if self._can_support_another(ballot) else 0, self._blank if may_be_blank else 0)

    def _can_support_another(self, ballot: str) -> bool:
        if self._best != ballot:
            return self._calls > 0 or self._first > self._second
        return max(self._second, 0 if self._calls else -1) + self._reach > self._first


class _Ties:
    """Who can come before whom, given by how much one answer leads another.

    A tie goes to the answer with the lowest index, if it does not make the vote abstain; a pending call may have a
    lower one than the first vote of an answer.
    """

    def __init__(self, count: Count, pending: Tranche, quorum: Quorum) -> None:
        self._count = count
        self._lowest = pending.lowest
        self._abstain = quorum.abstain_on_tie

    def stay_ahead(self, lead: int, ballot: str, rival: str) -> bool:
        """Whether an answer with this lead in the worst case stays before ``rival``."""
        return lead > 0 or (lead == 0 and not self._abstain and self._first(ballot) < self._earliest(rival))

    def can_lead(self, lead: int, ballot: str, rival: str) -> bool:
        """Whether an answer with this lead in the best case can come before ``rival``."""
        return lead > 0 or (lead == 0 and not self._abstain and self._earliest(ballot) < self._first(rival))

    def _first(self, ballot: str) -> float:
        answer = self._count.answers.get(ballot)
        return math.inf if answer is None else answer.first

    def _earliest(self, ballot: str) -> float:
        return min(self._first(ballot), self._lowest)


class UnknownSources:
    """Sources are only known from the replies: each pending call may be of any source, or of a new one.

    One plain vote moves one source by one step at most: away from its choice, or towards another one, not both. A vote
    of another weight can do both at once.
    """

    def __init__(self, count: Count, pending: Tranche, quorum: Quorum, weigher: Weigher) -> None:
        self._count = count
        self._quorum = quorum
        self._calls = pending.samples
        self._reach = pending.weight
        self._weighted = weigher.weighted
        self._swing = 2 * pending.weight if weigher.weighted else pending.weight
        self._voices = Voices.of(count)
        self._denominator = self._voices.denominator(quorum.count_failures)
        self._ties = _Ties(count, pending, quorum)

    def is_won(self) -> bool:
        """Worst case: calls give a rival voices of its own, or make sources of the leader change their mind."""
        ballot = self._quorum.decide(self._count).leader
        if ballot is None:
            return False
        worst_cases = self._worst_cases_of_weights if self._weighted else self._worst_cases
        return all(
            self._ties.stay_ahead(margin - self._swing, ballot, rival) for rival, margin in self._margins(ballot)
        ) and all(
            weight > 0 and weight / denominator >= self._quorum.min_agreement and sources >= self._quorum.min_sources
            for weight, denominator, sources in worst_cases(ballot)
        )

    def _worst_cases(self, ballot: str) -> Iterator[tuple[int, int, int]]:
        """What the leader may be left with (weight, denominator, sources), for every number of sources that leave it.

        The cheapest to be won over are those in which it is least ahead; as many votes as that make a tie in one. Each
        call that is left over then is a new source, or makes a source that is tied speak for another answer.
        """
        sources = number_of_sources(self._count.supporters(ballot, by_plurality=True))
        weight, denominator, calls = self._voices.weights[ballot], self._denominator, self._calls
        yield weight, denominator + calls * UNIT, sources
        for lead in sorted(self._leads_within_sources(ballot)):
            calls -= lead // UNIT
            if calls < 0:
                return
            weight -= UNIT
            sources -= 1
            if not self._quorum.count_failures:
                denominator -= UNIT
            yield weight, denominator + calls * UNIT, sources

    def _leads_within_sources(self, ballot: str) -> Iterator[int]:
        for source in (self._count.by_source or {}).values():
            best, first, second = source.places()
            if best == ballot and first > second:
                yield first - max(second, 0)

    def _worst_cases_of_weights(self, ballot: str) -> Iterator[tuple[int, int, int]]:
        """A bound: every call takes one voice of the largest weight.

        The denominator can be taken to stand still: a source that leaves the leader takes its weight out and puts at
        most the largest one in, and the share is lowest when its own was the largest.
        """
        sources = number_of_sources(self._count.supporters(ballot, by_plurality=True))
        yield self._voices.weights[ballot] - self._reach, self._denominator, sources - self._calls

    def is_winnable(self) -> bool:
        """Best case for each answer: every call gives it a voice."""
        return any(self._can_win(ballot) for ballot in (*self._count.answers, FRESH))

    def _can_win(self, ballot: str) -> bool:
        weight = self._voices.weights.get(ballot, 0) + self._reach
        supporters = set(self._count.supporters(ballot, by_plurality=True))
        return (
            weight > 0
            and all(self._ties.can_lead(margin + self._swing, ballot, rival) for rival, margin in self._margins(ballot))
            and weight / max(weight, self._denominator) >= self._quorum.min_agreement
            and len(supporters - {None}) + self._calls >= self._quorum.min_sources
        )

    def _margins(self, ballot: str) -> Iterator[tuple[str, int]]:
        """Every rival, with what ``ballot`` is ahead of it."""
        weights = self._voices.weights
        own = weights.get(ballot, 0)
        return ((rival, own - weights.get(rival, 0)) for rival in (*self._count.answers, FRESH) if rival != ballot)
