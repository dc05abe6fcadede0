"""The driver behind ``vote``: what only threads do. (What both drivers do is in test_schedule.py.)"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from typing import Any

import pytest

from consilience.drawing import draw_in_threads
from consilience.testing import Hang, ReplaySampler

PREAMBLE = """
import asyncio, os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts tests in the background ignores it
from consilience.drawing import Call, draw_in_threads
from consilience.drawing._tasks import draw_in_tasks

class Ledger:
    def __init__(self, n, sampler):
        self.n, self.sampler, self.asked, self.outcomes = n, sampler, 0, []
    def next_call(self):
        if self.asked == self.n:
            return None
        self.asked += 1
        return Call(self.asked - 1, 0, None, self.sampler, "prompt")
    def receive(self, outcome):
        self.outcomes.append(outcome)
    @property
    def finished(self):
        return len(self.outcomes) >= self.n
"""


def run_program(program: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program of its own process, with a ledger for it to draw from."""
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_one_at_a_time_runs_in_the_callers_own_thread(ledger: Any) -> None:
    run = ledger(3, lambda prompt: threading.get_ident())
    draw_in_threads(run, concurrency=1)
    assert set(run.contents) == {threading.get_ident()}


@pytest.mark.parametrize("limits", [{"timeout": 60}, {"deadline": 60}])
def test_a_time_limit_needs_a_worker_even_for_one_at_a_time(ledger: Any, limits: dict[str, float]) -> None:
    run = ledger(3, lambda prompt: threading.get_ident())
    draw_in_threads(run, concurrency=1, **limits)
    assert len(set(run.contents)) == 1
    assert threading.get_ident() not in run.contents


def test_workers_are_used_again(ledger: Any) -> None:
    run = ledger(200, lambda prompt: threading.get_ident())
    draw_in_threads(run, concurrency=3)
    assert len(set(run.contents)) <= 3


def test_workers_are_daemons_and_end_with_the_run(ledger: Any, no_new_threads: None) -> None:
    run = ledger(20, lambda prompt: threading.current_thread().daemon)
    draw_in_threads(run, concurrency=4)
    assert all(run.contents)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_an_awaitable_is_put_away_and_explained(ledger: Any, concurrency: int) -> None:
    started = []

    async def ask(prompt: str) -> str:
        started.append(prompt)
        return "never"

    run = ledger(2, lambda prompt: ask(prompt))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "coroutine was never awaited" would be one
        draw_in_threads(run, concurrency=concurrency)
    for outcome in run.outcomes:
        assert isinstance(outcome.error, TypeError)
        assert str(outcome.error) == "the sampler returned an awaitable; use avote"
    assert started == []


def test_a_future_is_cancelled(ledger: Any) -> None:
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    run = ledger(1, lambda prompt: future)
    draw_in_threads(run, concurrency=1)
    loop.close()
    assert isinstance(run.outcomes[0].error, TypeError)
    assert future.cancelled()


def test_an_awaitable_that_cannot_be_put_away_is_explained_too(ledger: Any) -> None:
    class Stubborn:
        def __await__(self) -> Any:
            yield

        def close(self) -> None:
            raise OSError("no")

    run = ledger(1, lambda prompt: Stubborn())
    draw_in_threads(run, concurrency=1)
    assert "awaitable" in str(run.outcomes[0].error)


def test_late_replies_are_ignored(ledger: Any) -> None:
    with ReplaySampler([Hang("late"), "b"]) as sampler:
        run = ledger(2, sampler)
        assert draw_in_threads(run, concurrency=1, timeout=0.2).abandoned == 1
    deadline = time.monotonic() + 10
    while sampler.in_flight and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sampler.in_flight == 0
    assert [outcome.content for outcome in run.outcomes] == [None, "b"]


def test_a_call_that_ends_late_but_before_the_run_is_not_abandoned(ledger: Any) -> None:
    def ask(prompt: str) -> str:
        time.sleep(0.4 if prompt == "prompt 0" else 0.15)
        return prompt

    run = ledger(5, ask)
    drawing = draw_in_threads(run, concurrency=1, timeout=0.3)
    assert [outcome.timed_out for outcome in run.outcomes] == [True] + [False] * 4
    assert drawing.abandoned == 0


def test_hanging_calls_do_not_keep_the_interpreter_from_exiting() -> None:
    done = run_program(
        """
        def hang(prompt):
            threading.Event().wait()
        drawing = draw_in_threads(Ledger(3, hang), concurrency=2, timeout=0.1)
        print(drawing.abandoned)
        drawing = asyncio.run(draw_in_tasks(Ledger(3, hang), concurrency=2, deadline=0.1))
        print(drawing.abandoned, drawing.hit_deadline)
        """
    )
    assert (done.stdout.split(), done.stderr, done.returncode) == (["3", "2", "True"], "", 0)


def test_system_exit_in_a_worker_ends_the_program_with_its_code() -> None:
    done = run_program(
        """
        draw_in_threads(Ledger(3, lambda prompt: sys.exit(7)), concurrency=2)
        """
    )
    assert done.returncode == 7


@pytest.mark.parametrize(
    "draw",
    [
        "draw_in_threads(Ledger(3, wait), concurrency=1)",
        "draw_in_threads(Ledger(3, wait), concurrency=2)",
        "draw_in_threads(Ledger(3, wait), concurrency=2, timeout=50, deadline=50)",
        "asyncio.run(draw_in_tasks(Ledger(3, wait), concurrency=2))",
        "asyncio.run(draw_in_tasks(Ledger(3, wait_in_task), concurrency=2, timeout=50))",
    ],
)
def test_an_interrupt_from_the_keyboard_ends_the_wait(draw: str) -> None:
    done = run_program(
        f"""
        def wait(prompt):
            time.sleep(50)
        async def wait_in_task(prompt):
            await asyncio.sleep(50)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        try:
            {draw}
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - started < 20)
        """
    )
    assert (done.stdout, done.stderr) == ("interrupted True\n", "")
