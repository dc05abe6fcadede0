"""What is pending: the calls not answered yet, in flight or not even started, and what they may still weigh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._turns import Turns
from ._weights import Weigher

__all__ = ["Pending", "Tranche"]


@dataclass(frozen=True, slots=True)
class Tranche:
    """A part of the pending calls.

    ``weight`` is the most that their votes can weigh together, ``burden`` the most that they can add to the
    denominator (both in 1e-9), ``lowest`` the lowest index among them. ``by_source`` maps each source to the number of
    its calls and the most that one of its votes can weigh; None when sources are only known from the replies.
    """

    samples: int
    lowest: int
    weight: int
    burden: int
    by_source: Mapping[str | None, tuple[int, int]] | None


class Pending:
    """The pending calls of a run of ``n``: first not started, then in flight, then gone."""

    def __init__(self, n: int, turns: Turns, weigher: Weigher, *, track_sources: bool) -> None:
        self._n = n
        self._turns = turns
        self._weigher = weigher
        sources: tuple[str | None, ...] = turns.sources or (None,)
        self._sources = sources
        self._by_source = track_sources and turns.sources is not None
        self._next = 0
        self._in_flight: dict[int, None] = {}  # a set in the order of launch, so the first is the lowest index
        self._flown: dict[str | None, int] = dict.fromkeys(sources, 0)
        self._flight_weight = self._flight_burden = 0
        self._waiting_weight = sum(self._not_started(turn) * weigher.ceiling(s) for turn, s in enumerate(sources))
        self._waiting_burden = sum(self._not_started(turn) * weigher.burden(s) for turn, s in enumerate(sources))

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
        self._move(index, +1)
        source = self._turns.source(index)
        self._waiting_weight -= self._weigher.ceiling(source)
        self._waiting_burden -= self._weigher.burden(source)
        return index

    def land(self, index: int) -> None:
        """Take a call out that was in flight."""
        del self._in_flight[index]
        self._move(index, -1)

    def flight(self) -> Tranche:
        """The calls in flight."""
        lowest = next(iter(self._in_flight), self._next)
        calls = {s: number for s, number in self._flown.items() if number} if self._by_source else {}
        return self._tranche(len(self._in_flight), lowest, self._flight_weight, self._flight_burden, calls)

    def waiting(self) -> Tranche:
        """The calls that have not been started."""
        calls = {s: number for turn, s in enumerate(self._sources) if (number := self._calls_of(turn))}
        return self._tranche(self._n - self._next, self._next, self._waiting_weight, self._waiting_burden, calls)

    def everything(self) -> Tranche:
        """All pending calls."""
        flight, waiting = self.flight(), self.waiting()
        together = None
        if flight.by_source is not None and waiting.by_source is not None:
            together = dict(waiting.by_source)
            for source, (calls, ceiling) in flight.by_source.items():
                together[source] = (together.get(source, (0, ceiling))[0] + calls, ceiling)
        return Tranche(
            flight.samples + waiting.samples,
            flight.lowest if flight.samples else waiting.lowest,
            flight.weight + waiting.weight,
            flight.burden + waiting.burden,
            together,
        )

    def _move(self, index: int, step: int) -> None:
        source = self._turns.source(index)
        self._flown[source] += step
        self._flight_weight += step * self._weigher.ceiling(source)
        self._flight_burden += step * self._weigher.burden(source)

    def _calls_of(self, turn: int) -> int:
        return self._not_started(turn) if self._by_source else 0

    def _not_started(self, turn: int) -> int:
        """How many calls of the source with this turn have not been started."""
        return max(0, -((self._next - self._n + (turn - self._next) % len(self._sources)) // len(self._sources)))

    def _tranche(self, samples: int, lowest: int, weight: int, burden: int, calls: Mapping[str | None, int]) -> Tranche:
        by_source = {s: (number, self._weigher.ceiling(s)) for s, number in calls.items()} if self._by_source else None
        return Tranche(samples, lowest, weight, burden, by_source)
