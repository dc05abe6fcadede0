"""Seeds: each language model in a chain is found and asked with a seed of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from integrations.langchain.tests.scripted import A, ScriptedModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)

from consilience import SettingsError
from langchain_consilience import ConsensusRunnable, VoteRunnable

PROMPT = ChatPromptTemplate.from_messages([("human", "{ticket}")])


def chains(model: ScriptedModel) -> dict[str, Any]:
    other = ScriptedModel(script=[ConnectionError("down")])
    return {
        "model": model,
        "sequence": PROMPT | model | StrOutputParser(),
        "parallel": RunnableParallel(team=model, text=RunnablePassthrough()) | (lambda found: found["team"]),
        "branch": RunnableBranch((lambda _: True, PROMPT | model), other),
        "default of a branch": RunnableBranch((lambda _: False, other), PROMPT | model),
        "retry": (PROMPT | model).with_retry(),
        "fallbacks": (PROMPT | other).with_fallbacks([PROMPT | model]),
        "assign": RunnablePassthrough.assign(team=PROMPT | model) | (lambda found: found["team"]),
        "map": RunnableLambda(lambda given: [given]) | (PROMPT | model).map() | (lambda found: found[0]),
        "binding": PROMPT | model.bind(stop=["\n"]),
        "config": (PROMPT | model.with_config(tags=["x"])).with_config(run_name="chain"),
        "types": PROMPT | model.with_types(output_type=str),
        "configurable fields": PROMPT | model.configurable_fields(delay=ConfigurableField(id="delay")),
        "configured": PROMPT
        | model.configurable_fields(delay=ConfigurableField(id="delay")).with_config(configurable={"delay": 0.001}),
        "alternatives": PROMPT
        | other.configurable_alternatives(ConfigurableField(id="which"), chosen=model).with_config(
            configurable={"which": "chosen"}
        ),
        "alternatives made when chosen": PROMPT
        | other.configurable_alternatives(
            ConfigurableField(id="which"), chosen=lambda: model | StrOutputParser()
        ).with_config(configurable={"which": "chosen"}),
        "default alternative": PROMPT | model.configurable_alternatives(ConfigurableField(id="which"), other=other),
        "structured": PROMPT | model.bind(tools=[]) | RunnableLambda(lambda message: message),
        "vote": VoteRunnable(PROMPT | model, n=1, key="team") | (lambda result: {"team": result.value}),
    }


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize("name", chains(ScriptedModel(script=[A])))
def test_every_model_is_asked_with_the_seed_of_its_sample(name: str, mode: str) -> None:
    model = ScriptedModel(script=[lambda messages, given: f'{{"team": {given.get("seed")}}}'])
    vote = VoteRunnable(chains(model)[name], n=3, key="team", vary="seed", concurrency=1)
    given = "x" if name in ("model", "parallel") else {"ticket": "x"}
    result = vote.invoke(given) if mode == "invoke" else asyncio.run(vote.ainvoke(given))
    assert [each.error for each in result.samples] == [None] * 3
    assert [each.vote for each in result.samples] == [0, 1, 2]


def test_the_chain_itself_is_left_alone() -> None:
    model = ScriptedModel(script=[A])
    chain = PROMPT | model
    VoteRunnable(chain, n=2, vary="seed", concurrency=1).invoke({"ticket": "x"})
    assert chain.last is model
    assert model.seeds == [0, 1]
    chain.invoke({"ticket": "x"})
    assert model.seeds[2:] == [None]


def test_a_seed_that_is_bound_already_is_where_samples_start() -> None:
    model = ScriptedModel(script=[A])
    VoteRunnable(model.bind(seed=2), n=3, vary="seed", concurrency=1).invoke("x")
    assert model.seeds == [2_000_006, 2_000_007, 2_000_008]


def test_seeds_of_votes_within_votes_differ() -> None:
    model = ScriptedModel(script=[A])
    inner = VoteRunnable(model, n=3, key="team", vary="seed") | (lambda result: {"team": result.value})
    VoteRunnable(inner, n=3, key="team", vary="seed").invoke("x")
    assert len(set(model.seeds)) == 9


def test_the_same_seeds_again() -> None:
    model = ScriptedModel(script=[A])
    vote = ConsensusRunnable(model, n=3, vary="seed", concurrency=1)
    vote.invoke("x")
    vote.invoke("x")
    assert model.seeds == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    "chain",
    [
        RunnableLambda(lambda text: ScriptedModel(script=[A]).invoke(text)),
        RunnablePassthrough(),
        RunnablePassthrough() | PROMPT | StrOutputParser(),
        lambda text: {"team": text},
    ],
)
def test_without_a_model_to_be_found_it_raises_at_construction(chain: Any) -> None:
    with pytest.raises(SettingsError, match=r'vary="seed" binds a seed to every language model.*found none'):
        VoteRunnable(chain, n=3, vary="seed")
