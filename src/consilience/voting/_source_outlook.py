"""The outlook where every source has one voice: bounds on what pending calls can still make of the sources.

A source changes its mind only when another ballot catches up within it, so each source is looked at alone: which
ballots can it still support, and which is it sure to support? Taking the worst (or best) of every source at once is a
bound, because pending calls that are shared between sources cannot do all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ._count import Count, SourceCount
from ._pending import Tranche
from ._quorum import Quorum, Voices, number_of_sources
from ._weights import UNIT, Weigher

__all__ = ["FRESH", "KnownSources", "UnknownSources"]

FRESH = ""
"""Stands for an answer that nobody has given yet; no canonical JSON text is empty."""


class KnownSources:
    """It is known how many of the pending calls belong to which source."""

    def __init__(
        self, count: Count, pending: Mapping[str | None, tuple[int, int]], quorum: Quorum, weigher: Weigher
    ) -> None:
        self._quorum = quorum
        self._leader = quorum.decide(count).leader
        self._answers = [*count.answers, FRESH]
        counted = count.by_source or {}
        self._sources = [
            _Source(counted.get(source), *pending.get(source, (0, 0)), fixed=weigher.fixed)
            for source in dict.fromkeys([*counted, *pending])
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
            and all(weight > sum(s.most for s in others if s.can_support(rival)) for rival in self._rivals(ballot))
            and weight / (weight + sum(source.most_burden for source in others)) >= self._quorum.min_agreement
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
            and all(self._is_level(weight, s) for s in self._sure_weights(ballot, others))
            and weight / (weight + burden) >= self._quorum.min_agreement
            and len(helpers) >= self._quorum.min_sources
        )

    def _sure_weights(self, ballot: str, others: list[_Source]) -> Iterator[int]:
        for rival in self._rivals(ballot):
            yield sum(source.least for source in others if source.is_sure_of(rival))

    def _is_level(self, weight: int, rival_weight: int) -> bool:
        return weight > rival_weight or (weight == rival_weight and not self._quorum.abstain_on_tie)

    def _rivals(self, ballot: str) -> Iterator[str]:
        return (rival for rival in self._answers if rival != ballot)


class _Source:
    """What one source says so far, and what ``calls`` further votes of at most ``ceiling`` can make of it."""

    __slots__ = ("_best", "_blank", "_calls", "_first", "_reach", "_second", "_weights", "least", "most", "most_burden")

    def __init__(self, counted: SourceCount | None, calls: int, ceiling: int, *, fixed: bool) -> None:
        so_far = counted or SourceCount({}, {}, ceiling if fixed else UNIT)
        choice = so_far.choice()
        self._weights = so_far.weights
        self._best, self._first, self._second = so_far.places()
        self._calls = calls
        self._reach = calls * ceiling
        self._blank = so_far.blank_weight if fixed or not calls else 0
        self.least = 0 if choice is None else so_far.heaviest[choice]
        self.most = max(ceiling, *so_far.heaviest.values(), 0) if calls else self.least
        self.most_burden = max(self.most, so_far.blank_weight)

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
        return self._blank if count_failures else 0


class UnknownSources:
    """Sources are only known from the replies: each pending call may be of any source, or of a new one.

    One plain vote moves one source by one step at most: away from its choice, or towards another one, not both. A vote
    of another weight can do both at once. The denominator can be taken to stand still: a source that leaves the leader
    takes its weight out and puts at most the largest one in, and the share is lowest when its own was the largest.
    """

    def __init__(self, count: Count, pending: Tranche, quorum: Quorum, weigher: Weigher) -> None:
        self._count = count
        self._quorum = quorum
        self._calls = pending.samples
        self._reach = pending.weight
        self._swing = 2 * pending.weight if weigher.weighted else pending.weight
        self._voices = Voices.of(count)
        self._denominator = self._voices.denominator(quorum.count_failures)

    def is_won(self) -> bool:
        """Worst case: every call takes a voice from the leader."""
        ballot = self._quorum.decide(self._count).leader
        if ballot is None:
            return False
        weight = self._voices.weights[ballot] - self._reach
        supporters = self._count.supporters(ballot, by_plurality=True)
        return (
            weight > 0
            and self._margin(ballot) > self._swing
            and weight / self._denominator >= self._quorum.min_agreement
            and number_of_sources(supporters) - self._calls >= self._quorum.min_sources
        )

    def is_winnable(self) -> bool:
        """Best case for each answer: every call gives it a voice."""
        return any(self._can_win(ballot) for ballot in (*self._count.answers, FRESH))

    def _can_win(self, ballot: str) -> bool:
        weight = self._voices.weights.get(ballot, 0) + self._reach
        lead = self._margin(ballot) + self._swing
        supporters = set(self._count.supporters(ballot, by_plurality=True))
        return (
            weight > 0
            and (lead > 0 or (lead == 0 and not self._quorum.abstain_on_tie))
            and weight / max(weight, self._denominator) >= self._quorum.min_agreement
            and len(supporters - {None}) + self._calls >= self._quorum.min_sources
        )

    def _margin(self, ballot: str) -> int:
        weights = self._voices.weights
        rival = max((weight for other, weight in weights.items() if other != ballot), default=0)
        return weights.get(ballot, 0) - rival
