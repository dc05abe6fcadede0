"""Coroutines: which functions give them, and what to do with one where nobody would await it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from typing import Any

__all__ = ["close_awaitable", "function_name", "is_async_function", "is_awaitable", "require_plain_function"]


def is_async_function(function: Any) -> bool:
    """Tell whether calling ``function`` gives an awaitable, without calling it.

    Recognised are coroutine functions, bound methods and ``functools.partial`` of them, and objects whose class
    defines an asynchronous ``__call__``. A plain function that happens to return a coroutine cannot be recognised
    beforehand and counts as plain.

    Args:
        function: any callable.

    Returns:
        True for an asynchronous function.

    Example:
        >>> async def ask(prompt):
        ...     return "{}"
        >>> is_async_function(ask), is_async_function(len)
        (True, False)
    """
    while isinstance(function, functools.partial):
        function = function.func
    return _is_coroutine_function(function) or _is_coroutine_function(type(function).__call__)


def _is_coroutine_function(function: Any) -> bool:
    if sys.version_info >= (3, 12) or "asyncio" not in sys.modules:
        return inspect.iscoroutinefunction(function)
    # Until 3.12 only asyncio knew the mark by which mocks and frameworks declare a function asynchronous. (Who sets it
    # has imported asyncio, which takes as long as the whole library.)
    from asyncio import iscoroutinefunction

    return iscoroutinefunction(function)


def require_plain_function(name: str, function: Any) -> None:
    """Refuse an asynchronous function where nobody would await what it returns.

    Args:
        name: what the argument is called.
        function: the value of the argument, callable or not.

    Raises:
        TypeError: ``function`` is asynchronous.

    Example:
        >>> async def team(record):
        ...     return record["team"]
        >>> require_plain_function("key", team)
        Traceback (most recent call last):
        ...
        TypeError: key must be a plain function, got the asynchronous 'team'
    """
    if callable(function) and is_async_function(function):
        raise TypeError(f"{name} must be a plain function, got the asynchronous {function_name(function)!r}")


def function_name(function: Any) -> str:
    """What to call a function in a message."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def is_awaitable(content: Any) -> bool:
    """Tell whether content has to be awaited; text, by far the commonest, is told at once."""
    return type(content) is not str and inspect.isawaitable(content)


def close_awaitable(content: Any) -> None:
    """Put content away that nobody will await: close a coroutine (it would warn when collected), cancel a future.

    Other content is left alone, and no error leaves this function.
    """
    with contextlib.suppress(Exception):
        if is_awaitable(content):
            put_away = getattr(content, "close", None) or content.cancel
            put_away()
