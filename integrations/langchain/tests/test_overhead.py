"""What a vote costs beside its calls. The bounds are those of benchmarks/langchain.py."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from benchmarks.langchain import LIMIT, MOST_MICROSECONDS, MOST_SHARE, Load, instant_seconds, slow_rounds

from langchain_consilience import VoteRunnable

PATIENCE = 60
"""Rounds until a bound must have been met: what else runs on a machine slows most rounds, but not all."""


@pytest.mark.parametrize("how", ["threads", "asyncio"])
def test_beside_a_model_that_takes_time_a_vote_takes_no_more_than_batch(how: str) -> None:
    ours, theirs = slow_rounds()[how]
    mine = other = float("inf")
    for _ in range(PATIENCE):
        mine, other = min(mine, ours()), min(other, theirs())
        if mine / other - 1 < MOST_SHARE:
            return
    pytest.fail(f"{mine:.4f} s against {other:.4f} s")


@pytest.mark.parametrize("n", [5, 200])
@pytest.mark.parametrize("how", [{}, {"concurrency": 1}, {"asynchronous": True}])
def test_beside_an_instant_model_a_sample_costs_microseconds(n: int, how: dict[str, Any]) -> None:
    for _ in range(3):
        whole, batch = instant_seconds(n, **how, samples=200, repeat=3)
        if (whole - batch) * 1e6 < MOST_MICROSECONDS:
            return
    pytest.fail(f"{(whole - batch) * 1e6:.0f} µs a sample")


@pytest.mark.parametrize("how", ["batch", "abatch"])
def test_a_batch_makes_only_the_calls_that_it_needs_and_as_many_at_once_as_it_may(how: str) -> None:
    load = Load(0.005)
    vote = VoteRunnable(load.runnable(), n=5, key="team", early_stop=True)
    inputs = [str(number) for number in range(200)]
    if how == "batch":
        results = vote.batch(inputs, {"max_concurrency": LIMIT})
    else:
        results = asyncio.run(vote.abatch(inputs, {"max_concurrency": LIMIT}))
    assert [each.value for each in results] == ["billing"] * 200
    assert load.peak == LIMIT
    assert load.calls <= 606
