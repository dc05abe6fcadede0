"""The gate: a limiter, together with the calls that are inside it.

A call that was given up may keep its place in the limiter for ever: a thread cannot be cancelled. When such calls are
all that is left inside, the gate is *jammed*: whoever waits may wait in vain, so that their time has to be limited too.
"""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from ._flight import Flight

__all__ = ["Gate"]


class Gate:
    """What a call passes before it is made. Votes that share a limiter share its gate, in whatever threads they run.

    ``limiter`` is entered around each call; ``limits`` tells whether calls may have to wait for it; ``jammed_since`` is
    the moment (of ``time.perf_counter``) from which on only calls that were given up were inside, None while there are
    others or none at all.
    """

    __slots__ = ("__weakref__", "_inside", "_lock", "jammed_since", "limiter", "limits")

    _gates: ClassVar[WeakValueDictionary[int, Gate]] = WeakValueDictionary()
    _gates_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, limiter: Any) -> None:
        self.limits = limiter is not None
        self.limiter = limiter if self.limits else nullcontext()
        self.jammed_since: float | None = None
        self._inside: set[Flight] = set()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, limiter: Any) -> Gate:
        """The gate of ``limiter``: there is only one as long as a run or a call uses it; None limits nothing."""
        if limiter is None:
            return cls(None)
        with cls._gates_lock:
            # A gate keeps its limiter alive, so that no other object can have the same id meanwhile.
            gate = cls._gates.get(id(limiter))
            if gate is None:
                gate = cls._gates[id(limiter)] = cls(limiter)
            return gate

    def admit(self, flight: Flight) -> bool:
        """Let a call in that has entered the limiter; False, and it must not be made, if it was given up meanwhile."""
        if not self.limits:
            return not flight.given_up
        with self._lock:
            if flight.given_up:
                return False
            self._inside.add(flight)
            self.jammed_since = None
            return True

    def release(self, flight: Flight) -> None:
        """Let a call out that was admitted."""
        if self.limits:
            with self._lock:
                self._inside.discard(flight)
                self._look_at_who_is_left()

    def give_up(self, flight: Flight) -> None:
        """Give up a call, wherever it is."""
        with self._lock:
            flight.given_up = True
            self._look_at_who_is_left()

    def _look_at_who_is_left(self) -> None:
        jammed = bool(self._inside) and all(flight.given_up for flight in self._inside)
        if not jammed:
            self.jammed_since = None
        elif self.jammed_since is None:
            self.jammed_since = time.perf_counter()
