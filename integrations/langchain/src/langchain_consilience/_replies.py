"""Replies: what a chain returned or raised, as the core reads it.

LangChain's outputs are messages, texts, records and the dict of ``include_raw=True``; its failures are exceptions of
parsers and of model clients. Nothing is judged here: a text stays a text, and the core extracts its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import BaseMessage

from consilience import AbstainError, ConsensusResult, Failure, Reply, VoteResult

__all__ = [
    "error_reply_of",
    "finish_reason_of",
    "is_free",
    "reply_of",
    "sentence",
    "source_of",
    "text_of",
    "usage_of",
]

_INCLUDE_RAW = {"raw", "parsed", "parsing_error"}
_REFUSALS = {"ModelRefusalError", "OpenAIRefusalError"}
_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
"""What providers call the end of a reply that ran into its limit, in small letters."""

_DEPTH = 8
"""How deep in a record messages are looked for."""


def reply_of(output: Any) -> Reply:
    """What the core is to read of one finished output.

    Args:
        output: what a chain returned: a message, a text, a record (dict, pydantic model, dataclass), the dict of
            ``with_structured_output(..., include_raw=True)``, the result of a vote inside it, or None. A ``Reply`` is
            one already.

    Returns:
        The reply: the text of a message, or its tool calls (name and arguments, without ids) if it makes any; the
        parsed record of ``include_raw=True``; what a vote decided on; anything else as it is, with messages inside a
        record read in the same way. A refusal, tool calls that cannot be read, a record that could not be parsed and
        an abstention are replies with an ``error``: failed samples that keep what was said.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> reply_of(AIMessage(content=[{"type": "text", "text": "{}"}])).content
        '{}'
        >>> call = {"name": "search", "args": {"q": "zip"}, "id": "call_1"}
        >>> reply_of(AIMessage(content="", tool_calls=[call])).content
        {'name': 'search', 'args': {'q': 'zip'}}
    """
    if isinstance(output, Reply):
        return output
    if isinstance(output, BaseMessage):
        return _reply_of_message(output)
    if isinstance(output, Mapping) and set(output) == _INCLUDE_RAW and isinstance(output["raw"], BaseMessage):
        return _reply_of_parsed(output["raw"], output["parsed"], output["parsing_error"])
    if isinstance(output, VoteResult | ConsensusResult):
        return _reply_of_result(output)
    return Reply(_without_messages(output, _DEPTH))


def error_reply_of(error: Exception) -> Reply | None:
    """What the core is to read of an exception by which a reply, not a call, has failed.

    Args:
        error: what a chain raised.

    Returns:
        A reply with an ``error``, for parsers that refused a text, models that refused to answer and replies that were
        cut off; None for anything else, which is a failure of the call.

    Example:
        >>> error_reply_of(OutputParserException("no such team", llm_output="Sales")).content
        'Sales'
        >>> error_reply_of(ConnectionError("reset")) is None
        True
    """
    names = {each.__name__ for each in type(error).__mro__}
    if "LengthFinishReasonError" in names:
        return _reply_of_completion(getattr(error, "completion", None), "length", Failure.TRUNCATED, error)
    if "ContentFilterFinishReasonError" in names:
        return _reply_of_completion(getattr(error, "completion", None), "content_filter", Failure.NO_JSON, error)
    if names & _REFUSALS:
        raw = getattr(error, "raw_message", None)
        said = (_refusal_in(raw) or text_of(raw)) if isinstance(raw, BaseMessage) else None
        return _told(raw, said or _first_line(error), f"{Failure.NO_JSON}: the model refused: {_first_line(error)}")
    if isinstance(error, OutputParserException):
        said = error.llm_output if isinstance(error.llm_output, str) else None
        return Reply(said, error=sentence(Failure.INVALID, error))
    return None


def text_of(message: BaseMessage) -> str:
    """The text of a message: its text blocks joined, reasoning and everything else left out.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> text_of(AIMessage(content=[{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "yes"}]))
        'yes'
    """
    return str(message.text)


def usage_of(message: BaseMessage) -> dict[str, Any] | None:
    """The tokens that a message took; None if it does not say, or if it came from a cache and took none.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> usage = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
        >>> usage_of(AIMessage("{}", usage_metadata=usage))
        {'input_tokens': 3, 'output_tokens': 1, 'total_tokens': 4}
    """
    usage: Mapping[str, Any] | None = getattr(message, "usage_metadata", None)
    if not usage or is_free(usage):
        return None
    return dict(usage)


def is_free(usage: Mapping[str, Any]) -> bool:
    """Whether a message's usage carries the mark of LangChain's cache: a total cost of 0.

    Example:
        >>> is_free({"input_tokens": 3, "total_cost": 0})
        True
    """
    return "total_cost" in usage and not usage["total_cost"]


def finish_reason_of(message: BaseMessage) -> str | None:
    """Why generation ended, in the provider's word, or "length" for all that mean a reply cut off at its limit.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> finish_reason_of(AIMessage("{", response_metadata={"stop_reason": "max_tokens"}))
        'length'
    """
    metadata = message.response_metadata
    incomplete = metadata.get("incomplete_details")
    found = [incomplete.get("reason")] if isinstance(incomplete, Mapping) else []
    found += [metadata.get(name) for name in ("finish_reason", "stop_reason", "stopReason", "done_reason")]
    reason = next((each for each in found if isinstance(each, str)), None)
    return "length" if reason is not None and reason.lower() in _CUT_OFF else reason


def source_of(message: BaseMessage) -> str | None:
    """The model that answered, as far as its message says.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> source_of(AIMessage("{}", response_metadata={"model_name": "small-1"}))
        'small-1'
    """
    metadata = message.response_metadata
    name = metadata.get("model_name") or metadata.get("model")
    return name if isinstance(name, str) else None


def _reply_of_result(result: VoteResult | ConsensusResult) -> Reply:
    """The reply of a vote inside the chain: the answer that it decided on, not what the result says about it."""
    try:
        value = result.unwrap()
    except AbstainError as error:
        return Reply(result.detail, usage=result.usage, error=sentence(Failure.SAMPLER_ERROR, error))
    record = getattr(result, "record", None)
    return Reply(value if record is None else record, usage=result.usage)


def _without_messages(value: Any, depth: int) -> Any:
    """A record with what is read of each message in the place of the message.

    Its id and its tokens would make samples differ that say the same.
    """
    if isinstance(value, BaseMessage):
        return _reply_of_message(value).content
    if not depth or type(value) not in (dict, list, tuple):
        return value
    given = list(value.values()) if isinstance(value, dict) else value
    read = [_without_messages(each, depth - 1) for each in given]
    if all(after is before for after, before in zip(read, given, strict=True)):
        return value
    return dict(zip(value, read, strict=True)) if isinstance(value, dict) else type(value)(read)


def _reply_of_message(message: BaseMessage) -> Reply:
    calls = getattr(message, "tool_calls", None)
    broken = getattr(message, "invalid_tool_calls", None)
    if calls and broken:  # what is left would pass for the whole
        return _told(message, _said_in(broken), _why_broken(broken))
    if calls:
        records = [{"name": call["name"], "args": call["args"]} for call in calls]
        return _told(message, records[0] if len(records) == 1 else records)
    text = text_of(message)
    if message.response_metadata.get("stop_reason") == "refusal":  # Anthropic's; what was said until then is void
        return _told(message, text, f"{Failure.NO_JSON}: the model refused: {text.strip() or 'it gave no reason'}")
    if not text.strip():
        refusal = _refusal_in(message)
        if refusal is not None:
            return _told(message, refusal, f"{Failure.NO_JSON}: the model refused: {refusal}")
        if broken:
            return _told(message, _said_in(broken), _why_broken(broken))
    return _told(message, text)


def _said_in(broken: list[Any]) -> str:
    return "\n".join(str(call.get("args") or "") for call in broken)


def _why_broken(broken: list[Any]) -> str:
    why = broken[0].get("error") or "its arguments are no JSON"
    return f"{Failure.INVALID}: the tool call {broken[0].get('name')!r}: {why}"


def _reply_of_parsed(raw: BaseMessage, parsed: Any, error: BaseException | None) -> Reply:
    """The reply of a chain that returns the message, the record in it, and why there is none."""
    if parsed is not None and error is None:
        return _told(raw, parsed)
    said = _reply_of_message(raw)
    if said.error is not None:
        return said
    if error is None:
        code = Failure.NO_JSON if text_of(raw).strip() else Failure.EMPTY_REPLY
        return _told(raw, said.content, f"{code}: the reply holds no structured output")
    known = error_reply_of(error) if isinstance(error, Exception) else None
    return _told(raw, said.content, known.error if known is not None else sentence(Failure.INVALID, error))


def _reply_of_completion(completion: Any, finish_reason: str, code: str, error: Exception) -> Reply:
    """The reply inside a completion of the openai client, which raises instead of returning it."""
    choices = getattr(completion, "choices", None) or []
    said = getattr(getattr(choices[0], "message", None), "content", None) if choices else None
    tokens = getattr(completion, "usage", None)
    usage = None
    if tokens is not None:
        usage = {
            "input_tokens": tokens.prompt_tokens,
            "output_tokens": tokens.completion_tokens,
            "total_tokens": tokens.total_tokens,
        }
    source = getattr(completion, "model", None)
    return Reply(said, usage=usage, source=source, finish_reason=finish_reason, error=sentence(code, error))


def _told(message: Any, content: Any, error: str | None = None) -> Reply:
    if not isinstance(message, BaseMessage):
        return Reply(content, error=error)
    return Reply(
        content,
        usage=usage_of(message),
        source=source_of(message),
        finish_reason=finish_reason_of(message),
        error=error,
    )


def _refusal_in(message: BaseMessage) -> str | None:
    """The words with which a model refused, where its client keeps them apart from the text."""
    refusal = message.additional_kwargs.get("refusal")
    if isinstance(refusal, str) and refusal:
        return refusal
    blocks = message.content if isinstance(message.content, list) else []
    for block in blocks:
        inside = block.get("value", block) if isinstance(block, Mapping) else None
        if isinstance(inside, Mapping) and isinstance(inside.get("refusal"), str):
            return str(inside["refusal"])
    return None


def sentence(code: str, error: BaseException) -> str:
    """What a failed sample says of an exception.

    Example:
        >>> sentence("invalid", ValueError("no such team"))
        'invalid: ValueError: no such team'
    """
    return f"{code}: {type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    """The message of an exception without LangChain's footer (a link to its manual)."""
    try:
        text = str(error)
    except Exception:
        return "its message cannot be printed"
    return text.partition("\nFor troubleshooting, visit:")[0].strip()
