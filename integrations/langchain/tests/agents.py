"""Agents for tests: a chat model that knows which sample it is, and ways to run an agent in threads and in asyncio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import pytest
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from consilience import sample_index

Replies = Sequence[Any]
"""What the samples of one step get, by their number: an AIMessage, a text, or an exception to be raised."""


class ScriptedModel(BaseChatModel):
    """A real chat model whose reply depends on the step of the agent and on the number of the sample.

    Like the framework's fakes, but these hand out replies in the order of calls, which threads do not keep.
    """

    steps: list[Any]
    _calls: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The key words of every call."""
        return self._calls

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(**kwargs)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        step = sum(isinstance(each, AIMessage) for each in messages)
        index = sample_index()
        with self._lock:
            self._calls.append({**kwargs, "step": step, "sample": index})
        reply = self.steps[step][index or 0]
        if isinstance(reply, BaseException):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply.model_copy()
        return ChatResult(generations=[ChatGeneration(message=message)])


def tool_call(name: str, _id: str = "1", **args: Any) -> AIMessage:
    """A message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call_{_id}"}])


def in_order(agent: Any, messages: Any, config: Any = None) -> dict[str, Any]:
    return dict(agent.invoke(_state(messages), config))


def in_asyncio(agent: Any, messages: Any, config: Any = None) -> dict[str, Any]:
    return dict(asyncio.run(agent.ainvoke(_state(messages), config)))


RUNS: list[Callable[..., dict[str, Any]]] = [in_order, in_asyncio]

CONFIGURED_RUNS = RUNS if sys.version_info >= (3, 11) else [in_order]
"""Ways in which the config of a run reaches what runs inside; in asyncio LangGraph needs Python 3.11 for that."""


def _state(messages: Any) -> Any:
    return {"messages": [("user", messages)]} if isinstance(messages, str) else messages


both_ways = pytest.mark.parametrize("run", RUNS)
with_config = pytest.mark.parametrize("run", CONFIGURED_RUNS)
Run = Callable[..., dict[str, Any]]


def contents(state: dict[str, Any]) -> list[Any]:
    """What every message of an agent says: the calls of tools, or the text."""
    return [
        [(call["name"], call["args"]) for call in each.tool_calls] if getattr(each, "tool_calls", None) else each.text
        for each in state["messages"]
    ]


def model_request(model: Any) -> Any:
    """What an agent would ask ``model``."""
    fields: dict[str, Any] = {"system_prompt": None, "tool_choice": None, "tools": [], "response_format": None}
    return ModelRequest(model=model, messages=[HumanMessage("x")], state={"messages": []}, runtime=None, **fields)
