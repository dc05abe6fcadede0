"""A ledger that holds a driver to its contract."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from consilience.drawing import Call, Outcome


class RecordingLedger:
    """Asks for ``n`` calls, is finished after ``enough`` outcomes, and checks that the driver keeps the contract.

    ``hold`` says how many calls may be in flight, as a frugal ledger would.
    """

    def __init__(self, n: int, sampler: Any, *, enough: int | None = None, hold: int | None = None) -> None:
        self.n = n
        self.enough = n if enough is None else enough
        self.hold = n if hold is None else hold
        self.samplers = sampler if isinstance(sampler, list) else [sampler]
        self.launched: list[int] = []
        self.outcomes: list[Outcome] = []
        self.max_in_flight = 0
        self._thread = threading.get_ident()

    def next_call(self) -> Call | None:
        assert threading.get_ident() == self._thread
        assert not self.finished
        index = len(self.launched)
        if index == self.n or index - len(self.outcomes) >= self.hold:
            return None
        self.launched.append(index)
        self.max_in_flight = max(self.max_in_flight, len(self.launched) - len(self.outcomes))
        return Call(index, index, None, self.samplers[index % len(self.samplers)], f"prompt {index}")

    def receive(self, outcome: Outcome) -> None:
        assert threading.get_ident() == self._thread
        assert not self.finished
        assert outcome.call.index in self.launched
        assert outcome.call.index not in self.indices
        self.outcomes.append(outcome)

    @property
    def finished(self) -> bool:
        return len(self.outcomes) >= self.enough

    @property
    def indices(self) -> list[int]:
        """The calls whose outcomes have come, in the order of arrival."""
        return [outcome.call.index for outcome in self.outcomes]

    @property
    def contents(self) -> list[Any]:
        return [outcome.content for outcome in sorted(self.outcomes, key=lambda outcome: outcome.call.index)]


@pytest.fixture
def ledger() -> type[RecordingLedger]:
    return RecordingLedger


@pytest.fixture
def no_new_threads() -> Iterator[None]:
    """The test leaves no thread of ours behind (give those that are about to end a moment)."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
        assert not thread.is_alive()
