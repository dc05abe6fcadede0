"""The translation of what chains return and raise."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_openai.chat_models.base import OpenAIRefusalError
from openai import ContentFilterFinishReasonError, LengthFinishReasonError
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from consilience import Reply, tally
from langchain_consilience._replies import (
    error_reply_of,
    finish_reason_of,
    reply_of,
    source_of,
    text_of,
    usage_of,
)

USAGE: Any = {"input_tokens": 30, "output_tokens": 5, "total_tokens": 35, "input_token_details": {"cache_read": 7}}


class Ticket(BaseModel):
    team: str


def sample_of(reply: Reply, **options: Any) -> Any:
    return tally([reply], **options).samples[0]


def completion(content: str | None = '{"team": "bil', finish_reason: str = "length") -> ChatCompletion:
    return ChatCompletion.model_validate(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "small-1",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": content},
                }
            ],
            "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35},
        }
    )


@pytest.mark.parametrize(
    ("output", "content"),
    [
        (AIMessage('{"team": "a"}'), '{"team": "a"}'),
        (AIMessageChunk(content='{"team": "a"}'), '{"team": "a"}'),
        (HumanMessage("{}"), "{}"),
        (ToolMessage("{}", tool_call_id="1"), "{}"),
        (AIMessage([{"type": "text", "text": '{"a"'}, {"type": "text", "text": ": 1}"}]), '{"a": 1}'),
        (AIMessage([{"type": "thinking", "thinking": '{"a": 2}'}, {"type": "text", "text": '{"a": 1}'}]), '{"a": 1}'),
        (AIMessage([{"type": "reasoning", "reasoning": '{"a": 2}'}, {"type": "text", "text": "{}"}]), "{}"),
        ('{"team": "a"}', '{"team": "a"}'),
        ({"team": "a"}, {"team": "a"}),
        (Ticket(team="a"), Ticket(team="a")),
        ([1, 2], [1, 2]),
        (None, None),
    ],
)
def test_what_is_read_of_an_output(output: Any, content: Any) -> None:
    reply = reply_of(output)
    assert reply.content == content
    assert type(reply.content) is type(content)
    assert reply.error is None


def test_a_chain_may_make_replies_itself() -> None:
    reply = Reply("{}", confidence=0.5)
    assert reply_of(reply) is reply


def test_none_is_a_failed_sample() -> None:
    assert sample_of(reply_of(None)).code == "empty_reply"
    assert sample_of(reply_of(AIMessage(""))).code == "empty_reply"


def test_what_a_message_knows_comes_along() -> None:
    message = AIMessage(
        "{}", usage_metadata=USAGE, response_metadata={"finish_reason": "stop", "model_name": "small-1"}
    )
    reply = reply_of(message)
    assert (reply.usage, reply.finish_reason, reply.source) == (USAGE, "stop", "small-1")
    assert (usage_of(message), finish_reason_of(message), source_of(message)) == (USAGE, "stop", "small-1")
    assert text_of(message) == "{}"


def test_a_message_from_the_cache_took_no_tokens() -> None:
    assert reply_of(AIMessage("{}", usage_metadata={**USAGE, "total_cost": 0})).usage is None


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "length"},
        {"stop_reason": "max_tokens"},
        {"done_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"finish_reason": "LENGTH"},
        {"finish_reason": "model_length"},
        {"stopReason": "max_tokens"},
        {"stop_reason": "model_context_window_exceeded"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_a_cut_off_reply_is_truncated(metadata: dict[str, Any]) -> None:
    sample = sample_of(reply_of(AIMessage('{"team": "bil', response_metadata=metadata)))
    assert sample.truncated
    assert sample.code == "truncated"
    whole = sample_of(reply_of(AIMessage('{"team": "billing"} and so', response_metadata=metadata)), key="team")
    assert whole.vote == "billing"
    assert whole.truncated


def test_a_tool_call_is_voted_on_by_name_and_arguments() -> None:
    def message(number: int, team: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": "route", "args": {"team": team}, "id": f"call_{number}"}])

    result = tally([reply_of(message(i, team)) for i, team in enumerate(["a", "b", "a"])])
    assert result.value == {"name": "route", "args": {"team": "a"}}
    assert tally([reply_of(message(0, "a"))], key=("name", "args.team")).decided


def test_several_tool_calls_are_a_list() -> None:
    calls: Any = [{"name": "route", "args": {"team": team}, "id": team} for team in "ab"]
    assert reply_of(AIMessage("", tool_calls=calls)).content == [
        {"name": "route", "args": {"team": "a"}},
        {"name": "route", "args": {"team": "b"}},
    ]


def test_words_before_a_tool_call_do_not_hide_it() -> None:
    call: Any = {"name": "route", "args": {"team": "a"}, "id": "1"}
    assert reply_of(AIMessage("Let me route this.", tool_calls=[call])).content["name"] == "route"


def test_a_tool_call_that_cannot_be_read_is_a_failed_sample_with_its_text() -> None:
    broken: Any = {"name": "route", "args": '{"team": ', "id": "1", "error": "Unterminated"}
    reply = reply_of(AIMessage("", invalid_tool_calls=[broken], usage_metadata=USAGE))
    sample = sample_of(reply)
    assert sample.error == "invalid: the tool call 'route': Unterminated"
    assert sample.raw.content == '{"team": '
    cut = AIMessage("", invalid_tool_calls=[broken], response_metadata={"finish_reason": "length"})
    assert sample_of(reply_of(cut)).code == "truncated"


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"refusal": "I cannot help with that."}),
        AIMessage([{"type": "refusal", "refusal": "I cannot help with that."}]),
        AIMessage([{"type": "non_standard", "value": {"refusal": "I cannot help with that."}}]),
    ],
)
def test_a_refusal_is_a_failed_sample_with_its_words(message: AIMessage) -> None:
    sample = sample_of(reply_of(message))
    assert sample.error == "no_json: the model refused: I cannot help with that."
    assert sample.raw.content == "I cannot help with that."


def test_a_readable_tool_call_beside_a_broken_one_is_not_the_whole_answer() -> None:
    broken = {"name": "refund", "args": '{"order": 10', "id": "2", "error": "cut off", "type": "invalid_tool_call"}
    call = {"name": "refund", "args": {"order": 1}, "id": "1", "type": "tool_call"}
    reply = reply_of(AIMessage("", tool_calls=[call], invalid_tool_calls=[broken]))
    assert reply.error == "invalid: the tool call 'refund': cut off"


def test_messages_inside_a_record_are_read_like_messages() -> None:
    call = {"name": "search", "args": {"q": "zip"}, "id": "call_1", "type": "tool_call"}
    output = {"messages": [HumanMessage("hi", id="1"), AIMessage("yes", id="2", usage_metadata=USAGE)], "n": (1,)}
    assert reply_of(output).content == {"messages": ["hi", "yes"], "n": (1,)}
    assert reply_of([AIMessage("", tool_calls=[call])]).content == [{"name": "search", "args": {"q": "zip"}}]
    record = {"a": [{"b": 1}]}
    assert reply_of(record).content is record
    for _ in range(5000):
        record = {"a": record}
    assert reply_of(record).content is record


def test_what_was_said_before_a_refusal_is_void() -> None:
    for text, why in (('{"team": "a"}', '{"team": "a"}'), ("", "it gave no reason")):
        reply = reply_of(AIMessage(text, response_metadata={"stop_reason": "refusal"}))
        assert (reply.content, reply.error) == (text, f"no_json: the model refused: {why}")
    result = tally([reply_of(AIMessage('{"team": "a"}', response_metadata={"stop_reason": "refusal"}))], key="team")
    assert [sample.code for sample in result.samples] == ["no_json"]


def test_a_refusal_in_prose_is_no_json() -> None:
    assert sample_of(reply_of(AIMessage("I'm sorry, I cannot help."))).code == "no_json"


def raw_output(raw: AIMessage, parsed: Any = None, error: BaseException | None = None) -> dict[str, Any]:
    return {"raw": raw, "parsed": parsed, "parsing_error": error}


def test_include_raw_gives_the_parsed_record_with_what_the_message_knows() -> None:
    reply = reply_of(raw_output(AIMessage("{}", usage_metadata=USAGE), Ticket(team="a")))
    assert reply.content == Ticket(team="a")
    assert reply.usage == USAGE


def test_include_raw_without_a_record_is_a_failed_sample() -> None:
    refused = raw_output(AIMessage('{"team": 1}', usage_metadata=USAGE), None, OutputParserException("team: not a str"))
    sample = sample_of(reply_of(refused))
    assert sample.error == "invalid: OutputParserException: team: not a str"
    assert sample.raw.content == '{"team": 1}'
    assert sample.raw.usage == USAGE
    assert sample_of(reply_of(raw_output(AIMessage('{"team": "a"}')))).code == "no_json"
    assert sample_of(reply_of(raw_output(AIMessage("")))).code == "empty_reply"
    assert sample_of(reply_of(raw_output(AIMessage("x"), None, KeyError("team")))).code == "invalid"
    cut = AIMessage("{", response_metadata={"finish_reason": "length"})
    assert sample_of(reply_of(raw_output(cut, None, OutputParserException("no")))).code == "truncated"
    declined = raw_output(AIMessage("", additional_kwargs={"refusal": "No."}), None, OpenAIRefusalError("No."))
    assert sample_of(reply_of(declined)).error == "no_json: the model refused: No."


def test_a_record_with_other_fields_is_no_include_raw() -> None:
    record = {"raw": "a", "parsed": 1, "parsing_error": None}
    assert reply_of(record).content is record


def test_a_parser_that_refuses_keeps_the_text() -> None:
    for parser in (PydanticOutputParser(pydantic_object=Ticket), JsonOutputParser()):
        with pytest.raises(OutputParserException) as caught:
            (RunnableLambda(lambda _: AIMessage("no team")) | parser).invoke("x")
        reply = error_reply_of(caught.value)
        assert reply is not None
        assert reply.content == "no team"
        sample = sample_of(reply)
        assert sample.error.startswith("invalid: OutputParserException: ")
        assert "docs.langchain" not in sample.error
        assert "troubleshooting" not in sample.error


def test_a_reply_cut_off_inside_the_openai_client_is_truncated() -> None:
    reply = error_reply_of(LengthFinishReasonError(completion=completion()))
    assert reply is not None
    sample = sample_of(reply)
    assert (sample.code, sample.truncated) == ("truncated", True)
    assert reply.content == '{"team": "bil'
    assert reply.usage == {"input_tokens": 30, "output_tokens": 5, "total_tokens": 35}
    assert reply.source == "small-1"


def test_a_filtered_reply_is_a_failed_sample() -> None:
    try:
        error = ContentFilterFinishReasonError(completion=completion(None, "content_filter"))
    except TypeError:  # openai before 3
        error = ContentFilterFinishReasonError()
    reply = error_reply_of(error)
    assert reply is not None
    assert sample_of(reply).code == "no_json"


def test_a_refusal_that_is_raised_is_a_failed_sample() -> None:
    reply = error_reply_of(OpenAIRefusalError("I cannot help with that."))
    assert reply is not None
    assert sample_of(reply).error == "no_json: the model refused: I cannot help with that."
    assert reply.content == "I cannot help with that."


@pytest.mark.parametrize("error", [ValueError("x"), ConnectionError("x"), KeyError("team"), RuntimeError()])
def test_other_exceptions_are_failures_of_the_call(error: Exception) -> None:
    assert error_reply_of(error) is None
