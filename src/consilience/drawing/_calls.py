"""The call: what a driver is asked to make, and what it reports back.

A driver (threads or asyncio) only draws. Which call comes next, whether another one is worth starting, and when to stop
are decided by a ledger that does no I/O; the driver asks it and feeds it, and knows no rule itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Call", "Drawing", "Ledger", "Outcome"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call to be made: ``sampler(prompt)``, as number ``index`` (from 0) of the run."""

    index: int
    prompt_index: int
    source: str | None
    sampler: Callable[[Any], Any]
    prompt: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call: the content that the sampler returned, or the exception that it raised.

    ``error`` is None for a reply. A call that exceeded its time limit has ``timed_out`` set (and no content).
    ``attempts`` counts the tries that ``retrying`` made; ``elapsed`` is in seconds.
    """

    call: Call
    content: Any = None
    error: Exception | None = None
    timed_out: bool = False
    attempts: int = 1
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a run ended, as far as a ledger cannot know it.

    ``abandoned`` counts the calls that were still running when the driver returned; ``hit_deadline`` is true if the
    deadline ended the run before the ledger was finished; ``elapsed`` is in seconds.
    """

    abandoned: int
    hit_deadline: bool
    elapsed: float


class Ledger(Protocol):
    """The side of a run that a driver talks to. It is called from one thread only."""

    def next_call(self) -> Call | None:
        """The next call to start now; None when none should be started before another outcome has come in.

        Every call that is returned counts as in flight until its outcome is received. None with nothing in flight
        means that the run is over.
        """
        ...

    def receive(self, outcome: Outcome) -> None:
        """Take the outcome of a call in flight, in whatever order outcomes arrive."""
        ...

    @property
    def finished(self) -> bool:
        """True once no further outcome is wanted: all are in, or the rest cannot matter.

        Calls in flight may then be cancelled or abandoned.
        """
        ...
