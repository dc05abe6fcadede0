"""The components wherever a Runnable works: chains, bindings, tools, configuration, pickle, dumps, graphs, streams."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
from typing import Any

import pytest
from integrations.langchain.tests.scripted import A, B, C, ScriptedModel, usage
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumpd, dumps, loads
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, HumanMessagePromptTemplate, PromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough, RunnableSequence
from pydantic import BaseModel

from consilience import AbstainError, ConsensusResult, Exact, VoteResult
from langchain_consilience import AbstainRouter, ConsensusRunnable, TallyRunnable, VoteRunnable

PROMPT = ChatPromptTemplate.from_messages([("human", "Which team? {ticket}")])


def fake(*replies: str) -> FakeListChatModel:
    return FakeListChatModel(responses=list(replies) or [A])


def voting(*replies: str, **options: Any) -> VoteRunnable:
    return VoteRunnable(fake(*replies), **{"n": 3, "key": "team", "concurrency": 1, **options})


# The spellings


def test_the_three_spellings() -> None:
    model = fake()
    chain = PROMPT | VoteRunnable(model | StrOutputParser(), n=3, key="team") | (lambda result: result.value)
    assert chain.invoke({"ticket": "x"}) == "a"
    assert (PROMPT | VoteRunnable(model, n=3, key="team")).invoke({"ticket": "x"}).num_samples == 3
    assert VoteRunnable(PROMPT | model, n=3, key="team").invoke({"ticket": "x"}).num_samples == 3
    assert asyncio.run(chain.ainvoke({"ticket": "x"})) == "a"


def test_a_dict_and_a_function_on_the_left() -> None:
    assert ({"ticket": RunnablePassthrough()} | VoteRunnable(PROMPT | fake(), n=2, key="team")).invoke("x").decided
    assert (RunnableLambda(str) | voting()).invoke("x").decided


# What the framework adds to every runnable


def test_bind_and_with_config() -> None:
    model = ScriptedModel(script=[A])
    vote = VoteRunnable(model, n=2, key="team")
    assert vote.bind(seed=3).invoke("x").value == "a"
    assert model.seeds == [3, 3]
    assert vote.with_config(tags=["night"], run_name="triage", max_concurrency=1).invoke("x").value == "a"
    assert vote.with_config(tags=["night"]).batch(["x", "y"])[1].value == "a"


def test_map() -> None:
    results = voting().map().invoke(["x", "y"])
    assert [each.value for each in results] == ["a", "a"]
    assert [each.value for each in asyncio.run(voting().map().ainvoke(["x", "y"]))] == ["a", "a"]


def test_assign_and_pick() -> None:
    assert (
        RunnablePassthrough.assign(team=VoteRunnable(PROMPT | fake(), n=2, key="team", output="value")).invoke(
            {"ticket": "x"}
        )["team"]
        == "a"
    )
    whole = VoteRunnable(fake(), n=2, output="value")
    assert whole.assign(seen=lambda record: record["team"]).invoke("x") == {"team": "a", "seen": "a"}
    assert whole.pick("team").invoke("x") == "a"


def test_with_retry_asks_again_after_an_abstention() -> None:
    vote = voting(A, B, A, A, n=2, on_abstain="raise")
    retrying = vote.with_retry(retry_if_exception_type=(AbstainError,), wait_exponential_jitter=False)
    assert retrying.invoke("x").value == "a"
    assert voting(A, B, A, A, n=2, on_abstain="raise").with_retry(wait_exponential_jitter=False).batch(["x"])[0].decided


def test_with_fallbacks_on_an_abstention() -> None:
    vote = VoteRunnable(PROMPT | fake(A, B), n=2, key="team", concurrency=1, on_abstain="raise")
    stronger = VoteRunnable(PROMPT | fake(C), n=3, key="team")
    chain = vote.with_fallbacks([stronger], exceptions_to_handle=(AbstainError,))
    assert chain.invoke({"ticket": "x"}).value == "c"
    assert [each.value for each in chain.batch([{"ticket": "x"}, {"ticket": "y"}])] == ["c", "c"]
    assert asyncio.run(chain.ainvoke({"ticket": "x"})).value == "c"
    told = vote.with_fallbacks(
        [RunnableLambda(lambda given: given["why"].result.reason)],
        exceptions_to_handle=(AbstainError,),
        exception_key="why",
    )
    assert told.invoke({"ticket": "x"}) == "tie"


def test_as_tool() -> None:
    tool = VoteRunnable(PROMPT | fake(), n=3, key="team", output="value").as_tool(
        name="triage", description="Which team a ticket is for.", arg_types={"ticket": str}
    )
    assert tool.invoke({"ticket": "Where is my refund?"}) == "a"
    assert asyncio.run(tool.ainvoke({"ticket": "Where is my refund?"})) == "a"
    inferred = VoteRunnable(PROMPT | fake(), n=3, key="team", output="value").as_tool(name="triage")
    assert list(inferred.args) == ["ticket"]


def test_configurable_fields() -> None:
    model = ScriptedModel(script=[A])
    vote = VoteRunnable(model, n=2, key="team").configurable_fields(
        n=ConfigurableField(id="samples"), min_agreement=ConfigurableField(id="agreement")
    )
    assert vote.invoke("x").num_samples == 2
    assert vote.with_config(configurable={"samples": 4}).invoke("x").num_samples == 4
    assert vote.invoke("x", {"configurable": {"samples": 5}}).num_samples == 5
    assert asyncio.run(vote.ainvoke("x", {"configurable": {"samples": 5}})).num_samples == 5
    assert [each.num_samples for each in vote.batch(["x", "y"], {"configurable": {"samples": 5}})] == [5, 5]
    with pytest.raises(ValueError, match="min_agreement must be a number from 0 to 1, got 7"):
        vote.invoke("x", {"configurable": {"agreement": 7}})


def test_configurable_alternatives() -> None:
    vote = voting().configurable_alternatives(ConfigurableField(id="how"), careful=voting(B))
    assert vote.invoke("x").value == "a"
    assert vote.invoke("x", {"configurable": {"how": "careful"}}).value == "b"


def test_what_is_configurable_inside_is_configurable_outside() -> None:
    model = fake().configurable_fields(responses=ConfigurableField(id="replies"))
    branch = RunnableLambda(lambda _: 0)
    vote = VoteRunnable(PROMPT | model, n=2, key="team", on_abstain=branch)
    assert [spec.id for spec in vote.config_specs] == ["replies"]
    assert vote.invoke({"ticket": "x"}, {"configurable": {"replies": [B]}}).value == "b"


def test_a_vote_within_a_vote() -> None:
    inner = VoteRunnable(fake(), n=3, key="team") | (lambda result: {"team": result.value})
    result = VoteRunnable(inner, n=2, key="team").invoke("x")
    assert (result.value, result.num_samples) == ("a", 2)
    assert asyncio.run(VoteRunnable(inner, n=2, key="team").ainvoke("x")).value == "a"


CUT_OFF = AIMessage('{"team": "a', usage_metadata=usage(), response_metadata={"finish_reason": "length"})
RUNS = (lambda vote: vote.invoke("x"), lambda vote: asyncio.run(vote.ainvoke("x")))
USAGE_OF_SIX = {"input_tokens": 180, "output_tokens": 30, "total_tokens": 210}


@pytest.mark.parametrize("output", ["result", "value"])
@pytest.mark.parametrize("last", [A, B, CUT_OFF, "I cannot say.", ConnectionError("reset")])
def test_a_vote_inside_speaks_for_its_samples(output: Any, last: Any) -> None:
    for run in RUNS:
        model = ScriptedModel(script=[A, A, last])
        inner = VoteRunnable(model, n=3, key="team", concurrency=1, output=output)
        chain = inner if output == "result" else inner | (lambda team: json.dumps({"team": team}))
        result = run(VoteRunnable(chain, n=2, key="team", concurrency=1))
        assert result.counts == (("a", 2),), result.explain()
        if not isinstance(last, Exception):
            assert result.usage == USAGE_OF_SIX


@pytest.mark.parametrize("output", ["result", "value"])
def test_a_vote_inside_that_abstains_is_a_failed_sample_that_was_paid_for(output: Any) -> None:
    for run in RUNS:
        inner = VoteRunnable(ScriptedModel(script=[A, B, C]), n=3, key="team", concurrency=1, output=output)
        result = run(VoteRunnable(inner, n=2, key="team", concurrency=1))
        assert result.reason == "no_valid"
        said = "sampler_error: AbstainError: the vote abstained (tie): tie: 3 answers have 1 vote each"
        assert [each.error for each in result.samples] == [said] * 2
        assert result.usage == USAGE_OF_SIX


def test_a_consensus_of_votes_and_a_vote_on_records() -> None:
    vote = VoteRunnable(ScriptedModel(script=[A, A, B]), n=3, key="team", concurrency=1)
    assert ConsensusRunnable(vote, n=2, concurrency=1).invoke("x").value == {"team": "a"}
    merged = ConsensusRunnable(ScriptedModel(script=[A, A, B]), n=3, concurrency=1)
    assert VoteRunnable(merged, n=2, key="team", concurrency=1).invoke("x").value == "a"


def test_messages_inside_an_output_agree_whatever_their_ids() -> None:
    replies = [AIMessage(A, id=str(number), usage_metadata=usage(number)) for number in range(3)]
    both = {"first": ScriptedModel(script=replies), "second": ScriptedModel(script=replies)}
    result = VoteRunnable(both, n=3).invoke("x")
    assert (result.value, result.agreement) == ({"first": A, "second": A}, 1.0)


# Streams


def test_a_stream_is_one_chunk() -> None:
    assert [each.value for each in voting().stream("x")] == ["a"]
    chain = PROMPT | VoteRunnable(fake(), n=3, key="team", output="value") | (lambda team: f"to {team}")
    assert list(chain.stream({"ticket": "x"})) == ["to a"]

    async def collect() -> list[Any]:
        return [each async for each in chain.astream({"ticket": "x"})]

    assert asyncio.run(collect()) == ["to a"]


def test_astream_events_shows_the_samples() -> None:
    async def collect() -> list[Any]:
        return [each async for each in voting().astream_events("x", version="v2")]

    events = asyncio.run(collect())
    starts = [each for each in events if each["event"] == "on_chat_model_start"]
    assert sorted(tag for each in starts for tag in each["tags"] if tag != "nostream") == [
        "sample:0",
        "sample:1",
        "sample:2",
    ]
    assert isinstance(events[-1]["data"]["output"], VoteResult)
    assert events[-1]["run_id"] == events[0]["run_id"]
    assert all(each["parent_ids"] == [events[0]["run_id"]] for each in starts)


# Copies


class Ticket(BaseModel):
    team: str


@pytest.mark.parametrize("copied", [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy, copy.copy])
def test_a_component_survives_copying(copied: Any) -> None:
    for component in (
        VoteRunnable(PROMPT | fake(), n=2, key=("team",), validator=Ticket, early_stop=True, on_abstain="raise"),
        ConsensusRunnable(PROMPT | fake(), n=2, schema=Ticket, required=["team"], compare={"team": Exact()}),
        TallyRunnable(key="team"),
        AbstainRouter({"tie": fake()}),
    ):
        again = copied(component)
        assert type(again) is type(component)
        assert again == component
    assert copied(voting()).invoke("x").value == "a"
    assert copied(ConsensusRunnable(fake(), n=2)).invoke("x").value == {"team": "a"}


LOADED = [
    VoteRunnable,
    ConsensusRunnable,
    TallyRunnable,
    AbstainRouter,
    ChatPromptTemplate,
    HumanMessagePromptTemplate,
    PromptTemplate,
    RunnablePassthrough,
    RunnableSequence,
    StrOutputParser,
]


def round_trip(component: Any) -> Any:
    options: Any = {"valid_namespaces": ["langchain_consilience"]}
    if "allowed_objects" in inspect.signature(loads).parameters:
        options["allowed_objects"] = LOADED
    return loads(dumps(component), **options)


CHAIN = RunnablePassthrough() | PROMPT | StrOutputParser()


@pytest.mark.parametrize(
    "component",
    [
        VoteRunnable(CHAIN, n=7, key="team", min_agreement=0.6, early_stop=True, output="value", on_abstain="raise"),
        VoteRunnable(CHAIN, key=("team", "city"), weights={"small": 0.5}, normalize="text", name="triage"),
        VoteRunnable(CHAIN, concurrency=2, nostream=False, min_valid=0, timeout=3.5, validator={"type": "object"}),
        VoteRunnable(CHAIN, on_abstain=VoteRunnable(CHAIN, n=9, key="team")),
        ConsensusRunnable(CHAIN, n=3, required=["customer.city", "items[0].sku"], schema={"type": "object"}),
        ConsensusRunnable(CHAIN, weights=None, early_stop=True, min_support=0.4, on_unmet="abstain"),
        TallyRunnable(key="team", min_valid=0.0, on_abstain="return"),
        AbstainRouter({"tie": VoteRunnable(CHAIN, n=9)}, default="return"),
    ],
)
def test_dumps_and_loads(component: Any) -> None:
    again = round_trip(component)
    assert type(again) is type(component)
    assert dumps(again) == dumps(component)
    assert again == component or again.settings == component.settings


def test_only_what_is_not_the_default_is_dumped() -> None:
    assert set(dumpd(VoteRunnable(CHAIN, n=7, key="team"))["kwargs"]) == {"bound", "n", "key"}
    assert set(dumpd(ConsensusRunnable(CHAIN))["kwargs"]) == {"bound"}
    assert dumpd(VoteRunnable(CHAIN))["id"] == ["langchain_consilience", "VoteRunnable"]


def test_a_function_cannot_be_loaded() -> None:
    with pytest.raises(NotImplementedError):
        round_trip(VoteRunnable(CHAIN, key=len))


# Schemas and graphs


def test_what_comes_out_has_a_json_schema() -> None:
    for component in (voting(), ConsensusRunnable(fake()), TallyRunnable(), AbstainRouter({"tie": fake()})):
        assert component.get_output_jsonschema()["title"].endswith("Output")
        chain = PROMPT | {"decision": component}
        assert list(chain.get_output_jsonschema()["properties"]) == ["decision"]


def test_what_it_takes_and_gives_is_known() -> None:
    vote = VoteRunnable(PROMPT | fake(), n=3)
    assert vote.InputType == (PROMPT | fake()).InputType
    assert list(vote.get_input_schema().model_json_schema()["properties"]) == ["ticket"]
    assert vote.OutputType is VoteResult
    assert ConsensusRunnable(fake()).OutputType is ConsensusResult
    assert VoteRunnable(fake(), output="value").OutputType is Any
    assert VoteRunnable(fake(), on_abstain=fake()).OutputType is Any
    assert vote.get_prompts() == [PROMPT]
    assert TallyRunnable().InputType == list[Any]
    for component in (vote, ConsensusRunnable(fake()), TallyRunnable(), AbstainRouter({"tie": fake()})):
        assert component.get_output_schema() is not None
        assert component.get_input_schema() is not None
        assert component.config_schema() is not None


def test_the_graph_shows_what_is_sampled() -> None:
    vote = VoteRunnable(PROMPT | fake(), n=3)
    assert "ChatPromptTemplate" in [node.name for node in vote.get_graph().nodes.values()]
    whole = (RunnableLambda(dict) | vote | (lambda result: result.value)).get_graph()
    assert "FakeListChatModel" in [node.name for node in whole.nodes.values()]
    assert "ChatPromptTemplate" in whole.draw_mermaid()


def test_names() -> None:
    assert voting().get_name() == "VoteRunnable<FakeListChatModel>"
    assert VoteRunnable(fake(), name="triage").get_name() == "triage"
    assert voting().get_name("Input") == "VoteRunnable<FakeListChatModel>Input"
    assert ConsensusRunnable(fake()).get_name() == "ConsensusRunnable<FakeListChatModel>"


def test_its_text_shows_what_was_set() -> None:
    assert repr(VoteRunnable(RunnableLambda(len), n=7)) == "VoteRunnable(bound=RunnableLambda(len), n=7)"


def test_listeners_and_transform() -> None:
    seen: list[Any] = []
    vote = voting().with_listeners(
        on_start=lambda run: seen.append(run.inputs), on_end=lambda run: seen.append(run.outputs)
    )
    assert vote.invoke("x").value == "a"
    assert len(seen) == 2
    assert [each.value for each in voting().transform(iter(["x", "y"]))] == ["a"]

    async def collect() -> list[Any]:
        async def words() -> Any:
            for each in "xy":
                yield each

        return [each.value async for each in voting().atransform(words())]

    assert asyncio.run(collect()) == ["a"]


def test_components_share_nothing_between_threads_and_loops() -> None:
    vote = voting(concurrency=3)
    assert vote.invoke("x") == asyncio.run(vote.ainvoke("x")) == asyncio.run(vote.ainvoke("x"))
    config: Any = {"max_concurrency": 2}
    for _ in range(2):  # a limit of an event loop that is closed must not be used again
        assert len(asyncio.run(vote.abatch(["x"] * 3, config))) == len(vote.batch(["x"] * 3, config)) == 3


def test_inside_a_running_event_loop_threads_still_work() -> None:
    async def main() -> Any:
        return voting(concurrency=3).invoke("x"), voting().batch(["x", "y"], {"max_concurrency": 2})

    result, results = asyncio.run(main())
    assert result.value == "a"
    assert len(results) == 2
