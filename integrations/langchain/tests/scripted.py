"""A chat model that says what a test wants, and knows how it was called. A real subclass, not a mock."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

A, B, C = ('{"team": "a"}', '{"team": "b"}', '{"team": "c"}')


def usage(output: int = 5) -> Any:
    return {"input_tokens": 30, "output_tokens": output, "total_tokens": 30 + output}


class ScriptedModel(BaseChatModel):
    """Says the lines of ``script`` in turn, over and over; an exception in it is raised, a function is called.

    A function gets the messages and the key words of the call. ``delay`` is in seconds.
    """

    script: list[Any]
    delay: float = 0.0

    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _calls: int = PrivateAttr(default=0)
    _in_flight: int = PrivateAttr(default=0)
    _most: int = PrivateAttr(default=0)
    _cancelled: int = PrivateAttr(default=0)
    _seen: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def calls(self) -> int:
        return self._calls

    @property
    def most_in_flight(self) -> int:
        return self._most

    @property
    def cancelled(self) -> int:
        return self._cancelled

    @property
    def seeds(self) -> list[Any]:
        return [each.get("seed") for each in self._seen]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any) -> Any:
        with self._counted(given) as line:
            time.sleep(self.delay)
            return self._result(line, messages, given)

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any
    ) -> Any:
        with self._counted(given) as line:
            await asyncio.sleep(self.delay)
            return self._result(line, messages, given)

    @contextmanager
    def _counted(self, given: dict[str, Any]) -> Iterator[Any]:
        with self._lock:
            line = self.script[self._calls % len(self.script)]
            self._calls += 1
            self._seen.append(given)
            self._in_flight += 1
            self._most = max(self._most, self._in_flight)
        try:
            yield line
        except asyncio.CancelledError:
            self._cancelled += 1
            raise
        finally:
            with self._lock:
                self._in_flight -= 1

    def _result(self, line: Any, messages: list[BaseMessage], given: dict[str, Any]) -> ChatResult:
        said = line(messages, given) if isinstance(line, Callable) else line  # type: ignore[arg-type]
        if isinstance(said, BaseException):
            raise said
        message = said.model_copy() if isinstance(said, AIMessage) else AIMessage(said, usage_metadata=usage())
        return ChatResult(generations=[ChatGeneration(message=message)])


class StreamingModel(ScriptedModel):
    """The same, letter by letter where somebody listens."""

    def _stream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any) -> Any:
        with self._counted(given) as line:
            for letter in line:
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=letter))
                if run_manager:
                    run_manager.on_llm_new_token(letter, chunk=chunk)
                yield chunk
