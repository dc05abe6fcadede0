"""TallyRunnable: finished samples come in."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from integrations.langchain.tests.scripted import A, B, ScriptedModel, usage
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda

from consilience import AbstainError, Reply, SettingsError, VoteSettings, tally, vote
from langchain_consilience import ConsensusRunnable, TallyRunnable


def run(component: Any, samples: Any, mode: str) -> Any:
    return component.invoke(samples) if mode == "invoke" else asyncio.run(component.ainvoke(samples))


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])


def test_its_options_are_those_of_the_core_s_tally() -> None:
    taken = {name for name in inspect.signature(tally).parameters if name not in ("replies", "settings")}
    assert set(TallyRunnable.model_fields) == taken | {"name", "output", "on_abstain"}
    for name in taken:
        assert TallyRunnable.model_fields[name].default == getattr(VoteSettings(), name)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 5}, TypeError, r"TallyRunnable\(\) got an unexpected keyword argument 'n': it makes no calls"),
        ({"kye": "team"}, TypeError, "did you mean 'key'"),
        ({"min_valid": 2}, SettingsError, "min_valid must be a number from 0 to 1, got 2"),
    ],
)
def test_a_wrong_argument_fails_at_construction(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TallyRunnable(**options)


def test_there_is_nothing_to_sample() -> None:
    with pytest.raises(TypeError, match=r"samples nothing.*to sample a chain, write VoteRunnable\(chain, n=5\)"):
        TallyRunnable(FakeListChatModel(responses=["{}"]), key="team")


def test_results_of_votes_are_voted_on_by_what_they_decided() -> None:
    votes = [TallyRunnable(key="team").invoke([A, A, B]) for _ in range(2)]
    split = TallyRunnable(key="team").invoke([A, B])
    merged = ConsensusRunnable(FakeListChatModel(responses=[A]), n=2).invoke("x")
    result = TallyRunnable(key="team").invoke([*votes, merged, split])
    assert result.counts == (("a", 3),)
    said = "sampler_error: AbstainError: the vote abstained (tie): tie: 2 answers have 1 vote each"
    assert result.samples[3].error == said


def test_settings_of_a_vote_are_taken_without_what_is_about_calls() -> None:
    component = TallyRunnable(settings=VoteSettings(n=9, key="team", min_agreement=0.6, timeout=3.0), min_valid=0.1)
    assert component.settings == VoteSettings(key="team", min_agreement=0.6, min_valid=0.1)


@both
@pytest.mark.parametrize("given", [A, '[{"team": "a"}]', {"team": "a"}, (A, A), AIMessage(A), None, 5])
def test_anything_but_a_list_is_refused(mode: str, given: Any) -> None:
    with pytest.raises(TypeError, match=r"takes a list of finished samples, got .*VoteRunnable\(chain, n=5\)"):
        run(TallyRunnable(key="team"), given, mode)


@both
def test_a_list_behind_map(mode: str) -> None:
    chain = (ScriptedModel(script=[A, A, B]) | StrOutputParser()).map() | TallyRunnable(key="team")
    assert run(chain, ["x", "x", "x"], mode).value == "a"


@both
def test_everything_that_a_batch_returns(mode: str) -> None:
    script = [
        AIMessage(A, usage_metadata=usage()),
        ConnectionError("reset"),
        OutputParserException("no such team", llm_output="Sales"),
        AIMessage("", additional_kwargs={"refusal": "No."}),
        A,
    ]
    samples: list[Any] = ScriptedModel(script=script).batch(["x"] * 5, {"max_concurrency": 1}, return_exceptions=True)
    result = run(TallyRunnable(key="team", min_valid=0, min_agreement=0), [*samples, None, Reply(A)], mode)
    assert [each.code for each in result.samples] == [
        None,
        "sampler_error",
        "invalid",
        "no_json",
        None,
        "empty_reply",
        None,
    ]
    assert result.samples[2].raw.content == "Sales"
    assert result.value == "a"
    assert result.usage["total_tokens"] == 70


def test_samples_of_an_earlier_vote() -> None:
    earlier = vote(lambda _: A, "x", n=3, key="team")
    assert TallyRunnable(key="team").invoke(list(earlier.samples)).counts == earlier.counts


@given(st.lists(st.sampled_from([A, B, "no", "", None, {"team": "a"}]), max_size=6))
def test_the_same_votes_as_the_core(replies: list[Any]) -> None:
    assert TallyRunnable(key="team").invoke(replies) == tally([Reply(each) for each in replies], key="team")


@both
def test_what_an_abstention_leads_to(mode: str) -> None:
    tied = [A, B]
    assert run(TallyRunnable(key="team"), tied, mode).reason == "tie"
    with pytest.raises(AbstainError):
        run(TallyRunnable(key="team", output="value"), tied, mode)
    branch = RunnableLambda(lambda seen: (seen["input"], seen["result"].reason))
    assert run(TallyRunnable(key="team", on_abstain=branch), tied, mode) == (tied, "tie")
    assert run(TallyRunnable(key="team", output="value"), [A, A], mode) == "a"


def test_batches() -> None:
    component = TallyRunnable(key="team", output="value")
    assert component.batch([[A], [B]]) == ["a", "b"]
    assert asyncio.run(component.abatch([[A], [B]])) == ["a", "b"]
