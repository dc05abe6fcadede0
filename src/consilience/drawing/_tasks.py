"""The tasks: the driver behind ``avote``."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from .._coroutines import close_awaitable, is_awaitable
from ._calls import Drawing, Ledger
from ._flight import Flight, Landing
from ._gate import Gate
from ._samplers import is_async_sampler
from ._schedule import Schedule
from ._workers import WorkerPool

__all__ = ["draw_in_tasks"]

_Returned = tuple[Any, BaseException | None]
"""A plain sampler's content, or what it raised. (A future cannot carry every exception, StopIteration for one.)"""

_cancelled_tasks: set[asyncio.Task[Landing]] = set()
"""Keeps alive what the event loop refers to only weakly: a task that ignores its cancellation must not vanish."""


async def draw_in_tasks(
    ledger: Ledger,
    *,
    concurrency: int,
    timeout: float | None = None,
    deadline: float | None = None,
    raise_on: tuple[type[BaseException], ...] = (),
    limiter: AbstractAsyncContextManager[Any] | None = None,
) -> Drawing:
    """Make the calls that ``ledger`` asks for, up to ``concurrency`` at once, each in a copy of the caller's context.

    Asynchronous samplers run as tasks of the event loop, plain ones in daemon threads so that they never block it.
    However the run ends, tasks that still run are cancelled, and their cancellation is waited for (with a time limit
    for at most a second, after which a task that ignores it is abandoned); a thread can only be abandoned.

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
    inbox = _Inbox()
    pool = WorkerPool()
    tasks: dict[Flight, asyncio.Task[Landing]] = {}
    try:
        while True:
            for flight in schedule.launches():
                task = asyncio.create_task(_fly(flight, gate, pool, inbox.ring), name=f"call {flight.call.index}")
                tasks[flight] = task
                task.add_done_callback(partial(inbox.put, flight))
            if schedule.over():
                break
            for flight, task in await inbox.arrivals(schedule.patience()):
                del tasks[flight]
                schedule.land(flight, _landing(task))
            for flight in schedule.expire():
                tasks[flight].cancel()
    except GeneratorExit:  # the coroutine is closed by hand, and must not wait for anything any more
        _tell_to_end(tasks.values())
        tasks.clear()
        raise
    finally:
        schedule.close()
        pool.close()
        stragglers = await _cancel(tasks.values(), schedule.grace)
    return schedule.drawing(abandoned=stragglers + pool.busy)


class _Inbox:
    """Tasks that are done, in the order in which they finished, and a bell that wakes whoever waits for them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: deque[tuple[Flight, asyncio.Task[Landing]]] = deque()
        self._bell = self._loop.create_future()

    def put(self, flight: Flight, task: asyncio.Task[Landing]) -> None:
        self._done.append((flight, task))
        self.ring()

    def ring(self) -> None:
        if not self._bell.done():
            self._bell.set_result(None)

    async def arrivals(self, patience: float) -> list[tuple[Flight, asyncio.Task[Landing]]]:
        """Wait for a task to be done, for the bell, or for ``patience`` seconds; give all tasks done so far."""
        if not self._done:
            self._bell = self._loop.create_future()
            timer = self._loop.call_later(patience, self.ring)
            try:
                await self._bell
            finally:
                timer.cancel()
        arrived = list(self._done)
        self._done.clear()
        return arrived


async def _fly(flight: Flight, gate: Gate, pool: WorkerPool, begun: Callable[[], None]) -> Landing:
    try:
        async with gate.limiter:
            if not gate.admit(flight):
                return flight.timed_out()
            try:
                if flight.begin():
                    begun()
                return flight.landed(await _content(flight, pool), hint="await it inside the sampler")
            finally:
                gate.release(flight)
        raise RuntimeError("the limiter suppressed the sampler's error")
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return flight.failed(error)


async def _content(flight: Flight, pool: WorkerPool) -> Any:
    content = flight.invoke() if is_async_sampler(flight.call.sampler) else await _invoke_in_worker(flight, pool)
    return await content if is_awaitable(content) else content


async def _invoke_in_worker(flight: Flight, pool: WorkerPool) -> Any:
    loop = asyncio.get_running_loop()
    returned: asyncio.Future[_Returned] = loop.create_future()
    pool.submit(partial(_invoke, flight, copy_context()), partial(_deliver, loop, returned))
    content, error = await returned
    if error is not None:
        raise error
    return content


def _invoke(flight: Flight, context: Context) -> _Returned:
    try:
        return context.run(flight.invoke), None
    except BaseException as error:
        return None, error


def _deliver(loop: asyncio.AbstractEventLoop, returned: asyncio.Future[_Returned], result: _Returned) -> None:
    """Called in the worker: pass the result to the event loop, which may be closed if the call was abandoned."""
    try:
        loop.call_soon_threadsafe(_resolve, returned, result)
    except RuntimeError:
        close_awaitable(result[0])


def _resolve(returned: asyncio.Future[_Returned], result: _Returned) -> None:
    if returned.done():
        close_awaitable(result[0])
    else:
        returned.set_result(result)


def _landing(task: asyncio.Task[Landing]) -> Landing:
    """What came of a call whose task is done; a sampler that cancelled itself lands with the CancelledError."""
    try:
        return task.result()
    except asyncio.CancelledError as cancelled:
        return cancelled


def _tell_to_end(tasks: Collection[asyncio.Task[Landing]]) -> None:
    for task in tasks:
        with contextlib.suppress(RuntimeError):  # a loop that is closed already
            task.cancel()
        _cancelled_tasks.add(task)
        task.add_done_callback(_cancelled_tasks.discard)


async def _cancel(tasks: Collection[asyncio.Task[Landing]], grace: float | None) -> int:
    """Cancel the tasks and wait for their end, for at most ``grace`` seconds; return how many have not ended."""
    if not tasks:
        return 0
    _tell_to_end(tasks)
    _, ignoring = await asyncio.wait(tasks, timeout=grace)
    return len(ignoring)
