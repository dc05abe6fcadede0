"""What both drivers have in common: the schedule alone under a clock of its own, and the same runs by all drivers."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import heapq
import random
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.drawing import Call, Drawing, Outcome, _flight, _schedule, draw_in_threads
from consilience.drawing._gate import Gate
from consilience.drawing._tasks import draw_in_tasks
from consilience.testing import AsyncReplaySampler, Delayed, Hang, ReplaySampler

MODES = ["threads", "tasks", "tasks with plain samplers"]
VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def replay(mode: str, replies: Any, **options: Any) -> Any:
    """A scripted sampler of the kind that the mode draws from."""
    return (AsyncReplaySampler if mode == "tasks" else ReplaySampler)(replies, **options)


def draw(mode: str, ledger: Any, **options: Any) -> Drawing:
    options = {"concurrency": 1, "timeout": None, "deadline": None, "raise_on": (), "limiter": None, **options}
    if mode == "threads":
        return draw_in_threads(ledger, **options)
    return asyncio.run(draw_in_tasks(ledger, **options))


# The schedule alone


class SimulatedLedger:
    def __init__(self, n: int, enough: int) -> None:
        self.n, self.enough, self.asked = n, enough, 0
        self.outcomes: list[Outcome] = []

    def next_call(self) -> Call | None:
        if self.asked == self.n:
            return None
        self.asked += 1
        return Call(self.asked - 1, 0, None, str, "")

    def receive(self, outcome: Outcome) -> None:
        assert not self.finished
        self.outcomes.append(outcome)

    @property
    def finished(self) -> bool:
        return len(self.outcomes) >= self.enough


def simulate(
    durations: list[float], enough: int, concurrency: int, timeout: float | None, deadline: float | None
) -> tuple[SimulatedLedger, Drawing, int]:
    """Run the schedule over calls of known duration in simulated time; also give the most calls in flight."""
    clock = SimpleNamespace(now=100.0)
    ledger = SimulatedLedger(len(durations), enough)
    with pytest.MonkeyPatch.context() as patch:
        for module in (_flight, _schedule):
            patch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
        schedule = _schedule.Schedule(
            ledger, concurrency=concurrency, timeout=timeout, deadline=deadline, raise_on=(), gate=Gate.of(None)
        )
        running: list[tuple[float, int, _flight.Flight]] = []
        most = 0
        while True:
            for flight in schedule.launches():
                heapq.heappush(running, (clock.now + durations[flight.call.index], flight.call.index, flight))
            most = max(most, len(schedule._in_flight))
            if schedule.over():
                return ledger, schedule.drawing(abandoned=len(running)), most
            wake = clock.now + max(schedule.patience(), 1e-6)
            if running and running[0][0] <= wake:
                clock.now, _, flight = heapq.heappop(running)
                schedule.land(flight, flight.landed("", hint=""))
            else:
                clock.now = wake
            schedule.expire()


@given(
    durations=st.lists(st.integers(0, 40).map(lambda tenth: tenth / 10), max_size=12),
    concurrency=st.integers(1, 5),
    timeout=st.none() | st.integers(1, 20).map(lambda tenth: tenth / 10 + 0.05),
    deadline=st.none() | st.integers(1, 60).map(lambda tenth: tenth / 10 + 0.05),
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_a_schedule_in_simulated_time(
    durations: list[float], concurrency: int, timeout: float | None, deadline: float | None, data: st.DataObject
) -> None:
    enough = data.draw(st.integers(0, len(durations)))
    ledger, drawing, most = simulate(durations, enough, concurrency, timeout, deadline)

    assert most <= concurrency
    assert len({outcome.call.index for outcome in ledger.outcomes}) == len(ledger.outcomes)
    for outcome in ledger.outcomes:
        duration = durations[outcome.call.index]
        assert outcome.timed_out == (timeout is not None and duration > timeout)
        # a wait is cut by the time limit of the call, up to a step of the simulation
        assert outcome.elapsed == pytest.approx(min(duration, timeout or duration), abs=1e-5)
    assert drawing.hit_deadline == (not ledger.finished)
    if deadline is None:
        assert ledger.finished
    else:
        assert drawing.elapsed <= deadline + 1e-5


@given(
    durations=st.lists(st.integers(1, 9), min_size=1, max_size=10),
    concurrency=st.integers(1, 4),
)
@settings(max_examples=100, deadline=None)
def test_the_waiting_time_is_that_of_list_scheduling(durations: list[int], concurrency: int) -> None:
    seconds = [float(duration) for duration in durations]
    _, drawing, _ = simulate(seconds, len(seconds), concurrency, None, None)

    free_at = [0.0] * concurrency
    for duration in seconds:
        heapq.heapreplace(free_at, free_at[0] + duration)
    assert drawing.elapsed == pytest.approx(max(free_at))


# The same runs by all drivers


@pytest.mark.parametrize("concurrency", [1, 2, 7])
@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.usefixtures("no_new_threads")
def test_every_call_is_made_once(mode: str, ledger: Any, concurrency: int, timeout: float | None) -> None:
    sampler = replay(mode, lambda prompt, number: prompt.upper())
    run = ledger(20, sampler)
    drawing = draw(mode, run, concurrency=concurrency, timeout=timeout)

    assert run.contents == [f"PROMPT {index}" for index in range(20)]
    assert sorted(sampler.prompts) == sorted(f"prompt {index}" for index in range(20))
    assert (drawing.abandoned, drawing.hit_deadline) == (0, False)
    assert sampler.max_in_flight <= concurrency


def test_nothing_to_do(mode: str, ledger: Any) -> None:
    run = ledger(0, replay(mode, []))
    assert draw(mode, run, concurrency=3, timeout=1).abandoned == 0
    assert run.outcomes == []


@pytest.mark.usefixtures("no_new_threads")
def test_calls_overlap_up_to_the_concurrency_and_no_further(mode: str, ledger: Any) -> None:
    sampler = replay(mode, ["x"] * 8, delay=0.15)
    draw(mode, ledger(8, sampler), concurrency=4)
    assert sampler.max_in_flight == 4


@pytest.mark.usefixtures("no_new_threads")
def test_outcomes_arrive_in_the_order_in_which_calls_end(mode: str, ledger: Any) -> None:
    run = ledger(3, replay(mode, [Delayed("slow", 0.4), Delayed("quick", 0.01), Delayed("middling", 0.2)]))
    draw(mode, run, concurrency=3)
    assert [outcome.content for outcome in run.outcomes] == ["quick", "middling", "slow"]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_the_contents_do_not_depend_on_the_driver_or_the_order(seed: int) -> None:
    chance = random.Random(seed)
    n = chance.randint(1, 12)
    script = {f"prompt {i}": [Delayed(f"reply {i}", chance.choice([0, 0, 0.002, 0.005]))] for i in range(n)}
    for mode in MODES:
        for concurrency in (1, 3, n):
            run = RecordingLedgerForProperties(n, replay(mode, script))
            draw(mode, run, concurrency=concurrency)
            assert run.contents == [f"reply {i}" for i in range(n)]


class RecordingLedgerForProperties(SimulatedLedger):
    """Without a fixture, which Hypothesis would share between examples."""

    def __init__(self, n: int, sampler: Any) -> None:
        super().__init__(n, n)
        self.sampler = sampler

    def next_call(self) -> Call | None:
        call = super().next_call()
        return call and Call(call.index, 0, None, self.sampler, f"prompt {call.index}")

    @property
    def contents(self) -> list[Any]:
        return [outcome.content for outcome in sorted(self.outcomes, key=lambda outcome: outcome.call.index)]


@pytest.mark.usefixtures("no_new_threads")
def test_many_calls(mode: str, ledger: Any) -> None:
    sampler = replay(mode, lambda prompt, number: prompt, delay=0.001)
    run = ledger(1000, sampler)
    draw(mode, run, concurrency=50, timeout=60, deadline=300)
    assert run.contents == [f"prompt {index}" for index in range(1000)]
    assert sampler.max_in_flight <= 50


def test_a_ledger_that_holds_calls_back_is_asked_again_after_each_outcome(mode: str, ledger: Any) -> None:
    sampler = replay(mode, ["x"] * 9, delay=0.005)
    run = ledger(9, sampler, hold=2)
    draw(mode, run, concurrency=6)
    assert len(run.outcomes) == 9
    assert sampler.max_in_flight == 2


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_exception_is_an_outcome(mode: str, ledger: Any, concurrency: int) -> None:
    error = ConnectionError("busy")
    run = ledger(3, replay(mode, ["a", error, "c"]))
    draw(mode, run, concurrency=concurrency)
    assert [outcome.error for outcome in run.outcomes].count(error) == 1
    assert all(outcome.attempts == 1 and not outcome.timed_out for outcome in run.outcomes)


@pytest.mark.parametrize("error", [StopIteration("a"), StopAsyncIteration("b"), RecursionError("c"), MemoryError("d")])
def test_unusual_exceptions_are_outcomes_too(mode: str, ledger: Any, error: Exception) -> None:
    run = ledger(2, replay(mode, [error, "x"]))
    draw(mode, run, concurrency=2)
    failed = [outcome for outcome in run.outcomes if outcome.error is not None]
    assert len(run.outcomes) == 2
    assert len(failed) == 1
    # Python itself turns a StopIteration that leaves a coroutine into a RuntimeError
    assert isinstance(failed[0].error, (type(error), RuntimeError))


class Interrupt(BaseException):
    """Like a framework's own way of stopping everything."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit(3), Interrupt("stop"), GeneratorExit])
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.usefixtures("no_new_threads")
def test_what_is_no_exception_is_raised(mode: str, ledger: Any, error: Any, concurrency: int) -> None:
    with replay(mode, ["a", error] + [Hang()] * 4) as sampler:
        kind = error if isinstance(error, type) else type(error)
        with pytest.raises(kind):
            draw(mode, ledger(6, sampler), concurrency=concurrency)
        assert sampler.calls <= 1 + concurrency


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.usefixtures("no_new_threads")
def test_errors_in_raise_on_are_raised_and_end_the_run(mode: str, ledger: Any, concurrency: int) -> None:
    error = PermissionError("wrong key")
    with replay(mode, [ConnectionError("busy"), error] + [Hang()] * 4) as sampler:
        run = ledger(6, sampler)
        with pytest.raises(PermissionError) as caught:
            draw(mode, run, concurrency=concurrency, raise_on=(PermissionError, KeyError))
        assert caught.value is error
        assert sampler.calls <= 1 + concurrency
        assert all(outcome.error is not error for outcome in run.outcomes)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_each_call_has_its_own_copy_of_the_context(mode: str, ledger: Any, concurrency: int) -> None:
    def look(prompt: str) -> str:
        seen = VARIABLE.get()
        VARIABLE.set(prompt)
        return seen

    async def look_in_task(prompt: str) -> str:
        return look(prompt)

    run = ledger(6, look_in_task if mode == "tasks" else look)
    token = VARIABLE.set("the caller's")
    try:
        draw(mode, run, concurrency=concurrency)
        assert VARIABLE.get() == "the caller's"
    finally:
        VARIABLE.reset(token)
    assert run.contents == ["the caller's"] * 6


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.usefixtures("no_new_threads")
def test_a_call_that_hangs_times_out_and_its_place_is_taken(mode: str, ledger: Any, concurrency: int) -> None:
    script = {f"prompt {i}": [reply] for i, reply in enumerate([Hang("late"), "b", Hang("late"), "d", "e"])}
    with replay(mode, script) as sampler:
        run = ledger(5, sampler)
        drawing = draw(mode, run, concurrency=concurrency, timeout=0.25)
        assert sorted(outcome.call.index for outcome in run.outcomes if outcome.timed_out) == [0, 2]
        assert all(outcome.elapsed >= 0.25 and outcome.content is None for outcome in run.outcomes if outcome.timed_out)
        assert [content for content in run.contents if content] == ["b", "d", "e"]
        assert drawing.abandoned == (0 if mode == "tasks" else 2)
        assert not drawing.hit_deadline


@pytest.mark.usefixtures("no_new_threads")
def test_a_deadline_ends_the_run_with_what_is_there(mode: str, ledger: Any) -> None:
    with replay(mode, ["a", Hang(), "c", Hang(), Hang()]) as sampler:
        run = ledger(9, sampler)
        drawing = draw(mode, run, concurrency=2, deadline=0.3)
        assert drawing.hit_deadline
        assert 0.3 <= drawing.elapsed < 5
        assert [outcome.content for outcome in run.outcomes] == ["a", "c"]
        assert drawing.abandoned == (0 if mode == "tasks" else 2)


def test_a_deadline_stops_launching_between_calls(mode: str, ledger: Any) -> None:
    run = ledger(10_000, replay(mode, ["x"], delay=0.01, cycle=True))
    drawing = draw(mode, run, concurrency=1, deadline=0.1)
    assert drawing.hit_deadline
    assert 1 <= len(run.outcomes) < 11


def test_a_run_that_ends_in_time_has_not_hit_its_deadline(mode: str, ledger: Any) -> None:
    assert not draw(mode, ledger(3, replay(mode, ["x"] * 3)), deadline=60).hit_deadline


@pytest.mark.usefixtures("no_new_threads")
def test_a_finished_ledger_ends_the_run_at_once(mode: str, ledger: Any) -> None:
    with replay(mode, ["a", "b", Hang("late"), Hang("late")]) as sampler:
        run = ledger(4, sampler, enough=2)
        started = time.perf_counter()
        drawing = draw(mode, run, concurrency=4)
        assert time.perf_counter() - started < 5
        assert len(run.outcomes) == 2
        assert not drawing.hit_deadline
        assert drawing.abandoned == (0 if mode == "tasks" else 2)
        assert sampler.cancelled == (2 if mode == "tasks" else 0)


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("mode", ["threads", "tasks with plain samplers"])
def test_calls_for_which_the_system_has_no_thread_have_failed(
    mode: str, ledger: Any, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    run = ledger(3, str)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    drawing = draw(mode, run, concurrency=concurrency, timeout=60)
    assert [str(outcome.error) for outcome in run.outcomes] == ["can't start new thread"] * 3
    assert drawing.abandoned == 0


def test_what_is_no_exception_is_raised_even_if_it_comes_together_with_the_deciding_reply() -> None:
    run = SimulatedLedger(2, enough=1)
    schedule = _schedule.Schedule(
        run, concurrency=2, timeout=None, deadline=None, raise_on=(KeyError,), gate=Gate.of(None)
    )
    first, second = schedule.launches()
    schedule.land(first, first.landed("x", hint=""))
    assert run.finished
    with pytest.raises(SystemExit):
        schedule.land(second, SystemExit(3))


def test_infinite_time_limits_are_no_limits(mode: str, ledger: Any) -> None:
    run = ledger(2, replay(mode, ["x", "x"], delay=0.01))
    drawing = draw(mode, run, concurrency=2, timeout=float("inf"), deadline=float("inf"))
    assert run.contents == ["x", "x"]
    assert not drawing.hit_deadline


def test_a_call_of_two_seconds_is_waited_for_in_pieces(mode: str, ledger: Any) -> None:
    run = ledger(1, replay(mode, [Delayed("x", 1.2)]))
    draw(mode, run, concurrency=2)
    assert run.outcomes[0].content == "x"
    assert run.outcomes[0].elapsed >= 1.2


def test_a_late_outcome_times_out_whoever_looks_first(mode: str, ledger: Any) -> None:
    """A ledger that is busy for long must not let slow calls pass."""

    class SlowLedger(ledger):  # type: ignore[misc, valid-type]
        def receive(self, outcome: Outcome) -> None:
            super().receive(outcome)
            time.sleep(0.6)

    run = SlowLedger(2, replay(mode, ["quick", Delayed("slow", 0.4)]))
    draw(mode, run, concurrency=2, timeout=0.25)
    assert [outcome.timed_out for outcome in run.outcomes] == [False, True]


class Hostile:
    """An object that answers no question about itself."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("hands off")

    def __repr__(self) -> str:
        raise RuntimeError("hands off")

    __eq__ = __repr__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_hostile_contents_break_nothing(mode: str, ledger: Any, concurrency: int) -> None:
    contents = [Hostile(), float("nan"), "\ud800", b"\xff", object(), (i for i in "abc"), "x" * 1_000_000]

    def give(prompt: str) -> Any:
        return contents[int(prompt.split()[1])]

    async def give_in_task(prompt: str) -> Any:
        return give(prompt)

    run = ledger(len(contents), give_in_task if mode == "tasks" else give)
    draw(mode, run, concurrency=concurrency, timeout=60)
    for outcome in run.outcomes:
        # a content that cannot even be asked whether it is awaitable is an error of its sampler
        assert outcome.content is contents[outcome.call.index] or str(outcome.error) == "hands off"


def test_generators_are_handed_over_as_they_are(mode: str, ledger: Any) -> None:
    def generate(prompt: str) -> Any:
        yield prompt

    async def generate_in_task(prompt: str) -> Any:
        return generate(prompt)

    run = ledger(1, generate_in_task if mode == "tasks" else generate)
    draw(mode, run)
    assert next(run.outcomes[0].content) == "prompt 0"


class SemaphoreOfBothKinds:
    """A limiter with two places, plain and asynchronous, that knows how many were taken at most."""

    def __init__(self) -> None:
        self.plain = threading.Semaphore(2)
        self.inside = self.most = 0
        self.lock = threading.Lock()

    def _count(self, step: int) -> None:
        with self.lock:
            self.inside += step
            self.most = max(self.most, self.inside)

    def __enter__(self) -> None:
        self.plain.acquire()
        self._count(+1)

    def __exit__(self, *_: object) -> None:
        self._count(-1)
        self.plain.release()

    async def __aenter__(self) -> None:
        while not self.plain.acquire(blocking=False):
            await asyncio.sleep(0.001)
        self._count(+1)

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


@pytest.mark.usefixtures("no_new_threads")
def test_a_limiter_with_two_places(mode: str, ledger: Any) -> None:
    limiter = SemaphoreOfBothKinds()
    sampler = replay(mode, ["x"] * 8, delay=0.02)
    run = ledger(8, sampler)
    draw(mode, run, concurrency=6, limiter=limiter)
    assert (limiter.most, limiter.inside, sampler.max_in_flight) == (2, 0, 2)
    assert len(run.outcomes) == 8


@pytest.mark.usefixtures("no_new_threads")
def test_waiting_for_the_limiter_is_no_part_of_a_call(mode: str, ledger: Any) -> None:
    run = ledger(12, replay(mode, ["x"] * 12, delay=0.15))
    drawing = draw(mode, run, concurrency=12, timeout=0.6, limiter=SemaphoreOfBothKinds())
    assert drawing.elapsed >= 0.9  # six rounds: the last calls waited for 0.75 s, longer than they may take
    assert [outcome.timed_out for outcome in run.outcomes] == [False] * 12


@pytest.mark.usefixtures("no_new_threads")
def test_a_call_behind_a_limiter_times_out(mode: str, ledger: Any) -> None:
    with replay(mode, [Hang(), Hang(), "x"]) as sampler:
        run = ledger(2, sampler)
        drawing = draw(mode, run, concurrency=2, timeout=0.1, limiter=SemaphoreOfBothKinds())
        assert [outcome.timed_out for outcome in run.outcomes] == [True, True]
        assert drawing.elapsed < 5


class Stubborn:
    """Hangs until it is released, in a thread or as a task that ignores its cancellation."""

    def __init__(self, mode: str, hanging: int) -> None:
        self.hanging = hanging
        self.calls = 0
        self.released = threading.Event()
        self.sampler = self.ask_as_task if mode == "tasks" else self.ask

    def ask(self, prompt: str) -> str:
        self.calls += 1
        if self.calls <= self.hanging:
            self.released.wait(20)
        return "x"

    async def ask_as_task(self, prompt: str) -> str:
        self.calls += 1
        if self.calls <= self.hanging:
            while not self.released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.005)
        return "x"


@pytest.mark.parametrize("mode", ["threads", "tasks"])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_who_waits_behind_calls_that_were_given_up_is_given_up_too(mode: str, ledger: Any, concurrency: int) -> None:
    stubborn = Stubborn(mode, hanging=2)
    run = ledger(4, stubborn.sampler)
    limits: dict[str, Any] = {"concurrency": concurrency, "timeout": 0.1, "limiter": SemaphoreOfBothKinds()}

    async def draw_and_release() -> Drawing:  # before the loop ends, which waits for its tasks
        try:
            return await draw_in_tasks(run, **limits)
        finally:
            stubborn.released.set()

    try:
        drawing = draw(mode, run, **limits) if mode == "threads" else asyncio.run(draw_and_release())
    finally:
        stubborn.released.set()
    assert [outcome.timed_out for outcome in run.outcomes] == [True] * 4
    assert drawing.elapsed < 10
    time.sleep(0.1)
    assert stubborn.calls == 2  # the others were never made, not even when the limiter let them in


def test_a_place_that_becomes_free_is_used_in_spite_of_a_call_that_keeps_another(ledger: Any) -> None:
    stubborn = Stubborn("threads", hanging=1)
    run = ledger(6, stubborn.sampler)
    try:
        draw("threads", run, concurrency=6, timeout=0.3, limiter=SemaphoreOfBothKinds())
    finally:
        stubborn.released.set()
    assert sorted(outcome.timed_out for outcome in run.outcomes) == [False] * 5 + [True]


def test_a_limiter_that_another_run_has_jammed(ledger: Any) -> None:
    stubborn, limiter = Stubborn("threads", hanging=2), SemaphoreOfBothKinds()
    try:
        draw("threads", ledger(2, stubborn.sampler), concurrency=2, timeout=0.1, limiter=limiter)
        run = ledger(2, lambda prompt: "x")
        drawing = draw("threads", run, concurrency=1, timeout=0.1, limiter=limiter)
        assert [outcome.timed_out for outcome in run.outcomes] == [True, True]
        assert drawing.elapsed < 10
    finally:
        stubborn.released.set()


def test_calls_that_wait_for_the_limiter_are_not_made_after_the_end(mode: str, ledger: Any) -> None:
    calls = []

    def refuse(prompt: str) -> None:
        calls.append(prompt)
        time.sleep(0.02)
        raise PermissionError

    async def refuse_as_task(prompt: str) -> None:
        calls.append(prompt)
        await asyncio.sleep(0.02)
        raise PermissionError

    run = ledger(9, refuse_as_task if mode == "tasks" else refuse)
    with pytest.raises(PermissionError):
        draw(mode, run, concurrency=9, raise_on=(PermissionError,), limiter=SemaphoreOfBothKinds())
    made = len(calls)
    time.sleep(0.2)
    assert made <= len(calls) <= made + 2  # as many as the limiter lets in may have passed it just before the end
    assert made < 5


@pytest.mark.usefixtures("no_new_threads")
def test_waiting_for_the_limiter_counts_towards_the_deadline(mode: str, ledger: Any) -> None:
    limiter = SemaphoreOfBothKinds()
    for _ in range(2):
        limiter.plain.acquire()
    run = ledger(3, replay(mode, ["x"] * 3))
    assert draw(mode, run, concurrency=2, deadline=0.1, limiter=limiter).hit_deadline
    assert run.outcomes == []
    for _ in range(2):
        limiter.plain.release()


class BrokenLimiter:
    """Fails to let anybody in, or lets errors vanish."""

    def __init__(self, enter: Exception | None) -> None:
        self.error = enter

    def __enter__(self) -> None:
        if self.error:
            raise self.error

    def __exit__(self, *_: object) -> bool:
        return True

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(self, *_: object) -> bool:
        return True


@pytest.mark.parametrize("concurrency", [1, 2])
def test_errors_of_a_limiter_are_errors_of_the_call(mode: str, ledger: Any, concurrency: int) -> None:
    error = OSError("no quota")
    run = ledger(2, replay(mode, ["x"] * 2))
    draw(mode, run, concurrency=concurrency, limiter=BrokenLimiter(error))
    assert [outcome.error for outcome in run.outcomes] == [error, error]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_limiter_cannot_hide_an_error(mode: str, ledger: Any, concurrency: int) -> None:
    run = ledger(2, replay(mode, ["x", KeyError("k")]))
    draw(mode, run, concurrency=concurrency, limiter=BrokenLimiter(None))
    errors = [str(outcome.error) for outcome in run.outcomes if outcome.error]
    assert errors == ["the limiter suppressed the sampler's error"]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_error_at_any_point_leaves_nothing_running(
    mode: str, ledger: Any, concurrency: int, no_new_threads: None
) -> None:
    """An interrupt may come whenever the driver talks to the ledger; here it comes at each such moment once."""

    class BrokenLedger(ledger):  # type: ignore[misc, valid-type]
        moments = 0

        def _count(self) -> None:
            self.moments += 1
            if self.moments == self.broken_at:
                raise KeyboardInterrupt

        def next_call(self) -> Call | None:
            self._count()
            return super().next_call()

        def receive(self, outcome: Outcome) -> None:
            self._count()
            super().receive(outcome)

    for broken_at in range(1, 11):
        sampler = replay(mode, ["x"] * 5)
        run = BrokenLedger(5, sampler)
        run.broken_at = broken_at
        with pytest.raises(KeyboardInterrupt):
            draw(mode, run, concurrency=concurrency)
        assert run.moments == broken_at
        assert mode != "tasks" or sampler.in_flight == 0


def test_an_error_of_the_ledger_cancels_what_runs(mode: str, ledger: Any, no_new_threads: None) -> None:
    class BrokenLedger(ledger):  # type: ignore[misc, valid-type]
        def receive(self, outcome: Outcome) -> None:
            raise ZeroDivisionError("a bug")

    with replay(mode, ["x", Hang(), Hang()]) as sampler, pytest.raises(ZeroDivisionError):
        draw(mode, BrokenLedger(3, sampler), concurrency=3)
    assert sampler.cancelled == (2 if mode == "tasks" else 0)


def test_a_run_inside_a_call_of_another(mode: str, ledger: Any) -> None:
    def nested(prompt: str) -> Any:
        run = ledger(2, replay("threads", lambda prompt, number: prompt[-1]))
        draw("threads", run, concurrency=2)
        return "".join(run.contents)

    async def nested_in_task(prompt: str) -> Any:
        run = ledger(2, replay("tasks", lambda prompt, number: prompt[-1]))
        await draw_in_tasks(run, concurrency=2)
        return "".join(run.contents)

    run = ledger(4, nested_in_task if mode == "tasks" else nested)
    draw(mode, run, concurrency=3)
    assert run.contents == ["01"] * 4
