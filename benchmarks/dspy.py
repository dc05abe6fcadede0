"""DSPy: what a vote costs beyond its calls, and how it differs from DSPy's own ways of asking several times.

.venvs/dspy-newest/bin/python -m benchmarks.dspy
"""

from __future__ import annotations

import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price list from the network

import asyncio
import contextlib
import io
import logging
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from dspy.utils import DummyLM
from dspy.utils.callback import BaseCallback

from dspy_consilience import Vote

from ._measuring import verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "integrations" / "dspy" / "tests"))

from loopback import Loopback, chat

CALL = 0.05
N = 5
ROUNDS = 5
ALLOWED = 1.10
IMPORT_ALLOWED = 0.05


class Slow(BaseCallback):
    """Makes every call of an LM take its time."""

    def on_lm_start(self, call_id: str, instance: Any, inputs: Any) -> None:  # noqa: ARG002
        time.sleep(CALL)


class SlowModule(dspy.Module):  # type: ignore[misc]  # dspy has no types
    """A module whose asynchronous call takes its time."""

    async def aforward(self, **inputs: Any) -> Any:  # noqa: ARG002
        await asyncio.sleep(CALL)
        return dspy.Prediction(answer="yes")


def least_seconds(call: Callable[[], Any]) -> float:
    """The least of several runs: other programs take their share of the machine too."""

    def once() -> float:
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    return min(once() for _ in range(ROUNDS))


def overhead() -> dict[str, float]:
    """The time of a vote over that of its calls alone."""
    module = dspy.Predict("question -> answer")
    slow = SlowModule()

    def plain() -> None:
        for _ in range(N):
            module(question="?")

    def plain_threads() -> None:
        contexts = [copy_context() for _ in range(N)]
        with ThreadPoolExecutor(N) as pool:
            for call in [pool.submit(context.run, partial(module, question="?")) for context in contexts]:
                call.result()

    async def plain_tasks() -> None:
        await asyncio.gather(*(slow.acall(question="?") for _ in range(N)))

    with dspy.context(lm=DummyLM([{"answer": "yes"}] * 10_000), callbacks=[Slow()]):
        one_by_one = least_seconds(plain)
        in_threads = least_seconds(plain_threads)
        voted = least_seconds(lambda: Vote(module, n=N)(question="?"))
        voted_in_threads = least_seconds(lambda: Vote(module, n=N, concurrency=N)(question="?"))
    in_tasks = least_seconds(lambda: asyncio.run(plain_tasks()))
    vote = Vote(slow, n=N, concurrency=N)
    voted_in_tasks = least_seconds(lambda: asyncio.run(vote.acall(question="?")))
    return {
        f"{N} calls one by one": voted / one_by_one,
        f"{N} calls at once, over a thread pool": voted_in_threads / in_threads,
        f"{N} tasks at once, over asyncio.gather": voted_in_tasks / in_tasks,
    }


def import_seconds() -> float:
    """What importing the package adds to importing the core."""
    code = "import consilience, time; t = time.perf_counter(); import dspy_consilience; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(ROUNDS))


# DSPy's own ways of asking several times.


REPLIES = ["-5", "5", "5", "5", "5"]
UNREADABLE = 1
"""Which of the replies is noise, where one is."""


def replies(noise: bool) -> Callable[[int, dict[str, Any]], str]:
    """The model: its replies in order, and "5" where it is shown attempts to compare."""

    def reply(number: int, body: dict[str, Any]) -> str:
        if "attempt" in body["messages"][-1]["content"]:
            return chat(rationale="r", answer="5")
        at = number % N
        return "I cannot say." if noise and at == UNREADABLE else chat(reasoning="r", answer=REPLIES[at])

    return reply


def five_calls(module: Any) -> list[Any]:
    return [module(question="?") for _ in range(N)]


WAYS: dict[str, Callable[[Any], Any]] = {
    "one call": lambda module: module(question="?"),
    "majority of Predict(n=5)": lambda module: dspy.majority(module(question="?", config={"n": N})),
    "majority of 5 calls": lambda module: dspy.majority([dict(each) for each in five_calls(module)]),
    "Ensemble(majority)": lambda module: dspy.Ensemble(
        reduce_fn=lambda outputs: dspy.majority([dict(each) for each in outputs])
    ).compile([module] * N)(question="?"),
    "BestOfN(N=5)": lambda module: dspy.BestOfN(module, N=N, reward_fn=lambda *_: 0.0, threshold=1.0)(question="?"),
    "MultiChainComparison(M=5)": lambda module: dspy.MultiChainComparison("question -> answer", M=N)(
        five_calls(module), question="?"
    ),
    "Vote(n=5)": lambda module: Vote(module, n=N)(question="?"),
}


def outcome(way: Callable[[Any], Any], module: Any) -> str:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return str(way(module).answer)
    except Exception as error:
        return type(error).__name__


def compared() -> None:
    """Print what each way makes of the same replies, and how many requests reach the model, cold and warm."""
    print(f"{'':28}{'answer':>10}{'requests':>10}{'again':>7}  with a reply that cannot be read")
    for name, way in WAYS.items():
        row: dict[bool, tuple[str, int, int]] = {}
        for noise in (False, True):
            dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
            adapter = dspy.ChatAdapter(use_json_adapter_fallback=False)
            with Loopback(replies(noise)) as server, dspy.context(lm=server.lm(), adapter=adapter):
                module = dspy.ChainOfThought("question -> answer")
                answer, first = outcome(way, module), server.calls
                outcome(way, module)
                row[noise] = (answer, first, server.calls - first)
        answer, first, again = row[False]
        print(f"{name:28}{answer:>10}{first:>10}{again:>7}  {row[True][0]}")


def main() -> None:
    """Print all, and how it stands to the limits."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print(f"overhead of a vote with calls of {CALL * 1000:.0f} ms (least of {ROUNDS} rounds)")
    for name, ratio in overhead().items():
        print(f"  {name:40} {ratio:6.3f}  {verdict(ratio < ALLOWED)}")
    added = import_seconds()
    print(f"  {'importing dspy_consilience':40} {added * 1000:4.1f} ms  {verdict(added < IMPORT_ALLOWED)}")
    print()
    print(f"replies of the model, in order: {', '.join(REPLIES)}")
    compared()


if __name__ == "__main__":
    main()
