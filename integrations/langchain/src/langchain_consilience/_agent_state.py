"""The state of an agent: how a decision gets there, under every release of langchain 1.x, and what ends the agent."""

from __future__ import annotations

from typing import Annotated, Any

import langchain.agents.middleware.types as framework
from langchain.agents.middleware.types import AgentState, ModelResponse, OmitFromInput
from langchain_core.messages import AIMessage
from langgraph.types import Command
from typing_extensions import NotRequired

from consilience import ballot

from ._steps import message_in

__all__ = ["ConsensusState", "VoteState", "abstention", "after_step", "stored", "with_decision"]

_EXTENDED: Any = getattr(framework, "ExtendedModelResponse", None)
"""How middleware writes to the state beside its response; langchain has it since 1.2.12 at the latest."""

_DECISION = "consilience_decision"
_ABSTAINED = "consilience_abstained"
"""Marks in the metadata of a message, which no provider gets to see."""

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
"""The integers that a checkpoint can hold."""

_DEEPEST = 100
"""How deep the values of a checkpoint are nested at most."""


class VoteState(AgentState[Any]):
    """What ``VoteMiddleware`` adds to an agent's state: the last vote, as ``VoteResult.to_dict`` writes it."""

    vote: NotRequired[Annotated[dict[str, Any], OmitFromInput]]


class ConsensusState(VoteState):
    """What ``ConsensusMiddleware`` adds: the last consensus on a record, and the last vote on tool calls."""

    consensus: NotRequired[Annotated[dict[str, Any], OmitFromInput]]


def stored(values: dict[str, Any]) -> dict[str, Any]:
    """JSON values as a checkpoint can hold them: what it cannot hold (integers beyond 64 bits, …) becomes text.

    Example:
        >>> stored({"account": 2**64, "votes": [1, "ok"]})
        {'account': '18446744073709551616', 'votes': [1, 'ok']}
    """
    held: dict[str, Any] = _held(values, 0)
    return held


def _held(value: Any, depth: int) -> Any:
    if isinstance(value, (dict, list)) and depth == _DEEPEST:
        return ballot(value)  # its JSON, however deep it is
    if isinstance(value, dict):
        return {_held(name, depth): _held(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [_held(each, depth + 1) for each in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int) and not isinstance(value, bool) and not _SMALLEST <= value <= _LARGEST:
        return str(value)
    return value


def abstention(detail: str, reason: str | None) -> ModelResponse:
    """What an agent says instead of acting: words for a human, and no tool call. It ends the agent's loop."""
    return ModelResponse(
        result=[AIMessage(f"No answer was agreed on: {detail}", response_metadata={_ABSTAINED: reason})]
    )


def with_decision(response: ModelResponse, **decision: dict[str, Any]) -> Any:
    """``response``, with what is to be known of the decision on its way into the agent's state."""
    if _EXTENDED is not None:
        return _EXTENDED(model_response=response, command=Command(update=decision))
    message = message_in(response)
    if message is None:
        return response
    marked = message.model_copy(update={"response_metadata": {**message.response_metadata, _DECISION: decision}})
    return ModelResponse(
        result=[marked if each is message else each for each in response.result],
        structured_response=response.structured_response,
    )


def after_step(state: Any) -> dict[str, Any] | None:
    """What the step's last message has the agent do: keep the decision that came with it, and end if it abstained."""
    message = next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
    if message is None:
        return None
    update: dict[str, Any] = {}
    metadata = dict(message.response_metadata)
    decision = metadata.pop(_DECISION, None)
    if decision is not None:
        update = {**decision, "messages": [message.model_copy(update={"response_metadata": metadata})]}
    if _ABSTAINED in metadata:
        update["jump_to"] = "end"
    return update or None
