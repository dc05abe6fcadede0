"""The output parser: one reply read strictly, several put to the vote, where LlamaIndex calls parsers."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from integrations.llama_index.tests.scripted import ScriptedLLM
from integrations.llama_index.tests.tracing import traced
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, ImageBlock, MessageRole
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.program import LLMTextCompletionProgram
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate
from llama_index.core.types import BaseOutputParser

from consilience import AbstainError, Reply, SettingsError, VoteSettings, field_in, tally
from llama_index_consilience import ConsilienceOutputParser, ParserAbstainError


class Ticket(BaseModel):
    """Where a ticket goes."""

    team: str
    urgent: bool = False


TICKET = '{"team": "billing", "urgent": true}'
PARSER = ConsilienceOutputParser(validator=Ticket)


@pytest.mark.parametrize(
    "reply",
    [
        TICKET,
        f"Sure! {TICKET} Anything else?",
        f"```json\n{TICKET}\n```",
        f"~~~\n{TICKET}",
        f'<think>{{"team": "draft"}}</think>{TICKET}',
        f'{{"team": "draft"}} is too simple </think> {TICKET}',
        f'The schema is {{"properties": {{"team": {{}}}}}}, so: {TICKET}',
        f'{{"answer": 1}}\n```json\n{TICKET}\n```',
    ],
)
def test_it_reads_what_models_write(reply: str) -> None:
    assert PARSER.parse(reply) == Ticket(team="billing", urgent=True)


def test_of_two_drafts_the_one_that_is_preferred() -> None:
    reply = 'First {"team": "a"}, no: {"team": "b"}'
    assert ConsilienceOutputParser(key="team").parse(reply) == "a"
    assert ConsilienceOutputParser(key="team", prefer="last").parse(reply) == "b"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("", "empty_reply"),
        ("billing", "no_json"),
        ('```json\n{"team": "bil', "truncated"),
        ('{"team": 7}', "invalid"),
        ('{"desk": "billing"}', "invalid"),
        ("{'team': 'billing'}", "no_json"),
    ],
)
def test_what_is_no_answer_is_an_exception_of_llama_index(reply: str, code: str) -> None:
    with pytest.raises(OutputParserException, match=f"^{code}: ") as caught:
        PARSER.parse(reply)
    assert isinstance(caught.value, AbstainError)
    assert isinstance(caught.value, ParserAbstainError)
    assert not isinstance(caught.value, ValueError)
    assert caught.value.result.samples[0].code == code


@given(
    st.lists(
        st.one_of(st.text(max_size=20), st.sampled_from([TICKET, '{"team": "x"}', "```json\n{}\n```", '{"team": "y'])),
        max_size=6,
    ),
    st.sampled_from([0.0, 0.4, 0.5, 1.0]),
)
def test_many_replies_are_the_tally_of_the_core(replies: list[str], least: float) -> None:
    options: dict[str, Any] = {"key": "team", "min_agreement": least}
    parser = ConsilienceOutputParser(on_abstain="return", **options)
    assert parser.parse_many(replies) == tally(replies, **options)


@given(st.text(max_size=30))
def test_no_text_is_worse_than_an_exception_of_llama_index(text: str) -> None:
    valid = not tally([text]).abstained
    with contextlib.nullcontext() if valid else pytest.raises(ParserAbstainError):
        assert ConsilienceOutputParser().parse(text) == tally([text]).value


def test_many_replies_of_several_kinds() -> None:
    cut_off = CompletionResponse(text='{"team": "b', raw={"choices": [{"finish_reason": "length"}]})
    replies = [TICKET, CompletionResponse(text=TICKET), Reply(TICKET), RuntimeError("down"), cut_off, {"team": "x"}]
    with traced() as (_, events):
        result = PARSER.parse_many(replies)
    assert [sample.code for sample in result.samples] == [None, None, None, "sampler_error", "truncated", None]
    assert result.value == Ticket(team="billing", urgent=True)
    assert [event.result for event in events.named("VoteEvent")] == [result]


def test_many_replies_without_a_quorum() -> None:
    with pytest.raises(OutputParserException, match=r"the vote abstained \(tie\): tie: 2 answers"):
        ConsilienceOutputParser(key="team").parse_many(['{"team": 1}', '{"team": 2}'])
    with pytest.raises(TypeError, match="outputs must be a list of replies, got str"):
        PARSER.parse_many(TICKET)


def test_one_reply_needs_no_quorum() -> None:
    parser = ConsilienceOutputParser(key="team", min_sources=3, n=9, min_agreement=1.0, weights="confidence")
    assert parser.parse(TICKET) == "billing"


@pytest.mark.parametrize("is_chat_model", [False, True])
def test_on_a_program(is_chat_model: bool) -> None:
    llm = ScriptedLLM([f"Well: {TICKET}", "Hm."] * 2, is_chat_model=is_chat_model)
    program: Any = LLMTextCompletionProgram.from_defaults(
        output_parser=PARSER, output_cls=Ticket, prompt_template_str="Which team? {text}", llm=llm
    )
    assert program(text="Charged twice.") == Ticket(team="billing", urgent=True)
    with pytest.raises(OutputParserException, match="no_json"):
        program(text="?")
    assert asyncio.run(program.acall(text="Charged twice.")) == Ticket(team="billing", urgent=True)
    asked = llm._prompts[0][-1].content if is_chat_model else llm._prompts[0]
    assert asked.startswith("Which team? Charged twice.\n\nAnswer with one JSON object")
    assert '"urgent"' in asked


@pytest.mark.parametrize("is_chat_model", [False, True])
def test_on_an_llm(is_chat_model: bool) -> None:
    parser = ConsilienceOutputParser(key="team", validator=Ticket)
    llm = ScriptedLLM([f"Well: {TICKET}", f"Well: {TICKET}", "Hm."], is_chat_model=is_chat_model, output_parser=parser)
    prompt = PromptTemplate("Which team? {text}")
    assert llm.predict(prompt, text="Charged twice.") == "billing"
    assert asyncio.run(llm.apredict(prompt, text="Charged twice.")) == "billing"
    with pytest.raises(OutputParserException, match="no_json"):
        llm.predict(prompt, text="?")
    asked = llm._prompts[0][-1].content if is_chat_model else llm._prompts[0]
    assert asked.count("Answer with one JSON object") == 1


def test_prompts_copy_it_and_it_is_the_same() -> None:
    template = ChatPromptTemplate([ChatMessage(content="Which {what}? {text}")], output_parser=PARSER)
    part = template.partial_format(what="team")
    assert part.output_parser is PARSER
    assert copy.copy(PARSER) is copy.deepcopy(PARSER) is PARSER
    assert isinstance(PARSER, BaseOutputParser)


def test_messages_of_a_template_are_not_changed() -> None:
    system = ChatMessage(role=MessageRole.SYSTEM, content="You route tickets.")
    user = ChatMessage(content="Charged twice.")
    picture = ChatMessage(blocks=[ImageBlock(url="http://127.0.0.1/x.png")])
    before = [message.model_dump_json() for message in (system, user, picture)]
    with_system = PARSER.format_messages([system, user])
    assert with_system[0].content is not None
    assert with_system[0].content.startswith("You route tickets.\n\nAnswer with one JSON object")
    assert with_system[1] is user
    last = PARSER.format_messages([user, picture])
    assert last[0] is user
    assert len(last[1].blocks) == 2
    assert PARSER.format_messages([]) == []
    assert [message.model_dump_json() for message in (system, user, picture)] == before
    plain = ConsilienceOutputParser(validator=field_in("team", ["billing"]))
    assert plain.format_messages([user]) == [user]
    assert plain.format("x") == "x"


def test_settings_and_wrong_arguments() -> None:
    given = VoteSettings(key="team")
    assert ConsilienceOutputParser(given).settings is given
    with pytest.raises(TypeError, match=r"ConsilienceOutputParser\(\) got .* 'keys'; did you mean 'key'"):
        ConsilienceOutputParser(keys="team")
    with pytest.raises(SettingsError, match="on_abstain must be 'return', 'raise'"):
        ConsilienceOutputParser(on_abstain="ignore")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="settings must be a VoteSettings"):
        ConsilienceOutputParser(Ticket)  # type: ignore[arg-type]
