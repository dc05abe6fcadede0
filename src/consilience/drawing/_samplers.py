"""The sampler: plain, or asynchronous where the driver can await it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._coroutines import function_name
from .._coroutines import is_async_function as is_async_sampler

__all__ = ["is_async_sampler", "require_sync_sampler"]


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
        raise TypeError(
            f"sampler must be a plain function in vote, got the asynchronous {function_name(sampler)!r}; use avote"
        )
