"""ConsensusRunnable: the options of a consensus, and the same record through the adapter and through the core."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from integrations.langchain.tests.scripted import ScriptedModel
from langchain_core.output_parsers import PydanticOutputParser
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel

from consilience import (
    AbstainError,
    ConsensusResult,
    ConsensusSettings,
    SettingsError,
    Tolerance,
    consensus,
    prefer_most_common_resolver,
    sample_index,
)
from langchain_consilience import ConsensusRunnable


class Invoice(BaseModel):
    to: str
    qty: int


LINES = ['{"to": "Bern", "qty": 2}', '{"to": "Bern", "qty": 3}', '{"to": "Berne", "qty": 2}']


def run(component: Any, mode: str) -> Any:
    return component.invoke("x") if mode == "invoke" else asyncio.run(component.ainvoke("x"))


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])


def test_every_option_of_the_core_is_a_field_with_the_same_default() -> None:
    ours = ConsensusRunnable.model_fields
    for option in fields(ConsensusSettings):
        expected = None if option.name == "concurrency" else getattr(ConsensusSettings(), option.name)
        assert ours[option.name].default == expected, option.name


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"key": "team"}, TypeError, r"ConsensusRunnable\(\) got an unexpected keyword argument 'key'"),
        ({"shema": Invoice}, TypeError, "did you mean 'schema'"),
        ({"min_agreement": 0}, SettingsError, "min_agreement must be a number above 0"),
        ({"early_stop": True}, SettingsError, "early_stop needs weights=None"),
        ({"settings": {}}, TypeError, "settings must be a ConsensusSettings or None, got dict"),
    ],
)
def test_a_wrong_argument_fails_at_construction(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ConsensusRunnable(ScriptedModel(script=LINES), **options)


def test_it_says_how_to_spell_it() -> None:
    with pytest.raises(TypeError, match=r"ConsensusRunnable\(model \| parser, n=5\)"):
        ConsensusRunnable(n=5)


def test_settings_and_every_field_by_key_word() -> None:
    settings = ConsensusSettings(n=3, schema=Invoice, compare={"qty": Tolerance(1)}, required=["to"], weights=None)
    component = ConsensusRunnable(ScriptedModel(script=LINES), settings=settings)
    assert component.settings == settings
    again = ConsensusRunnable(**{name: getattr(component, name) for name in ConsensusRunnable.model_fields})
    assert again.settings == settings
    assert component.schema is Invoice


revisions = st.fixed_dictionaries({"to": st.sampled_from(["Bern", "Berne", "Rome"]), "qty": st.integers(1, 3)})


@given(st.lists(st.one_of(revisions, st.sampled_from(["no", None])), min_size=1, max_size=6))
def test_the_same_record_through_the_adapter_and_the_core(replies: list[Any]) -> None:
    chain = RunnableLambda(lambda _: replies[sample_index() or 0])
    result = ConsensusRunnable(chain, n=len(replies)).invoke("x")
    direct = consensus(lambda _: replies[sample_index() or 0], "x", n=len(replies))
    assert (result.value, result.reason, result.weights) == (direct.value, direct.reason, direct.weights)
    assert dict(result.fields) == dict(direct.fields)


@both
def test_fields_are_decided_one_by_one(mode: str) -> None:
    result = run(ConsensusRunnable(ScriptedModel(script=LINES), n=3, concurrency=1, weights=None), mode)
    assert isinstance(result, ConsensusResult)
    assert result.value == {"to": "Bern", "qty": 2}
    assert result.fields["to"].support == pytest.approx(2 / 3)
    assert result.usage["total_tokens"] == 105


@both
def test_parsed_records_and_a_schema(mode: str) -> None:
    parser: Any = PydanticOutputParser(pydantic_object=Invoice)
    chain = ScriptedModel(script=[*LINES, "no idea"]) | parser
    component = ConsensusRunnable(chain, n=4, schema=Invoice, concurrency=1, output="value")
    assert run(component, mode) == Invoice(to="Bern", qty=2)


@both
def test_what_an_abstention_leads_to(mode: str) -> None:
    model = ScriptedModel(script=['{"to": "Bern"}', '{"to": "Rome"}'])
    options: dict[str, Any] = {"n": 2, "required": ["to"], "conflict_resolver": prefer_most_common_resolver}
    options = {**options, "min_agreement": 0.9, "min_confidence": 0.9, "concurrency": 1}
    assert run(ConsensusRunnable(model, **options), mode).reason == "low_confidence"
    with pytest.raises(AbstainError) as caught:
        run(ConsensusRunnable(model, **options, output="value"), mode)
    assert caught.value.result.abstained
    taken_over = ConsensusRunnable(model, **options, on_abstain=lambda seen: (seen["input"], seen["result"].reason))
    assert run(taken_over, mode) == ("x", "low_confidence")


@both
def test_an_early_stop(mode: str) -> None:
    model = ScriptedModel(script=LINES[:1])
    result = run(ConsensusRunnable(model, n=9, weights=None, early_stop=True, concurrency=1), mode)
    assert result.stopped_early
    assert model.calls < 9
