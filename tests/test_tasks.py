"""The driver behind ``avote``: what only tasks do. (What both drivers do is in test_schedule.py.)"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from consilience.drawing._tasks import draw_in_tasks
from consilience.testing import AsyncReplaySampler, Delayed, Hang, ReplaySampler


def run_strictly(main: Coroutine[Any, Any, Any]) -> Any:
    """Run in a loop in debug mode; fail on anything that the loop complains about, and on tasks left behind."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> Any:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        loop.slow_callback_duration = 60
        try:
            return await main
        finally:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert left == set()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return asyncio.run(watched(), debug=True)
        finally:
            gc.collect()
            assert complaints == []


async def cancel_after(steps: int, main: Coroutine[Any, Any, Any]) -> bool:
    """Cancel a task after so many turns of the event loop; True if it was still running."""
    task = asyncio.create_task(main)
    for _ in range(steps):
        await asyncio.sleep(0)
    running = task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        assert running
    return running


def test_plain_samplers_do_not_block_the_event_loop(ledger: Any) -> None:
    async def main() -> int:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.01)
                beats += 1

        heart = asyncio.create_task(beat())
        await draw_in_tasks(ledger(2, lambda prompt: time.sleep(0.3)), concurrency=1)
        heart.cancel()
        await asyncio.wait([heart])
        return beats

    assert run_strictly(main()) >= 5


def test_asynchronous_samplers_run_in_the_event_loops_thread(ledger: Any) -> None:
    async def ask(prompt: str) -> int:
        return threading.get_ident()

    run = ledger(3, ask)
    run_strictly(draw_in_tasks(run, concurrency=2))
    assert set(run.contents) == {threading.get_ident()}


def test_plain_and_asynchronous_samplers_in_one_run(ledger: Any, no_new_threads: None) -> None:
    samplers = [ReplaySampler(["plain"] * 3, delay=0.01), AsyncReplaySampler(["asynchronous"] * 3, delay=0.01)]
    run = ledger(6, samplers)
    run_strictly(draw_in_tasks(run, concurrency=4))
    assert run.contents == ["plain", "asynchronous"] * 3


def awaitable_of(kind: str) -> Callable[[str], Awaitable[str]]:
    async def reply(prompt: str) -> str:
        await asyncio.sleep(0)
        return prompt

    class Lazy:
        def __init__(self, prompt: str) -> None:
            self.prompt = prompt

        def __await__(self) -> Any:
            return reply(self.prompt).__await__()

    return {"coroutine": lambda prompt: reply(prompt), "object": Lazy}[kind]


@pytest.mark.parametrize("kind", ["coroutine", "object"])
def test_an_awaitable_from_a_plain_sampler_is_awaited(ledger: Any, kind: str) -> None:
    run = ledger(3, awaitable_of(kind))
    run_strictly(draw_in_tasks(run, concurrency=2))
    assert run.contents == ["prompt 0", "prompt 1", "prompt 2"]


def test_an_awaitable_inside_an_awaitable_is_an_error(ledger: Any) -> None:
    async def ask(prompt: str) -> Any:
        return asyncio.sleep(50)

    run = ledger(2, ask)
    run_strictly(draw_in_tasks(run, concurrency=2))
    assert str(run.outcomes[0].error) == "the sampler returned an awaitable; await it inside the sampler"


def test_a_late_coroutine_from_an_abandoned_thread_is_closed(ledger: Any) -> None:
    gate = threading.Event()

    def ask(prompt: str) -> Any:
        gate.wait(20)
        return asyncio.sleep(50)

    async def main() -> None:
        drawing = await draw_in_tasks(ledger(1, ask), concurrency=1, deadline=0.05)
        assert drawing.abandoned == 1
        gate.set()
        await asyncio.sleep(0.2)

    run_strictly(main())


def test_a_late_coroutine_after_the_loop_has_closed_is_closed_too(ledger: Any, no_new_threads: None) -> None:
    gate = threading.Event()

    def ask(prompt: str) -> Any:
        gate.wait(20)
        return asyncio.sleep(50)

    run_strictly(draw_in_tasks(ledger(1, ask), concurrency=1, deadline=0.05))
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "consilience-worker":
            thread.join(timeout=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()


@pytest.mark.parametrize("plain", [False, True])
def test_cancellation_at_every_point(ledger: Any, plain: bool, no_new_threads: None) -> None:
    """Whenever the run is cancelled, its calls are cancelled and waited for, and nothing is left."""
    cancelled = 0
    for steps in range(40):
        kind = ReplaySampler if plain else AsyncReplaySampler
        with kind(["a", Delayed("b", 0.001), "c", "d", Hang()] + ["x"] * 5) as sampler:

            async def main(sampler: Any = sampler, steps: int = steps) -> bool:
                return await cancel_after(steps, draw_in_tasks(ledger(10, sampler), concurrency=3))

            cancelled += run_strictly(main())
            assert plain or sampler.in_flight == 0
    assert cancelled == 40


def test_cancellation_is_waited_for(ledger: Any) -> None:
    tidied = []

    async def ask(prompt: str) -> None:
        try:
            await asyncio.sleep(50)
        finally:
            await asyncio.sleep(0.05)
            tidied.append(prompt)

    async def main() -> None:
        task = asyncio.create_task(draw_in_tasks(ledger(3, ask), concurrency=3))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert sorted(tidied) == ["prompt 0", "prompt 1", "prompt 2"]

    run_strictly(main())


@pytest.mark.parametrize("reason", ["early stop", "raise_on", "timeout", "deadline"])
def test_every_end_waits_for_cancellation(ledger: Any, reason: str) -> None:
    tidied = []

    async def ask(prompt: str) -> str:
        if prompt == "prompt 0":
            if reason == "raise_on":
                raise PermissionError
            return "quick"
        try:
            await asyncio.sleep(50)
        finally:
            await asyncio.sleep(0.02)
            tidied.append(prompt)
        return "late"

    run = ledger(3, ask, enough=1 if reason == "early stop" else 3)
    limits = {reason: 0.1} if reason in ("timeout", "deadline") else {}
    draw = draw_in_tasks(run, concurrency=3, raise_on=(PermissionError,), **limits)
    if reason == "raise_on":
        with pytest.raises(PermissionError):
            run_strictly(draw)
    else:
        assert run_strictly(draw).abandoned == 0
    assert sorted(tidied) == ["prompt 1", "prompt 2"]


@pytest.mark.parametrize("limits", [{"timeout": 0.1}, {"deadline": 0.1}])
def test_a_sampler_that_swallows_cancellation_does_not_hang_the_run(ledger: Any, limits: dict[str, float]) -> None:
    done = []

    async def ask(prompt: str) -> None:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.5)
        done.append(prompt)
        raise OSError("too late to matter")

    async def main() -> None:
        drawing = await draw_in_tasks(ledger(2, ask), concurrency=2, **limits)
        assert drawing.abandoned == 2
        assert drawing.elapsed < 2.9
        gc.collect()  # the tasks go on although nobody refers to them
        while len(done) < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)

    run_strictly(main())


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_sampler_that_cancels_itself_ends_the_run_as_cancelled(ledger: Any, concurrency: int) -> None:
    with AsyncReplaySampler(["a", asyncio.CancelledError("own"), Hang(), Hang()]) as sampler:

        async def main() -> None:
            bystander = asyncio.create_task(asyncio.sleep(0.05, "unharmed"))
            with pytest.raises(asyncio.CancelledError):
                await draw_in_tasks(ledger(4, sampler), concurrency=concurrency)
            assert await bystander == "unharmed"

        run_strictly(main())
        assert sampler.in_flight == 0


def test_a_sampler_whose_task_is_cancelled_from_outside(ledger: Any) -> None:
    async def ask(prompt: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        await asyncio.sleep(50)

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await draw_in_tasks(ledger(2, ask), concurrency=1)

    run_strictly(main())


def test_a_second_cancellation_ends_the_wait_for_the_first(ledger: Any) -> None:
    stop = False

    async def ask(prompt: str) -> None:
        while not stop:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    async def main() -> None:
        nonlocal stop
        task = asyncio.create_task(draw_in_tasks(ledger(1, ask), concurrency=1))
        for _ in range(2):
            await asyncio.sleep(0.02)
            assert not task.done()
            task.cancel()
        await asyncio.wait([task], timeout=10)
        assert task.cancelled()
        stop = True
        await asyncio.sleep(0.05)

    run_strictly(main())


def test_wait_for_around_a_run(ledger: Any) -> None:
    with AsyncReplaySampler([Hang()] * 3) as sampler:

        async def main() -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(draw_in_tasks(ledger(3, sampler), concurrency=2), timeout=0.05)

        run_strictly(main())
        assert (sampler.cancelled, sampler.in_flight) == (2, 0)


def test_runs_side_by_side(ledger: Any) -> None:
    async def main() -> None:
        runs = [ledger(10, AsyncReplaySampler(lambda prompt, number: prompt, delay=0.002)) for _ in range(10)]
        await asyncio.gather(*(draw_in_tasks(run, concurrency=3) for run in runs))
        assert all(run.contents == [f"prompt {i}" for i in range(10)] for run in runs)

    run_strictly(main())


def test_instant_samplers_leave_turns_to_others(ledger: Any) -> None:
    async def ask(prompt: str) -> str:
        return prompt

    async def main() -> None:
        turns = 0

        async def bystander() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(bystander())
        await draw_in_tasks(ledger(100, ask), concurrency=1)
        other.cancel()
        await asyncio.wait([other])
        assert turns >= 100

    run_strictly(main())


if hasattr(asyncio, "eager_task_factory"):  # since Python 3.12

    def test_eager_tasks(ledger: Any) -> None:
        async def main() -> None:
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            run = ledger(20, AsyncReplaySampler(lambda prompt, number: prompt))
            await draw_in_tasks(run, concurrency=4)
            assert run.contents == [f"prompt {i}" for i in range(20)]

        run_strictly(main())


@pytest.mark.parametrize("plain", [False, True])
def test_a_run_that_is_closed_by_hand_ends_without_waiting(ledger: Any, plain: bool) -> None:
    ended = threading.Event()

    async def ask(prompt: str) -> None:
        try:
            await asyncio.sleep(20)
        finally:
            ended.set()

    async def main() -> None:
        run = draw_in_tasks(ledger(3, (lambda prompt: ended.wait(20)) if plain else ask), concurrency=2)
        run.send(None)
        await asyncio.sleep(0.01)
        run.close()
        await asyncio.sleep(0.01)
        assert ended.is_set() == (not plain)

    try:
        asyncio.run(main())
    finally:
        ended.set()


def test_a_run_that_is_closed_after_its_loop(ledger: Any) -> None:
    async def ask(prompt: str) -> None:
        await asyncio.sleep(20)

    loop = asyncio.new_event_loop()

    async def start() -> Any:
        run = draw_in_tasks(ledger(3, ask), concurrency=2)
        run.send(None)
        await asyncio.sleep(0)
        return run

    run = loop.run_until_complete(start())
    pending = asyncio.all_tasks(loop)
    loop.close()
    run.close()
    for task in pending:
        task._log_destroy_pending = False  # they can never end, which asyncio would mention
    assert run.cr_frame is None
