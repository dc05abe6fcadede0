"""The components as nodes of LangGraph: edges, interrupts, message streams and checkpoints."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypedDict

import pytest
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableParallel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from consilience import VoteResult
from langchain_consilience import ConsensusRunnable, VoteRunnable

AGREED = ['{"team": "billing"}', '{"team": "billing"}', '{"team": "shipping"}']
SPLIT = ['{"team": "billing"}', '{"team": "shipping"}', "no idea"]


class Ticket(TypedDict, total=False):
    text: str
    vote: Any
    team: str


def invoked(graph: Any, given: Any, config: Any = None) -> Any:
    return graph.invoke(given, config)


def ainvoked(graph: Any, given: Any, config: Any = None) -> Any:
    return asyncio.run(graph.ainvoke(given, config))


both_ways = pytest.mark.parametrize("run", [invoked, ainvoked])
with_interrupts = pytest.mark.parametrize("run", [invoked, ainvoked] if sys.version_info >= (3, 11) else [invoked])
"""LangGraph needs Python 3.11 for interrupts in asyncio."""
Run = Callable[..., Any]
THREAD = {"configurable": {"thread_id": "1"}}


def ask_human(ticket: Ticket) -> Ticket:
    return {"team": interrupt({"text": ticket["text"], "why": ticket["vote"]["detail"]})}


def triage(model: Any, *, plain: bool = True, checkpointer: Any = None, **options: Any) -> Any:
    """A vote as a node; its edge leads an abstention to a human."""
    vote = itemgetter("text") | VoteRunnable(model, n=3, key="team", concurrency=1, **options)
    graph = StateGraph(Ticket)
    graph.add_node("vote", RunnableParallel(vote=vote | VoteResult.to_dict if plain else vote))
    graph.add_node("route", lambda ticket: {"team": ticket["vote"]["value"] if plain else ticket["vote"].value})
    graph.add_node("human", ask_human)
    graph.add_edge(START, "vote")

    def way(ticket: Ticket) -> str:
        abstained = ticket["vote"]["abstained"] if plain else ticket["vote"].abstained
        return "human" if abstained else "route"

    graph.add_conditional_edges("vote", way, ["human", "route"])
    graph.add_edge("route", END)
    graph.add_edge("human", END)
    return graph.compile(checkpointer=checkpointer)


@both_ways
def test_a_decision_takes_the_edge_to_the_program(run: Run) -> None:
    state = run(triage(FakeListChatModel(responses=AGREED)), {"text": "charged twice"})
    assert state["team"] == "billing"
    assert state["vote"]["detail"] == "'billing' won with 2 of 3 votes"


@with_interrupts
def test_an_abstention_waits_for_a_human_and_is_not_voted_on_again(run: Run) -> None:
    model = FakeListChatModel(responses=[*SPLIT, *AGREED])
    graph = triage(model, checkpointer=InMemorySaver())
    state = run(graph, {"text": "hello"}, THREAD)
    assert [each.value for each in state["__interrupt__"]] == [
        {"text": "hello", "why": "tie: 2 answers have 1 vote each"}
    ]
    assert graph.get_state(THREAD).next == ("human",)
    state = run(graph, Command(resume="returns"), THREAD)
    assert state["team"] == "returns"
    assert state["vote"]["reason"] == "tie", "the vote of the thread is still the first one"
    assert model.i == 3


@both_ways
def test_a_result_itself_can_be_in_the_state_without_a_checkpointer(run: Run) -> None:
    state = run(triage(FakeListChatModel(responses=AGREED), plain=False), {"text": "x"})
    assert isinstance(state["vote"], VoteResult)
    assert state["team"] == "billing"


@both_ways
def test_plain_values_of_a_result_survive_a_checkpoint(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    graph = triage(FakeListChatModel(responses=AGREED), checkpointer=InMemorySaver())
    vote = run(graph, {"text": "x"}, THREAD)["vote"]
    kept = graph.get_state(THREAD).values["vote"]
    assert kept == vote
    assert VoteResult.from_json(json.dumps(kept)).unwrap() == "billing"
    assert not caplog.records


@both_ways
def test_a_result_itself_survives_a_checkpoint_that_may_pickle(run: Run) -> None:
    saver = InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True))
    graph = triage(FakeListChatModel(responses=AGREED), plain=False, checkpointer=saver)
    vote = run(graph, {"text": "x"}, THREAD)["vote"]
    kept = graph.get_state(THREAD).values["vote"]
    assert isinstance(kept, VoteResult)
    assert kept == vote


def test_a_result_itself_in_a_checkpoint_that_may_not_is_a_loud_error() -> None:
    graph = triage(FakeListChatModel(responses=AGREED), plain=False, checkpointer=InMemorySaver())
    with pytest.raises(TypeError, match="not msgpack serializable: VoteResult"):
        invoked(graph, {"text": "x"}, THREAD)


def asking(_: Any) -> Any:
    return {"team": interrupt("which team?")}


async def aasking(_: Any) -> Any:
    return {"team": interrupt("which team?")}


@with_interrupts
def test_an_interrupt_inside_a_sample_pauses_the_graph(run: Run) -> None:
    sampled = asking if run is invoked else aasking
    graph = triage(sampled, checkpointer=InMemorySaver())
    state = run(graph, {"text": "x"}, THREAD)
    for _ in range(3):
        assert [each.value for each in state["__interrupt__"]] == ["which team?"]
        state = run(graph, Command(resume="billing"), THREAD)
    assert state["team"] == "billing"
    assert [each["ok"] for each in state["vote"]["samples"]] == [True] * 3


@both_ways
def test_what_raises_abstain_error_ends_the_graph_with_the_result(run: Run) -> None:
    graph = triage(FakeListChatModel(responses=SPLIT), on_abstain="raise")
    with pytest.raises(Exception, match="tie") as caught:
        run(graph, {"text": "x"})
    assert caught.value.result.reason == "tie"  # type: ignore[attr-defined]


def spoken() -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage('{"team": "billing"} I think')] * 3))


def messages_of(graph: Any, how: str) -> list[str]:
    if how == "stream":
        return [message.text for message, _ in graph.stream({"text": "x"}, stream_mode="messages")]

    async def collect() -> list[str]:
        return [message.text async for message, _ in graph.astream({"text": "x"}, stream_mode="messages")]

    return asyncio.run(collect())


@pytest.mark.parametrize("how", ["stream", "astream"])
@pytest.mark.parametrize("component", [VoteRunnable, ConsensusRunnable])
def test_no_token_of_a_sample_reaches_the_message_stream(how: str, component: Any) -> None:
    def graph(**options: Any) -> Any:
        sampling = itemgetter("text") | component(spoken(), n=3, **options)
        built = StateGraph(Ticket)
        built.add_node("vote", RunnableParallel(vote=sampling))
        built.add_edge(START, "vote")
        return built.compile()

    assert messages_of(graph(), how) == []
    assert len(messages_of(graph(nostream=False), how)) > 3, "without the tag they would"


@pytest.mark.parametrize("how", ["stream", "astream"])
def test_what_the_other_nodes_say_is_streamed(how: str) -> None:
    talker = GenericFakeChatModel(messages=iter([AIMessage("We have it")]))
    graph = StateGraph(Ticket)
    graph.add_node("vote", RunnableParallel(vote=itemgetter("text") | VoteRunnable(spoken(), n=3, key="team")))
    graph.add_node("talk", itemgetter("text") | talker | (lambda message: {"team": message.text}))
    graph.add_edge(START, "vote")
    graph.add_edge("vote", "talk")
    assert "".join(messages_of(graph.compile(), how)) == "We have it"


@both_ways
def test_votes_in_parallel_nodes_do_not_mix(run: Run) -> None:
    class Both(TypedDict, total=False):
        text: str
        first: Any
        second: Any

    graph = StateGraph(Both)
    for name, team in (("first", "a"), ("second", "b")):
        model = FakeListChatModel(responses=['{"team": "%s"}' % team])
        graph.add_node(f"vote_{name}", RunnableParallel({name: itemgetter("text") | VoteRunnable(model, key="team")}))
        graph.add_edge(START, f"vote_{name}")
    state = run(graph.compile(), {"text": "x"})
    assert (state["first"].value, state["second"].value) == ("a", "b")
    assert (state["first"].num_samples, state["second"].num_samples) == (5, 5)
