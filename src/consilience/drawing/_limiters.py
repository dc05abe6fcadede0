"""The limiter: a context manager around each call that decides when the call may start."""

from __future__ import annotations

from typing import Any

__all__ = ["check_limiter"]


def check_limiter(limiter: Any, *, asynchronous: bool) -> None:
    """Refuse a limiter of the kind that the driver cannot enter.

    Args:
        limiter: None, a plain context manager (for threads) or an asynchronous one (for tasks), entered once a call.
        asynchronous: True where tasks draw (``avote``), False where threads do (``vote``).

    Raises:
        TypeError: ``limiter`` is of the other kind, or no context manager at all.

    Example:
        >>> import asyncio, threading
        >>> check_limiter(threading.Semaphore(2), asynchronous=False)
        >>> check_limiter(threading.Semaphore(2), asynchronous=True)
        Traceback (most recent call last):
        ...
        TypeError: limiter must be an asynchronous context manager in avote, got a plain one of type Semaphore
    """
    if limiter is None or _is_context_manager(limiter, asynchronous):
        return
    kind, verb = ("an asynchronous", "avote") if asynchronous else ("a plain", "vote")
    other = "a plain one" if asynchronous else "an asynchronous one"
    name = type(limiter).__name__
    received = f"{other} of type {name}" if _is_context_manager(limiter, not asynchronous) else name
    raise TypeError(f"limiter must be {kind} context manager in {verb}, got {received}")


def _is_context_manager(limiter: Any, asynchronous: bool) -> bool:
    enter, leave = ("__aenter__", "__aexit__") if asynchronous else ("__enter__", "__exit__")
    return hasattr(type(limiter), enter) and hasattr(type(limiter), leave)
