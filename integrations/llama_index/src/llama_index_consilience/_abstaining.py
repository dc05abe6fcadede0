"""Abstaining: what a component does when there is no decision."""

from __future__ import annotations

from typing import Any, NoReturn

from llama_index.core.output_parsers.base import OutputParserException

from consilience import AbstainError, ConsensusResult, SettingsError, VoteResult

__all__ = ["AnyResult", "ParserAbstainError", "abstention_text", "check_on_abstain", "raise_abstention"]

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


def abstention_text(result: AnyResult) -> str:
    """What stands where an answer would, for a human: LlamaIndex has no response without a text."""
    return f"I don't know: {result.detail}"


def raise_abstention(result: AnyResult) -> NoReturn:
    """Raise the core's ``AbstainError`` with the result."""
    result.unwrap()
    raise AssertionError("a result that was decided cannot abstain")  # pragma: no cover
