"""Batches: one limit for all calls, order, failures, and nothing that outlives the batch."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from integrations.langchain.tests.scripted import A, B, ScriptedModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough

from consilience import AbstainError, sample_index
from langchain_consilience import ConsensusRunnable, VoteRunnable

MODES = ["batch", "batch_as_completed", "abatch", "abatch_as_completed"]
every_way = pytest.mark.parametrize("mode", MODES)


def run(component: Any, inputs: list[Any], mode: str, config: Any = None, **kwargs: Any) -> list[Any]:
    """The outputs in order of the inputs, whichever way they were made."""

    async def collect() -> list[tuple[int, Any]]:
        return [pair async for pair in component.abatch_as_completed(inputs, config, **kwargs)]

    if mode == "batch":
        return component.batch(inputs, config, **kwargs)
    if mode == "abatch":
        return asyncio.run(component.abatch(inputs, config, **kwargs))
    pairs = list(component.batch_as_completed(inputs, config, **kwargs)) if mode[0] == "b" else asyncio.run(collect())
    assert sorted(index for index, _ in pairs) == list(range(len(inputs)))
    return [output for _, output in sorted(pairs, key=lambda pair: pair[0])]


def echo(messages: list[BaseMessage], given: dict[str, Any]) -> str:
    """Says the ticket's number, and raises for every seventh."""
    number = int(str(messages[0].content))
    if number % 7 == 0:
        raise ConnectionError("reset")
    return f'{{"team": {number}}}'


@every_way
@pytest.mark.parametrize("early_stop", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 4])
def test_max_concurrency_holds_for_the_whole_batch(mode: str, early_stop: bool, limit: int) -> None:
    model = ScriptedModel(script=[A], delay=0.01)
    vote = VoteRunnable(model | StrOutputParser(), n=4, key="team", early_stop=early_stop)
    results = run(vote, ["x"] * 6, mode, {"max_concurrency": limit})
    assert [each.value for each in results] == ["a"] * 6
    assert model.most_in_flight <= limit


@pytest.mark.parametrize("mode", ["batch", "abatch"])
def test_the_limit_is_used_up(mode: str) -> None:
    arrived = threading.Barrier(4)

    def chain(_: Any) -> Any:
        arrived.wait(timeout=20)  # passes when four calls are in flight
        return {"team": "a"}

    async def achain(_: Any) -> Any:
        return await asyncio.to_thread(chain, _)

    vote = VoteRunnable(RunnableLambda(chain, afunc=achain), n=4, key="team")
    results = run(vote, ["x"] * 3, mode, {"max_concurrency": 4})
    assert [each.num_valid for each in results] == [4, 4, 4]


@every_way
def test_a_limit_smaller_than_a_vote_does_not_deadlock(mode: str) -> None:
    results = run(VoteRunnable(lambda _: {"team": "a"}, n=5, key="team"), ["x"] * 20, mode, {"max_concurrency": 2})
    assert [each.value for each in results] == ["a"] * 20


def test_max_concurrency_holds_for_one_vote() -> None:
    model = ScriptedModel(script=[A], delay=0.01)
    vote = VoteRunnable(model, n=6, key="team")
    assert vote.invoke("x", {"max_concurrency": 2}).value == "a"
    assert model.most_in_flight <= 2
    asyncio.run(vote.ainvoke("x", {"max_concurrency": 2}))
    assert model.most_in_flight <= 2
    VoteRunnable(model, n=6, key="team", concurrency=1).invoke("x", {"max_concurrency": 5})
    assert model.most_in_flight <= 2


@every_way
def test_the_branches_of_abstentions_keep_the_limit(mode: str) -> None:
    stronger = ScriptedModel(script=[A], delay=0.02)
    branch = RunnableLambda(lambda abstention: str(abstention["input"])) | stronger
    vote = VoteRunnable(lambda _: {"team": sample_index()}, n=2, key="team", on_abstain=branch)
    results = run(vote, ["x"] * 8, mode, {"max_concurrency": 2})
    assert [each.content for each in results] == [A] * 8
    assert stronger.most_in_flight <= 2


@every_way
def test_two_hundred_prompts_with_failures_finish_in_order(mode: str) -> None:
    model = ScriptedModel(script=[echo])
    vote = VoteRunnable(model, n=3, key="team")
    results = run(vote, [str(number) for number in range(200)], mode, {"max_concurrency": 8})
    for number, result in enumerate(results):
        if number % 7 == 0:
            assert (result.reason, result.samples[0].code) == ("no_valid", "sampler_error")
        else:
            assert result.value == number
    assert model.calls == 600
    assert model.most_in_flight <= 8


@pytest.mark.parametrize("mode", ["batch", "abatch"])
def test_a_batch_that_stops_early_makes_few_calls_for_nothing(mode: str) -> None:
    model = ScriptedModel(script=[A])
    vote = VoteRunnable(model, n=5, key="team", early_stop=True)
    results = run(vote, ["x"] * 200, mode, {"max_concurrency": 16})
    assert all(each.value == "a" for each in results)
    assert model.calls == 600  # three of five, and not one more


@pytest.mark.parametrize("mode", ["batch", "abatch"])
def test_a_call_that_waits_for_its_turn_is_not_made_once_the_vote_is_settled(mode: str) -> None:
    model = ScriptedModel(script=[A])
    vote = VoteRunnable(model, n=5, key="team", early_stop=True, eager=True)
    results = run(vote, ["x"] * 10, mode, {"max_concurrency": 1})
    assert all(each.stopped_early for each in results)
    # A thread may be let in between the third reply and the moment at which the vote takes note of it.
    assert model.calls == 30 if mode == "abatch" else 30 <= model.calls <= 40


@every_way
def test_exceptions_can_be_returned_in_their_place(mode: str) -> None:
    vote = VoteRunnable(
        lambda number: {"team": sample_index() if number == 1 else "a"}, n=2, key="team", on_abstain="raise"
    )
    results = run(vote, [0, 1, 2], mode, {"max_concurrency": 2}, return_exceptions=True)
    assert [type(each).__name__ for each in results] == ["VoteResult", "AbstainError", "VoteResult"]
    assert results[1].result.reason == "tie"
    with pytest.raises(AbstainError):
        run(vote, [0, 1, 2], mode)


@every_way
def test_an_empty_batch_and_one_of_a_single_input(mode: str) -> None:
    vote = VoteRunnable(lambda _: {"team": "a"}, n=2, key="team")
    assert run(vote, [], mode) == []
    assert run(vote, [], mode, {"max_concurrency": 2}) == []
    assert [each.value for each in run(vote, ["x"], mode, {"max_concurrency": 1})] == ["a"]


@every_way
def test_a_list_of_configs(mode: str) -> None:
    model = ScriptedModel(script=[A], delay=0.01)
    vote = VoteRunnable(model, n=3, key="team")
    assert len(run(vote, ["x", "y"], mode, [{"max_concurrency": 2}, {"tags": ["second"]}])) == 2
    assert model.most_in_flight <= 2
    with pytest.raises(ValueError, match="same length"):
        run(vote, ["x", "y"], mode, [{}])


@every_way
def test_a_batch_through_a_chain_keeps_the_limit(mode: str) -> None:
    model = ScriptedModel(script=[A], delay=0.005)
    chain = RunnableLambda(str) | VoteRunnable(model, n=4, key="team", output="value") | str.upper
    assert run(chain, ["x"] * 5, mode if "completed" not in mode else "batch", {"max_concurrency": 3}) == ["A"] * 5
    assert model.most_in_flight <= 3


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"] if sys.version_info >= (3, 11) else ["invoke"])
def test_a_batch_inside_a_function_keeps_the_limit_of_the_chain_around_it(mode: str) -> None:
    model = ScriptedModel(script=[A], delay=0.005)
    vote = VoteRunnable(model, n=4, key="team")

    async def abatch(inputs: list[str]) -> Any:
        return await vote.abatch(inputs)

    chain = RunnableLambda(lambda inputs: vote.batch(inputs), afunc=abatch)
    config: Any = {"max_concurrency": 3}
    results = chain.invoke(["x"] * 4, config) if mode == "invoke" else asyncio.run(chain.ainvoke(["x"] * 4, config))
    assert [each.value for each in results] == ["a"] * 4
    assert model.most_in_flight <= 3


@every_way
def test_key_words_of_a_batch_go_to_what_is_sampled(mode: str) -> None:
    model = ScriptedModel(script=[A])
    run(VoteRunnable(model, n=2, key="team"), ["x", "y"], mode, seed=4)
    assert model.seeds == [4] * 4


@every_way
def test_a_consensus_is_batched_in_the_same_way(mode: str) -> None:
    model = ScriptedModel(script=[A], delay=0.005)
    results = run(ConsensusRunnable(model, n=3), ["x"] * 4, mode, {"max_concurrency": 2})
    assert [each.value for each in results] == [{"team": "a"}] * 4
    assert model.most_in_flight <= 2


# The user's own limiter


class Counting:
    """A limiter that lets everyone in and counts; of both kinds."""

    def __init__(self) -> None:
        self.inside = self.entered = 0

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.entered += 1
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1


class Plain(Counting):
    def __enter__(self) -> None:
        self.entered += 1
        self.inside += 1

    def __exit__(self, *raised: Any) -> None:
        self.inside -= 1


class Asynchronous(Counting):
    async def __aenter__(self) -> None:
        self.entered += 1
        self.inside += 1

    async def __aexit__(self, *raised: Any) -> None:
        self.inside -= 1


@every_way
@pytest.mark.parametrize("config", [None, {"max_concurrency": 2}])
def test_the_user_s_limiter_is_entered_too(mode: str, config: Any) -> None:
    limiter = Asynchronous() if mode[:2] == "ab" else Plain()
    model = ScriptedModel(script=[A, ConnectionError("reset")])
    run(VoteRunnable(model, n=2, key="team", limiter=limiter), ["x"] * 3, mode, config)
    assert (limiter.entered, limiter.inside) == (6, 0)


@every_way
def test_a_limiter_of_the_wrong_kind_is_refused(mode: str) -> None:
    limiter = Plain() if mode[:2] == "ab" else Asynchronous()
    model = ScriptedModel(script=[A])
    with pytest.raises(TypeError, match="limiter must be"):
        run(VoteRunnable(model, n=2, limiter=limiter), ["x"] * 3, mode, {"max_concurrency": 2})
    assert model.calls == 0


@pytest.mark.parametrize("mode", ["batch", "abatch"])
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda vote: vote.with_retry(stop_after_attempt=2),
        lambda vote: vote.with_fallbacks([RunnableLambda(str)]),
        lambda vote: vote.with_config(tags=["triage"]).with_types(input_type=str).with_listeners(),
        lambda vote: vote.bind(stop=["."]) | RunnablePassthrough(),
        lambda vote: vote.configurable_fields(n=ConfigurableField(id="n")),
    ],
    ids=["retry", "fallbacks", "config", "bind", "fields"],
)
def test_a_batch_through_what_wraps_a_vote_keeps_the_limit(wrapped: Any, mode: str) -> None:
    model = ScriptedModel(script=[A], delay=0.01)
    run(wrapped(VoteRunnable(model, n=4, key="team")), ["x"] * 4, mode, {"max_concurrency": 2})
    assert (model.calls, model.most_in_flight) == (16, 2)


def test_the_list_of_a_map_is_a_batch() -> None:
    model = ScriptedModel(script=[A], delay=0.01)
    votes = VoteRunnable(model, n=4, key="team").map()
    assert len(votes.invoke(["x"] * 4, {"max_concurrency": 2})) == 4
    assert len(asyncio.run(votes.ainvoke(["x"] * 4, {"max_concurrency": 2}))) == 4
    assert (model.calls, model.most_in_flight) == (32, 2)


@pytest.mark.parametrize("mode", ["batch", "abatch"])
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda vote: RunnableLambda(lambda text: {"text": text}) | RunnablePassthrough.assign(vote=vote),
        lambda vote: vote.configurable_fields(n=ConfigurableField(id="n")).with_config(configurable={"n": 4}),
    ],
    ids=["assign", "fields of the call"],
)
def test_where_votes_run_one_by_one_a_limiter_in_common_holds(wrapped: Any, mode: str) -> None:
    """As the README says: LangChain calls these once for each input, and there is no batch to limit."""
    model = ScriptedModel(script=[A], delay=0.01)
    chain = RunnableLambda(lambda given: given["text"] if isinstance(given, dict) else given) | model
    limiter = asyncio.Semaphore(2) if mode == "abatch" else threading.Semaphore(2)
    vote = VoteRunnable(chain, n=4, key="team", limiter=limiter)
    run(wrapped(vote), ["x"] * 4, mode, {"max_concurrency": 4})
    assert (model.calls, model.most_in_flight) == (16, 2)


def test_a_limiter_that_fails_gives_its_permit_back() -> None:
    class Broken(Plain):
        def __enter__(self) -> None:
            raise OSError("no lease")

    class BrokenAsynchronous(Asynchronous):
        async def __aenter__(self) -> None:
            raise OSError("no lease")

    for mode, limiter in (("batch", Broken()), ("abatch", BrokenAsynchronous())):
        vote = VoteRunnable(lambda _: {}, n=3, limiter=limiter)
        results = run(vote, ["x"] * 3, mode, {"max_concurrency": 1})
        assert [each.samples[0].error for each in results] == ["sampler_error: OSError: no lease"] * 3


# Nothing outlives a batch


def hanging(started: list[Any], cancelled: list[Any]) -> RunnableLambda[Any, Any]:
    async def chain(number: int) -> Any:
        if number == 0:
            return {"team": sample_index()}
        started.append(number)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    return RunnableLambda(lambda _: None, afunc=chain)


def test_when_one_vote_raises_the_others_are_cancelled() -> None:
    started: list[Any] = []
    cancelled: list[Any] = []

    async def main() -> int:
        with pytest.raises(AbstainError):
            await VoteRunnable(hanging(started, cancelled), n=2, key="team", on_abstain="raise").abatch([1, 0, 2])
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert sorted(cancelled) == sorted(started)


def test_when_nobody_iterates_any_more_the_others_are_cancelled() -> None:
    started: list[Any] = []
    cancelled: list[Any] = []

    async def main() -> int:
        @asynccontextmanager
        async def closing(pairs: Any) -> AsyncIterator[Any]:
            try:
                yield pairs
            finally:
                await pairs.aclose()

        vote = VoteRunnable(hanging(started, cancelled), n=2, key="team")
        async with closing(vote.abatch_as_completed([1, 0, 2])) as pairs:
            async for index, result in pairs:
                assert (index, result.reason) == (1, "tie")
                break
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert sorted(cancelled) == sorted(started)


def test_a_batch_that_is_cancelled_cancels_its_votes() -> None:
    started: list[Any] = []
    cancelled: list[Any] = []

    async def main() -> int:
        task = asyncio.create_task(VoteRunnable(hanging(started, cancelled), n=2).abatch([1, 2]))
        while len(started) < 4:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert sorted(cancelled) == sorted(started)


def test_results_come_as_they_are_done() -> None:
    release = threading.Event()

    def chain(number: int) -> Any:
        if number == 0:
            assert release.wait(timeout=20)
        return {"team": number}

    pairs = VoteRunnable(chain, n=2, key="team").batch_as_completed([0, 1])
    assert next(pairs)[0] == 1
    release.set()
    assert [index for index, _ in pairs] == [0]


def test_a_used_component_keeps_nothing_of_a_batch() -> None:
    vote = VoteRunnable(lambda _: {"team": "a"}, n=2, key="team")
    vote.batch(["x", "y"], {"max_concurrency": 1})
    assert vote == VoteRunnable(**{name: getattr(vote, name) for name in VoteRunnable.model_fields})
    assert vote._limit is None


def test_the_framework_s_own_batch_has_no_such_limit() -> None:
    """Why batch is overridden: the same vote as a plain lambda, sixteen calls in flight where four were asked for."""
    model = ScriptedModel(script=[A, B], delay=0.05)
    vote = VoteRunnable(model, n=4, key="team")
    RunnableLambda(lambda text: vote.invoke(text, {"max_concurrency": None})).batch(["x"] * 4, {"max_concurrency": 4})
    assert model.most_in_flight > 4
