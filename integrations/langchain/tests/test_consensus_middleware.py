"""Consensus inside agents made by ``create_agent``."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from consilience import AbstainError, ConsensusResult, VoteSettings
from langchain_consilience import ConsensusMiddleware, VoteRunnable
from langchain_consilience._steps import ModelStep

from .agents import Run, ScriptedModel, both_ways, contents, in_order, model_request, tool_call


class Ticket(BaseModel):
    team: str
    urgent: bool = False


ORDERS = [("Bern", 2), ("Bonn", 2), ("Bern", 3)]


class Order(BaseModel):
    to: str
    qty: int


@dataclass
class PlainOrder:
    to: str
    qty: int


@both_ways
@pytest.mark.parametrize("schema", [Order, PlainOrder])
@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_structured_responses_are_merged_field_by_field(run: Run, schema: Any, strategy: Any) -> None:
    records = [{"to": to, "qty": qty} for to, qty in ORDERS]
    replies = (
        [tool_call(schema.__name__, **each) for each in records]
        if strategy is ToolStrategy
        else [json.dumps(each) for each in records]
    )
    agent = create_agent(
        ScriptedModel(steps=[replies]), response_format=strategy(schema), middleware=[ConsensusMiddleware(n=3)]
    )
    state = run(agent, "Two mugs to Bern.")
    assert state["structured_response"] == schema(to="Bern", qty=2)
    assert json.loads(contents(state)[-1]) == {"to": "Bern", "qty": 2}
    result = ConsensusResult.from_json(json.dumps(state["consensus"]))
    assert result.value == {"to": "Bern", "qty": 2}
    assert {str(each.path): [seen.value for seen in each.candidates] for each in result.needs_review()} == {
        "to": ["Bern", "Bonn"],
        "qty": [2, 3],
    }


@both_ways
@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_a_json_schema_gives_a_plain_record(run: Run, strategy: Any) -> None:
    schema = {"title": "Order", "description": "An order.", **Order.model_json_schema()}
    records = [{"to": to, "qty": qty} for to, qty in ORDERS]
    replies = [tool_call("Order", **each) if strategy is ToolStrategy else json.dumps(each) for each in records]
    agent = create_agent(
        ScriptedModel(steps=[replies]), response_format=strategy(schema), middleware=[ConsensusMiddleware(n=3)]
    )
    assert run(agent, "x")["structured_response"] == {"to": "Bern", "qty": 2}


@both_ways
def test_a_record_in_the_text_is_merged_too(run: Run) -> None:
    replies = [json.dumps({"to": to, "qty": qty}) for to, qty in ORDERS]
    state = run(create_agent(ScriptedModel(steps=[replies]), middleware=[ConsensusMiddleware(n=3)]), "x")
    assert json.loads(contents(state)[-1]) == {"to": "Bern", "qty": 2}


@both_ways
def test_tool_calls_on_the_way_are_voted_on_whole(run: Run, refund: Any, refunds: list[int]) -> None:
    model = ScriptedModel(
        steps=[
            [tool_call("refund", order=1), tool_call("refund", order=2), tool_call("refund", order=1), "Hm."],
            [tool_call("Order", to=to, qty=qty) for to, qty in [*ORDERS, ("Bern", 2)]],
        ]
    )
    agent = create_agent(model, [refund], response_format=ToolStrategy(Order), middleware=[ConsensusMiddleware(n=4)])
    state = run(agent, "x")
    assert refunds == [1]
    assert state["structured_response"] == Order(to="Bern", qty=2)
    assert state["vote"]["value"] == {"name": "refund", "args": {"order": 1}}
    assert [each["raw"] if "raw" in each else each["reply"]["content"] for each in state["vote"]["samples"]][-1] == {
        "name": None,
        "args": {"text": "Hm."},
    }


@both_ways
def test_a_step_without_a_decision_on_the_way_ends_the_agent(run: Run, refund: Any, refunds: list[int]) -> None:
    model = ScriptedModel(steps=[[tool_call("refund", order=each) for each in (1, 2)]])
    agent = create_agent(model, [refund], response_format=ToolStrategy(Order), middleware=[ConsensusMiddleware(n=2)])
    state = run(agent, "x")
    assert refunds == []
    assert len(model.calls) == 2
    assert state["vote"]["reason"] == "tie"


@both_ways
@pytest.mark.parametrize("policy", ["return", "raise"])
def test_a_field_that_nobody_agrees_on_is_an_abstention(run: Run, policy: str) -> None:
    replies = [tool_call("Order", to="Bern", qty=each) for each in (1, 2, 3)]
    agent = create_agent(
        ScriptedModel(steps=[replies]),
        response_format=ToolStrategy(Order),
        middleware=[ConsensusMiddleware(n=3, on_abstain=policy)],
    )
    if policy == "raise":
        with pytest.raises(AbstainError, match=r"abstained \(incomplete\)"):
            run(agent, "x")
        return
    state = run(agent, "x")
    assert state.get("structured_response") is None
    assert state["consensus"]["reason"] == "incomplete"
    assert state["consensus"]["partial"] == {"to": "Bern"}


@both_ways
@pytest.mark.parametrize("policy", ["return", "raise"])
def test_a_merged_record_that_does_not_fit_a_dataclass_is_an_abstention(run: Run, policy: str) -> None:
    replies = [tool_call("PlainOrder", to="Bern", qty=each) for each in (1, 2, 3)]
    agent = create_agent(
        ScriptedModel(steps=[replies]),
        response_format=ToolStrategy(PlainOrder),
        middleware=[ConsensusMiddleware(n=3, on_abstain=policy)],
    )
    if policy == "raise":
        with pytest.raises(AbstainError, match="does not fit the response_format"):
            run(agent, "x")
        return
    state = run(agent, "x")
    assert "does not fit the response_format" in contents(state)[-1]
    assert (state["consensus"]["abstained"], state["consensus"]["reason"]) == (True, "incomplete")
    assert "does not fit the response_format" in state["consensus"]["detail"]


def test_a_call_that_was_given_up_has_no_say_in_what_to_do() -> None:
    step = ModelStep(model_request(ScriptedModel(steps=[])), reading={"repair": False, "allow_nan": True})
    landed = VoteRunnable(step.sampled(lambda _: AIMessage("a")), n=2).invoke("x")
    gave_up = [replace(landed.samples[0], ok=False, raw=None, error="timeout: too slow"), landed.samples[1]]
    assert [getattr(each, "error", None) for each in step.actions(gave_up)] == ["timeout: too slow", None]


def test_a_union_of_schemas_is_refused_before_the_first_call() -> None:
    model = ScriptedModel(steps=[[]])
    agent = create_agent(model, response_format=ToolStrategy(Order | Ticket), middleware=[ConsensusMiddleware(n=3)])
    with pytest.raises(TypeError, match="merges records of one schema"):
        in_order(agent, "x")
    assert model.calls == []


def test_actions_take_settings() -> None:
    strict = VoteSettings(min_agreement=1.0)
    model = ScriptedModel(steps=[["a", "a", "b"]])
    state = in_order(create_agent(model, middleware=[ConsensusMiddleware(n=3, actions=strict)]), "x")
    assert state["vote"]["reason"] == "low_agreement"
    with pytest.raises(TypeError, match="actions must be a VoteSettings or None, got dict"):
        ConsensusMiddleware(actions={})  # type: ignore[arg-type]
