"""Different samples in spite of a warm cache, and the adapter that sees to it."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, chat

from dspy_consilience import Vote
from dspy_consilience._rollouts import RolloutAdapter, derived_rollout

Endpoint = Callable[..., Loopback]


def counting(number: int, body: dict[str, Any]) -> str:
    return chat(answer=f"answer {number}")


def samples(decision: Any) -> list[Any]:
    return [sample.vote for sample in decision.consilience.samples]


def run(program: Any, way: str, **inputs: Any) -> Any:
    return program(**inputs) if way == "sync" else asyncio.run(program.acall(**inputs))


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("concurrency", [1, 5])
def test_samples_differ_and_a_second_run_is_the_same_without_a_call(
    endpoint: Endpoint, way: str, concurrency: int
) -> None:
    server = endpoint(counting)
    program = Vote(dspy.Predict("question -> answer"), n=5, concurrency=concurrency)
    with dspy.context(lm=server.lm()):
        first = run(program, way, question="Why?")
        second = run(program, way, question="Why?")
    assert sorted(samples(first)) == [f"answer {number}" for number in range(5)]
    assert samples(second) == samples(first)
    assert server.calls == 5
    assert first.abstained
    assert {body["temperature"] for body in server.bodies} == {1.0}


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("outer", [None, 0, 1, 2, -1, 10**9, 2**62])
def test_samples_differ_at_any_outer_rollout_id(endpoint: Endpoint, way: str, outer: int | None) -> None:
    server = endpoint(counting)
    lm = server.lm() if outer is None else server.lm(rollout_id=outer, temperature=1.0)
    program = Vote(dspy.Predict("question -> answer"), n=4)
    with dspy.context(lm=lm):
        first = run(program, way, question="Why?")
        assert samples(run(program, way, question="Why?")) == samples(first)
    assert len(set(samples(first))) == 4
    assert server.calls == 4


def test_every_outer_rollout_has_samples_of_its_own(endpoint: Endpoint) -> None:
    server = endpoint(counting)
    program = Vote(dspy.Predict("question -> answer"), n=3)
    seen: list[str] = []
    for outer in (1, 2, 3):
        with dspy.context(lm=server.lm(rollout_id=outer, temperature=1.0)):
            seen += samples(program(question="Why?"))
    assert len(set(seen)) == 9


def test_the_rollout_id_of_a_call_counts_before_that_of_the_lm(endpoint: Endpoint) -> None:
    server = endpoint(counting)
    program = Vote(dspy.Predict("question -> answer"), n=2)
    with dspy.context(lm=server.lm(rollout_id=7, temperature=1.0)):
        program(question="Why?", config={"rollout_id": 8})
        program(question="Why?", config={"rollout_id": 8})
        assert server.calls == 2
        program(question="Why?")
        assert server.calls == 4


def test_a_vote_of_votes_draws_different_samples_throughout(endpoint: Endpoint) -> None:
    server = endpoint(counting)
    inner = Vote(dspy.Predict("question -> answer"), n=3, min_agreement=0, abstain_on_tie=False)
    with dspy.context(lm=server.lm()):
        outer = Vote(inner, n=4, min_agreement=0)
        decision = outer(question="Why?")
        outer(question="Why?")
    assert server.calls == 12
    assert len(set(samples(decision))) == 4


def test_without_the_rollouts_five_samples_are_one(endpoint: Endpoint) -> None:
    server = endpoint(counting)
    module = dspy.Predict("question -> answer")
    with dspy.context(lm=server.lm(temperature=1.0)):
        assert len({module(question="Why?").answer for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("lm", "predictor", "vote", "sent"),
    [
        ({}, {}, {}, 1.0),
        ({"temperature": 0.0}, {}, {}, 1.0),
        ({"temperature": 0.15}, {}, {}, 1.0),
        ({"temperature": 0.4}, {}, {}, 0.4),
        ({"temperature": 0.4}, {"temperature": 0.6}, {}, 0.6),
        ({"temperature": 0.4}, {"temperature": 0.6}, {"temperature": 0.2}, 0.2),
        ({"temperature": 0.4}, {"temperature": 0.0}, {}, 1.0),
    ],
)
def test_the_temperature_varies_replies(
    endpoint: Endpoint, lm: dict[str, Any], predictor: dict[str, Any], vote: dict[str, Any], sent: float
) -> None:
    server = endpoint(counting)
    program = Vote(dspy.Predict("question -> answer", **predictor), n=2, **vote)
    with dspy.context(lm=server.lm(**lm)):
        program(question="Why?")
    assert [body["temperature"] for body in server.bodies] == [sent, sent]
    assert not any("rollout_id" in body for body in server.bodies)


@given(st.one_of(st.none(), st.integers(), st.text(), st.floats()), st.integers(0, 10**6))
def test_a_derived_rollout_is_a_64_bit_integer_and_always_the_same(outer: Any, index: int) -> None:
    derived = derived_rollout(outer, index)
    assert derived == derived_rollout(outer, index)
    assert -(2**63) <= derived < 2**63


@given(st.sets(st.tuples(st.integers(-(2**70), 2**70), st.integers(0, 999)), min_size=2, max_size=30))
def test_derived_rollouts_differ(places: set[tuple[int, int]]) -> None:
    assert len({derived_rollout(*place) for place in places}) == len(places)


class TwoFaced(dspy.ChatAdapter):
    """An adapter with a state of its own."""

    def __init__(self, mood: str = "calm") -> None:
        super().__init__()
        self.mood = mood


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), TwoFaced("cross")])
def test_the_proxy_is_what_it_stands_for(adapter: Any) -> None:
    proxy = RolloutAdapter(adapter, 3, None)
    assert isinstance(proxy, type(adapter))
    assert proxy.__class__ is type(adapter)
    assert proxy.callbacks is adapter.callbacks
    assert getattr(proxy, "mood", None) == getattr(adapter, "mood", None)
    with pytest.raises(AttributeError):
        proxy.nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda proxy: pickle.loads(pickle.dumps(proxy))])
def test_the_proxy_can_be_copied(again: Callable[[Any], Any]) -> None:
    proxy = RolloutAdapter(RolloutAdapter(dspy.JSONAdapter(), 2, 0.5), 3, None)
    copied = again(proxy)
    assert type(copied) is RolloutAdapter
    assert isinstance(copied, dspy.JSONAdapter)
    assert copied._varied(None, {"rollout_id": 1}) == proxy._varied(None, {"rollout_id": 1})


def test_an_adapter_derived_from_the_proxy_is_one_of_the_real_class() -> None:
    proxy = RolloutAdapter(dspy.ChatAdapter(), 0, None)

    class Derived(proxy.__class__):  # type: ignore[name-defined,misc]  # as dspy.Refine does
        pass

    assert isinstance(Derived(), dspy.ChatAdapter)


def test_the_request_of_the_caller_is_not_changed() -> None:
    asked = {"temperature": 0.3}
    RolloutAdapter(dspy.ChatAdapter(), 1, None)._varied(None, asked)
    assert asked == {"temperature": 0.3}


def test_refine_inside_a_vote_retries_with_its_hint(endpoint: Endpoint) -> None:
    def reply(number: int, body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        if "program_code" in prompt:
            return chat(discussion="Say more.", advice='{"self": "say more"}')
        return chat(answer="long enough" if "hint_" in prompt else "no")

    def long(args: Any, prediction: Any) -> float:
        return float(len(prediction.answer) > 5)

    server = endpoint(reply)
    refine = dspy.Refine(dspy.Predict("question -> answer"), N=2, reward_fn=long, threshold=1.0)
    with dspy.context(lm=server.lm()):
        decision = Vote(refine, n=2)(question="Why?")
    assert decision.answer == "long enough"
    assert decision.votes == [("long enough", 2)]


def test_best_of_n_over_a_vote_draws_anew_for_every_attempt(endpoint: Endpoint) -> None:
    server = endpoint(counting)
    vote = Vote(dspy.Predict("question -> answer"), n=3)
    best = dspy.BestOfN(vote, N=2, reward_fn=lambda args, prediction: 0.0, threshold=1.0)
    with dspy.context(lm=server.lm()):
        assert best(question="Why?").abstained
    assert server.calls == 6
