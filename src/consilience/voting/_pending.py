"""What is pending: the calls not answered yet, in flight or not even started, and what they may still weigh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ._turns import Turns
from ._weights import Weigher

__all__ = ["Pending", "Tranche"]


class Tranche(NamedTuple):
    """A part of the pending calls.

    ``weight`` is the most that their samples can weigh together (in 1e-9), ``lowest`` the lowest index among them.
    ``by_source`` maps each source to the number of its calls and the most that one of its samples can weigh; None when
    sources are only known from the replies.
    """

    samples: int
    lowest: int
    weight: int
    by_source: Mapping[str | None, tuple[int, int]] | None


class Pending:
    """The pending calls of a run of ``n``: first not started, then in flight, then gone.

    Keeping it up to date costs next to nothing; the sums over sources are made when somebody asks.
    """

    def __init__(self, n: int, turns: Turns, weigher: Weigher, *, track_sources: bool) -> None:
        self._n = n
        self._next = 0
        self._in_flight: dict[int, None] = {}  # a set in the order of launch, so the first is the lowest index
        self._sources: tuple[str | None, ...] = turns.sources or (None,)
        self._flown = [0] * len(self._sources)
        self._ceilings = [weigher.ceiling(source) for source in self._sources]
        self._by_source = track_sources and turns.sources is not None
        self._alike = not self._by_source and len(set(self._ceilings)) == 1

    @property
    def started(self) -> int:
        """How many calls have been started."""
        return self._next

    @property
    def in_flight(self) -> int:
        """How many calls are in flight."""
        return len(self._in_flight)

    @property
    def samples(self) -> int:
        """How many calls are pending in all."""
        return self._n - self._next + len(self._in_flight)

    def launch(self) -> int:
        """Move the next call from not started to in flight; its index."""
        index = self._next
        self._next += 1
        self._in_flight[index] = None
        self._flown[index % len(self._flown)] += 1
        return index

    def land(self, index: int) -> None:
        """Take a call out that was in flight."""
        del self._in_flight[index]
        self._flown[index % len(self._flown)] -= 1

    def flight(self) -> Tranche:
        """The calls in flight."""
        if self._alike:
            return self._tranche_of_alike(len(self._in_flight), next(iter(self._in_flight), self._next))
        return self._tranche(self._flown, next(iter(self._in_flight), self._next))

    def waiting(self) -> Tranche:
        """The calls that have not been started."""
        if self._alike:
            return self._tranche_of_alike(self._n - self._next, self._next)
        return self._tranche(self._not_started(), self._next)

    def everything(self) -> Tranche:
        """All pending calls."""
        if self._alike:
            return self._tranche_of_alike(self.samples, next(iter(self._in_flight), self._next))
        calls = [flown + waiting for flown, waiting in zip(self._flown, self._not_started(), strict=True)]
        return self._tranche(calls, next(iter(self._in_flight), self._next))

    def _tranche_of_alike(self, samples: int, lowest: int) -> Tranche:
        """The common case, in which it does not matter whose calls they are."""
        return Tranche(samples, lowest, samples * self._ceilings[0], None)

    def _not_started(self) -> list[int]:
        """How many calls of each turn have not been started."""
        rounds, more = divmod(self._n - self._next, len(self._sources))
        turn = self._next % len(self._sources)
        return [rounds + ((each - turn) % len(self._sources) < more) for each in range(len(self._sources))]

    def _tranche(self, calls: list[int], lowest: int) -> Tranche:
        by_source = None
        if self._by_source:
            terms = zip(self._sources, calls, self._ceilings, strict=True)
            by_source = {source: (number, ceiling) for source, number, ceiling in terms if number}
        weight = sum(number * ceiling for number, ceiling in zip(calls, self._ceilings, strict=True))
        return Tranche(sum(calls), lowest, weight, by_source)
