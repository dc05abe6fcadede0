"""The samplers for tests: what they replay, what they count, and that their errors help."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._errors import ConsilienceError, SettingsError
from consilience.drawing import is_async_sampler
from consilience.replies._reply import Reply
from consilience.testing import AsyncReplaySampler, Delayed, Hang, NoisySampler, ReplaySampler, ScriptExhaustedError

KINDS = [ReplaySampler, AsyncReplaySampler]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def ask(sampler: Any, prompt: Any = "prompt") -> Any:
    return asyncio.run(sampler(prompt)) if is_async_sampler(sampler) else sampler(prompt)


def wait_until(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    assert condition()


def test_the_kinds(kind: Any) -> None:
    assert is_async_sampler(kind([])) == (kind is AsyncReplaySampler)


def test_lines_are_replayed_as_they_are(kind: Any) -> None:
    lines = ["text", {"team": "billing"}, ["a"], Reply("{}"), None, 3, Delayed("late", 0.01), Delayed({"a": 1}, 0)]
    sampler = kind(lines)
    given = [ask(sampler, number) for number in range(len(lines))]
    assert given[:6] == lines[:6]
    assert given[1] is lines[1]
    assert given[6:] == ["late", {"a": 1}]
    assert sampler.prompts == tuple(range(len(lines)))
    assert (sampler.calls, sampler.in_flight, sampler.max_in_flight, sampler.cancelled) == (8, 0, 1, 0)


@pytest.mark.parametrize("error", [KeyError("k"), KeyError, KeyboardInterrupt, Delayed(KeyError("k"), 0.01)])
def test_exceptions_are_raised(kind: Any, error: Any) -> None:
    sampler = kind([error, "x"])
    with pytest.raises((KeyError, KeyboardInterrupt)):
        ask(sampler)
    assert sampler.in_flight == 0
    assert ask(sampler) == "x"


def test_a_script_that_has_run_out(kind: Any) -> None:
    sampler = kind(["only"])
    ask(sampler)
    with pytest.raises(ScriptExhaustedError, match="call 2 has no reply: the script holds 1") as caught:
        ask(sampler)
    assert isinstance(caught.value, (ConsilienceError, LookupError))
    assert (sampler.calls, sampler.in_flight) == (2, 0)


def test_a_cycle_begins_again(kind: Any) -> None:
    sampler = kind(iter(["a", "b"]), cycle=True)
    assert [ask(sampler) for _ in range(5)] == ["a", "b", "a", "b", "a"]
    with pytest.raises(ScriptExhaustedError):
        ask(kind([], cycle=True))


def test_a_script_by_prompt(kind: Any) -> None:
    sampler = kind({"one": ["1", "uno"], "two": ("2",)})
    assert [ask(sampler, prompt) for prompt in ("one", "two", "one")] == ["1", "2", "uno"]
    with pytest.raises(ScriptExhaustedError, match="call 2 has no reply: the script holds 1"):
        ask(sampler, "two")
    with pytest.raises(ScriptExhaustedError, match="no replies are scripted for the prompt 'three'"):
        ask(sampler, "three")
    with pytest.raises(ScriptExhaustedError, match="no replies are scripted"):
        ask(sampler, [{"role": "user"}])
    assert [ask(kind({"one": ["1"]}, cycle=True), "one") for _ in range(3)] == ["1"] * 3


def test_a_script_as_a_function(kind: Any) -> None:
    sampler = kind(lambda prompt, number: Delayed(f"{prompt}/{number}", 0.001) if number else KeyError("first"))
    with pytest.raises(KeyError):
        ask(sampler, "a")
    assert ask(sampler, "b") == "b/1"


@pytest.mark.parametrize("replies", ["text", b"bytes", 7, None, {"prompt": "text"}])
def test_replies_that_are_no_script(kind: Any, replies: Any) -> None:
    with pytest.raises(TypeError, match="replies must be"):
        kind(replies)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_times_that_cannot_be_waited_for(kind: Any, seconds: float) -> None:
    with pytest.raises(SettingsError, match="delay must be a finite number of seconds"):
        kind([], delay=seconds)
    with pytest.raises(SettingsError, match="seconds must be"):
        Delayed("x", seconds)


@pytest.mark.parametrize("seconds", ["1", None, True])
def test_times_of_the_wrong_type(kind: Any, seconds: Any) -> None:
    with pytest.raises(TypeError, match="delay must be a number"):
        kind([], delay=seconds)


def test_delays_add_up(kind: Any) -> None:
    started = time.perf_counter()
    assert ask(kind([Delayed(Delayed("x", 0.05), 0.05)], delay=0.05)) == "x"
    assert time.perf_counter() - started >= 0.14


def test_a_hang_in_threads_ends_with_its_release(no_new_threads: None) -> None:
    replies = []
    with ReplaySampler([Hang("a"), Delayed(Hang("b"), 0.01), Hang(KeyError("c"))]) as sampler:

        def call() -> None:
            try:
                replies.append(sampler("prompt"))
            except KeyError as error:
                replies.append(error.args[0])

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_until(lambda: sampler.in_flight == 3)
        assert replies == []
    for thread in threads:
        thread.join(10)
    assert sorted(replies) == ["a", "b", "c"]
    assert (sampler.in_flight, sampler.max_in_flight, sampler.cancelled) == (0, 3, 0)


def test_a_hang_in_tasks_can_be_cancelled_or_released() -> None:
    async def main() -> None:
        sampler = AsyncReplaySampler([Hang("a"), Hang("b"), Hang("c")])
        tasks = [asyncio.create_task(sampler("prompt")) for _ in range(2)]
        await asyncio.sleep(0.02)
        assert sampler.in_flight == 2
        tasks[0].cancel()
        await asyncio.wait(tasks, timeout=0.02)
        assert tasks[0].cancelled()
        assert (sampler.cancelled, sampler.in_flight) == (1, 1)
        threading.Thread(target=sampler.release).start()
        assert await asyncio.wait_for(tasks[1], 10) == "b"
        assert await sampler("prompt") == "c"
        assert (sampler.cancelled, sampler.calls, sampler.max_in_flight) == (1, 3, 2)

    asyncio.run(main())


def test_releasing_after_the_loop_has_closed_harms_nothing() -> None:
    sampler = AsyncReplaySampler([Hang()])

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(sampler("prompt"), 0.01)

    asyncio.run(main())
    sampler.release()
    sampler.release()
    assert sampler.cancelled == 1


def test_a_scripted_cancellation_is_not_counted_as_one() -> None:
    sampler = AsyncReplaySampler([asyncio.CancelledError()])

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await sampler("prompt")

    asyncio.run(main())
    assert sampler.cancelled == 0


def test_counts_hold_under_many_threads() -> None:
    sampler = ReplaySampler([str(number) for number in range(400)])
    replies: list[str] = []
    threads = [threading.Thread(target=lambda: replies.extend(sampler("prompt") for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(replies, key=int) == [str(number) for number in range(400)]
    assert (sampler.calls, sampler.in_flight) == (400, 0)
    assert 1 <= sampler.max_in_flight <= 8


def test_counts_hold_under_many_tasks() -> None:
    sampler = AsyncReplaySampler(["x"] * 100, delay=0.01)

    async def main() -> None:
        await asyncio.gather(*(sampler(number) for number in range(100)))

    asyncio.run(main())
    assert (sampler.calls, sampler.max_in_flight, sampler.in_flight) == (100, 100, 0)


@given(seed=st.integers(), prompts=st.lists(st.sampled_from(["p", "q", "r"]), max_size=30))
@settings(max_examples=30, deadline=None)
def test_noise_depends_on_seed_prompt_and_number_alone(seed: int, prompts: list[str]) -> None:
    odds = {"a": 0.5, "b": 0.3, "c": 0.2}
    sampler = NoisySampler(odds, seed=seed)
    mixed = [(prompt, sampler(prompt)) for prompt in prompts]
    for prompt in set(prompts):
        alone = NoisySampler(odds, seed=seed)
        assert [reply for asked, reply in mixed if asked == prompt] == [
            alone(prompt) for _ in range(prompts.count(prompt))
        ]


def test_noise_is_the_same_under_threads_and_in_another_process() -> None:
    odds = {"a": 0.5, "b": 0.5}
    alone = NoisySampler(odds, seed=1)
    expected = Counter(alone("p") for _ in range(80))
    shared = NoisySampler(odds, seed=1)
    replies: list[str] = []
    threads = [threading.Thread(target=lambda: replies.extend(shared("p") for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(replies) == expected
    program = (
        "from consilience.testing import NoisySampler; s = NoisySampler({'a': 0.5, 'b': 0.5}, seed=1);"
        "print(sum(s('p') == 'a' for _ in range(80)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) == expected["a"]


def test_noise_follows_its_probabilities() -> None:
    sampler = NoisySampler({"a": 0.7, "b": 0.2, "never": 0.0, KeyError: 0.1}, seed=3)
    counts: Counter[str] = Counter()
    for _ in range(3000):
        with contextlib.suppress(KeyError):
            counts[sampler("p")] += 1
    counts["error"] = 3000 - sum(counts.values())
    assert counts["never"] == 0
    assert abs(counts["a"] - 2100) < 150  # six standard deviations
    assert abs(counts["b"] - 600) < 132
    assert abs(counts["error"] - 300) < 99


def test_noise_by_prompt() -> None:
    sampler = NoisySampler(lambda prompt: {prompt.upper(): 1.0})
    assert [sampler("p"), sampler("q"), sampler("p")] == ["P", "Q", "P"]
    with pytest.raises(SettingsError):
        NoisySampler(lambda prompt: {"a": 0.5})("p")


@pytest.mark.parametrize("odds", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": float("nan")}, {"a": 0.7, "b": 0.7}])
def test_odds_that_are_none(odds: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="probabilities must be at least 0 and sum to 1"):
        NoisySampler(odds)


def test_odds_of_the_wrong_type() -> None:
    with pytest.raises(TypeError, match="probabilities must be a mapping"):
        NoisySampler(["a", "b"])  # type: ignore[arg-type]


def test_the_module_needs_no_test_framework() -> None:
    program = "import sys, consilience.testing; print('pytest' in sys.modules, 'hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
