"""The schedule: which calls are in flight, how long to wait for them, and when the run is over.

Both drivers follow it. It asks the ledger and feeds it, and does no I/O of its own: it only looks at the clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from ._calls import Drawing, Ledger
from ._flight import Flight, Landing
from ._gate import Gate

__all__ = ["Schedule"]

_LONGEST_WAIT = 1.0
"""Seconds. On some systems a blocked wait cannot be interrupted from the keyboard, so that long ones come in pieces."""

_GRACE = 1.0
"""Seconds that a cancelled call has for cleaning up, where the caller asked that nothing hang."""


class Schedule:
    """The calls in flight of one run, and its time limits (in seconds)."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        concurrency: int,
        timeout: float | None,
        deadline: float | None,
        raise_on: tuple[type[BaseException], ...],
        gate: Gate,
    ) -> None:
        self._ledger = ledger
        self._concurrency = concurrency
        self._timeout = timeout
        self._deadline = deadline
        self._raise_on = raise_on
        self._gate = gate
        self._in_flight: dict[int, Flight] = {}
        self._hit_deadline = False
        self._started = time.perf_counter()

    @property
    def grace(self) -> float | None:
        """Seconds to wait for calls that were cancelled; None, without end, if the run has no time limit either."""
        return None if self._timeout is None and self._deadline is None else _GRACE

    def launches(self) -> Iterator[Flight]:
        """Yield each call that is to be started now. Asked for the next one, it counts what has landed meanwhile."""
        while len(self._in_flight) < self._concurrency and not self._ledger.finished and not self._is_late():
            call = self._ledger.next_call()
            if call is None:
                return
            flight = Flight(call)
            if not self._gate.limits:
                flight.begin()
            self._in_flight[call.index] = flight
            yield flight

    def over(self) -> bool:
        """True once there is nothing left to wait for. To be asked after launching."""
        if self._ledger.finished:
            return True
        if self._is_late():
            self._hit_deadline = True
            return True
        return not self._in_flight

    def patience(self) -> float:
        """Seconds to wait at most before looking at the clock again."""
        now = time.perf_counter()
        wait = _LONGEST_WAIT
        if self._deadline is not None:
            wait = min(wait, self._started + self._deadline - now)
        if self._timeout is not None:
            clocks = map(self._clock, self._in_flight.values())
            started = min((clock for clock in clocks if clock is not None), default=now)
            wait = min(wait, started + self._timeout - now)
        return max(wait, 0.0)

    def land(self, flight: Flight, landing: Landing) -> None:
        """Hand what came of a call to the ledger; what comes late is ignored, and an outcome after the end.

        Raises:
            BaseException: what the sampler raised, if it is no Exception or of a type in ``raise_on``.
        """
        if self._in_flight.pop(flight.call.index, None) is None:
            return
        if isinstance(landing, BaseException):
            raise landing
        if self._ledger.finished:
            return
        if landing.error is not None and isinstance(landing.error, self._raise_on):
            raise landing.error
        # Whether a call took too long is a fact of the call, not of when its driver came round to looking.
        overdue = self._timeout is not None and landing.elapsed > self._timeout
        self._ledger.receive(flight.timed_out() if overdue else landing)

    def expire(self) -> list[Flight]:
        """Give up the calls that have exceeded their time, and return them."""
        if self._timeout is None:
            return []
        latest = time.perf_counter() - self._timeout
        clocks = [(flight, self._clock(flight)) for flight in self._in_flight.values()]
        overdue = [flight for flight, started in clocks if started is not None and started < latest]
        for flight in overdue:
            self._gate.give_up(flight)
            self.land(flight, flight.timed_out())
        return overdue

    def close(self) -> None:
        """Give up whatever is still in flight."""
        for flight in self._in_flight.values():
            self._gate.give_up(flight)

    def drawing(self, abandoned: int) -> Drawing:
        """How the run went."""
        return Drawing(abandoned, self._hit_deadline, time.perf_counter() - self._started)

    def _clock(self, flight: Flight) -> float | None:
        """Since when the time of a call runs; None, it does not, while the call waits at a gate that may still open."""
        if flight.begun is not None or self._gate.jammed_since is None:
            return flight.begun
        return max(flight.launched, self._gate.jammed_since)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.perf_counter() - self._started >= self._deadline
