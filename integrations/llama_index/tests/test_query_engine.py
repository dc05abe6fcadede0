"""The voting query engine, and the voting LLM inside engines of LlamaIndex."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integrations.llama_index.tests.scripted import ScriptedLLM
from integrations.llama_index.tests.tracing import traced
from llama_index.core import Document, MockEmbedding, SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler, TokenCountingHandler
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import (
    CustomQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector
from llama_index.core.tools import QueryEngineTool

from consilience import AbstainError, ConsensusSettings, SettingsError, VoteSettings, field_in, tally
from llama_index_consilience import VoteQueryEngine, VotingLLM

TEXTS = ["Norvik Mill was built in 1862.", "Norvik Light is 28 m high.", "The ferry leaves at nine."]


class CountingRetriever(BaseRetriever):
    """A retriever that says how often it was asked."""

    def __init__(self, texts: list[str] | None = None) -> None:
        super().__init__()
        self.asked = 0
        self._texts = TEXTS if texts is None else texts

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked += 1
        return [NodeWithScore(node=TextNode(text=text, metadata={"page": 7}), score=0.5) for text in self._texts]


def engine_for(script: Any, retriever: CountingRetriever | None = None, **options: Any) -> RetrieverQueryEngine:
    llm = script if hasattr(script, "metadata") else ScriptedLLM(script, temperature=0.8)
    return RetrieverQueryEngine.from_args(retriever or CountingRetriever(), llm=llm, **options)


def ask(engine: BaseQueryEngine, asynchronous: bool = False, question: str = "When was the mill built?") -> Any:
    return asyncio.run(engine.aquery(question)) if asynchronous else engine.query(question)


BOTH = pytest.mark.parametrize("asynchronous", [False, True])


@BOTH
def test_it_retrieves_once_and_synthesizes_n_times(asynchronous: bool) -> None:
    retriever = CountingRetriever()
    engine = VoteQueryEngine(engine_for(["1862", "1872", "1862", "In 1862", "1862"], retriever), n=5, concurrency=5)
    response = ask(engine, asynchronous)
    assert isinstance(response, Response)
    assert response.response == "1862"
    assert response.metadata is not None
    result = response.metadata["vote"]
    assert (result.value, result.agreement, result.num_samples) == ("1862", 0.6, 5)
    assert [node.text for node in response.source_nodes] == TEXTS
    assert {"page": 7} in response.metadata.values()
    assert retriever.asked == 1


@BOTH
def test_normalized_texts_agree(asynchronous: bool) -> None:
    engine = VoteQueryEngine(engine_for(["In 1862.", "in 1862", '"In 1862"']), n=3, normalize="text")
    assert ask(engine, asynchronous).metadata["vote"].agreement == 1.0


@BOTH
def test_json_answers_are_records(asynchronous: bool) -> None:
    script = ['{"year": 1862, "why": "a"}', 'Well: {"year": 1862, "why": "b"}', "1872"]
    response = ask(VoteQueryEngine(engine_for(script), n=3, key="year"), asynchronous)
    assert json.loads(response.response) == {"year": 1862, "why": "a"}
    assert response.metadata["vote"].samples[2].code == "no_json"


@BOTH
def test_without_a_decision_it_says_so(asynchronous: bool) -> None:
    script = ["1862", "1872", "1882"]
    response = ask(VoteQueryEngine(engine_for(script), n=3), asynchronous)
    assert response.response == "I don't know: tie: 3 answers have 1 vote each"
    assert response.metadata["vote"].abstained
    assert len(response.source_nodes) == 3
    with pytest.raises(AbstainError, match="tie"):
        ask(VoteQueryEngine(engine_for(script), n=3, on_abstain="raise"), asynchronous)
    other = ask(VoteQueryEngine(engine_for(script), n=3, on_abstain=engine_for(["asked"])), asynchronous)
    assert (other.response, other.metadata["vote"].reason) == ("asked", "tie")


@BOTH
def test_an_empty_response_is_no_answer(asynchronous: bool) -> None:
    nothing = VoteQueryEngine(engine_for([], CountingRetriever([])), n=3)
    swallowed = VoteQueryEngine(engine_for(["Empty Response"] * 3), n=3)
    blank = VoteQueryEngine(engine_for(["  ", None, ""]), n=3)
    for engine in (nothing, swallowed, blank):
        result = ask(engine, asynchronous).metadata["vote"]
        assert result.reason == "no_valid"
        assert {sample.code for sample in result.samples} == {"empty_reply"}


@BOTH
def test_failed_samples_are_counted(asynchronous: bool) -> None:
    script = ["1862", ConnectionError("reset"), "1862", "1862"]
    result = ask(VoteQueryEngine(engine_for(script), n=4), asynchronous).metadata["vote"]
    assert [sample.code for sample in result.samples] == [None, "sampler_error", None, None]
    with pytest.raises(ConnectionError):
        ask(VoteQueryEngine(engine_for(script), n=4, raise_on=ConnectionError), asynchronous)


class Mill(BaseModel):
    name: str
    built: int


INSTANCES = ['{"name": "Norvik", "built": 1862}', '{"name": "Norvik", "built": 1872}', '{"name": "Nor", "built": 1862}']


@BOTH
@pytest.mark.parametrize("mode", [ResponseMode.COMPACT, ResponseMode.TREE_SUMMARIZE])
def test_instances_of_an_engine_with_an_output_class(asynchronous: bool, mode: ResponseMode) -> None:
    def engine() -> RetrieverQueryEngine:
        return engine_for(INSTANCES, output_cls=Mill, response_mode=mode)

    voted = ask(VoteQueryEngine(engine(), n=3, key="built"), asynchronous)
    merged = ask(VoteQueryEngine(engine(), settings=ConsensusSettings(n=3, weights=None, schema=Mill)), asynchronous)
    for response in (voted, merged):
        said = response.response
        assert (said if isinstance(said, Mill) else Mill.model_validate_json(said)) == Mill(name="Norvik", built=1862)
        assert isinstance(response, PydanticResponse)
        assert len(response.source_nodes) == 3


@BOTH
def test_whole_instances_without_a_key(asynchronous: bool) -> None:
    engine = engine_for([INSTANCES[0]] * 2, output_cls=Mill, response_mode=ResponseMode.TREE_SUMMARIZE)
    assert ask(VoteQueryEngine(engine, n=2), asynchronous).response == Mill(name="Norvik", built=1862)


@BOTH
def test_streams_are_read_to_their_end(asynchronous: bool) -> None:
    engine = engine_for(["in 1862", "in 1862"], streaming=True)
    assert str(ask(VoteQueryEngine(engine, n=2, normalize="text"), asynchronous)).strip() == "in 1862"


ANSWERS = st.lists(st.sampled_from(["1862", "1872", "in 1862", "", "Empty Response"]), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(ANSWERS, st.sampled_from([0.0, 0.5, 0.8]))
def test_the_vote_is_the_tally_of_the_core(answers: list[str], least: float) -> None:
    options: dict[str, Any] = {"min_agreement": least, "min_valid": least}
    result = ask(VoteQueryEngine(engine_for(answers), n=len(answers), **options)).metadata["vote"]
    records = [{"text": text} if text not in ("", "Empty Response") else "" for text in answers]
    plain = tally(records, key="text", **options)
    assert (result.decided, result.value, result.reason, result.counts, result.agreement) == (
        plain.decided,
        plain.value,
        plain.reason,
        plain.counts,
        plain.agreement,
    )


# Engines that cannot retrieve by themselves


class Oracle(CustomQueryEngine):
    """An engine with neither retriever nor synthesizer."""

    said: list[str]

    def custom_query(self, query_str: str) -> str:
        return self.said.pop(0)


@BOTH
def test_other_engines_are_queried_n_times(asynchronous: bool) -> None:
    response = ask(VoteQueryEngine(Oracle(said=["yes", "no", "yes"]), n=3), asynchronous)
    assert (response.response, response.metadata["vote"].counts) == ("yes", (("yes", 2), ("no", 1)))


class Guarded(RetrieverQueryEngine):
    """An engine that does more than to retrieve and to synthesize."""

    def _query(self, query_bundle: QueryBundle) -> Any:
        response: Any = super()._query(query_bundle)
        response.response = response.response.replace("1872", "[withheld]")
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        response: Any = await super()._aquery(query_bundle)
        response.response = response.response.replace("1872", "[withheld]")
        return response


@BOTH
def test_what_an_engine_does_besides_is_not_left_out(asynchronous: bool) -> None:
    retriever = CountingRetriever()
    engine = Guarded.from_args(retriever, llm=ScriptedLLM(["1872", "1862", "1872"], temperature=0.8))
    assert ask(VoteQueryEngine(engine, n=3), asynchronous).response == "[withheld]"
    assert retriever.asked == 3

    class Narrow(RetrieverQueryEngine):
        def retrieve(self, query_bundle: QueryBundle) -> Any:
            return super().retrieve(query_bundle)[:1]

        async def aretrieve(self, query_bundle: QueryBundle) -> Any:
            return (await super().aretrieve(query_bundle))[:1]

    narrow = Narrow.from_args(CountingRetriever(), llm=ScriptedLLM(["a", "a"], temperature=0.8))
    assert len(ask(VoteQueryEngine(narrow, n=2), asynchronous).source_nodes) == 1


@BOTH
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("is_chat_model", [False, True])
@pytest.mark.parametrize("mode", [ResponseMode.COMPACT, ResponseMode.TREE_SUMMARIZE, ResponseMode.REFINE])
def test_an_abstention_inside_the_engine_is_no_answer(
    mode: ResponseMode, is_chat_model: bool, streaming: bool, asynchronous: bool
) -> None:
    split = ScriptedLLM(["1862", "1872"] * 2, is_chat_model=is_chat_model)
    llm = VotingLLM(split, n=2, answers="text", on_abstain="return")
    engine = engine_for(llm, CountingRetriever(["short"]), response_mode=mode, streaming=streaming)
    result = ask(VoteQueryEngine(engine, n=2), asynchronous).metadata["vote"]
    assert result.abstained
    assert {sample.error for sample in result.samples} == {
        "empty_reply: the sample is itself an abstention: I don't know: tie: 2 answers have 1 vote each"
    }


@BOTH
def test_an_abstention_of_an_inner_vote_is_no_answer(asynchronous: bool) -> None:
    inner = VoteQueryEngine(engine_for(["a", "b", "c", "c", "c", "c"]), n=2)
    result = ask(VoteQueryEngine(inner, n=3), asynchronous).metadata["vote"]
    assert (result.value, [sample.code for sample in result.samples]) == ("c", ["empty_reply", None, None])


@BOTH
def test_the_vote_of_an_engine_that_was_asked_instead_is_kept(asynchronous: bool) -> None:
    other = VoteQueryEngine(engine_for(["1862"] * 3), n=3)
    response = ask(VoteQueryEngine(engine_for(["a", "b"]), n=2, on_abstain=other), asynchronous)
    assert (response.response, response.metadata["vote"].reason) == ("1862", "tie")
    assert [vote.value for vote in response.metadata["fallback_votes"]] == ["1862"]


class PlainOnly(BaseQueryEngine):
    """An engine that can retrieve and synthesize apart, but only without asyncio."""

    def __init__(self) -> None:
        super().__init__(None)

    def _get_prompt_modules(self) -> Any:
        return {}

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return []

    def synthesize(self, query_bundle: QueryBundle, nodes: Any, additional_source_nodes: Any = None) -> Any:
        return Response("1862")

    def _query(self, query_bundle: QueryBundle) -> Any:
        return self.synthesize(query_bundle, self.retrieve(query_bundle))

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return self._query(query_bundle)


@BOTH
def test_an_engine_that_is_apart_in_one_form_only_works_in_both(asynchronous: bool) -> None:
    assert ask(VoteQueryEngine(PlainOnly(), n=3), asynchronous).response == "1862"


@BOTH
def test_a_router_is_queried_n_times(asynchronous: bool) -> None:
    choice = '[{"choice": 1, "reason": "mills"}]'
    tool = QueryEngineTool.from_defaults(engine_for(["1862"] * 3), description="mills")
    router = RouterQueryEngine(
        selector=LLMSingleSelector.from_defaults(llm=ScriptedLLM([choice] * 3)), query_engine_tools=[tool]
    )
    response = ask(VoteQueryEngine(router, n=3), asynchronous)
    assert response.metadata["vote"].agreement == 1.0
    assert len(response.source_nodes) == 3


def test_prompts_are_those_of_the_inner_engine() -> None:
    inner = engine_for(["1862"] * 3)
    engine = VoteQueryEngine(inner, n=3)
    assert set(engine.get_prompts()) == set(inner.get_prompts()) != set()
    name = "response_synthesizer:text_qa_template"
    engine.update_prompts({name: PromptTemplate("Of {context_str}: {query_str}")})
    engine.query("When?")
    assert inner._response_synthesizer._llm._prompts[0].startswith("Of ")  # type: ignore[attr-defined]


def test_it_is_an_engine_for_others() -> None:
    tool = QueryEngineTool.from_defaults(VoteQueryEngine(engine_for(["1862"] * 3), n=3), description="mills")
    router = RouterQueryEngine(
        selector=LLMSingleSelector.from_defaults(llm=ScriptedLLM(['[{"choice": 1, "reason": "mills"}]'])),
        query_engine_tools=[tool],
    )
    assert str(ask(router)) == "1862"
    nested = VoteQueryEngine(VoteQueryEngine(engine_for(["a", "a", "b", "a", "a", "a"]), n=3), n=2)
    assert ask(nested).metadata["vote"].detail == "'a' won with 2 of 2 votes"
    engine = VoteQueryEngine(engine_for([]), n=3)
    assert "response_synthesizer:text_qa_template" in engine.get_prompts()
    assert [node.text for node in engine.retrieve(QueryBundle("?"))] == TEXTS


# The voting LLM inside engines


@BOTH
def test_the_voting_llm_in_a_vector_store_index(asynchronous: bool) -> None:
    index = VectorStoreIndex.from_documents(
        [Document(text=text) for text in TEXTS], embed_model=MockEmbedding(embed_dim=4)
    )
    llm = VotingLLM(ScriptedLLM(["1862", "1872", "1862"]), n=3, answers="text")
    response = ask(index.as_query_engine(llm=llm, similarity_top_k=2), asynchronous)
    assert str(response) == "1862"
    assert len(response.source_nodes) == 2
    assert llm.last_vote is not None
    assert llm.last_vote.agreement == 2 / 3  # type: ignore[union-attr]


def test_the_voting_llm_in_a_streaming_engine() -> None:
    def engine() -> BaseQueryEngine:
        llm = VotingLLM(ScriptedLLM(["1862", "1872", "1862"]), n=3, answers="text")
        return SummaryIndex.from_documents([Document(text=TEXTS[0])]).as_query_engine(llm=llm, streaming=True)

    assert list(ask(engine()).response_gen) == ["1862"]

    async def main() -> str:
        response: Any = await engine().aquery("When?")
        return "".join([token async for token in response.async_response_gen()])

    assert asyncio.run(main()) == "1862"


@BOTH
def test_the_voting_llm_in_a_router(asynchronous: bool) -> None:
    choices = ['[{"choice": 2, "reason": "a"}]', '```json\n[{"choice": 2, "reason": "b"}]\n```', "Option one."]
    llm = VotingLLM(ScriptedLLM(choices), n=3, key="[0].choice")
    tools = [
        QueryEngineTool.from_defaults(Oracle(said=[said]), description=said)
        for said in ("about mills", "about ferries")
    ]
    router = RouterQueryEngine(selector=LLMSingleSelector.from_defaults(llm=llm), query_engine_tools=tools)
    assert str(ask(router, asynchronous)) == "about ferries"
    assert llm.last_vote is not None
    assert llm.last_vote.agreement == 2 / 3  # type: ignore[union-attr]


def test_a_router_gets_the_abstention() -> None:
    llm = VotingLLM(ScriptedLLM(['[{"choice": 1, "reason": ""}]', '[{"choice": 2, "reason": ""}]']), n=2)
    router = RouterQueryEngine(
        selector=LLMMultiSelector.from_defaults(llm=llm),
        query_engine_tools=[QueryEngineTool.from_defaults(Oracle(said=[""]), description="d")] * 2,
    )
    with pytest.raises(AbstainError, match="tie"):
        ask(router)


def test_the_voting_llm_in_chat_engines() -> None:
    llm = VotingLLM(ScriptedLLM(lambda prompt: "1862", is_chat_model=True), n=2, answers="text")
    # The memory that they make by themselves leaves a database open.
    simple = SimpleChatEngine.from_defaults(llm=llm, memory=ChatMemoryBuffer.from_defaults(token_limit=1000))
    assert simple.chat("When?").response == "1862"
    assert "".join(simple.stream_chat("When?").response_gen) == "1862"
    assert asyncio.run(simple.achat("When?")).response == "1862"
    context = ContextChatEngine.from_defaults(
        CountingRetriever(), llm=llm, memory=ChatMemoryBuffer.from_defaults(token_limit=1000)
    )
    assert context.chat("When?").response == "1862"


@pytest.mark.parametrize("mode", list(ResponseMode))
@BOTH
def test_the_voting_llm_in_every_response_mode(mode: ResponseMode, asynchronous: bool) -> None:
    llm = VotingLLM(ScriptedLLM(lambda prompt: "1862"), n=2, answers="text")
    for streaming in (False, True):
        if streaming and mode in (ResponseMode.ACCUMULATE, ResponseMode.COMPACT_ACCUMULATE):
            continue  # LlamaIndex refuses to stream these
        engine = engine_for(llm, response_mode=mode, streaming=streaming)
        response = ask(engine, asynchronous) if not (streaming and asynchronous) else _read(engine)
        expected = {ResponseMode.NO_TEXT: "", ResponseMode.CONTEXT_ONLY: TEXTS[0]}.get(mode, "1862")
        assert expected in str(response).replace("None", "")


def _read(engine: BaseQueryEngine) -> str:
    async def main() -> str:
        response: Any = await engine.aquery("When?")
        if isinstance(response, Response):  # of a mode without a call
            return str(response)
        return "".join([token async for token in response.async_response_gen()])

    return asyncio.run(main())


# Traces


@BOTH
def test_spans_and_tokens(asynchronous: bool) -> None:
    counter, debug = TokenCountingHandler(tokenizer=str.split), LlamaDebugHandler(print_trace_on_end=False)
    manager = CallbackManager([counter, debug])
    engine = VoteQueryEngine(engine_for(["1862"] * 3, callback_manager=manager), n=3, concurrency=3)
    engine._engine._response_synthesizer.callback_manager = manager  # type: ignore[attr-defined]
    with traced() as (spans, events):
        ask(engine, asynchronous)
    a = "a" if asynchronous else ""
    samples = spans.named(f"ScriptedLLM.{a}complete")
    assert len(samples) == 3
    for sample in samples:
        path = spans.path(sample)
        assert path[:2] == [f"VoteQueryEngine.{a}query", f"VoteQueryEngine._{a}query"]
        assert any(name.endswith(f".{a}synthesize") for name in path)
    assert len([id_ for id_ in spans.parents if f".{a}retrieve-" in id_]) == 1
    assert set(spans.parents) == set(spans.closed)
    (event,) = events.named("VoteEvent")
    assert spans.path(event.span_id)[-1] == f"VoteQueryEngine._{a}query"
    assert counter.total_llm_token_count == 3 * 4
    assert len(debug.get_event_pairs(CBEventType.QUERY)) == 1
    assert len(debug.get_event_pairs(CBEventType.SYNTHESIZE)) == 3


def test_early_stop_cancels_what_is_not_needed() -> None:
    llm = ScriptedLLM(["1862"] * 5, temperature=0.8, hang_from=3)
    engine = VoteQueryEngine(engine_for(llm), n=5, concurrency=5, early_stop=True, eager=True)
    assert ask(engine, True).metadata["vote"].num_samples == 3
    assert llm._cancelled == 2


def test_sub_questions_get_the_text_of_an_abstention() -> None:
    from llama_index.core.question_gen import LLMQuestionGenerator

    tool = QueryEngineTool.from_defaults(VoteQueryEngine(engine_for(["a", "b"]), n=2), name="mills", description="m")
    asked: list[str] = []

    def script(prompt: str) -> str:
        asked.append(prompt)
        return "Nobody knows." if "context information" in prompt.lower() else questions

    questions = '```json\n{"items": [{"sub_question": "When?", "tool_name": "mills"}]}\n```'
    llm = ScriptedLLM(script)
    engine = SubQuestionQueryEngine.from_defaults(
        [tool], llm=llm, question_gen=LLMQuestionGenerator.from_defaults(llm=llm), use_async=False, verbose=False
    )
    assert str(ask(engine)) == "Nobody knows."
    assert "I don't know: tie" in asked[-1]


# Arguments


def test_what_answers_hold_follows_from_the_settings() -> None:
    def answers(**options: Any) -> Any:
        return VoteQueryEngine(Oracle(said=[]), **options)._answers

    assert answers() == answers(normalize="text", n=3) == answers(settings=ConsensusSettings()) == "text"
    for options in ({"key": "a"}, {"validator": Mill}, {"settings": ConsensusSettings(schema=Mill)}):
        assert answers(**options) == "json"
    assert answers(key="text", validator=field_in("text", ["yes"]), answers="text") == "text"


def test_texts_can_be_checked() -> None:
    teams = field_in("text", ["billing", "shipping"], ignore_case=True)
    engine = VoteQueryEngine(Oracle(said=["Billing", "Hm.", "billing"]), n=3, answers="text", validator=teams)
    assert ask(engine).response == "billing"


def test_a_temperature_of_zero_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="copies of one reply") as caught:
        VoteQueryEngine(engine_for(ScriptedLLM([], temperature=0)), n=3)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="is 0.1, at which the samples of a vote hardly differ: set it to 0.5"):
        VoteQueryEngine(engine_for(ScriptedLLM([])), n=3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"keys": "a"},
            TypeError,
            r"VoteQueryEngine\(\) got .* argument 'keys'; did you mean 'key'",
        ),
        ({"settings": ConsensusSettings(), "key": "a"}, TypeError, r"VoteQueryEngine\(\) got an unexpected .* 'key'"),
        ({"min_agreement": 60}, SettingsError, "min_agreement must be a number from 0 to 1, got 60"),
        ({"settings": "text"}, TypeError, "settings must be a VoteSettings, a ConsensusSettings or None, got str"),
        ({"on_abstain": ScriptedLLM([])}, TypeError, "a BaseQueryEngine to ask instead, got ScriptedLLM"),
        ({"answers": "markdown"}, SettingsError, "answers must be"),
    ],
)
def test_wrong_arguments_fail_when_it_is_made(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VoteQueryEngine(Oracle(said=[]), **arguments)


def test_the_engine_must_be_one() -> None:
    with pytest.raises(TypeError, match="engine must be a query engine of LlamaIndex, got VectorStoreIndex"):
        VoteQueryEngine(VectorStoreIndex([]), n=3)  # type: ignore[arg-type]
    given = VoteSettings(n=2, key="a")
    assert VoteQueryEngine(Oracle(said=[]), settings=given).settings is given
