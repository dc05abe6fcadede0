"""LangChain's cache, which makes samples copies of each other, and what is done about it."""

from __future__ import annotations

import asyncio
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from integrations.langchain.tests.scripted import A, B, C, ScriptedModel
from langchain_core.caches import InMemoryCache
from langchain_core.globals import get_llm_cache, set_llm_cache
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda

from langchain_consilience import CachedSamplesWarning, ConsensusRunnable, VoteRunnable
from langchain_consilience._cache import SaltedCache


@pytest.fixture
def cache() -> Iterator[InMemoryCache]:
    cache = InMemoryCache()
    set_llm_cache(cache)
    yield cache
    set_llm_cache(None)


def run(component: Any, mode: str) -> Any:
    return component.invoke("x") if mode == "invoke" else asyncio.run(component.ainvoke("x"))


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
components = pytest.mark.parametrize("component", [VoteRunnable, ConsensusRunnable])


@both
@components
@pytest.mark.parametrize("parsed", [False, True])
def test_a_warm_cache_raises_the_warning(mode: str, component: Any, parsed: bool, cache: InMemoryCache) -> None:
    model = ScriptedModel(script=[A, B, C])
    chain = model | StrOutputParser() if parsed else model
    assert model.invoke("x").content == A
    with pytest.warns(CachedSamplesWarning, match="5 of 5 samples came from LangChain's cache") as caught:
        result = run(component(chain, n=5), mode)
    assert len(caught) == 1
    assert model.calls == 1
    assert result.usage is None  # copies cost nothing


@both
def test_a_cache_that_fills_during_the_vote_raises_it_too(mode: str, cache: InMemoryCache) -> None:
    model = ScriptedModel(script=[A, B, C])
    with pytest.warns(CachedSamplesWarning, match="4 of 5 samples"):
        result = run(VoteRunnable(model, n=5, key="team", concurrency=1), mode)
    assert result.usage["total_tokens"] == 35
    assert result.agreement == 1.0  # which is why the warning is loud


@both
def test_copies_whose_parser_fails_are_copies_too(mode: str, cache: InMemoryCache) -> None:
    def broken(message: Any) -> Any:
        raise KeyError("team")

    model = ScriptedModel(script=[A])
    model.invoke("x")
    with pytest.warns(CachedSamplesWarning, match="3 of 3"):
        run(VoteRunnable(model | broken, n=3), mode)


@both
def test_a_cache_of_the_model_s_own_raises_it_too(mode: str) -> None:
    model = ScriptedModel(script=[A, B, C], cache=InMemoryCache())
    with pytest.warns(CachedSamplesWarning, match="2 of 3"):
        run(VoteRunnable(model, n=3, concurrency=1), mode)


@both
def test_a_model_for_plain_text_announces_no_hits_but_is_found_out(mode: str, cache: InMemoryCache) -> None:
    model = FakeListLLM(responses=[A, B, C])
    model.invoke("x")
    with pytest.warns(CachedSamplesWarning, match="3 of 3"):
        assert run(VoteRunnable(model, n=3, key="team"), mode).value == "a"


@both
@pytest.mark.parametrize("n", [1, 3])
def test_without_hits_there_is_no_warning(mode: str, n: int, cache: InMemoryCache) -> None:
    uncached = ScriptedModel(script=[A], cache=False)
    run(VoteRunnable(uncached, n=n), mode)
    warm = ScriptedModel(script=[A])
    warm.invoke("x")
    run(VoteRunnable(warm, n=1), mode)  # a single sample is nobody's copy


@both
def test_seeds_defeat_a_warm_cache(mode: str, cache: InMemoryCache) -> None:
    model = ScriptedModel(script=[A, B, C])
    model.invoke("x")
    result = run(VoteRunnable(model, n=3, key="team", vary="seed", concurrency=1), mode)
    assert [each.vote for each in result.samples] == ["b", "c", "a"]
    assert model.seeds == [None, 0, 1, 2]


@both
def test_with_an_entry_for_each_sample_they_differ_and_running_again_replays(mode: str, cache: InMemoryCache) -> None:
    model = ScriptedModel(script=[A, B, C])
    model.invoke("x")
    vote = VoteRunnable(model, n=3, key="team", vary="cache", concurrency=1)
    first = run(vote, mode)
    assert [each.vote for each in first.samples] == ["b", "c", "a"]
    assert model.calls == 4
    again = run(vote, mode)
    assert [each.vote for each in again.samples] == ["b", "c", "a"]
    assert model.calls == 4
    assert (first.usage["total_tokens"], again.usage) == (105, None)
    assert model.invoke("x").content == A  # outside the vote the cache is as it was
    assert model.calls == 4


@both
def test_it_holds_inside_functions_too(mode: str, cache: InMemoryCache) -> None:
    model = ScriptedModel(script=[A, B, C])

    async def acall(text: str) -> Any:
        return await model.ainvoke(text)

    chain = RunnableLambda(lambda text: model.invoke(text), afunc=acall)
    vote = VoteRunnable(chain, n=3, key="team", vary="cache", concurrency=1)
    assert [each.vote for each in run(vote, mode).samples] == ["a", "b", "c"]
    assert [each.vote for each in run(vote, mode).samples] == ["a", "b", "c"]
    assert model.calls == 3


@both
def test_a_cache_of_the_model_s_own_gets_an_entry_for_each_sample_too(mode: str) -> None:
    own = InMemoryCache()
    model = ScriptedModel(script=[A, B, C], cache=own)
    vote = VoteRunnable(model | StrOutputParser(), n=3, key="team", vary="cache", concurrency=1)
    for _ in range(2):
        assert len({each.vote for each in run(vote, mode).samples}) == 3
    assert model.cache is own
    assert len(own._cache) == 3


@both
def test_votes_within_votes_have_entries_of_their_own(mode: str, cache: InMemoryCache) -> None:
    model = ScriptedModel(script=[f'{{"team": {number}}}' for number in range(6)])
    inner = VoteRunnable(model, n=3, key="team", vary="cache", min_agreement=0, abstain_on_tie=False)
    outer = VoteRunnable(inner | (lambda result: {"seen": result.counts}), n=2, vary="cache", concurrency=1)
    for _ in range(2):
        samples = run(outer, mode).samples
        assert len({value for each in samples for value, _ in each.record["seen"]}) == 6
    assert model.calls == 6


def test_salting_twice_changes_nothing_more(cache: InMemoryCache) -> None:
    vote = VoteRunnable(ScriptedModel(script=[A]), n=2, vary="cache")
    vote.invoke("x")
    front = get_llm_cache()
    vote.batch(["x", "y"])
    assert get_llm_cache() is front
    assert isinstance(front, SaltedCache)
    assert front.cache is cache
    assert front._cache is cache._cache  # whatever else a cache has can still be reached
    front.clear()
    assert cache._cache == {}
    asyncio.run(front.aclear())
    assert pickle.loads(pickle.dumps(SaltedCache(InMemoryCache()))).lookup("prompt", "model") is None


def test_without_any_cache_nothing_is_installed() -> None:
    VoteRunnable(ScriptedModel(script=[A]), n=2, vary="cache").invoke("x")
    assert get_llm_cache() is None


def test_a_batch_varies_too(cache: InMemoryCache) -> None:
    seen: list[str] = []

    def line(messages: list[BaseMessage], given: Any) -> str:
        seen.append(str(messages[0].content))
        return A

    vote = VoteRunnable(ScriptedModel(script=[line]), n=3, vary="cache")
    vote.batch(["x", "y"], {"max_concurrency": 2})
    asyncio.run(vote.abatch(["x", "y"], {"max_concurrency": 2}))
    assert sorted(seen) == ["x"] * 3 + ["y"] * 3


def test_a_fake_that_says_the_same_message_again_is_no_cache() -> None:
    message = AIMessage(A)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert VoteRunnable(ScriptedModel(script=[message]), n=3, key="team").invoke("x").value == "a"


@both
def test_a_chain_of_which_only_a_part_is_cached_is_no_copy(mode: str, cache: InMemoryCache) -> None:
    first = ScriptedModel(script=["summary"])
    second = ScriptedModel(script=[A], cache=False)
    first.invoke("x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(VoteRunnable(first | StrOutputParser() | second, n=3, key="team"), mode)
    assert result.usage["total_tokens"] == 3 * 35
