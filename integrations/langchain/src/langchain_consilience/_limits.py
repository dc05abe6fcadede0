"""Limits: how many calls a whole batch makes at once, however many votes it runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BatchLimit", "async_limit", "thread_limit"]


@dataclass(frozen=True)
class BatchLimit:
    """What the calls of a batch pass.

    Attributes:
        calls: entered around each sample's call: the batch's own limit and the user's limiter, as one object, by which
            the core knows that votes share it; None if nothing limits them.
        branches: entered around each branch for an abstention; the same limit, without the user's.
    """

    calls: Any = None
    branches: Any = field(default_factory=nullcontext)


def thread_limit(config: Mapping[str, Any], limiter: Any) -> BatchLimit:
    """The limit of a batch in threads: ``max_concurrency`` of the config and the user's limiter.

    Example:
        >>> thread_limit({"max_concurrency": None}, None).calls is None
        True
        >>> with thread_limit({"max_concurrency": 2}, None).calls:
        ...     pass
    """
    permits = config.get("max_concurrency")
    # A limiter of the wrong kind is passed on as it is: the core refuses it, with a message.
    if not permits or (limiter is not None and not hasattr(type(limiter), "__enter__")):
        return BatchLimit(limiter)
    semaphore = threading.Semaphore(permits)
    return BatchLimit(semaphore if limiter is None else _Both(semaphore, limiter), semaphore)


def async_limit(config: Mapping[str, Any], limiter: Any) -> BatchLimit:
    """The same for a batch in asyncio.

    Example:
        >>> async_limit({}, None).calls is None
        True
    """
    permits = config.get("max_concurrency")
    if not permits or (limiter is not None and not hasattr(type(limiter), "__aenter__")):
        return BatchLimit(limiter)
    semaphore = asyncio.Semaphore(permits)
    return BatchLimit(semaphore if limiter is None else _AsyncBoth(semaphore, limiter), semaphore)


class _Both:
    """A semaphore and the user's limiter, entered one after the other, by many threads at once."""

    def __init__(self, semaphore: threading.Semaphore, limiter: Any) -> None:
        self._semaphore = semaphore
        self._limiter = limiter

    def __enter__(self) -> None:
        with ExitStack() as undo:
            undo.enter_context(self._semaphore)
            self._limiter.__enter__()
            undo.pop_all()

    def __exit__(self, *raised: Any) -> Any:
        try:
            return self._limiter.__exit__(*raised)
        finally:
            self._semaphore.release()


class _AsyncBoth:
    """The same for many tasks at once."""

    def __init__(self, semaphore: asyncio.Semaphore, limiter: Any) -> None:
        self._semaphore = semaphore
        self._limiter = limiter

    async def __aenter__(self) -> None:
        async with AsyncExitStack() as undo:
            await undo.enter_async_context(self._semaphore)
            await self._limiter.__aenter__()
            undo.pop_all()

    async def __aexit__(self, *raised: Any) -> Any:
        try:
            return await self._limiter.__aexit__(*raised)
        finally:
            self._semaphore.release()
