"""Answers: what a result says, as text and as LlamaIndex's responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, MessageRole
from pydantic_core import to_jsonable_python

from consilience import VoteResult

from ._abstaining import AnyResult, abstention_text, note_abstention
from ._replies import FALLBACK_VOTES, TEXT, VOTE, Answers

__all__ = ["VOTE", "answer_text", "chat_response", "completion_response", "handed_over", "winning_record"]


def winning_record(result: AnyResult) -> Any:
    """The whole record behind the decision; None without one."""
    if not isinstance(result, VoteResult):
        return result.value
    if result.record is None and result.decided:  # null won: the result names no record
        return next(sample.record for sample in result.samples if sample.ok and sample.vote is None)
    return result.record


def answer_text(result: AnyResult, answers: Answers) -> str:
    """The decision as text: the record in JSON, or the plain answer; without a decision, why there is none.

    JSON is written anew: what stood around the record, or was drafted before it, would mislead the next parser.
    """
    if result.abstained:
        text = abstention_text(result)
        note_abstention(text)
        return text
    record = winning_record(result)
    if answers == "text" and isinstance(record, dict) and isinstance(record.get(TEXT), str):
        return str(record[TEXT])
    # What JSON does not have (an object that a validator made, say) is written as text: the answer must not be lost.
    return json.dumps(to_jsonable_python(record, fallback=str), ensure_ascii=False)


def completion_response(result: AnyResult, answers: Answers) -> CompletionResponse:
    """The decision as the response of a model."""
    text = answer_text(result, answers)
    return CompletionResponse(text=text, delta=text, additional_kwargs={VOTE: result})


def chat_response(result: AnyResult, answers: Answers) -> ChatResponse:
    """The decision as the message of a model."""
    text = answer_text(result, answers)
    message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
    return ChatResponse(message=message, delta=text, additional_kwargs={VOTE: result})


def handed_over(carried: Mapping[str, Any] | None, result: AnyResult) -> dict[str, Any]:
    """What the response of a component that was asked instead carries: the vote that could not decide, and its own.

    Args:
        carried: what it carries so far.
        result: the vote that could not decide.
    """
    known = dict(carried or {})
    if VOTE in known:
        known[FALLBACK_VOTES] = (known[VOTE], *known.get(FALLBACK_VOTES, ()))
    return {**known, VOTE: result}
