"""Replies: what LlamaIndex's responses say, in the core's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.bridge.pydantic import BaseModel

from consilience import Reply, SettingsError

from ._abstaining import error_of_abstention

__all__ = ["FALLBACK_VOTES", "TEXT", "VOTE", "Answers", "check_answers", "reply_of", "reply_to", "text_of"]

Answers = Literal["json", "text"]
"""What a reply holds: a JSON record somewhere in it, or nothing but the answer."""

VOTE = "vote"
"""Where responses carry the result: the key in ``additional_kwargs`` and in ``metadata``."""

FALLBACK_VOTES = "fallback_votes"
"""Where they carry the results of the components that were asked instead, in that order, if those vote too."""

TEXT = "text"
"""The field of the record that is made of a plain text."""

_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""Of JSON the core sees by itself that it was cut off; half a plain text looks like a whole one."""

_REASONS = ("finish_reason", "stop_reason", "done_reason")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def check_answers(answers: Any) -> None:
    """Check the option ``answers``.

    Raises:
        SettingsError: it is neither "json" nor "text".
    """
    if answers not in ("json", "text"):
        raise SettingsError(f'answers must be "json" or "text", got {answers!r}')


def text_of(response: ChatResponse | CompletionResponse) -> str:
    """The text of a response; empty if it has none."""
    text = response.message.content if isinstance(response, ChatResponse) else response.text
    return text or ""


def reply_of(response: Any, answers: Answers, source: str | None = None) -> Reply:
    """The reply that a model's response holds, with its tokens and why it ended."""
    if isinstance(response, (ChatResponse, CompletionResponse)):
        text, usage = text_of(response), _usage(response)
        if (error := error_of_abstention(response.additional_kwargs.get(VOTE), text)) is not None:
            return Reply(text, usage=usage, source=source, error=error)
        return reply_to(text, answers, usage=usage, source=source, finish_reason=_finish_reason(response))
    return reply_to(response, answers, source=source)


def reply_to(content: Any, answers: Answers, *, finish_reason: str | None = None, **known: Any) -> Reply:
    """A reply with this content; where texts are answers, a record is made of the text without the space around it."""
    if answers == "json" or not isinstance(content, str) or not content.strip():
        return Reply(content, finish_reason=finish_reason, **known)
    if finish_reason in _CUT_OFF:
        error = "truncated: the reply was cut off"
        return Reply(content, finish_reason=finish_reason, error=error, **known)
    return Reply({TEXT: content.strip()}, finish_reason=finish_reason, **known)


def _usage(response: ChatResponse | CompletionResponse) -> dict[str, int] | None:
    """The tokens, by the provider's own names: from the raw answer, else from what the integration noted."""
    reported = _get(response.raw, "usage")
    counts = _numbers(reported) if reported is not None else {}
    if not counts:
        counts = {name: n for name, n in _numbers(response.additional_kwargs).items() if name in _COUNTS}
    # The response of a vote costs what its samples cost, and what was asked after them.
    for vote in (response.additional_kwargs.get(VOTE), *response.additional_kwargs.get(FALLBACK_VOTES, ())):
        for name, n in (getattr(vote, "usage", None) or {}).items():
            counts[name] = counts.get(name, 0) + n
    return counts or None


def _numbers(holder: Any) -> dict[str, int]:
    fields = holder.model_dump() if isinstance(holder, BaseModel) else holder
    if not isinstance(fields, Mapping):
        return {}
    return {str(name): n for name, n in fields.items() if isinstance(n, int) and not isinstance(n, bool)}


def _finish_reason(response: ChatResponse | CompletionResponse) -> str | None:
    choices = _get(response.raw, "choices")
    choice = choices[0] if isinstance(choices, (list, tuple)) and choices else None
    for holder in (choice, response.raw, response.additional_kwargs):
        for name in _REASONS:
            reason = _get(holder, name)
            if isinstance(reason, str):
                return reason
    return None


def _get(holder: Any, name: str) -> Any:
    if isinstance(holder, Mapping):
        return holder.get(name)
    return getattr(holder, name, None)
