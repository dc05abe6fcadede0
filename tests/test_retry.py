"""Retrying: how often, after which errors, after how long, and how a run learns of it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
import tenacity
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import _errors
from consilience.drawing import _retry, draw_in_threads, is_async_sampler, retrying
from consilience.drawing._tasks import draw_in_tasks
from consilience.testing import AsyncReplaySampler, Delayed, Hang, ReplaySampler

BUSY = ConnectionError("busy")


@pytest.fixture(params=["plain", "asynchronous"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def replay(kind: str, replies: Any, **options: Any) -> Any:
    return (ReplaySampler if kind == "plain" else AsyncReplaySampler)(replies, **options)


def ask(sampler: Any) -> Any:
    reply = sampler("prompt")
    return asyncio.run(reply) if inspect.iscoroutine(reply) else reply


def draw(kind: str, run: Any, **options: Any) -> Any:
    if kind == "plain":
        return draw_in_threads(run, **options)
    return asyncio.run(draw_in_tasks(run, **options))


@pytest.mark.parametrize(("failures", "attempts", "calls"), [(0, 3, 1), (2, 3, 3), (3, 3, 3), (5, 1, 1), (4, 5, 5)])
def test_the_number_of_calls(kind: str, failures: int, attempts: int, calls: int) -> None:
    sampler = replay(kind, [BUSY] * failures + ["x"])
    wrapped = retrying(sampler, attempts=attempts, wait=0)
    if failures < attempts:
        assert ask(wrapped) == "x"
    else:
        with pytest.raises(ConnectionError) as caught:
            ask(wrapped)
        assert caught.value is BUSY
    assert sampler.calls == calls


@pytest.mark.parametrize("error", [TypeError("t"), ValueError("v"), _errors.SettingsError("s"), KeyboardInterrupt()])
def test_what_only_repeats_is_not_tried_again(kind: str, error: BaseException) -> None:
    sampler = replay(kind, [error, "x"])
    with pytest.raises(type(error)):
        ask(retrying(sampler, wait=0))
    assert sampler.calls == 1


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("retry_on", [Exception, lambda error: True])
def test_what_is_no_exception_is_never_tried_again(error: BaseException, retry_on: Any) -> None:
    sampler = ReplaySampler([error, "x"])
    wrapped = retrying(sampler, wait=0, retry_on=retry_on)
    with pytest.raises(type(error)):
        wrapped("prompt")
    assert sampler.calls == 1


@pytest.mark.parametrize("error", [json.JSONDecodeError("garbled", "", 0), UnicodeDecodeError("utf-8", b"", 0, 1, "x")])
def test_a_garbled_reply_is_no_bad_argument(kind: str, error: Exception) -> None:
    assert ask(retrying(replay(kind, [error, "x"]), wait=0)) == "x"


@pytest.mark.parametrize(
    ("retry_on", "error", "again"),
    [
        (OSError, BUSY, True),
        (KeyError, BUSY, False),
        ((KeyError, OSError), BUSY, True),
        ((KeyError, IndexError), BUSY, False),
        (ValueError, ValueError("named"), True),
        (ValueError, _errors.SettingsError("below the named one"), True),
        ((OSError, _errors.SettingsError), ValueError("above the named one"), False),
        (TypeError, ValueError("not named"), False),
        (lambda error: "busy" in str(error), BUSY, True),
        (lambda error: "busy" in str(error), OSError("gone"), False),
        (lambda error: True, TypeError("a function alone decides"), True),
        (lambda error: 0, BUSY, False),
    ],
)
def test_which_errors_are_tried_again(kind: str, retry_on: Any, error: Exception, again: bool) -> None:
    sampler = replay(kind, [error, "x"])
    wrapped = retrying(sampler, wait=0, retry_on=retry_on)
    if again:
        assert ask(wrapped) == "x"
    else:
        with pytest.raises(type(error)):
            ask(wrapped)
    assert sampler.calls == 1 + again


@pytest.mark.parametrize("wait", [0.05, tenacity.wait_fixed(0.05), lambda attempt: attempt * 0.05])
def test_the_wait_between_attempts(kind: str, wait: Any) -> None:
    started = time.perf_counter()
    ask(retrying(replay(kind, [BUSY, BUSY, "x"]), wait=wait))
    assert 0.09 < time.perf_counter() - started < 10


def test_a_function_is_told_the_number_of_the_attempt_that_failed(kind: str) -> None:
    asked = []

    def wait(attempt: int) -> float:
        asked.append(attempt)
        return 0

    ask(retrying(replay(kind, [BUSY] * 3 + ["x"]), attempts=4, wait=wait))
    assert asked == [1, 2, 3]


def test_the_wait_by_default_doubles_with_jitter() -> None:
    wait = _retry._as_wait(None)
    state: Any = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    for attempt, (least, most) in enumerate(
        [(0.5, 1), (1, 1.5), (2, 2.5), (4, 4.5), (8, 8.5), (16, 16.5), (30, 30.5)], 1
    ):
        state.attempt_number = attempt
        waits = [wait(state) for _ in range(50)]
        assert all(least <= seconds <= most for seconds in waits)
        assert len(set(waits)) > 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"attempts": 0}, ValueError, "attempts must be an int of at least 1, got 0"),
        ({"attempts": -3}, _errors.SettingsError, "got -3"),
        ({"attempts": 2.0}, TypeError, "attempts must be an int of at least 1, got 2.0"),
        ({"attempts": True}, TypeError, "got True"),
        ({"wait": -1}, ValueError, "wait must be a finite number of seconds of at least 0, got -1"),
        ({"wait": float("nan")}, _errors.SettingsError, "got nan"),
        ({"wait": float("inf")}, _errors.SettingsError, "got inf"),
        ({"wait": "1"}, TypeError, "wait must be .*, got '1'"),
        ({"wait": True}, TypeError, "got True"),
        ({"retry_on": "OSError"}, TypeError, "retry_on must be .*, got 'OSError'"),
        ({"retry_on": ()}, TypeError, r"got \(\)"),
        ({"retry_on": (OSError, 3)}, TypeError, "retry_on"),
        ({"retry_on": int}, TypeError, "retry_on"),
        ({"retry_on": KeyboardInterrupt}, TypeError, "retry_on"),
        ({"retry_on": (OSError, asyncio.CancelledError)}, TypeError, "retry_on"),
        ({"sampler": "ask"}, TypeError, "sampler must be callable, got a str"),
    ],
)
def test_bad_arguments_are_refused_at_wrapping(options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        retrying(**{"sampler": len, **options})


class Client:
    async def __call__(self, prompt: str) -> str:
        return prompt

    async def ask(self, prompt: str) -> str:
        return prompt

    def ask_plainly(self, prompt: str) -> str:
        return prompt


def test_the_wrapper_is_of_the_kind_and_name_of_the_sampler() -> None:
    async def ask_model(prompt: str) -> str:
        """What it does."""
        return prompt

    wrapped = retrying(ask_model)
    assert (wrapped.__name__, wrapped.__doc__) == ("ask_model", "What it does.")
    for sampler in (ask_model, Client(), Client().ask, functools.partial(ask_model), retrying(ask_model)):
        assert is_async_sampler(retrying(sampler))
        assert ask(retrying(sampler)) == "prompt"
    for sampler in (Client().ask_plainly, str, lambda prompt: prompt, functools.partial(Client().ask_plainly)):
        assert not is_async_sampler(retrying(sampler))
        assert ask(retrying(sampler)) == "prompt"


@pytest.mark.parametrize("concurrency", [1, 3])
def test_outcomes_say_how_many_attempts_were_made(kind: str, ledger: Any, concurrency: int) -> None:
    script = {
        "prompt 0": ["x"],
        "prompt 1": [BUSY, BUSY, "x"],
        "prompt 2": [BUSY] * 3,
        "prompt 3": [BUSY, ValueError("bad")],
        "prompt 4": [BUSY, "x"],
    }
    run = ledger(5, retrying(replay(kind, script), wait=0.001))
    draw(kind, run, concurrency=concurrency)
    by_index = sorted(run.outcomes, key=lambda outcome: outcome.call.index)
    assert [outcome.attempts for outcome in by_index] == [1, 3, 3, 2, 2]
    assert [type(outcome.error) for outcome in by_index] == [
        type(None), type(None), ConnectionError, ValueError, type(None),
    ]  # fmt: skip


def test_attempts_of_retries_inside_retries_are_all_counted(kind: str, ledger: Any) -> None:
    sampler = replay(kind, [BUSY] * 6)
    run = ledger(1, retrying(retrying(sampler, wait=0), attempts=2, wait=0))
    draw(kind, run, concurrency=1)
    assert (run.outcomes[0].attempts, sampler.calls) == (6, 6)


def test_plain_retries_in_a_run_of_tasks(ledger: Any) -> None:
    run = ledger(2, retrying(ReplaySampler([BUSY, "a", BUSY, "b"]), wait=0))
    asyncio.run(draw_in_tasks(run, concurrency=1))
    assert [(outcome.content, outcome.attempts) for outcome in run.outcomes] == [("a", 2), ("b", 2)]


def test_attempts_are_counted_in_threads_that_the_sampler_starts_itself(ledger: Any) -> None:
    wrapped = retrying(ReplaySampler([BUSY, BUSY, "x"]), wait=0)

    async def in_another_thread(prompt: str) -> Any:
        return await asyncio.to_thread(wrapped, prompt)

    run = ledger(1, in_another_thread)
    asyncio.run(draw_in_tasks(run, concurrency=1))
    assert run.outcomes[0].attempts == 3


def test_retries_outside_a_run_do_not_show_in_a_later_one(ledger: Any) -> None:
    ask(retrying(ReplaySampler([BUSY, BUSY, "x"]), wait=0))
    run = ledger(1, ReplaySampler(["x"]))
    draw_in_threads(run, concurrency=1)
    assert run.outcomes[0].attempts == 1


def test_the_time_limit_covers_all_attempts_and_says_how_many_were_begun(kind: str, ledger: Any) -> None:
    with replay(kind, [BUSY, Delayed(BUSY, 0.05), Hang()]) as sampler:
        run = ledger(1, retrying(sampler, wait=0))
        draw(kind, run, concurrency=1, timeout=0.4)
        [outcome] = run.outcomes
        assert (outcome.timed_out, outcome.attempts) == (True, 3)


@pytest.mark.usefixtures("no_new_threads")
def test_a_call_that_was_given_up_makes_no_further_attempt(kind: str, ledger: Any) -> None:
    sampler = replay(kind, [BUSY] * 3)
    run = ledger(1, retrying(sampler, wait=0.4))
    draw(kind, run, concurrency=1, timeout=0.1)
    assert run.outcomes[0].timed_out
    time.sleep(0.6)
    assert sampler.calls == 1


def test_a_run_that_has_ended_stops_retrying_threads(ledger: Any, no_new_threads: None) -> None:
    script = {"prompt 0": [BUSY] * 3, "prompt 1": [Delayed("x", 0.1)]}
    sampler = ReplaySampler(script)
    draw_in_threads(ledger(2, retrying(sampler, wait=0.4), enough=1), concurrency=2)
    time.sleep(0.6)
    assert sampler.calls == 2


@given(outcomes=st.lists(st.sampled_from(["busy", "bad", "x"]), min_size=4, max_size=4), attempts=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_retrying_against_a_plain_loop(outcomes: list[str], attempts: int) -> None:
    script = [{"busy": BUSY, "bad": ValueError("bad"), "x": "x"}[name] for name in outcomes]
    expected: Any = None
    for made in range(1, attempts + 1):
        expected = script[made - 1]
        if expected is not BUSY:
            break
    for kind in ("plain", "asynchronous"):
        sampler = replay(kind, script)
        wrapped = retrying(sampler, attempts=attempts, wait=0)
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)) as caught:
                ask(wrapped)
            assert caught.value is expected
        else:
            assert ask(wrapped) == expected
        assert sampler.calls == made


def test_one_wrapper_serves_many_calls_at_once(kind: str, ledger: Any) -> None:
    lock, seen = threading.Lock(), set()

    def first_fails(prompt: str, number: int) -> Any:
        with lock:
            again = prompt in seen
            seen.add(prompt)
        return prompt if again else BUSY

    run = ledger(40, retrying(replay(kind, first_fails, delay=0.002), wait=0.001))
    draw(kind, run, concurrency=10)
    assert run.contents == [f"prompt {index}" for index in range(40)]
    assert {outcome.attempts for outcome in run.outcomes} == {2}


def test_tenacity_is_imported_only_when_a_sampler_is_wrapped() -> None:
    program = """
import sys, consilience.drawing as drawing
before = "tenacity" in sys.modules
drawing.retrying(len)
print(before, "tenacity" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", ["attempts", "wait", "retry_on"])
@pytest.mark.parametrize(
    "value", [-(10**5000), 10**400, type("Hostile", (), {"__repr__": None})()], ids=["-", "+", "o"]
)
def test_arguments_that_cannot_be_printed_are_named_all_the_same(name: str, value: Any) -> None:
    if name == "attempts" and value == 10**400:
        assert callable(retrying(str, attempts=value))
        return
    with pytest.raises((_errors.SettingsError, TypeError), match=f"^{name} must be"):
        retrying(str, **{name: value})


def test_each_failed_attempt_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = iter([ConnectionError("reset by peer"), TimeoutError("too slow"), "{}"])

    def sampler(prompt: Any) -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with caplog.at_level("DEBUG", logger="consilience"):
        assert retrying(sampler, attempts=3, wait=0)("?") == "{}"
    first, second = [record.getMessage() for record in caplog.records]
    assert first == "attempt 1 failed with ConnectionError('reset by peer'); the next in 0.0 s"
    assert second == "attempt 2 failed with TimeoutError('too slow'); the next in 0.0 s"
