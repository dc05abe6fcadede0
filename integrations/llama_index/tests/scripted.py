"""Models of LlamaIndex that say what a test has written down, and remember how they were called."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback

Script = Sequence[Any] | Callable[[str], Any]


class ScriptedLLM(LLM):
    """An LLM whose n-th call gives the n-th line of its script: a text, an exception, or ``(text, finish reason)``.

    A script may be a function of the prompt. Every call reports 3 tokens in and one out for each word.
    """

    temperature: float = 0.1
    is_chat_model: bool = False
    model: str = "scripted"
    delay: float = 0.0
    hang_from: int = 10**6
    """Calls from this one on never return; asynchronous ones can be cancelled."""

    _script: Any = PrivateAttr()
    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _prompts: list[Any] = PrivateAttr(default_factory=list)
    _kwargs: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _cancelled: int = PrivateAttr(default=0)
    _in_flight: int = PrivateAttr(default=0)
    _most_in_flight: int = PrivateAttr(default=0)

    def __init__(self, script: Script, **fields: Any) -> None:
        super().__init__(**fields)
        self._script = script

    def __deepcopy__(self, memo: Any = None) -> ScriptedLLM:
        return ScriptedLLM(self._script, **{name: getattr(self, name) for name in type(self).model_fields})

    @classmethod
    def class_name(cls) -> str:
        return "scripted"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model, is_chat_model=self.is_chat_model, context_window=3000, num_output=64)

    @property
    def calls(self) -> int:
        return len(self._prompts)

    def _begin(self, prompt: Any, kwargs: dict[str, Any]) -> Any:
        with self._lock:
            number = len(self._prompts)
            self._prompts.append(prompt)
            self._kwargs.append(kwargs)
        if callable(self._script):
            said = self._script(prompt if isinstance(prompt, str) else prompt[-1].content)
        else:
            said = self._script[number]
        return number, said

    @staticmethod
    def _raw(said: Any) -> tuple[str, dict[str, Any]]:
        if isinstance(said, BaseException):
            raise said
        text, reason = said if isinstance(said, tuple) else (said, "stop")
        words = len((text or "").split())
        usage = {"prompt_tokens": 3, "completion_tokens": words, "total_tokens": 3 + words}
        return text, {"usage": usage, "choices": [{"finish_reason": reason}]}

    def _text(self, prompt: Any, kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        number, said = self._begin(prompt, kwargs)
        if self.delay:
            threading.Event().wait(self.delay)
        assert number < self.hang_from, "a thread that hangs would keep the test from ending"
        return self._raw(said)

    async def _atext(self, prompt: Any, kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        number, said = self._begin(prompt, kwargs)
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        try:
            await asyncio.sleep(3600 if number >= self.hang_from else self.delay)
        except asyncio.CancelledError:
            self._cancelled += 1
            raise
        finally:
            self._in_flight -= 1
        return self._raw(said)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        text, raw = self._text(prompt, kwargs)
        return CompletionResponse(text=text, raw=raw)

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        text, raw = self._text(messages, kwargs)
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), raw=raw)

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        text, raw = await self._atext(prompt, kwargs)
        return CompletionResponse(text=text, raw=raw)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        text, raw = await self._atext(messages, kwargs)
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), raw=raw)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        def words() -> CompletionResponseGen:
            text, raw = self._text(prompt, kwargs)
            for end, word in enumerate(text.split(), 1):
                yield CompletionResponse(text=" ".join(text.split()[:end]), delta=word + " ", raw=raw)

        return words()

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        def words() -> ChatResponseGen:
            text, raw = self._text(messages, kwargs)
            for end, word in enumerate(text.split(), 1):
                message = ChatMessage(role=MessageRole.ASSISTANT, content=" ".join(text.split()[:end]))
                yield ChatResponse(message=message, delta=word + " ", raw=raw)

        return words()

    @llm_completion_callback()
    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        async def words() -> CompletionResponseAsyncGen:
            for response in self.stream_complete(prompt, formatted, **kwargs):
                yield response

        return words()

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        async def words() -> ChatResponseAsyncGen:
            for response in self.stream_chat(messages, **kwargs):
                yield response

        return words()
