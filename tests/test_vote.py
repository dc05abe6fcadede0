"""vote and avote, from the sampler to the result."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import random
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.replies._reply import Reply
from consilience.voting import Paraphrases, Reason, Sample, VoteResult, VoteSettings, avote, tally, vote

BILLING = '{"team": "billing", "confidence": 0.9}'


def reply(team: str | None) -> str:
    return "no idea" if team is None else f'{{"team": "{team}"}}'


class Script:
    """A sampler that answers the i-th prompt asked; asked twice at once, it answers out of order."""

    def __init__(self, teams: list[str | None], delays: list[float] | None = None) -> None:
        self.teams = teams
        self.delays = delays or [0.0] * len(teams)
        self.started = 0
        self.lock = threading.Lock()

    def __call__(self, prompt: int) -> str:
        with self.lock:
            self.started += 1
        time.sleep(self.delays[prompt])
        return reply(self.teams[prompt])

    async def asynchronous(self, prompt: int) -> str:
        self.started += 1
        await asyncio.sleep(self.delays[prompt])
        return reply(self.teams[prompt])


def test_the_simplest_vote() -> None:
    result = vote(lambda prompt: BILLING, "I was charged twice.", key="team", confidence_field="confidence")
    assert (result.value, result.agreement, result.confidence, result.num_samples) == ("billing", 1.0, 0.9, 5)
    assert result.elapsed > 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=7),
    st.sampled_from([0.0, 0.3, 0.5, 0.6, 1.0]),
    st.sampled_from([0.0, 0.5, 0.8]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_early_stop_never_changes_the_decision(
    teams: list[str | None],
    min_agreement: float,
    min_valid: float,
    count_failures: bool,
    abstain_on_tie: bool,
    concurrency: int,
    rng: random.Random,
) -> None:
    options = VoteSettings(
        n=len(teams),
        key="team",
        min_agreement=min_agreement,
        min_valid=min_valid,
        count_failures=count_failures,
        abstain_on_tie=abstain_on_tie,
    )
    prompts = Paraphrases(range(len(teams)))
    full = vote(Script(teams), prompts, settings=options)
    shuffled = [rng.random() / 500 for _ in teams]
    early = [
        vote(Script(teams), prompts, settings=options, early_stop=True),
        vote(Script(teams, shuffled), prompts, settings=options, early_stop=True, concurrency=concurrency),
        asyncio.run(
            avote(
                Script(teams, shuffled).asynchronous,
                prompts,
                settings=options,
                early_stop=True,
                concurrency=concurrency,
            )
        ),
    ]
    for result in early:
        assert (result.abstained, result.value) == (full.abstained, full.value)
        assert result.num_samples <= full.num_samples


@pytest.mark.parametrize("seed", range(5))
def test_threads_tasks_and_one_by_one_give_the_same_result(seed: int) -> None:
    rng = random.Random(seed)
    teams = [rng.choice(["a", "b", None]) for _ in range(8)]
    delays = [rng.random() / 100 for _ in teams]
    options: dict[str, Any] = {"n": 8, "key": "team", "min_agreement": 0.3}
    prompts = Paraphrases(range(8))
    one_by_one = vote(Script(teams), prompts, **options)
    assert vote(Script(teams, delays), prompts, concurrency=4, **options) == one_by_one
    assert asyncio.run(avote(Script(teams, delays).asynchronous, prompts, concurrency=4, **options)) == one_by_one
    assert asyncio.run(avote(Script(teams, delays), prompts, concurrency=4, **options)) == one_by_one
    assert tally(one_by_one, key="team", min_agreement=0.3).counts == one_by_one.counts


def test_at_most_three_at_the_same_time() -> None:
    flying = most = 0

    async def sampler(prompt: str) -> str:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return BILLING

    result = asyncio.run(avote(sampler, "?", n=6, concurrency=3, key="team"))
    assert (result.agreement, most) == (1.0, 3)


@pytest.mark.parametrize("concurrency", [1, 3, 5])
def test_agreement_makes_exactly_the_minimum_of_calls(concurrency: int) -> None:
    options: dict[str, Any] = {"n": 9, "key": "team", "early_stop": True, "concurrency": concurrency}
    for run in ("vote", "avote"):
        script = Script(["a"] * 9)
        prompts = Paraphrases(range(9))
        result = vote(script, prompts, **options) if run == "vote" else asyncio.run(avote(script, prompts, **options))
        assert (result.num_samples, script.started, result.abandoned) == (5, 5, 0)


def test_several_samplers_are_sources() -> None:
    result = vote(
        {"x": lambda p: BILLING, "y": lambda p: reply("shipping")}, "?", n=4, key="team", abstain_on_tie=False
    )
    assert [sample.source for sample in result.samples] == ["x", "y", "x", "y"]
    assert result.sources == ("x",)
    named = vote([lambda p: Reply(BILLING, source="other")], "?", n=1, key="team")
    assert named.samples[0].source == "0"


def test_min_sources_waits_for_the_second_source() -> None:
    samplers = {"x": lambda p: BILLING, "y": lambda p: BILLING, "z": lambda p: reply("shipping")}
    result = vote(samplers, "?", n=9, key="team", early_stop=True, min_sources=3)
    assert (result.reason, result.num_samples) == (Reason.TOO_FEW_SOURCES, 9)
    won = vote(samplers, "?", n=9, key="team", early_stop=True, min_sources=2)
    assert (won.value, won.sources, won.num_samples) == ("billing", ("x", "y"), 7)


def test_an_asynchronous_sampler_in_vote_is_a_type_error() -> None:
    async def sampler(prompt: str) -> str:
        raise AssertionError

    for given_sampler in (sampler, {"a": len, "b": sampler}, [sampler]):
        with pytest.raises(TypeError, match="avote"):
            vote(given_sampler, "?")


def test_a_coroutine_returned_by_a_plain_sampler_is_a_failed_sample() -> None:
    async def answer() -> str:
        return BILLING

    result = vote(lambda prompt: answer(), "?", n=2, key="team")
    assert result.reason == Reason.NO_VALID
    assert "avote" in result.detail
    assert asyncio.run(avote(lambda prompt: answer(), "?", n=2, key="team")).value == "billing"


def test_errors_are_failed_samples_unless_listed() -> None:
    calls = itertools.count()

    def sampler(prompt: str) -> str:
        if next(calls) == 1:
            raise ConnectionError("gone")
        return BILLING

    result = vote(sampler, "?", n=3, key="team")
    assert result.samples[1].error == "sampler_error: ConnectionError: gone"
    assert result.value == "billing"
    calls = itertools.count()
    with pytest.raises(ConnectionError):
        vote(sampler, "?", n=3, key="team", raise_on=OSError)
    calls = itertools.count()
    with pytest.raises(ConnectionError):
        asyncio.run(avote(sampler, "?", n=3, key="team", raise_on=(KeyError, ConnectionError)))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_what_is_no_exception_propagates(error: type[BaseException]) -> None:
    def sampler(prompt: str) -> str:
        raise error

    with pytest.raises(error):
        vote(sampler, "?", n=2)


def test_a_timeout_is_a_failed_sample() -> None:
    release = threading.Event()

    def sampler(prompt: int) -> str:
        if prompt == 0:
            release.wait(30)
        return BILLING

    result = vote(sampler, Paraphrases([0, 1, 1]), n=3, key="team", timeout=0.25, concurrency=3)
    release.set()
    assert result.samples[0].error == "timeout: no reply within 0.25 s"
    assert (result.value, result.abandoned) == ("billing", 1)


def test_a_deadline_decides_with_what_is_there_or_abstains() -> None:
    async def sampler(prompt: int) -> str:
        await asyncio.sleep(30 * prompt)
        return BILLING

    async def run(*prompts: int) -> VoteResult:
        return await avote(sampler, Paraphrases(prompts), n=3, key="team", concurrency=3, deadline=0.3)

    decided = asyncio.run(run(0, 0, 1))
    assert (decided.value, decided.num_samples, decided.stopped_by, decided.stopped_early) == (
        "billing",
        2,
        "deadline",
        True,
    )
    nothing = asyncio.run(run(1, 1, 1))
    assert (nothing.reason, nothing.num_samples) == (Reason.DEADLINE, 0)
    assert nothing.detail == "the deadline ended the vote after 0 of 3 samples: there are no samples"


def test_the_context_of_the_caller_holds_in_every_call() -> None:
    request = contextvars.ContextVar("request", default="none")
    request.set("r1")
    result = vote(lambda prompt: reply(request.get()), "?", n=3, concurrency=3, key="team")
    assert (result.value, result.agreement) == ("r1", 1.0)


def test_each_sample_is_announced_and_errors_of_the_announcer_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Sample] = []

    def announce(sample: Sample) -> None:
        seen.append(sample)
        raise RuntimeError("broken display")

    with caplog.at_level(logging.ERROR, logger="consilience"):
        result = vote(lambda prompt: BILLING, "?", n=3, key="team", on_sample=announce)
    assert tuple(seen) == result.samples
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3


def test_announcers_see_samples_of_a_tally_too() -> None:
    seen: list[Sample] = []
    result = tally([BILLING, "no"], key="team", on_sample=seen.append)
    assert tuple(seen) == result.samples


def test_a_large_tally_is_fast_and_right() -> None:
    replies = [reply(f"team {number % 7}") for number in range(20_000)] + [reply("team 3")] * 3
    result = tally(replies, key="team", min_agreement=0.1)
    assert result.value == "team 3"
    assert result.counts[0][1] == 20_000 // 7 + 3


def test_samples_keep_their_own_indices_in_whatever_order_they_come() -> None:
    said = ["a", "b", "b", "a"]
    samples = [Sample(index=index, ok=True, vote=vote, record={"t": vote}) for index, vote in enumerate(said, start=3)]
    for order in itertools.permutations(samples):
        result = tally(order, key="t", abstain_on_tie=False)
        assert result.value == "a"
        assert [sample.index for sample in result.samples] == [3, 4, 5, 6]
    repeated = [samples[1], samples[1], samples[0], samples[0]]
    assert [sample.index for sample in tally(repeated, key="t").samples] == [0, 1, 2, 3]
    assert [sample.index for sample in tally([samples[2], '{"t": "a"}'], key="t").samples] == [0, 1]
    assert tally([], key="t").samples == ()
