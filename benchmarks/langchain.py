"""LangChain: what VoteRunnable costs beside calling the same runnable n times by ``batch``, and the calls it makes.

Runs where the adapter is installed: .venvs/langchain-newest/bin/python -m benchmarks.langchain
"""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks._measuring import seconds, verdict

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

N = 5
MODEL_SECONDS = 0.05
ROUNDS = 15
INSTANT_N = 200
INPUTS = 200
LIMIT = 4

MOST_SHARE = 0.10
MOST_MICROSECONDS = 300.0

REPLY = '{"team": "billing"}'


class Load:
    """A model that takes ``duration`` seconds, and counts its calls and how many are in flight at most."""

    def __init__(self, duration: float = 0.0) -> None:
        self.duration = duration
        self.calls = self.peak = self._flying = 0
        self._lock = threading.Lock()

    def plain(self, _: Any) -> str:
        self._begin()
        if self.duration:
            time.sleep(self.duration)
        self._end()
        return REPLY

    async def asynchronous(self, _: Any) -> str:
        self._begin()
        if self.duration:
            await asyncio.sleep(self.duration)
        self._end()
        return REPLY

    def runnable(self) -> Runnable[Any, Any]:
        from langchain_core.runnables import RunnableLambda

        return RunnableLambda(self.plain, afunc=self.asynchronous)

    def _begin(self) -> None:
        with self._lock:
            self.calls += 1
            self._flying += 1
            self.peak = max(self.peak, self._flying)

    def _end(self) -> None:
        with self._lock:
            self._flying -= 1


def main() -> None:
    if importlib.util.find_spec("langchain_consilience") is None:
        print("skipped: the adapter is not installed here; make .venvs/langchain-newest/.installed, then")
        print(".venvs/langchain-newest/bin/python -m benchmarks.langchain")
        return
    overhead_of_a_slow_model()
    overhead_of_an_instant_model()
    calls_of_a_batch()


def overhead_of_a_slow_model() -> None:
    print(f"a model of {MODEL_SECONDS * 1e3:.0f} ms, n={N}: seconds for a vote / for batch, medians of {ROUNDS} rounds")
    for name, (ours, theirs) in slow_rounds().items():
        rounds = [(ours(), theirs()) for _ in range(ROUNDS)]  # turn and turn about: what else runs here hits both
        mine, other = (statistics.median(column) for column in zip(*rounds, strict=True))
        share = mine / other - 1
        held = verdict(share < MOST_SHARE)
        print(f"  {name:8} {mine:.4f} / {other:.4f}: {share:+.1%} (at most {MOST_SHARE:.0%}) {held}")


def slow_rounds() -> dict[str, tuple[Callable[[], float], Callable[[], float]]]:
    """For threads and asyncio, the seconds of one vote and of one batch, as functions that measure them."""
    from langchain_consilience import VoteRunnable

    bound = Load(MODEL_SECONDS).runnable()
    vote: Runnable[Any, Any] = VoteRunnable(bound, n=N, key="team")
    inputs = ["x"] * N
    return {
        "threads": (lambda: wall(lambda: vote.invoke("x")), lambda: wall(lambda: bound.batch(inputs))),
        "asyncio": (
            lambda: asyncio.run(awaited_wall(lambda: vote.ainvoke("x"))),
            lambda: asyncio.run(awaited_wall(lambda: bound.abatch(inputs))),
        ),
    }


def overhead_of_an_instant_model() -> None:
    print("an instant model: processor time a sample beyond that of batch")
    for n in (N, INSTANT_N):
        for name, concurrency in {"threads": None, "one after the other": 1}.items():
            _print_beyond(f"n={n}, {name}", *instant_seconds(n, concurrency))
        _print_beyond(f"n={n}, asyncio", *instant_seconds(n, asynchronous=True))


def instant_seconds(
    n: int, concurrency: int | None = None, *, asynchronous: bool = False, samples: int = 1_000, repeat: int = 5
) -> tuple[float, float]:
    """Least processor time of a sample, of a vote and of ``batch``, over as many votes as make ``samples``."""
    from langchain_consilience import VoteRunnable

    bound = Load().runnable()
    vote: Runnable[Any, Any] = VoteRunnable(bound, n=n, key="team", concurrency=concurrency)
    votes, inputs, config = range(samples // n), ["x"] * n, {"max_concurrency": concurrency}

    async def avotes() -> None:
        for _ in votes:
            await vote.ainvoke("x")

    async def abatches() -> None:
        for _ in votes:
            await bound.abatch(inputs)

    if asynchronous:
        measured = [seconds(lambda: asyncio.run(avotes()), repeat), seconds(lambda: asyncio.run(abatches()), repeat)]
    else:
        measured = [
            seconds(lambda: [vote.invoke("x") for _ in votes], repeat),
            seconds(lambda: [bound.batch(inputs, config) for _ in votes], repeat),  # type: ignore[arg-type]
        ]
    whole, batch = (each / len(votes) / n for each in measured)
    return whole, batch


def _print_beyond(name: str, whole: float, batch: float) -> None:
    beyond = (whole - batch) * 1e6
    print(
        f"  {name:28} {whole * 1e6:5.0f} - {batch * 1e6:4.0f} = {beyond:5.0f} µs "
        f"(at most {MOST_MICROSECONDS:.0f}) {verdict(beyond < MOST_MICROSECONDS)}"
    )


def calls_of_a_batch() -> None:
    from langchain_consilience import VoteRunnable

    print(f"{INPUTS} inputs, n={N}, all agreeing, at most {LIMIT} calls at once")
    for early_stop, least in ((True, INPUTS * 3), (False, INPUTS * N)):
        for name, run in (("threads", _batch), ("asyncio", _abatch)):
            load = Load(0.002)
            vote: Runnable[Any, Any] = VoteRunnable(load.runnable(), n=N, key="team", early_stop=early_stop)
            run(vote, [f"ticket {number}" for number in range(INPUTS)], {"max_concurrency": LIMIT})
            print(
                f"  {name:8} early_stop={early_stop!s:5} {load.calls} calls ({least} needed) "
                f"{verdict(load.calls <= least * 1.01)}, {load.peak} in flight {verdict(load.peak == LIMIT)}"
            )


def _batch(vote: Runnable[Any, Any], inputs: list[str], config: Any) -> None:
    vote.batch(inputs, config)


def _abatch(vote: Runnable[Any, Any], inputs: list[str], config: Any) -> None:
    asyncio.run(vote.abatch(inputs, config))


def wall(call: Callable[[], Any]) -> float:
    """Seconds on the clock."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


async def awaited_wall(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
