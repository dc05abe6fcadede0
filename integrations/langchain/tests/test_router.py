"""AbstainRouter: the reason of an abstention chooses what happens next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from integrations.langchain.tests.scripted import A, B, ScriptedModel
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.tracers.base import BaseTracer

from consilience import AbstainError, ConsensusReason, Reason, SettingsError, tally
from langchain_consilience import AbstainRouter, ConsensusRunnable, VoteRunnable

TIE = tally([A, B], key="team")
NO_VALID = tally(["no"], key="team")
DECIDED = tally([A], key="team")


def run(component: Any, given: Any, mode: str) -> Any:
    return component.invoke(given) if mode == "invoke" else asyncio.run(component.ainvoke(given))


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"branches": {"tei": len}}, SettingsError, "'tei' is no reason to abstain; did you mean 'tie'"),
        ({"branches": {"xyzzy": len}}, SettingsError, "'xyzzy' is no reason to abstain: it is one of deadline, "),
        ({"branches": {}}, SettingsError, "at least one reason"),
        ({}, TypeError, "branches must be a mapping from reason to Runnable, got NoneType"),
        ({"branches": RunnableLambda(len)}, TypeError, "branches must be a mapping"),
        ({"branches": {"tie": 5}}, TypeError, r"branches\['tie'\] must be a Runnable, .*, got int"),
        ({"branches": {"tie": FakeListChatModel}}, TypeError, r"branches\['tie'\] .*, got the class FakeListChatModel"),
        ({"branches": {"tie": len}, "default": "rais"}, SettingsError, 'default must be "return", "raise" or a Runn'),
        ({"branches": {"tie": len}, "defualt": "raise"}, TypeError, "did you mean 'default'"),
    ],
)
def test_a_wrong_argument_fails_at_construction(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AbstainRouter(**given)


def test_every_reason_of_a_vote_and_a_consensus_can_be_routed() -> None:
    reasons = [code for each in (Reason, ConsensusReason) for name, code in vars(each).items() if name.isupper()]
    assert AbstainRouter(dict.fromkeys(reasons, len)).branches.keys() == set(reasons)


@both
def test_the_reason_chooses_the_branch(mode: str) -> None:
    router = AbstainRouter({"tie": lambda seen: ("tie", seen), "no_valid": lambda seen: ("none", seen)})
    assert run(router, TIE, mode) == ("tie", {"input": None, "result": TIE})
    assert run(router, {"input": "x", "result": NO_VALID}, mode) == ("none", {"input": "x", "result": NO_VALID})
    assert run(router, DECIDED, mode) is DECIDED


@both
def test_what_happens_for_other_reasons(mode: str) -> None:
    branches = {"tie": lambda seen: "tie"}
    with pytest.raises(AbstainError) as caught:
        run(AbstainRouter(branches), NO_VALID, mode)
    assert caught.value.result is NO_VALID
    assert run(AbstainRouter(branches, default="return"), NO_VALID, mode) is NO_VALID
    assert run(AbstainRouter(branches, default=lambda seen: seen["result"].reason), NO_VALID, mode) == "no_valid"


@both
@pytest.mark.parametrize("given", ["x", None, {"input": "x"}, {"result": "x"}])
def test_what_is_no_result_is_refused(mode: str, given: Any) -> None:
    with pytest.raises(TypeError, match="AbstainRouter takes the result of a vote or a consensus"):
        run(AbstainRouter({"tie": len}), given, mode)


@both
def test_behind_a_vote_and_inside_one(mode: str) -> None:
    router = AbstainRouter({"tie": lambda seen: f"asked about {seen['input']}"})
    inside = VoteRunnable(ScriptedModel(script=[A, B]), n=2, key="team", on_abstain=router)
    assert run(inside, "x", mode) == "asked about x"
    behind = VoteRunnable(ScriptedModel(script=[A, B]), n=2, key="team") | router
    assert run(behind, "x", mode) == "asked about None"
    decided = VoteRunnable(ScriptedModel(script=[A]), n=2, key="team") | router
    assert run(decided, "x", mode).value == "a"


@both
def test_a_stronger_model_for_ties_only(mode: str) -> None:
    def ticket(abstention: Any) -> Any:
        return abstention["input"]

    stronger = RunnableLambda(ticket) | VoteRunnable(ScriptedModel(script=[B]), n=3, key="team")
    vote = VoteRunnable(
        ScriptedModel(script=[A, B]), n=2, key="team", on_abstain=AbstainRouter({"tie": stronger}), output="value"
    )
    assert run(vote, "x", mode).value == "b"


def test_the_reasons_of_a_consensus() -> None:
    router = AbstainRouter({"incomplete": lambda seen: seen["result"].missing, "no_valid": lambda seen: "none"})
    consensus = ConsensusRunnable(ScriptedModel(script=[A]), n=2, required=["city"], on_abstain=router)
    assert [str(path) for path in consensus.invoke("x")] == ["city"]


def test_its_branches_are_traced_and_can_be_configured() -> None:
    class Names(BaseTracer):
        def __init__(self) -> None:
            super().__init__(_schema_format="original+chat")
            self.parents: dict[str, str | None] = {}
            self.names: dict[Any, str] = {}

        def _persist_run(self, run: Any) -> None: ...

        def _on_run_create(self, run: Any) -> None:
            self.names[run.id] = run.name
            self.parents[run.name] = self.names.get(run.parent_run_id)

    model = ScriptedModel(script=[A]).configurable_fields(script=ConfigurableField(id="script"))
    router = AbstainRouter({"tie": RunnableLambda(lambda _: "x", name="front") | model}, name="router")
    assert [spec.id for spec in router.config_specs] == ["script"]
    tracer = Names()
    assert router.invoke(TIE, {"callbacks": [tracer], "configurable": {"script": [B]}}).content == B
    assert tracer.parents == {
        "router": None,
        "RunnableSequence": "router",
        "front": "RunnableSequence",
        "ScriptedModel": "RunnableSequence",
    }
