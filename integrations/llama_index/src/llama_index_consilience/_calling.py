"""Calling: a function of the user's as a sampler of asyncio, whatever kind of function it is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["CANCELLED_ITSELF", "called", "outcome_of"]

CANCELLED_ITSELF = "sampler_error: CancelledError: the call was cancelled, but not by the vote"
"""The error of a sample whose call raised CancelledError of its own accord."""


async def called(function: Callable[[Any], Any], given: Any) -> Any:
    """What a function says, plain or asynchronous; plain ones run in a thread, in the context of the caller.

    Raises:
        RuntimeError: a plain function raised StopIteration, which no coroutine can raise.
    """
    if _is_async(function):
        said = function(given)
    else:
        said, stopped = await asyncio.to_thread(_in_thread, function, given)
        if stopped is not None:
            raise RuntimeError("the function raised StopIteration") from stopped
    return await said if inspect.isawaitable(said) else said


def _in_thread(function: Callable[[Any], Any], given: Any) -> tuple[Any, StopIteration | None]:
    """What the function says; StopIteration apart, for which whoever waits for the thread would wait for ever."""
    try:
        return function(given), None
    except StopIteration as error:
        return None, error


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def outcome_of(call: Awaitable[Any], unless: asyncio.Future[Any] | None = None) -> asyncio.Future[Any]:
    """Wait for a call to end, in whatever way: a call that cancels itself does not cancel who waits for it.

    Who waits may be cancelled, or ``unless`` may be done first: then the call is cancelled, and has ended on return.

    Returns:
        The call as a future that is done.
    """
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task} if unless is None else {task, unless}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    return task
