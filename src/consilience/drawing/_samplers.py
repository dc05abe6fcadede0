"""The sampler: plain or asynchronous, and what to do with an awaitable that nobody will await."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["close_awaitable", "is_async_sampler", "is_awaitable", "require_sync_sampler"]


def is_async_sampler(sampler: Callable[[Any], Any]) -> bool:
    """Tell whether calling ``sampler`` gives an awaitable, without calling it.

    Recognised are coroutine functions, bound methods and ``functools.partial`` of them, and objects whose class
    defines an asynchronous ``__call__``. A plain function that happens to return a coroutine cannot be recognised
    beforehand and counts as plain.

    Args:
        sampler: any callable.

    Returns:
        True for an asynchronous sampler.

    Example:
        >>> async def ask(prompt):
        ...     return "{}"
        >>> is_async_sampler(ask), is_async_sampler(len)
        (True, False)
    """
    function: Any = sampler
    while isinstance(function, functools.partial):
        function = function.func
    return _is_coroutine_function(function) or _is_coroutine_function(type(function).__call__)


def _is_coroutine_function(function: Any) -> bool:
    if sys.version_info >= (3, 12):
        return inspect.iscoroutinefunction(function)
    # Until then only asyncio knew the mark by which mocks and frameworks declare a function asynchronous.
    from asyncio import iscoroutinefunction

    return iscoroutinefunction(function)


def require_sync_sampler(sampler: Callable[[Any], Any]) -> None:
    """Refuse an asynchronous sampler where only a plain one can be called.

    Args:
        sampler: any callable.

    Raises:
        TypeError: ``sampler`` is asynchronous.

    Example:
        >>> async def ask(prompt):
        ...     return "{}"
        >>> require_sync_sampler(ask)
        Traceback (most recent call last):
        ...
        TypeError: sampler must be a plain function in vote, got the asynchronous 'ask'; use avote
    """
    if is_async_sampler(sampler):
        name = getattr(sampler, "__name__", type(sampler).__name__)
        raise TypeError(f"sampler must be a plain function in vote, got the asynchronous {name!r}; use avote")


def is_awaitable(content: Any) -> bool:
    """Tell whether a sampler's content has to be awaited; text, by far the commonest, is told at once."""
    return type(content) is not str and inspect.isawaitable(content)


def close_awaitable(content: Any) -> None:
    """Put content away that nobody will await: close a coroutine (it would warn when collected), cancel a future.

    Other content is left alone, and no error leaves this function.
    """
    with contextlib.suppress(Exception):
        if is_awaitable(content):
            put_away = getattr(content, "close", None) or content.cancel
            put_away()
