"""How long a vote waits for its calls, against the least time in which they could be made.

The samplers sleep, so that all the time beyond the sleeping is the drivers' own. Calls are started in order, each as
soon as a place is free; the lower bound is the end of that schedule if nothing else took any time. With an early stop,
launching only the calls that can still matter is compared with launching as many as may run at once.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from consilience import avote, vote

REPEATS = 3
ALLOWED = 1.05
REPLY = '{"a": 1}'

EVEN = [0.2] * 12
UNEVEN = [random.Random(5).uniform(0.05, 0.4) for _ in range(12)]

Driver = Callable[..., float]
"""Takes durations and the options of a vote; returns the seconds that the vote took."""


def lower_bound(durations: Sequence[float], concurrency: int) -> float:
    """Seconds until the last call ends, each one starting when the first place gets free."""
    free_at = [0.0] * concurrency
    for seconds in durations:
        heapq.heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)


def plain_sampler(durations: Sequence[float]) -> Callable[[str], str]:
    turns = iter(durations)

    def sampler(_: str) -> str:
        time.sleep(next(turns))
        return REPLY

    return sampler


def in_threads(durations: Sequence[float], **options: Any) -> float:
    """``vote`` with a plain sampler."""
    started = time.perf_counter()
    vote(plain_sampler(durations), "prompt", n=len(durations), key="a", **options)
    return time.perf_counter() - started


def in_tasks(durations: Sequence[float], **options: Any) -> float:
    """``avote`` with an asynchronous sampler."""
    turns = iter(durations)

    async def sampler(_: str) -> str:
        await asyncio.sleep(next(turns))
        return REPLY

    return asyncio.run(_awaited(sampler, len(durations), options))


def in_tasks_with_plain_sampler(durations: Sequence[float], **options: Any) -> float:
    """``avote`` with a plain sampler, whose calls run in worker threads."""
    return asyncio.run(_awaited(plain_sampler(durations), len(durations), options))


async def _awaited(sampler: Callable[[str], Any], n: int, options: dict[str, Any]) -> float:
    started = time.perf_counter()
    await avote(sampler, "prompt", n=n, key="a", **options)
    return time.perf_counter() - started


DRIVERS: dict[str, Driver] = {
    "vote": in_threads,
    "avote": in_tasks,
    "avote, plain sampler": in_tasks_with_plain_sampler,
}


def median_seconds(run: Driver, durations: Sequence[float], **options: Any) -> float:
    """The median over a few runs, because other programs take their share of the machine too."""
    return statistics.median(run(durations, **options) for _ in range(REPEATS))


def against_lower_bound() -> float:
    """Print measured over least possible time for each driver; return the worst ratio."""
    print(f"{'driver':22}{'durations':>11}{'concurrency':>13}{'bound s':>9}{'ratio':>8}")
    worst = 0.0
    for name, run in DRIVERS.items():
        for label, durations in (("even", EVEN), ("uneven", UNEVEN)):
            for concurrency in (1, 4, 12):
                bound = lower_bound(durations, concurrency)
                ratio = median_seconds(run, durations, concurrency=concurrency) / bound
                worst = max(worst, ratio)
                print(f"{name:22}{label:>11}{concurrency:>13}{bound:>9.3f}{ratio:>8.3f}")
    return worst


def frugal_against_eager() -> float:
    """Print the wait of frugal over that of eager launching, where all replies agree; return the worst ratio."""
    print(f"{'driver':22}{'durations':>11}{'concurrency':>13}{'eager s':>9}{'ratio':>8}")
    worst = 0.0
    for name, run in DRIVERS.items():
        for concurrency in (1, 3, 9):
            options = {"concurrency": concurrency, "early_stop": True}
            eager = median_seconds(run, EVEN[:9], **options, eager=True)
            ratio = median_seconds(run, EVEN[:9], **options) / eager
            worst = max(worst, ratio)
            print(f"{name:22}{'even':>11}{concurrency:>13}{eager:>9.3f}{ratio:>8.3f}")
    return worst


def main() -> None:
    """Print both tables, and how the worst ratios stand to the limit."""
    print("waiting time of 12 sleeping calls: measured / lower bound")
    worst_wait = against_lower_bound()
    print("\nearly stop after 9 calls at most, all agreeing: frugal / eager launching")
    worst_frugal = frugal_against_eager()
    for what, worst in (("lower bound", worst_wait), ("eager launching", worst_frugal)):
        verdict = "within" if worst <= ALLOWED else "beyond"
        print(f"worst ratio to {what}: {worst:.3f} ({verdict} the limit of {ALLOWED:.2f})")


if __name__ == "__main__":
    main()
