"""The retry: a sampler that tries again when its call fails."""

from __future__ import annotations

import functools
import json
import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from consilience._errors import SettingsError, received

from ._flight import current_flight
from ._samplers import is_async_sampler

if TYPE_CHECKING:
    from tenacity import RetryCallState
    from tenacity.wait import wait_base

__all__ = ["retrying"]

logger = logging.getLogger("consilience")

Sampler = Callable[[Any], Any]
RetryOn = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
Wait = float | Callable[[int], float]

_BAD_ARGUMENTS = (TypeError, ValueError)
_GARBLED_REPLIES = (json.JSONDecodeError, UnicodeError)
"""ValueErrors that tell of bytes which came in, not of an argument that was passed."""


def retrying(
    sampler: Sampler,
    attempts: int = 3,
    wait: Wait | wait_base | None = None,
    retry_on: RetryOn = Exception,
) -> Sampler:
    """Wrap a sampler so that a call that fails is tried again.

    The last error is raised when all attempts have failed, so that a vote records it; the sample says how many
    attempts were made. Errors that only repeat are not tried again: TypeError and ValueError (bad arguments), unless
    ``retry_on`` names one of them or a subclass; json.JSONDecodeError and UnicodeError, though ValueErrors, tell of a
    garbled reply and are. Cancellation and KeyboardInterrupt always pass. A vote's ``timeout`` covers all attempts and
    the waiting between them; a call given up by then makes no further attempt.

    Args:
        sampler: plain or asynchronous. A plain function that returns an awaitable cannot be retried: write
            ``async def``.
        attempts: the most calls to make, at least 1.
        wait: what to wait between attempts: seconds, a function from the number of the attempt that failed (from 1) to
            seconds, or a wait of tenacity. By default 0.5 s, 1 s, 2 s … up to 30 s, plus a random part of up to 0.5 s.
        retry_on: the errors to try again for: a type, a tuple of types, or a function of the exception that alone
            decides.

    Returns:
        A sampler of the same kind, plain or asynchronous, and of the same name.

    Raises:
        SettingsError: ``attempts`` is below 1, or ``wait`` negative or not finite.
        TypeError: an argument is of the wrong type.

    Source:
        The mechanism is tenacity's.

    Example:
        >>> replies = iter([ConnectionError("busy"), "{}"])
        >>> def ask(prompt):
        ...     reply = next(replies)
        ...     if isinstance(reply, Exception):
        ...         raise reply
        ...     return reply
        >>> retrying(ask, attempts=2, wait=0)("What is it?")
        '{}'
    """
    import tenacity

    if not callable(sampler):
        raise TypeError(f"sampler must be callable, got a {type(sampler).__name__}")
    policy = {
        "stop": tenacity.stop_after_attempt(_checked_attempts(attempts)),
        "wait": _as_wait(wait),
        "retry": tenacity.retry_if_exception(_as_predicate(retry_on)),
        "before": _count_attempt,
        "before_sleep": _log_failure,
        "reraise": True,
    }
    # Each call works on a copy, because the controller keeps the state of a call in itself.
    if is_async_sampler(sampler):
        import asyncio

        async_controller = tenacity.AsyncRetrying(sleep=asyncio.sleep, **policy)

        @_named_after(sampler)
        async def try_again(prompt: Any) -> Any:
            return await async_controller.copy()(_as_coroutine_function(sampler), prompt)

    else:
        controller = tenacity.Retrying(sleep=_sleep, **policy)

        @_named_after(sampler)
        def try_again(prompt: Any) -> Any:
            return controller.copy()(sampler, prompt)

    return try_again


def _named_after(sampler: Sampler) -> Callable[[Sampler], Sampler]:
    return functools.wraps(sampler, updated=())


def _as_coroutine_function(sampler: Sampler) -> Sampler:
    """Old releases of tenacity do not see that an object with an asynchronous ``__call__`` is to be awaited."""

    async def call(prompt: Any) -> Any:
        return await sampler(prompt)

    return call


def _checked_attempts(attempts: int) -> int:
    if isinstance(attempts, bool) or not isinstance(attempts, int):
        raise TypeError(f"attempts must be an int of at least 1, got {received(attempts)}")
    if attempts < 1:
        raise SettingsError(f"attempts must be an int of at least 1, got {received(attempts)}")
    return attempts


def _as_wait(wait: Any) -> Any:
    import tenacity
    from tenacity.wait import wait_base

    if wait is None:
        return tenacity.wait_exponential(multiplier=0.5, max=30) + tenacity.wait_random(0, 0.5)
    if isinstance(wait, wait_base):
        return wait
    if isinstance(wait, (int, float)) and not isinstance(wait, bool):
        if not 0 <= wait <= sys.float_info.max:
            raise SettingsError(f"wait must be a finite number of seconds of at least 0, got {received(wait)}")
        return tenacity.wait_fixed(wait)
    if callable(wait):
        return lambda state: wait(state.attempt_number)
    raise TypeError(
        "wait must be a number of seconds, a function from the attempt's number to seconds, a wait of tenacity "
        f"or None, got {received(wait)}"
    )


def _as_predicate(retry_on: Any) -> Callable[[BaseException], bool]:
    types = retry_on if isinstance(retry_on, tuple) else (retry_on,)
    if types and all(isinstance(each, type) and issubclass(each, Exception) for each in types):
        named = tuple(each for each in types if issubclass(each, _BAD_ARGUMENTS))
        return functools.partial(_is_worth_another_try, types, named + _GARBLED_REPLIES)
    if isinstance(retry_on, (tuple, type)) or not callable(retry_on):
        raise TypeError(
            "retry_on must be a type of exception (below Exception), a tuple of such types, or a function of the "
            f"exception, got {received(retry_on)}"
        )
    return lambda error: isinstance(error, Exception) and bool(retry_on(error))


def _is_worth_another_try(
    types: tuple[type[Exception], ...], although_bad: tuple[type[Exception], ...], error: BaseException
) -> bool:
    return isinstance(error, types) and (isinstance(error, although_bad) or not isinstance(error, _BAD_ARGUMENTS))


def _count_attempt(state: RetryCallState) -> None:
    flight = current_flight()
    if flight is not None and state.attempt_number > 1:
        flight.retries += 1


def _log_failure(state: RetryCallState) -> None:
    """A retry hides an error from the result, so the log has to tell it."""
    if logger.isEnabledFor(logging.DEBUG) and state.outcome is not None and state.next_action is not None:
        error = received(state.outcome.exception())
        logger.debug(
            "attempt %d failed with %s; the next in %.1f s", state.attempt_number, error, state.next_action.sleep
        )


def _sleep(seconds: float) -> None:
    """Wait for the next attempt, which nobody wants any more if the call has been given up meanwhile."""
    time.sleep(seconds)
    flight = current_flight()
    if flight is not None and flight.given_up:
        raise TimeoutError("the call was given up while it waited for its next attempt")
