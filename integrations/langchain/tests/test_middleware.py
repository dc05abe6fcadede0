"""Votes and consensus inside agents made by ``create_agent``."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from benchmarks.langchain import Load
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers import BaseTracer
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from consilience import AbstainError, SettingsError, VoteResult, VoteSettings, tally
from langchain_consilience import CachedSamplesWarning, ConsensusMiddleware, VoteMiddleware
from langchain_consilience._agent_state import stored

from .agents import (
    CONFIGURED_RUNS,
    Run,
    ScriptedModel,
    both_ways,
    contents,
    in_asyncio,
    in_order,
    model_request,
    tool_call,
    with_config,
)

USAGE: Any = {"input_tokens": 30, "output_tokens": 5, "total_tokens": 35}


class Ticket(BaseModel):
    team: str
    urgent: bool = False


def restored(state: dict[str, Any]) -> VoteResult:
    return VoteResult.from_json(json.dumps(state["vote"]))


@both_ways
def test_the_tool_call_that_most_samples_make_is_made_once(run: Run, refund: Any, refunds: list[int]) -> None:
    model = ScriptedModel(
        steps=[
            [tool_call("refund", "0", order=1), tool_call("refund", "1", order=2), tool_call("refund", "2", order=1)],
            ["Done.", "Done.", "I did it."],
        ]
    )
    agent = create_agent(model, [refund], middleware=[VoteMiddleware(n=3)])
    state = run(agent, "I was charged twice.")
    assert refunds == [1]
    assert contents(state) == ["I was charged twice.", [("refund", {"order": 1})], "refunded 1", "Done."]
    assert Counter(call["step"] for call in model.calls) == {0: 3, 1: 3}
    assert not any(each.response_metadata.keys() & {"consilience_decision"} for each in state["messages"])
    vote = restored(state)
    assert vote.detail == '{"args":{"text":"Done."},"name":null} won with 2 of 3 votes'


@both_ways
def test_the_vote_in_the_state_is_that_of_the_core(run: Run, refund: Any) -> None:
    calls = [tool_call("refund", order=each) for each in (1, 2, 1, 1)]
    model = ScriptedModel(steps=[calls, ["Done."] * 4])
    agent = create_agent(model, [refund], middleware=[VoteMiddleware(n=4)])
    votes = []
    for update in agent.stream({"messages": [("user", "x")]}, stream_mode="values"):
        if "vote" in update and update["vote"] not in votes:
            votes.append(update["vote"])
    records = [{"name": "refund", "args": {"order": each}} for each in (1, 2, 1, 1)]
    expected = tally(records)
    found = VoteResult.from_json(json.dumps(votes[0]))
    assert (found.value, found.counts, found.agreement) == (expected.value, expected.counts, expected.agreement)
    assert [each.record for each in found.samples] == records


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 3, None]), min_size=1, max_size=6))
def test_random_steps_end_as_the_core_decides(orders: list[int | None]) -> None:
    made: list[int] = []

    @tool
    def refund(order: int) -> str:
        """Refund an order."""
        made.append(order)
        return "ok"

    replies: list[Any] = [RuntimeError("down") if each is None else tool_call("refund", order=each) for each in orders]
    model = ScriptedModel(steps=[replies, ["Done."] * len(orders)])
    agent = create_agent(model, [refund], middleware=[VoteMiddleware(n=len(orders))])
    state = agent.invoke({"messages": [("user", "x")]})
    expected = tally([each if isinstance(each, Exception) else each.tool_calls[0]["args"] for each in replies])
    assert made == ([] if expected.abstained else [expected.value["order"]])
    assert (len(state["messages"]) == 2) is expected.abstained
    if expected.abstained:
        assert state["vote"]["reason"] == expected.reason


@both_ways
def test_without_a_decision_no_tool_is_called_and_the_agent_says_why(run: Run, refund: Any, refunds: list[int]) -> None:
    model = ScriptedModel(steps=[[tool_call("refund", order=1), tool_call("refund", order=2)]])
    state = run(create_agent(model, [refund], middleware=[VoteMiddleware(n=2)]), "x")
    assert refunds == []
    assert contents(state)[1:] == ["No answer was agreed on: tie: 2 answers have 1 vote each"]
    assert (state["vote"]["abstained"], state["vote"]["reason"]) == (True, "tie")
    assert len(model.calls) == 2


class Watching(AgentMiddleware):
    """Other middleware with a node of its own after the model."""

    def after_model(self, state: Any, runtime: Any) -> None:
        return None


@both_ways
@pytest.mark.parametrize("others_first", [True, False])
def test_an_abstention_ends_an_agent_that_must_return_a_record(run: Run, others_first: bool) -> None:
    replies = [tool_call("Ticket", team=each) for each in ("billing", "shipping")]
    model = ScriptedModel(steps=[replies] * 3)
    middleware = [Watching(), VoteMiddleware(n=2)] if others_first else [VoteMiddleware(n=2), Watching()]
    agent = create_agent(model, response_format=ToolStrategy(Ticket), middleware=middleware)
    state = run(agent, "x")
    assert len(model.calls) == 2
    assert state.get("structured_response") is None
    assert state["vote"]["reason"] == "tie"


@both_ways
def test_an_agent_can_go_on_after_an_abstention(run: Run) -> None:
    model = ScriptedModel(steps=[["a", "b"], ["c", "c"]])
    agent = create_agent(model, middleware=[VoteMiddleware(n=2)], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    assert run(agent, "first", thread)["vote"]["abstained"]
    state = run(agent, "second", thread)
    assert not state["vote"]["abstained"]
    assert contents(state)[-1] == "c"


@both_ways
def test_an_abstention_can_be_raised(run: Run) -> None:
    model = ScriptedModel(steps=[["a", "b"]])
    agent = create_agent(model, middleware=[VoteMiddleware(n=2, on_abstain="raise")])
    with pytest.raises(
        AbstainError, match=r"^the agent's step abstained \(tie\): tie: 2 answers have 1 vote each"
    ) as caught:
        run(agent, "x")
    assert caught.value.result.num_samples == 2


@both_ways
def test_another_model_can_be_asked_instead(run: Run, refund: Any, refunds: list[int]) -> None:
    model = ScriptedModel(steps=[[tool_call("refund", order=1), tool_call("refund", order=2)], ["Done."] * 2])
    stronger = ScriptedModel(steps=[[tool_call("refund", order=3)]])
    agent = create_agent(model, [refund], middleware=[VoteMiddleware(n=2, on_abstain=stronger)])
    state = run(agent, "x")
    assert refunds == [3]
    assert len(stronger.calls) == 1
    assert contents(state)[-1] == "Done."


@both_ways
@pytest.mark.parametrize("answer", [lambda given: given["result"].reason, lambda given: AIMessage("tie")])
def test_a_runnable_can_take_over(run: Run, answer: Any) -> None:
    seen: list[Any] = []

    def branch(given: Any) -> Any:
        seen.append(given)
        return answer(given)

    agent = create_agent(
        ScriptedModel(steps=[["a", "b"]]), middleware=[VoteMiddleware(n=2, on_abstain=RunnableLambda(branch))]
    )
    assert contents(run(agent, "x")) == ["x", "tie"]
    assert [each["input"][0].text for each in seen] == ["x"]
    assert isinstance(seen[0]["result"], VoteResult)


@both_ways
def test_what_takes_over_must_return_a_message(run: Run) -> None:
    agent = create_agent(ScriptedModel(steps=[["a", "b"]]), middleware=[VoteMiddleware(n=2, on_abstain=lambda _: 3)])
    with pytest.raises(TypeError, match="on_abstain must return an AIMessage, a str or a ModelResponse, got int"):
        run(agent, "x")


@both_ways
def test_failed_calls_are_failed_samples(run: Run) -> None:
    model = ScriptedModel(steps=[["a", ConnectionError("reset"), "a", AIMessage("", response_metadata={"x": 1})]])
    state = run(create_agent(model, middleware=[VoteMiddleware(n=4)]), "x")
    assert contents(state)[-1] == "a"
    assert [each.code for each in restored(state).samples] == [None, "sampler_error", None, "empty_reply"]


@both_ways
def test_an_outage_is_an_abstention_that_names_it(run: Run) -> None:
    model = ScriptedModel(steps=[[ConnectionError("reset")] * 3])
    state = run(create_agent(model, middleware=[VoteMiddleware(n=3)]), "x")
    assert "ConnectionError: reset" in contents(state)[-1]


@both_ways
def test_a_reply_that_was_cut_off_is_no_vote(run: Run) -> None:
    cut = AIMessage("Bern is the ca", response_metadata={"finish_reason": "length"})
    state = run(create_agent(ScriptedModel(steps=[[cut, cut, "Bern"]]), middleware=[VoteMiddleware(n=3)]), "x")
    assert [each.code for each in restored(state).samples] == ["truncated", "truncated", None]
    assert state["vote"]["reason"] == "too_few_valid"


@both_ways
def test_words_are_compared_as_words_and_records_as_records(run: Run) -> None:
    model = ScriptedModel(steps=[['{"a": 1}', 'Sure: {"a":1}', "It is [1]."]])
    vote = restored(run(create_agent(model, middleware=[VoteMiddleware(n=3)]), "x"))
    assert vote.counts == (({"a": 1}, 2), ({"name": None, "args": {"text": "It is [1]."}}, 1))


@both_ways
def test_a_vote_on_the_tool_alone_lets_words_differ(run: Run, refund: Any, refunds: list[int]) -> None:
    model = ScriptedModel(steps=[[tool_call("refund", order=1), "Which order?", "What order do you mean?"]])
    state = run(create_agent(model, [refund], middleware=[VoteMiddleware(n=3, key="name")]), "x")
    assert refunds == []
    assert contents(state)[-1] == "Which order?"
    assert restored(state).counts == ((None, 2), ("refund", 1))


@both_ways
@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_structured_responses_are_voted_on_and_the_winner_is_whole(run: Run, strategy: Any) -> None:
    teams = ["shipping", "billing", "billing"]
    as_text = [json.dumps({"team": each}) for each in teams]
    replies = [tool_call("Ticket", team=each) for each in teams] if strategy is ToolStrategy else as_text
    agent = create_agent(
        ScriptedModel(steps=[replies]), response_format=strategy(Ticket), middleware=[VoteMiddleware(n=3, key="team")]
    )
    state = run(agent, "x")
    assert state["structured_response"] == Ticket(team="billing")
    assert restored(state).value == "billing"


@both_ways
@pytest.mark.parametrize("handle_errors", [True, False])
def test_structured_output_that_does_not_fit_is_a_failed_sample(run: Run, handle_errors: bool) -> None:
    good, bad = tool_call("Ticket", team="billing"), tool_call("Ticket", tame="billing")
    agent = create_agent(
        ScriptedModel(steps=[[good, bad, good]]),
        response_format=ToolStrategy(Ticket, handle_errors=handle_errors),
        middleware=[VoteMiddleware(n=3)],
    )
    state = run(agent, "x")
    assert state["structured_response"] == Ticket(team="billing")
    failed = restored(state).samples[1]
    assert failed.code == "invalid"
    assert "Ticket" in str(failed.error)


class Asking(AgentMiddleware):
    """Middleware that asks a human before each call of the model."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        answer = interrupt("may I?")
        return AIMessage(answer)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        answer = interrupt("may I?")
        return AIMessage(answer)


@with_config
def test_an_interrupt_inside_a_sample_pauses_the_agent_and_is_no_failed_sample(run: Run) -> None:
    agent = create_agent(
        ScriptedModel(steps=[["a"]]),
        middleware=[VoteMiddleware(n=3, concurrency=1), Asking()],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}}
    state = run(agent, "x", thread)
    assert [each.value for each in state["__interrupt__"]] == ["may I?"]
    for _ in range(3):  # each sample asks
        state = run(agent, Command(resume="yes"), thread)
    assert contents(state) == ["x", "yes"]


def test_an_interrupt_is_an_exception_and_still_passes() -> None:
    assert issubclass(GraphInterrupt, Exception)
    request = model_request(ScriptedModel(steps=[]))

    def handler(_: Any) -> Any:
        raise GraphInterrupt(())

    with pytest.raises(GraphInterrupt):
        VoteMiddleware(n=2).wrap_model_call(request, handler)


class Runs(BaseTracer):
    """Every run of a trace."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Any] = []
        self.started: list[Any] = []

    def _start_trace(self, run: Any) -> None:
        super()._start_trace(run)
        self.started.append(run)

    def _persist_run(self, run: Any) -> None:
        self.roots.append(run)

    def walk(self) -> Iterator[Any]:
        pending = list(self.roots)
        while pending:
            run = pending.pop()
            yield run
            pending.extend(run.child_runs)


@with_config
def test_every_sample_is_a_child_run_of_the_vote(run: Run) -> None:
    tracer = Runs()
    agent = create_agent(ScriptedModel(steps=[["a"] * 4]), middleware=[VoteMiddleware(n=4)])
    run(agent, "x", {"callbacks": [tracer]})
    [vote] = [each for each in tracer.walk() if each.name == "VoteMiddleware" and each.run_type == "chain"]
    assert sorted(tag for each in vote.child_runs for tag in each.tags if tag.startswith("sample:")) == [
        f"sample:{index}" for index in range(4)
    ]
    assert [[below.run_type for below in each.child_runs] for each in vote.child_runs] == [["llm"]] * 4
    assert all(each.end_time is not None for each in tracer.walk())


def streamed(run: Run, agent: Any) -> list[Any]:
    given = {"messages": [("user", "x")]}
    if run is in_order:
        return list(agent.stream(given, stream_mode="messages"))

    async def collect() -> list[Any]:
        return [each async for each in agent.astream(given, stream_mode="messages")]

    return asyncio.run(collect())


@with_config
def test_no_token_of_a_sample_is_streamed_and_the_winner_is_once(run: Run) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("Bern is it")] * 3))
    found = streamed(run, create_agent(model, middleware=[VoteMiddleware(n=3)]))
    assert [message.text for message, _ in found] == ["Bern is it"]
    plain = GenericFakeChatModel(messages=iter([AIMessage("Bern is it")]))
    assert len(streamed(run, create_agent(plain))) > 1, "without the vote, tokens are streamed"


@pytest.mark.skipif(not hasattr(CompiledStateGraph, "stream_events"), reason="this LangGraph does not have it")
@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_the_newest_protocol_streams_no_token_of_a_sample_either() -> None:
    def said(*middleware: Any) -> list[list[str]]:
        model = GenericFakeChatModel(messages=iter([AIMessage("Bern is it")] * 3))
        run = create_agent(model, middleware=middleware).stream_events({"messages": [("user", "x")]}, version="v3")
        return [list(message.text) for message in run.messages]

    assert said(VoteMiddleware(n=3)) == [["Bern is it"]]
    assert said() == [["Bern", " ", "is", " ", "it"]]


@both_ways
def test_seeds_reach_the_model(run: Run) -> None:
    model = ScriptedModel(steps=[["a"] * 3])
    run(create_agent(model, middleware=[VoteMiddleware(n=3, vary="seed")]), "x")
    assert sorted((call["sample"], call["seed"]) for call in model.calls) == [(0, 0), (1, 1), (2, 2)]


@both_ways
def test_usage_is_summed_once(run: Run) -> None:
    model = ScriptedModel(steps=[[AIMessage(each, usage_metadata=USAGE) for each in ("a", "a", "b")]])
    state = run(create_agent(model, middleware=[VoteMiddleware(n=3)]), "x")
    assert state["vote"]["usage"]["total_tokens"] == 3 * 35


@both_ways
def test_early_stop_saves_calls(run: Run) -> None:
    model = ScriptedModel(steps=[["a"] * 9])
    state = run(create_agent(model, middleware=[VoteMiddleware(n=9, early_stop=True, concurrency=1)]), "x")
    assert len(model.calls) == state["vote"]["n_planned"] - 4 == 5


@both_ways
def test_a_vote_survives_a_checkpoint_that_allows_nothing_but_plain_values(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    huge = 10**40
    model = ScriptedModel(steps=[['{"a": 1}', '{"a": 1}', '{"a": %d}' % huge, '{"a": "\\ud800"}']])
    saver = InMemorySaver()
    agent = create_agent(model, middleware=[VoteMiddleware(n=4)], checkpointer=saver)
    thread = {"configurable": {"thread_id": "1"}}
    run(agent, "x", thread)
    kept = agent.get_state(thread).values
    assert restored(kept).value == {"a": 1}
    assert [each.record for each in restored(kept).samples][2] == {"a": str(huge)}
    assert not caplog.records, "nothing was said about types that will be blocked"


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**50])
def test_what_a_checkpoint_cannot_hold_becomes_text(value: int) -> None:
    assert stored({"a": [value, True, 1.5, None]}) == {"a": [str(value), True, 1.5, None]}


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 0])
def test_other_numbers_stay(value: int) -> None:
    assert stored({"a": value}) == {"a": value}


@pytest.mark.parametrize("middleware", [VoteMiddleware, ConsensusMiddleware])
@pytest.mark.parametrize("depth", [90, 110, 900, 3000])
def test_replies_nested_deeper_than_a_checkpoint_can_hold_lose_no_run(middleware: Any, depth: int) -> None:
    reply = '{"a":' * depth + "1" + "}" * depth
    model = ScriptedModel(steps=[[reply] * 2])
    agent = create_agent(model, middleware=[middleware(n=2)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    in_order(agent, "x", thread)
    kept = agent.get_state(thread).values
    assert (kept["vote"] if "vote" in kept else kept["consensus"])["abstained"] is False
    assert kept["messages"][-1].text.replace(" ", "") == reply


def test_other_middleware_may_wrap_it(refund: Any) -> None:
    class Retrying(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            handler(request)
            return handler(request)

    model = ScriptedModel(steps=[["a"] * 2])
    agent = create_agent(model, middleware=[Retrying(), VoteMiddleware(n=2)])
    state = in_order(agent, "x")
    assert contents(state) == ["x", "a"]
    assert len(model.calls) == 4
    assert state["vote"]["value"]["args"] == {"text": "a"}


@both_ways
def test_exceptions_that_every_call_would_meet_can_be_raised(run: Run) -> None:
    model = ScriptedModel(steps=[[PermissionError("wrong key")] * 3])
    with pytest.raises(PermissionError, match="wrong key"):
        run(create_agent(model, middleware=[VoteMiddleware(n=3, raise_on=PermissionError)]), "x")


@with_config
def test_a_human_can_be_asked_where_the_samples_disagree(run: Run, refund: Any, refunds: list[int]) -> None:
    def ask(given: Any) -> str:
        return str(interrupt(given["result"].detail))

    model = ScriptedModel(steps=[[tool_call("refund", order=each) for each in (1, 2)]])
    middleware = VoteMiddleware(n=2, on_abstain=RunnableLambda(ask))
    agent = create_agent(model, [refund], middleware=[middleware], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    [question] = run(agent, "x", thread)["__interrupt__"]
    assert question.value == "tie: 2 answers have 1 vote each"
    state = run(agent, Command(resume="Order 2, by hand."), thread)
    assert contents(state) == ["x", "Order 2, by hand."]
    assert refunds == []
    assert len(model.calls) == 4, "LangGraph runs an interrupted node from its beginning: the vote is drawn again"


@pytest.fixture
def cache() -> Iterator[Any]:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


@pytest.mark.parametrize("run", CONFIGURED_RUNS)
@pytest.mark.usefixtures("cache")
def test_copies_from_a_warm_cache_are_told_and_can_be_told_apart(run: Run) -> None:
    def agent(**options: Any) -> Any:
        model = ScriptedModel(steps=[["a", "b", "a"]])
        return create_agent(model, middleware=[VoteMiddleware(n=3, concurrency=1, **options)])

    with pytest.warns(CachedSamplesWarning, match="2 of 3 samples"):
        assert run(agent(), "x")["vote"]["agreement"] == 1.0
    assert run(agent(vary="cache"), "x")["vote"]["agreement"] == pytest.approx(2 / 3)
    assert run(agent(vary="seed"), "x")["vote"]["agreement"] == pytest.approx(2 / 3)


class Slow(ScriptedModel):
    """A model whose replies never come, in asyncio."""

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self.calls.append(kwargs)
        await asyncio.Event().wait()


@pytest.mark.skipif(in_asyncio not in CONFIGURED_RUNS, reason="no config reaches the runs inside")
def test_a_cancelled_agent_leaves_no_run_open() -> None:
    tracer, model = Runs(), Slow(steps=[])
    agent = create_agent(model, middleware=[VoteMiddleware(n=3)])

    async def cancelled() -> None:
        task = asyncio.create_task(agent.ainvoke({"messages": [("user", "x")]}, {"callbacks": [tracer]}))
        while len(model.calls) < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    models = [each for each in tracer.started if each.run_type == "llm"]
    assert len(models) == 3
    assert [each.name for each in tracer.started if each.end_time is None and each.run_type == "llm"] == []


@with_config
def test_the_limit_of_the_config_holds(run: Run) -> None:
    load = Load(0.01)

    class Loaded(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return AIMessage(load.plain(None))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return AIMessage(await load.asynchronous(None))

    agent = create_agent(ScriptedModel(steps=[]), middleware=[VoteMiddleware(n=6), Loaded()])
    run(agent, "x", {"max_concurrency": 2})
    assert (load.calls, load.peak) == (6, 2)


@both_ways
def test_the_users_context_reaches_the_model(run: Run) -> None:
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    seen = []

    class Looking(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append(tenant.get())
            return handler(request)

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append(tenant.get())
            return await handler(request)

    agent = create_agent(ScriptedModel(steps=[["a"] * 3]), middleware=[VoteMiddleware(n=3), Looking()])
    token = tenant.set("acme")
    try:
        run(agent, "x")
    finally:
        tenant.reset(token)
    assert seen == ["acme"] * 3


@pytest.mark.parametrize("middleware", [VoteMiddleware, ConsensusMiddleware])
def test_what_it_samples_is_the_agent_s_model(middleware: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"{middleware.__name__} takes key words only.*middleware=\[{middleware.__name__}"
    ):
        middleware(GenericFakeChatModel(messages=iter([])), n=3)


@pytest.mark.parametrize("middleware", [VoteMiddleware, ConsensusMiddleware])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"N": 3}, TypeError, "Middleware() got an unexpected keyword argument 'N'; did you mean 'n'"),
        ({"bound": None}, TypeError, "unexpected keyword argument 'bound'"),
        ({"output": "value"}, TypeError, "unexpected keyword argument 'output'"),
        ({"n": 0}, SettingsError, "n must be an int of at least 1, got 0"),
        ({"on_abstain": "rase"}, SettingsError, "on_abstain must be"),
        ({"vary": "sed"}, SettingsError, "vary must be"),
        ({"settings": 3}, TypeError, "settings must be a"),
    ],
)
def test_wrong_arguments_are_told_at_construction(middleware: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        middleware(**options)
    assert message in str(caught.value)


def test_settings_and_key_words_are_the_same() -> None:
    assert (
        VoteMiddleware(settings=VoteSettings(n=3, key="a")).settings
        == VoteMiddleware(n=3, key="a", concurrency=1).settings
    )
    assert VoteMiddleware(settings=VoteSettings(n=3), n=7).settings.n == 7


# Packaging


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_without_langchain_the_package_works_and_the_middleware_says_what_to_install() -> None:
    said = python(
        "import sys; sys.modules['langchain'] = None\n"
        "import langchain_consilience\n"
        "from langchain_consilience import VoteRunnable\n"
        "from langchain_consilience import *\n"
        "TallyRunnable\n"
        "try:\n    from langchain_consilience import VoteMiddleware\n"
        "except ImportError as error:\n    print(error)\n"
    )
    assert said == 'VoteMiddleware needs langchain: pip install "langchain-consilience[agents]"\n'
