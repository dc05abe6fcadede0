"""Samplers without a model, for tests and simulations: scripted replies, delays, errors, hangs, seeded noise."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from ._errors import ConsilienceError, SettingsError

__all__ = ["AsyncReplaySampler", "Delayed", "Hang", "NoisySampler", "ReplaySampler", "ScriptExhaustedError"]

Replies = Iterable[Any] | Mapping[Any, Iterable[Any]] | Callable[[Any, int], Any]

Self = TypeVar("Self", bound="_Replay")


class ScriptExhaustedError(ConsilienceError, LookupError):
    """A replay sampler was called more often than its script has replies.

    In a vote this is a failed sample like any other error of a sampler; ``raise_on=(ScriptExhaustedError,)`` makes it
    an error of the vote.

    Example:
        >>> ReplaySampler([])("What is it?")
        Traceback (most recent call last):
        ...
        consilience.testing.ScriptExhaustedError: call 1 has no reply: the script holds 0
    """


@dataclass(frozen=True, slots=True)
class Delayed:
    """A scripted reply that takes its time.

    Args:
        reply: any item of a script: text, a parsed object, a Reply, an exception, a Hang.
        seconds: how long the call takes, on top of the sampler's own delay.

    Example:
        >>> ReplaySampler([Delayed("{}", seconds=0.01)])("What is it?")
        '{}'
    """

    reply: Any
    seconds: float

    def __post_init__(self) -> None:
        _check_seconds("seconds", self.seconds)


@dataclass(frozen=True, slots=True)
class Hang:
    """A scripted call that does not return before ``release()``; an asynchronous one can be cancelled, too.

    Args:
        reply: what the call gives once it is released.

    Example:
        >>> sampler = ReplaySampler([Hang("{}")])
        >>> sampler.release()
        >>> sampler("What is it?")
        '{}'
    """

    reply: Any = ""


class _Replay:
    """What the plain and the asynchronous replay sampler share: script, counts, and the gates of hanging calls."""

    def __init__(self, replies: Replies, *, delay: float = 0.0, cycle: bool = False) -> None:
        _check_seconds("delay", delay)
        self._script = _as_script(replies, cycle)
        self._delay = delay
        self._lock = threading.Lock()
        self._prompts: list[Any] = []
        self._in_flight = 0
        self._max_in_flight = 0
        self._cancelled = 0
        self._gates: list[Future[None]] = []
        self._released = False

    @property
    def calls(self) -> int:
        """How many calls were started."""
        return len(self._prompts)

    @property
    def prompts(self) -> tuple[Any, ...]:
        """The prompt of every call, in the order in which they were started."""
        return tuple(self._prompts)

    @property
    def in_flight(self) -> int:
        """How many calls are running now."""
        return self._in_flight

    @property
    def max_in_flight(self) -> int:
        """The most calls that ran at the same time."""
        return self._max_in_flight

    @property
    def cancelled(self) -> int:
        """How many calls were cancelled while they waited; a thread cannot be, so always 0 for a plain sampler."""
        return self._cancelled

    def release(self) -> None:
        """Let every hanging call return, now and from now on."""
        with self._lock:
            self._released = True
            gates, self._gates = self._gates, []
        for gate in gates:
            with suppress(InvalidStateError):  # a cancelled call has closed its gate itself
                gate.set_result(None)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def _take(self, prompt: Any) -> tuple[float, Future[None] | None, Any]:
        """The next line of the script: seconds to sleep, a gate to wait for, and the reply."""
        with self._lock:
            number = len(self._prompts)
            self._prompts.append(prompt)
        item = self._script(prompt, number)
        seconds = self._delay
        gate: Future[None] | None = None
        while isinstance(item, (Delayed, Hang)):
            if isinstance(item, Delayed):
                seconds += item.seconds
            else:
                gate = self._new_gate()
            item = item.reply
        return seconds, gate, item

    def _new_gate(self) -> Future[None]:
        gate: Future[None] = Future()
        with self._lock:
            if self._released:
                gate.set_result(None)
            else:
                self._gates.append(gate)
        return gate

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._in_flight += 1
            self._max_in_flight = max(self._max_in_flight, self._in_flight)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1


class ReplaySampler(_Replay):
    """A plain sampler that replays a script, and counts how it was called. Any number of threads may call it.

    A line of the script is what a real sampler might return (text, a parsed object, a ``Reply``), an exception or its
    class (which is raised), ``Delayed(reply, seconds)`` or ``Hang()``. Used as a context manager, it releases hanging
    calls at the end.

    Args:
        replies: the lines in order of call; or a mapping from prompt to the lines for that prompt; or a function of
            the prompt and the number of the call (from 0) that gives a line.
        delay: seconds that every call takes.
        cycle: begin again when the lines run out.

    Raises:
        TypeError: ``replies`` is a single text, or nothing of the above.
        SettingsError: ``delay`` is negative or not finite.

    Example:
        >>> sampler = ReplaySampler(['{"team": "billing"}', ConnectionError("busy")])
        >>> sampler("Who handles this?")
        '{"team": "billing"}'
        >>> sampler("Who handles this?")
        Traceback (most recent call last):
        ...
        ConnectionError: busy
        >>> sampler.calls, sampler.max_in_flight
        (2, 1)
    """

    def __call__(self, prompt: Any) -> Any:
        """Give the next reply, or raise it."""
        with self._counted():
            seconds, gate, reply = self._take(prompt)
            if seconds > 0:
                time.sleep(seconds)
            if gate is not None:
                gate.result()
            return _give(reply)


class AsyncReplaySampler(_Replay):
    """The asynchronous twin of ``ReplaySampler``: the same script and counts, awaited.

    Args:
        replies: see ``ReplaySampler``.
        delay: seconds that every call takes.
        cycle: begin again when the lines run out.

    Raises:
        TypeError: ``replies`` is a single text, or nothing that can be a script.
        SettingsError: ``delay`` is negative or not finite.

    Example:
        >>> import asyncio
        >>> sampler = AsyncReplaySampler({"one": ["1"], "two": ["2"]})
        >>> asyncio.run(sampler("two"))
        '2'
        >>> sampler.prompts
        ('two',)
    """

    async def __call__(self, prompt: Any) -> Any:
        """Give the next reply, or raise it."""
        with self._counted():
            seconds, gate, reply = self._take(prompt)
            try:
                if seconds > 0:
                    await asyncio.sleep(seconds)
                if gate is not None:
                    await asyncio.wrap_future(gate)
            except asyncio.CancelledError:
                self._cancelled += 1
                raise
            return _give(reply)


class NoisySampler:
    """A plain sampler that draws each reply at random, reproducibly.

    The k-th reply to a prompt depends on the seed, the prompt's ``repr`` and k alone: not on other prompts, nor on how
    many threads call, nor on the process.

    Args:
        probabilities: a mapping from reply (text, or the class of an exception to raise) to its probability; or a
            function from prompt to such a mapping. Probabilities are at least 0 and sum to 1.
        seed: any int.

    Raises:
        SettingsError: probabilities are negative or do not sum to 1.
        TypeError: ``probabilities`` is neither a mapping nor callable.

    Example:
        >>> sampler = NoisySampler({'{"team": "billing"}': 0.8, '{"team": "shipping"}': 0.2}, seed=7)
        >>> replies = [sampler("Who handles this?") for _ in range(1000)]
        >>> 750 < replies.count('{"team": "billing"}') < 850
        True
    """

    def __init__(
        self, probabilities: Mapping[Any, float] | Callable[[Any], Mapping[Any, float]], *, seed: int = 0
    ) -> None:
        if isinstance(probabilities, Mapping):
            _check_probabilities(probabilities)
        elif not callable(probabilities):
            raise TypeError(
                "probabilities must be a mapping from reply to probability, or a function from prompt to one, "
                f"got a {type(probabilities).__name__}"
            )
        self._probabilities = probabilities
        self._seed = seed
        self._lock = threading.Lock()
        self._drawn: Counter[str] = Counter()

    def __call__(self, prompt: Any) -> Any:
        """Draw a reply, or the exception that is raised instead."""
        probabilities = self._probabilities_for(prompt)
        name = repr(prompt)
        with self._lock:
            number = self._drawn[name]
            self._drawn[name] += 1
        chance = random.Random(f"{self._seed}/{number}/{name}")
        [reply] = chance.choices(list(probabilities), weights=list(probabilities.values()))
        return _give(reply)

    def _probabilities_for(self, prompt: Any) -> Mapping[Any, float]:
        if isinstance(self._probabilities, Mapping):
            return self._probabilities
        probabilities = self._probabilities(prompt)
        _check_probabilities(probabilities)
        return probabilities


def _as_script(replies: Replies, cycle: bool) -> Callable[[Any, int], Any]:
    """Bring a script of any form into that of a function of prompt and number of the call."""
    if isinstance(replies, Mapping):
        # The counters are iterators, because next() is atomic among threads.
        parts = {prompt: (_as_lines(lines), itertools.count()) for prompt, lines in replies.items()}

        def by_prompt(prompt: Any, _: int) -> Any:
            if not _is_key(prompt, parts):
                raise ScriptExhaustedError(f"no replies are scripted for the prompt {prompt!r}")
            lines, numbers = parts[prompt]
            return _line(lines, next(numbers), cycle)

        return by_prompt
    if callable(replies):
        return replies
    lines = _as_lines(replies)
    return lambda _, number: _line(lines, number, cycle)


def _as_lines(replies: Iterable[Any]) -> Sequence[Any]:
    if isinstance(replies, (str, bytes)) or not isinstance(replies, Iterable):
        raise TypeError(f"replies must be a list of replies, a mapping to such lists or a function, got {replies!r}")
    return list(replies)


def _is_key(prompt: Any, mapping: Mapping[Any, Any]) -> bool:
    try:
        return prompt in mapping
    except TypeError:  # a list of messages, for one, cannot be a key
        return False


def _line(lines: Sequence[Any], number: int, cycle: bool) -> Any:
    if number >= len(lines) and not (cycle and lines):
        raise ScriptExhaustedError(f"call {number + 1} has no reply: the script holds {len(lines)}")
    return lines[number % len(lines)]


def _give(reply: Any) -> Any:
    if isinstance(reply, BaseException) or (isinstance(reply, type) and issubclass(reply, BaseException)):
        raise reply
    return reply


def _check_seconds(name: str, seconds: float) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, got {seconds!r}")
    if not 0 <= seconds < math.inf:
        raise SettingsError(f"{name} must be a finite number of seconds of at least 0, got {seconds!r}")


def _check_probabilities(probabilities: Mapping[Any, float]) -> None:
    values = list(probabilities.values())
    if not all(value >= 0 for value in values) or not math.isclose(math.fsum(values), 1, abs_tol=1e-9):
        raise SettingsError(f"probabilities must be at least 0 and sum to 1, got {dict(probabilities)!r}")
