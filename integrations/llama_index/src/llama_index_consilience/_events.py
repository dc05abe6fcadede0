"""Events: what a vote came to, for LlamaIndex's instrumentation."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]  # re-exported
from llama_index.core.instrumentation.events.base import BaseEvent  # type: ignore[attr-defined]  # re-exported

from ._abstaining import AnyResult

__all__ = ["VoteEvent", "announce"]

_dispatcher = get_dispatcher(__name__)


class VoteEvent(BaseEvent):
    """A vote or a consensus has ended. Its span is that of the component, the parent of the samples' spans.

    Attributes:
        component: the name of the component that asked for it.
        result: the ``VoteResult`` or ``ConsensusResult``, with every sample.

    Example:
        >>> from consilience import tally
        >>> VoteEvent(component="VotingLLM", result=tally(['{"team": "billing"}'], key="team")).result.value
        'billing'
    """

    component: str
    result: Any

    @classmethod
    def class_name(cls) -> str:
        """The name by which handlers know this event."""
        return "VoteEvent"

    def model_dump(self, **kwargs: Any) -> dict[str, Any]:
        """The event as plain values, the result in a short form: whole results are long, and hold the framework's
        own objects."""
        data = super().model_dump(**{**kwargs, "exclude": {"result"}})
        result = self.result
        data["result"] = {
            name: getattr(result, name) for name in ("abstained", "reason", "detail") if hasattr(result, name)
        }
        return data


def announce(component: str, result: AnyResult) -> None:
    """Tell the handlers of LlamaIndex's instrumentation, within the span that is open."""
    _dispatcher.event(VoteEvent(component=component, result=result))
