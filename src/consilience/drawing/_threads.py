"""The threads: the driver behind ``vote``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from ._calls import Drawing, Ledger
from ._flight import Flight, Landing
from ._gate import Gate
from ._schedule import Schedule
from ._workers import WorkerPool

__all__ = ["draw_in_threads"]

Message = tuple[Flight, Landing | None]
"""What a worker sends: a flight with its landing, or with None when its clock has begun to run."""


def draw_in_threads(
    ledger: Ledger,
    *,
    concurrency: int,
    timeout: float | None = None,
    deadline: float | None = None,
    raise_on: tuple[type[BaseException], ...] = (),
    limiter: AbstractContextManager[Any] | None = None,
) -> Drawing:
    """Make the calls that ``ledger`` asks for, up to ``concurrency`` at once, each in a copy of the caller's context.

    With concurrency 1 and no time limit the calls run in the caller's own thread, else in daemon threads. A thread
    cannot be cancelled: calls that exceed their time, or still run when the run is over, are abandoned to themselves.

    Args:
        ledger: what to call, and where the outcomes go.
        concurrency: the most calls in flight, at least 1.
        timeout: seconds for one call, retries included, waiting for the limiter not (unless nothing but calls that
            were given up is inside it).
        deadline: seconds for the whole run.
        raise_on: types of exceptions of a sampler that end the run and are raised here.
        limiter: entered around each call.

    Returns:
        How the run ended.

    Raises:
        BaseException: what a sampler raised, if it is no Exception or of a type in ``raise_on``.
    """
    gate = Gate.of(limiter)
    schedule = Schedule(
        ledger,
        concurrency=concurrency,
        timeout=timeout,
        deadline=deadline,
        raise_on=raise_on,
        gate=gate,
    )
    if concurrency == 1 and timeout is None and deadline is None:
        return _draw_here(schedule, gate)
    return _draw_with_workers(schedule, gate)


def _draw_here(schedule: Schedule, gate: Gate) -> Drawing:
    for flight in schedule.launches():
        schedule.land(flight, _fly(flight, copy_context(), gate, _do_nothing))
    return schedule.drawing(abandoned=0)


def _draw_with_workers(schedule: Schedule, gate: Gate) -> Drawing:
    inbox: SimpleQueue[Message] = SimpleQueue()
    pool = WorkerPool()
    try:
        while True:
            for flight in schedule.launches():
                begun = partial(inbox.put, (flight, None))
                try:
                    pool.submit(partial(_fly, flight, copy_context(), gate, begun), partial(_post, inbox, flight))
                except RuntimeError as error:  # the system has no thread left: that call has failed, not the vote
                    schedule.land(flight, flight.failed(error))
            if schedule.over():
                return schedule.drawing(abandoned=pool.busy)
            for flight, landing in _arrivals(inbox, schedule.patience()):
                if landing is not None:
                    schedule.land(flight, landing)
            schedule.expire()
    finally:
        schedule.close()
        pool.close()


def _fly(flight: Flight, context: Context, gate: Gate, begun: Callable[[], None]) -> Landing:
    try:
        with gate.limiter:
            if not gate.admit(flight):
                return flight.timed_out()
            try:
                if flight.begin():
                    begun()
                return flight.landed(context.run(flight.invoke), hint="use avote")
            finally:
                gate.release(flight)
        raise RuntimeError("the limiter suppressed the sampler's error")
    except BaseException as error:
        return flight.failed(error)


def _post(inbox: SimpleQueue[Message], flight: Flight, landing: Landing) -> None:
    inbox.put((flight, landing))


def _arrivals(inbox: SimpleQueue[Message], patience: float) -> Iterator[Message]:
    """Wait for a message, and give it together with all others that have come."""
    try:
        yield inbox.get(timeout=patience)
        while True:
            yield inbox.get_nowait()
    except Empty:
        return


def _do_nothing() -> None: ...
