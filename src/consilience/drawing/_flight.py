"""The flight: one call on its way, from its start to what came of it."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import Any

from .._coroutines import close_awaitable, is_awaitable
from ..replies._reply import Reply
from ._calls import Call, Outcome

__all__ = ["Flight", "Landing", "current_flight", "sample_index"]

Landing = Outcome | BaseException
"""What a flight ends with: an outcome, or an exception that is no Exception and must reach the caller."""

_current_flight: ContextVar[Flight | None] = ContextVar("consilience_current_flight", default=None)


def current_flight() -> Flight | None:
    """The flight that the running code is part of, None outside a sampler's call."""
    return _current_flight.get()


def sample_index() -> int | None:
    """The number of the sample that is being drawn, from 0, inside a sampler; None outside.

    A sampler derives from it what each sample needs of its own: a seed, the name of a span, a key that keeps a cache
    from giving the same reply twice. It is the same number in threads, in tasks and in order, and for every retry.

    Returns:
        The ``index`` that the ``Sample`` will have. Of votes within votes, that of the innermost.

    Example:
        >>> from consilience import vote
        >>> [sample.raw for sample in vote(lambda prompt: {"seed": sample_index()}, "Which team?", n=3).samples]
        [{'seed': 0}, {'seed': 1}, {'seed': 2}]
    """
    flight = current_flight()
    return None if flight is None else flight.call.index


class Flight:
    """One call in flight. Its clock runs from ``begin``, so that waiting for a limiter is not counted.

    ``launched`` is when it was started, a wait for the limiter included. ``retries`` and ``given_up`` are how a
    retrying sampler and the driver talk, across threads.
    """

    __slots__ = ("begun", "call", "given_up", "launched", "retries")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.launched = time.perf_counter()
        self.begun: float | None = None
        self.retries = 0
        self.given_up = False

    def begin(self) -> bool:
        """Start the clock; True if it was not running yet."""
        if self.begun is not None:
            return False
        self.begun = time.perf_counter()
        return True

    def invoke(self) -> Any:
        """Call the sampler. Runs in a context of its own, because it marks that context as this flight's."""
        _current_flight.set(self)
        return self.call.sampler(self.call.prompt)

    def landed(self, content: Any, hint: str) -> Outcome:
        """The outcome of a call that returned; an awaitable nobody will await is an error, explained by ``hint``."""
        inside = content.content if isinstance(content, Reply) else content
        if is_awaitable(inside):
            close_awaitable(inside)
            return self._outcome(error=TypeError(f"the sampler returned an awaitable; {hint}"))
        return self._outcome(content=content)

    def failed(self, error: BaseException) -> Landing:
        """The landing of a call that raised."""
        return self._outcome(error=error) if isinstance(error, Exception) else error

    def timed_out(self) -> Outcome:
        """The outcome of a call that took too long."""
        return self._outcome(timed_out=True)

    def _outcome(self, content: Any = None, error: Exception | None = None, timed_out: bool = False) -> Outcome:
        elapsed = 0.0 if self.begun is None else time.perf_counter() - self.begun
        return Outcome(self.call, content, error, timed_out, self.retries + 1, elapsed)
