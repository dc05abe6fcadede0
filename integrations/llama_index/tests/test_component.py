"""Votes in query pipelines, with the llama-index-core that still has them; a clear error elsewhere."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integrations.llama_index.tests.scripted import ScriptedLLM
from integrations.llama_index.tests.tracing import traced
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.callbacks import CallbackManager, TokenCountingHandler
from llama_index.core.prompts import PromptTemplate

import llama_index_consilience
from consilience import AbstainError, SettingsError, VoteResult, tally
from llama_index_consilience import ConsilienceOutputParser, ParserAbstainError, VotingLLM

HAS_PIPELINES = importlib.util.find_spec("llama_index.core.query_pipeline") is not None
pipelines = pytest.mark.skipif(not HAS_PIPELINES, reason="llama-index-core 0.13 removed query pipelines")

if HAS_PIPELINES:
    from llama_index.core.query_pipeline import (
        FnComponent,
        InputComponent,
        Link,
        QueryPipeline,
    )

    from llama_index_consilience import VoteComponent

BILLING, SHIPPING = '{"team": "billing"}', '{"team": "shipping"}'
PROMPT = "Which team handles this? {ticket}"


class Ticket(BaseModel):
    team: str


@pytest.mark.skipif(HAS_PIPELINES, reason="there are query pipelines")
def test_without_pipelines_the_error_names_what_to_use() -> None:
    with pytest.raises(ImportError, match=r"0\.13 removed: use VoteQueryEngine or VoteWorkflow"):
        from llama_index_consilience import VoteComponent  # noqa: F401
    with pytest.raises(AttributeError, match="no attribute 'Vote'"):
        llama_index_consilience.Vote  # noqa: B018


def pipeline_of(**parts: Any) -> Any:
    """A pipeline, without its word on being deprecated, which heeds no filter."""
    with warnings.catch_warnings(record=True):
        return QueryPipeline(**parts)


def run(pipeline: Any, asynchronous: bool, **kwargs: Any) -> Any:
    return asyncio.run(pipeline.arun(**kwargs)) if asynchronous else pipeline.run(**kwargs)


BOTH = pytest.mark.parametrize("asynchronous", [False, True])


@pipelines
@BOTH
def test_a_chain_of_prompt_vote_and_parser(asynchronous: bool) -> None:
    llm = ScriptedLLM([f"Sure: {BILLING}", SHIPPING, BILLING])
    parser = ConsilienceOutputParser(validator=Ticket)
    pipeline = pipeline_of(chain=[PromptTemplate(PROMPT), VoteComponent(llm, n=3, key="team"), parser])
    assert run(pipeline, asynchronous, ticket="Charged twice.") == Ticket(team="billing")
    assert llm._prompts == ["Which team handles this? Charged twice."] * 3
    assert [each["temperature"] for each in llm._kwargs] == [0.8] * 3


@pipelines
@BOTH
@pytest.mark.parametrize("is_chat_model", [False, True])
def test_a_chain_of_prompt_voting_llm_vote_and_parser(asynchronous: bool, is_chat_model: bool) -> None:
    """The voting LLM votes, the component gives up or asks another, the parser reads the winner."""

    def pipeline(script: list[str], **options: Any) -> Any:
        llm = VotingLLM(ScriptedLLM(script, is_chat_model=is_chat_model), n=3, key="team", on_abstain="return")
        parser = ConsilienceOutputParser(key="team")
        return pipeline_of(chain=[PromptTemplate(PROMPT), llm, VoteComponent(**options), parser])

    assert run(pipeline([BILLING, SHIPPING, BILLING]), asynchronous, ticket="?") == "billing"
    with pytest.raises(AbstainError, match="tie"):
        run(pipeline([BILLING, SHIPPING, "Hm."]), asynchronous, ticket="?")
    with pytest.raises(ParserAbstainError, match="no_json"):
        run(pipeline([BILLING, SHIPPING, "Hm."], on_abstain="return"), asynchronous, ticket="?")


@pipelines
@BOTH
def test_links_of_several_models_to_one_vote(asynchronous: bool) -> None:
    pipeline = pipeline_of()
    models = {name: ScriptedLLM([said]) for name, said in (("a", BILLING), ("b", "Hm."), ("c", BILLING))}
    pipeline.add_modules(
        {
            "prompt": PromptTemplate(PROMPT),
            **models,
            # An ArgPackComponent runs before what is linked to it: it requires no input.
            "samples": FnComponent(fn=lambda a, b, c: [a, b, c]),
            "vote": VoteComponent(key="team"),
            "parser": ConsilienceOutputParser(key="team"),
        }
    )
    for name in models:
        pipeline.add_link("prompt", name)
        pipeline.add_link(name, "samples", dest_key=name)
    pipeline.add_link("samples", "vote")
    pipeline.add_link("vote", "parser")
    assert run(pipeline, asynchronous, ticket="?") == "billing"


@pipelines
@BOTH
def test_links_by_key_and_what_is_sampled_is_a_pipeline(asynchronous: bool) -> None:
    llm = ScriptedLLM([BILLING, SHIPPING, BILLING])
    inner = pipeline_of(chain=[PromptTemplate(PROMPT), llm])
    pipeline = pipeline_of(modules={"input": InputComponent(), "vote": VoteComponent(inner, n=3, key="team")})
    pipeline.add_links([Link("input", "vote", src_key="text", dest_key="input")])
    response = run(pipeline, asynchronous, text="Charged twice.")
    assert isinstance(response, CompletionResponse)
    assert response.text == BILLING
    assert response.additional_kwargs["vote"].counts == (("billing", 2), ("shipping", 1))
    assert llm._prompts == ["Which team handles this? Charged twice."] * 3


@pipelines
@BOTH
def test_functions_and_components_are_sampled(asynchronous: bool) -> None:
    said = iter([BILLING, SHIPPING, BILLING] * 3)

    def function(text: str) -> str:
        assert text == "?"
        return next(said)

    async def coroutine(text: str) -> str:
        return function(text)

    for bound in (function, FnComponent(fn=function), *([coroutine] if asynchronous else [])):
        pipeline = pipeline_of(chain=[VoteComponent(bound, n=3, key="team")])
        assert run(pipeline, asynchronous, input="?").text == BILLING


@pipelines
@BOTH
def test_another_component_is_asked(asynchronous: bool) -> None:
    def other(text: str) -> str:
        return f"Ana, please look at: {text}"

    split = ScriptedLLM([BILLING, SHIPPING])
    component = VoteComponent(split, n=2, key="team", on_abstain=FnComponent(fn=other))
    pipeline = pipeline_of(chain=[PromptTemplate(PROMPT), component])
    assert run(pipeline, asynchronous, ticket="?") == "Ana, please look at: Which team handles this? ?"


@pipelines
@BOTH
def test_conversations_and_texts(asynchronous: bool) -> None:
    llm = ScriptedLLM(["Bern", "bern.", "Basel"], is_chat_model=True)
    component = VoteComponent(llm, n=3, answers="text", normalize="text")
    messages = [ChatMessage(content="Capital?")]
    assert run(pipeline_of(chain=[component]), asynchronous, input=messages).text == "Bern"
    assert llm._prompts[0] == messages


@pipelines
def test_failed_samples() -> None:
    llm = ScriptedLLM([BILLING, ConnectionError("reset"), ('{"team": "b', "length"), ""])
    pipeline = pipeline_of(chain=[PromptTemplate(PROMPT), VoteComponent(llm, n=4, key="team", on_abstain="return")])
    response = pipeline.run(ticket="?")
    result = response.additional_kwargs["vote"]
    assert [sample.code for sample in result.samples] == [None, "sampler_error", "truncated", "empty_reply"]
    assert response.text == f"I don't know: {result.detail}"


@pipelines
@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([BILLING, SHIPPING, "Hm.", ""]), max_size=6), st.sampled_from([0.0, 0.5, 0.8]))
def test_the_vote_is_the_tally_of_the_core(replies: list[str], least: float) -> None:
    component = VoteComponent(key="team", min_agreement=least, min_valid=least, on_abstain="return")
    result = component.run_component(input=replies)["output"].additional_kwargs["vote"]
    assert isinstance(result, VoteResult)
    plain = tally(replies, key="team", min_agreement=least, min_valid=least)
    assert (result.decided, result.value, result.detail, result.counts) == (
        plain.decided,
        plain.value,
        plain.detail,
        plain.counts,
    )


@pipelines
@BOTH
def test_spans_and_tokens(asynchronous: bool) -> None:
    counter = TokenCountingHandler(tokenizer=str.split)
    llm = ScriptedLLM([BILLING] * 3)
    pipeline = pipeline_of(
        chain=[PromptTemplate(PROMPT), VoteComponent(llm, n=3, key="team", concurrency=3)],
        callback_manager=CallbackManager([counter]),
    )
    with traced() as (spans, events):
        run(pipeline, asynchronous, ticket="?")
    a = "a" if asynchronous else ""
    assert {spans.path(each)[0] for each in spans.named(f"ScriptedLLM.{a}complete")} == {f"QueryPipeline.{a}run"}
    assert len(spans.named(f"ScriptedLLM.{a}complete")) == 3
    assert len(events.named("VoteEvent")) == 1
    assert counter.total_llm_token_count == 3 * 5


@pipelines
def test_it_has_one_input_and_one_output() -> None:
    component = VoteComponent(ScriptedLLM([]), n=3)
    assert component.input_keys.required_keys == {"input"}
    assert component.output_keys.required_keys == {"output"}


@pipelines
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("text",), TypeError, "bound must be a part of a query pipeline, a function or None, got str"),
        ((PromptTemplate("{a} {b}"),), SettingsError, r"needs one free input and one output, PromptComponent has \['a"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VoteComponent(*arguments)


@pipelines
def test_wrong_options_and_inputs() -> None:
    with pytest.raises(TypeError, match=r"VoteComponent\(\) got .* 'kye'; did you mean 'key'"):
        VoteComponent(kye="team")
    with pytest.raises(SettingsError, match="on_abstain must be 'return', 'raise' or a QueryComponent"):
        VoteComponent(on_abstain="stop")
    with pytest.raises(TypeError, match="needs a list of samples or a response of a VotingLLM, got str"):
        VoteComponent(key="team").run_component(input=BILLING)
    with pytest.warns(UserWarning, match="copies of one reply") as caught:
        VoteComponent(ScriptedLLM([]), temperature=0)
    assert caught[0].filename == __file__
    with pytest.raises(SettingsError, match="temperature needs an LLM to sample"):
        VoteComponent(lambda _: BILLING, temperature=0.5)


@pipelines
def test_a_plain_function_does_not_hold_up_the_loop() -> None:
    both_in = threading.Barrier(2, timeout=60)

    def sampler(_: Any) -> str:
        both_in.wait()
        return BILLING

    component = VoteComponent(sampler, n=2, key="team", concurrency=2)
    output = asyncio.run(component.arun_component(input="?"))["output"]
    assert output.additional_kwargs["vote"].agreement == 1.0


@pipelines
@BOTH
def test_the_answer_of_an_llm_that_was_asked_instead_stands(asynchronous: bool) -> None:
    llm = VotingLLM(ScriptedLLM(["?", "!"]), n=2, key="team", on_abstain=ScriptedLLM([BILLING]))
    output = run(pipeline_of(chain=[llm, VoteComponent(key="team")]), asynchronous, prompt="?")
    assert (output.text, output.additional_kwargs["vote"].reason) == (BILLING, "no_valid")
    silent = VotingLLM(ScriptedLLM(["?", "!"]), n=2, key="team", on_abstain="return")
    with pytest.raises(AbstainError):
        run(pipeline_of(chain=[silent, VoteComponent(key="team")]), asynchronous, prompt="?")
