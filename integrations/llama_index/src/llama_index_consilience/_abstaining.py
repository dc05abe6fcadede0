"""Abstaining: what a component does when there is no decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

from llama_index.core.output_parsers.base import OutputParserException

from consilience import AbstainError, ConsensusResult, SettingsError, VoteResult

__all__ = [
    "AnyResult",
    "ParserAbstainError",
    "abstention_error",
    "abstention_text",
    "check_on_abstain",
    "error_of_abstention",
    "note_abstention",
    "raise_abstention",
    "watched_abstentions",
]

AnyResult = VoteResult | ConsensusResult


class ParserAbstainError(AbstainError, OutputParserException):
    """A parser found no decision: a reply that holds no valid answer, or replies without a quorum.

    It is LlamaIndex's ``OutputParserException``, and not a ValueError, which synthesizers take for an empty response.

    Args:
        result: the result that abstained; kept as ``error.result``.
        message: one sentence with the reason.

    Example:
        >>> from llama_index_consilience import ConsilienceOutputParser
        >>> try:
        ...     ConsilienceOutputParser(key="team").parse("Hard to say.")
        ... except ParserAbstainError as error:
        ...     print(error)
        no_json: the reply holds no JSON object or array
    """


def check_on_abstain(on_abstain: Any, component: type, *, words: tuple[str, ...] = ("return", "raise")) -> None:
    """Check an abstain policy: one of the words, or a component to ask instead.

    Raises:
        SettingsError, TypeError: it is something else.
    """
    if isinstance(on_abstain, component) or (isinstance(on_abstain, str) and on_abstain in words):
        return
    allowed = f"{', '.join(repr(word) for word in words)} or a {component.__name__} to ask instead"
    if isinstance(on_abstain, str):
        raise SettingsError(f"on_abstain must be {allowed}, got {on_abstain!r}")
    raise TypeError(f"on_abstain must be {allowed}, got {type(on_abstain).__name__}")


_NO_JSON = str.maketrans("{}[]", "()()")
"""A detail may quote the record that did not win; the next parser must not take it for an answer."""


def abstention_text(result: AnyResult) -> str:
    """What stands where an answer would, for a human: LlamaIndex has no response without a text. It holds no JSON."""
    return f"I don't know: {result.detail.translate(_NO_JSON)}"


_abstentions: ContextVar[set[str] | None] = ContextVar("abstentions", default=None)
"""The texts of the abstentions inside a sample that is being drawn: engines pass on nothing but the text."""


def note_abstention(text: str) -> None:
    """Tell the sample that is being drawn, if one is, that this text is no answer."""
    if (texts := _abstentions.get()) is not None:
        texts.add(text)


@contextmanager
def watched_abstentions() -> Iterator[set[str]]:
    """Collect the texts of all abstentions within the block, also in threads and tasks that copy its context."""
    texts: set[str] = set()
    token = _abstentions.set(texts)
    try:
        yield texts
    finally:
        _abstentions.reset(token)


def error_of_abstention(result: Any, content: Any) -> str | None:
    """Why a sample whose content is itself an abstention fails; None if it is not one.

    Args:
        result: the vote that a response carries, if it carries one.
        content: what the response says; the answer of a component that was asked instead is an answer.
    """
    if isinstance(result, AnyResult) and result.abstained and content == abstention_text(result):
        return abstention_error(content)
    return None


def abstention_error(text: str) -> str:
    """The error of a sample that says this."""
    return f"empty_reply: the sample is itself an abstention: {text}"


def raise_abstention(result: AnyResult, hint: str | None = None) -> NoReturn:
    """Raise the core's ``AbstainError`` with the result, and with what may help if there is something."""
    try:
        result.unwrap()
    except AbstainError as error:
        raise (AbstainError(result, f"{error}; {hint}") if hint else error) from None
    raise AssertionError("a result that was decided cannot abstain")  # pragma: no cover
