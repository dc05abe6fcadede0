"""Instances of pydantic models: a consensus of several, wherever LlamaIndex asks an LLM for one."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import Iterator
from typing import Any

import llama_index.core.llms.mock
import pytest
from integrations.llama_index.tests.scripted import ScriptedLLM
from integrations.llama_index.tests.tracing import traced
from llama_index.core import Document, SummaryIndex
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, LLMMetadata
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.program import LLMTextCompletionProgram
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate, RichPromptTemplate, SelectorPromptTemplate
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.response_synthesizers.refine import DefaultRefineProgram
from llama_index.core.types import PydanticProgramMode

from consilience import AbstainError, ConsensusSettings, consensus
from consilience.testing import ReplaySampler
from llama_index_consilience import ConsilienceOutputParser, VotingLLM


class Mill(BaseModel):
    """What is known of a mill."""

    name: str
    built: int
    answer: str = "-"


SAID = [
    'Here it is: {"name": "Norvik Mill", "built": 1862, "answer": "1862"}',
    '```json\n{"name": "Norvik Mill", "built": 1872, "answer": "1862"}\n```',
    '{"name": "Norvik mill", "built": 1862, "answer": "1862"}',
]
MERGED = Mill(name="Norvik Mill", built=1862, answer="1862")
PROMPT = PromptTemplate("What is known? {text}")


def cycling(**fields: Any) -> ScriptedLLM:
    said = itertools.cycle(SAID)
    return ScriptedLLM(lambda prompt: next(said), **fields)


async def _all(stream: Any) -> list[Any]:
    return [item async for item in await stream]


def predict(llm: LLM, form: str, **kwargs: Any) -> Any:
    answer = getattr(llm, form)(Mill, PROMPT, text="The mill.", **kwargs)
    if form == "astructured_predict":
        return asyncio.run(answer)
    if form == "structured_predict":
        return answer
    (only,) = asyncio.run(_all(answer)) if form.startswith("a") else answer
    return only


FORMS = ["structured_predict", "astructured_predict", "stream_structured_predict", "astream_structured_predict"]


@pytest.mark.parametrize("is_chat_model", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_merges_field_by_field(form: str, is_chat_model: bool) -> None:
    inner = cycling(is_chat_model=is_chat_model, system_prompt="Be exact.")
    llm = VotingLLM(inner, n=3, concurrency=2)
    with traced() as (spans, events):
        assert predict(llm, form, llm_kwargs={"user": "x"}) == MERGED
    assert llm.last_vote is not None
    assert llm.last_vote.fields["built"].agreement < 1  # type: ignore[union-attr]
    assert llm.last_vote.usage["prompt_tokens"] == 9  # type: ignore[index]
    assert [event.result for event in events.named("VoteEvent")] == [llm.last_vote]
    assert [(each["user"], each["temperature"]) for each in inner._kwargs] == [("x", 0.8)] * 3
    asked = inner._prompts[0]
    asked = "\n\n".join(message.content for message in asked) if is_chat_model else asked
    instructions = "Answer with one JSON object"
    parts = ["Be exact.", "What is known?", instructions]
    assert [asked.find(part) for part in parts] == sorted(asked.find(part) for part in parts)
    assert asked.count(instructions) == 1
    call = ("a" if form.startswith("a") else "") + ("chat" if is_chat_model else "complete")
    paths = {tuple(spans.path(each)[:-1]) for each in spans.named(f"ScriptedLLM.{call}")}
    assert len(paths) == 1
    assert paths.pop()[0] == f"VotingLLM.{form}"


def in_tags(text: str) -> str:
    return f"<s>{text}</s>"


def as_dialogue(messages: Any) -> str:
    return "".join(f"<{message.role.value}>{message.content}" for message in messages) + "<assistant>"


@pytest.mark.parametrize(
    "prompt",
    [
        PromptTemplate("What is known? {text}"),
        ChatPromptTemplate([ChatMessage(content="What is known? {text}")]),
        ChatPromptTemplate([ChatMessage(role="system", content="Be exact."), ChatMessage(content="{text}")]),
        SelectorPromptTemplate(PromptTemplate("What is known? {text}")),
        RichPromptTemplate("What is known? {{ text }}"),
        PromptTemplate("What is known? {text}", output_parser=ConsilienceOutputParser(key="other")),
    ],
    ids=lambda prompt: type(prompt).__name__,
)
@pytest.mark.parametrize("is_chat_model", [False, True])
def test_every_kind_of_template_asks_for_the_instance_once(prompt: Any, is_chat_model: bool) -> None:
    inner = cycling(
        is_chat_model=is_chat_model,
        completion_to_prompt=in_tags,
        messages_to_prompt=as_dialogue,
    )
    before = prompt.output_parser
    assert VotingLLM(inner, n=3).structured_predict(Mill, prompt, text="Read {braces}.") == MERGED
    asked = inner._prompts[0]
    text = "".join(message.content for message in asked) if is_chat_model else asked
    assert text.count("Answer with one JSON object") == 1
    assert "Read {braces}." in text
    if not is_chat_model and not isinstance(prompt, RichPromptTemplate):
        assert text.endswith(("</s>", "<assistant>"))
    assert prompt.output_parser is before
    if isinstance(prompt, SelectorPromptTemplate):
        assert prompt.default_template.output_parser is None


@pytest.mark.parametrize("form", FORMS)
def test_without_agreement_there_is_no_instance(form: str) -> None:
    script = ['{"name": "a", "built": 1}', '{"name": "b", "built": 2}', "?", '{"name": "c", "bui']
    for on_abstain in ("raise", "return"):
        llm = VotingLLM(ScriptedLLM(script), n=4, on_abstain=on_abstain)
        with pytest.raises(AbstainError) as caught:
            predict(llm, form)
        assert caught.value.result is llm.last_vote
        assert [sample.code for sample in caught.value.result.samples][2:] == ["no_json", "truncated"]
    other = ScriptedLLM(['{"name": "asked", "built": 3}'])
    assert predict(VotingLLM(ScriptedLLM(script), n=4, on_abstain=other), form).name == "asked"


def test_the_consensus_is_that_of_the_core_with_the_class_as_schema() -> None:
    llm = VotingLLM(cycling(), n=3, consensus=ConsensusSettings(n=3, weights=None, min_agreement=0.6))
    made = llm.structured_predict(Mill, PROMPT, text="?")
    plain = consensus(ReplaySampler(SAID), "?", n=3, schema=Mill, weights=None, min_agreement=0.6)
    assert llm.last_vote is not None
    assert made == plain.value
    fields = llm.last_vote.fields  # type: ignore[union-attr]
    assert [(path, each.value, each.agreement) for path, each in fields.items()] == [
        (path, each.value, each.agreement) for path, each in plain.fields.items()
    ]


def test_raise_on_passes() -> None:
    with pytest.raises(PermissionError):
        VotingLLM(ScriptedLLM([PermissionError()]), n=1, raise_on=PermissionError).structured_predict(Mill, PROMPT)


@pytest.mark.parametrize("is_chat_model", [False, True])
def test_as_structured_llm(is_chat_model: bool) -> None:
    structured = VotingLLM(cycling(is_chat_model=is_chat_model), n=3).as_structured_llm(Mill)
    assert structured.complete("Which mill?").raw == MERGED
    messages = [ChatMessage(content="Which mill?")]
    assert json.loads(structured.chat(messages).message.content or "") == MERGED.model_dump()
    assert asyncio.run(structured.achat(messages)).raw == MERGED
    assert asyncio.run(structured.acomplete("?")).raw == MERGED
    assert [chunk.raw for chunk in structured.stream_chat(messages)] == [MERGED]
    assert [chunk.raw for chunk in asyncio.run(_all(structured.astream_chat(messages)))] == [MERGED]


def test_in_a_structured_program() -> None:
    llm = VotingLLM(ScriptedLLM([SAID[0], SAID[2], SAID[0], SAID[1]] * 2), n=4, key="built", min_agreement=0.7)
    program: Any = LLMTextCompletionProgram.from_defaults(
        output_parser=ConsilienceOutputParser(validator=Mill), output_cls=Mill, prompt_template_str="Mill?", llm=llm
    )
    assert program().built == 1862
    assert asyncio.run(program.acall()).built == 1862
    # LlamaIndex's own parser can read it as well: no draft stands before the record any more.
    of_llama_index: Any = LLMTextCompletionProgram.from_defaults(
        output_cls=Mill, prompt_template_str="Mill?", llm=VotingLLM(ScriptedLLM(SAID), n=3, key="built")
    )
    assert of_llama_index() == MERGED


# Query engines with an output class, in every response mode

NO_INSTANCE = {
    # These modes ignore output_cls, or make no call at all.
    ResponseMode.SIMPLE_SUMMARIZE,
    ResponseMode.NO_TEXT,
    ResponseMode.CONTEXT_ONLY,
    ResponseMode.GENERATION,
}
SEVERAL = {ResponseMode.ACCUMULATE, ResponseMode.COMPACT_ACCUMULATE}
"""These modes write one instance after another into a text."""
INSTANCE = [mode for mode in ResponseMode if mode not in NO_INSTANCE | SEVERAL]
DOCUMENTS = [Document(text=text + " corn" * 40) for text in ("Norvik Mill was built in 1862.", "It mills.")]


def engine_for(llm: LLM, mode: ResponseMode, **options: Any) -> Any:
    return SummaryIndex.from_documents(DOCUMENTS).as_query_engine(
        llm=llm, response_mode=mode, output_cls=Mill, **options
    )


def as_mill(response: Any) -> Mill:
    said = response.response
    return said if isinstance(said, Mill) else Mill.model_validate_json(said)


@pytest.mark.parametrize("mode", INSTANCE)
@pytest.mark.parametrize("form", ["query", "aquery", "use_async"])
def test_as_query_engine_with_an_output_class(mode: ResponseMode, form: str) -> None:
    llm = VotingLLM(cycling(), n=3)
    engine = engine_for(llm, mode, use_async=form == "use_async")
    response = asyncio.run(engine.aquery("Which mill?")) if form == "aquery" else engine.query("Which mill?")
    assert as_mill(response) == MERGED
    assert len(response.source_nodes) == 2
    assert llm.last_vote is not None
    assert llm.last_vote.value == MERGED


@pytest.mark.parametrize("mode", sorted(SEVERAL))
def test_modes_that_accumulate_instances(mode: ResponseMode) -> None:
    said = str(engine_for(VotingLLM(cycling(), n=3), mode).query("Which mill?").response)
    assert said.count(str(MERGED)) == (2 if mode is ResponseMode.ACCUMULATE else 1)


@pytest.mark.parametrize("mode", sorted(NO_INSTANCE))
def test_modes_that_ask_for_no_instance_work_all_the_same(mode: ResponseMode) -> None:
    record = '{"name": "Norvik Mill"}'
    llm = VotingLLM(ScriptedLLM(lambda prompt: record), n=2, key="name")
    response = engine_for(llm, mode).query("Which mill?")
    expected = {ResponseMode.NO_TEXT: "", ResponseMode.CONTEXT_ONLY: "Norvik Mill was built"}
    assert expected.get(mode, record) in str(response.response)


@pytest.mark.parametrize("mode", [*INSTANCE, *SEVERAL])
@pytest.mark.parametrize("form", ["query", "aquery"])
def test_synthesizers_do_not_swallow_an_abstention(mode: ResponseMode, form: str) -> None:
    for options in ({"output_cls": Mill}, {}):
        llm = VotingLLM(ScriptedLLM(lambda prompt: "I do not know."), n=2)
        synthesizer = get_response_synthesizer(llm=llm, response_mode=mode, **options)
        nodes = _nodes()
        with pytest.raises(AbstainError, match="no_valid"):
            _synthesize(synthesizer, form, nodes)


def _synthesize(synthesizer: Any, form: str, nodes: list[Any]) -> Any:
    if form == "query":
        return synthesizer.synthesize("Which mill?", nodes=nodes)
    return asyncio.run(synthesizer.asynthesize("Which mill?", nodes=nodes))


def _nodes() -> list[Any]:
    return SummaryIndex.from_documents(DOCUMENTS).as_retriever().retrieve("?")


@pytest.mark.skipif(
    "output_cls" not in inspect.getsource(DefaultRefineProgram.stream_call),
    reason="this release of LlamaIndex forgets the output class where it streams",
)
@pytest.mark.parametrize("mode", [ResponseMode.REFINE, ResponseMode.COMPACT])
def test_streaming_engines_with_an_output_class(mode: ResponseMode) -> None:
    # LlamaIndex streams the field "answer" of the instance.
    assert "".join(engine_for(VotingLLM(cycling(), n=3), mode, streaming=True).query("When?").response_gen) == "1862"

    async def main() -> str:
        response = await engine_for(VotingLLM(cycling(), n=3), mode, streaming=True).aquery("When?")
        return "".join([token async for token in response.async_response_gen()])

    assert asyncio.run(main()) == "1862"


def test_filtering_by_refine_asks_for_instances_of_its_own_class() -> None:
    llm = VotingLLM(ScriptedLLM(lambda prompt: '{"query_satisfied": true, "answer": "1862"}'), n=3)
    engine = SummaryIndex.from_documents(DOCUMENTS).as_query_engine(
        llm=llm,
        response_mode=ResponseMode.REFINE,
        response_synthesizer=get_response_synthesizer(
            llm=llm, response_mode=ResponseMode.REFINE, structured_answer_filtering=True
        ),
    )
    assert str(engine.query("When?")) == "1862"


# Models that make instances by themselves


class CallingLLM(CustomLLM):
    """A model that calls functions, with the instances that it makes."""

    made: Any = None

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, model_name="calling")

    def structured_predict(self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any) -> Any:
        assert prompt.format(**prompt_args) == "What is known? The mill."
        instance = next(self.made)
        if isinstance(instance, Exception):
            raise instance
        return instance

    async def astructured_predict(self, *args: Any, **kwargs: Any) -> Any:
        return self.structured_predict(*args, **kwargs)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=SAID[0])

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


def calling(*made: Any) -> CallingLLM:
    def instances() -> Iterator[Any]:
        yield from made

    return CallingLLM(made=instances())


@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_calls_functions_makes_the_instances(form: str) -> None:
    refused = ValueError("LLM did not return any tool calls")
    inner = calling(MERGED, refused, Mill(name="Norvik Mill", built=1872, answer="1862"), MERGED, ConnectionError())
    llm = VotingLLM(inner, n=5)
    assert predict(llm, form) == MERGED
    assert llm.last_vote is not None
    assert [sample.code for sample in llm.last_vote.samples] == [None, "invalid", None, None, "sampler_error"]
    assert llm.last_vote.samples[0].source == "calling"


MOCK = getattr(llama_index.core.llms.mock, "MockFunctionCallingLLM", None)


@pytest.mark.skipif(MOCK is None, reason="this release of LlamaIndex has no model that mocks functions")
def test_the_program_of_llama_index_for_functions() -> None:
    names = itertools.cycle(["Norvik Mill", "Norvik Mill", "Nor"])

    def generator(*_: Any, **__: Any) -> ChatMessage:
        arguments = {"name": next(names), "built": 1862}
        block = llama_index.core.base.llms.types.ToolCallBlock(
            tool_call_id="1", tool_name="Mill", tool_kwargs=arguments
        )
        return ChatMessage(role="assistant", blocks=[block])

    assert MOCK is not None
    inner = MOCK(response_generator=generator, is_chat_model=True)
    assert inner.metadata.is_function_calling_model
    llm = VotingLLM(inner, n=3)
    for form in FORMS:
        assert predict(llm, form) == Mill(name="Norvik Mill", built=1862)


def test_refusals_of_a_type_in_raise_on_pass() -> None:
    with pytest.raises(ValueError, match="key"):
        predict(VotingLLM(calling(ValueError("key")), n=1, raise_on=ValueError), "structured_predict")


def test_the_program_mode_llm_asks_in_the_prompt() -> None:
    llm = VotingLLM(calling(), n=3, pydantic_program_mode=PydanticProgramMode.LLM)
    assert predict(llm, "structured_predict") == MERGED
