"""Structured samples: one call of a model that is to answer with an instance of a pydantic model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import LLM
from llama_index.core.prompts import BasePromptTemplate, SelectorPromptTemplate
from llama_index.core.types import PydanticProgramMode

from consilience import Reply

from ._parser import ConsilienceOutputParser
from ._replies import reply_of

__all__ = ["StructuredCall"]

_REFUSALS = (ValueError, TypeError, AssertionError)
"""What LlamaIndex's programs raise when they can make nothing of a reply."""


@dataclass(frozen=True)
class StructuredCall:
    """A call of ``llm`` for an ``output_cls``.

    A model that calls functions, or that the integration gives a schema to, makes the instance itself. Any other is
    asked in the prompt, and its text is read by the core: LlamaIndex's own parser takes the first draft, and fails on
    most replies with a word too many.

    Args:
        llm: the model that is sampled.
        owner: the LLM whose system prompt and templates hold (the voting one).
        output_cls: what is asked for.
        prompt: a template, and its variables in ``prompt_args``.
        raise_on: exceptions that are not about the reply.
    """

    llm: LLM
    owner: LLM
    output_cls: type[BaseModel]
    prompt: BasePromptTemplate
    prompt_args: Mapping[str, Any]
    raise_on: Any

    def sampler(self, options: Callable[[], dict[str, Any]]) -> Callable[[Any], Reply]:
        """The sampler; ``options`` gives the key words of each call."""
        if self._by_model():
            return lambda _: self._instance(options())
        if self.owner.metadata.is_chat_model:
            messages = self._messages()
            return lambda _: self._read(self.llm.chat(list(messages), **options()))
        text = self._text()
        return lambda _: self._read(self.llm.complete(text, formatted=True, **options()))

    def asampler(self, options: Callable[[], dict[str, Any]]) -> Callable[[Any], Any]:
        """The same for asyncio."""
        if self._by_model():

            async def instance(_: Any) -> Reply:
                return await self._ainstance(options())

            return instance
        if self.owner.metadata.is_chat_model:
            messages = self._messages()

            async def chat(_: Any) -> Reply:
                return self._read(await self.llm.achat(list(messages), **options()))

            return chat
        text = self._text()

        async def complete(_: Any) -> Reply:
            return self._read(await self.llm.acomplete(text, formatted=True, **options()))

        return complete

    def _by_model(self) -> bool:
        mode = self.owner.pydantic_program_mode
        if mode is not PydanticProgramMode.DEFAULT:
            return mode is not PydanticProgramMode.LLM
        # The flag is the one of the OpenAI-compatible integrations.
        return self.llm.metadata.is_function_calling_model or bool(
            getattr(self.llm, "should_use_structured_outputs", False)
        )

    def _messages(self) -> list[ChatMessage]:
        messages = self._template().format_messages(llm=self.owner, **self.prompt_args)
        if not any(self._parser.instructions in (message.content or "") for message in messages):
            messages = self._parser.format_messages(messages)
        return self.owner._extend_messages(messages)

    def _text(self) -> str:
        text = self._template().format(
            llm=self.owner,
            messages_to_prompt=self.owner.messages_to_prompt,
            completion_to_prompt=self.owner.completion_to_prompt,
            **self.prompt_args,
        )
        return self.owner._extend_prompt(text if self._parser.instructions in text else self._parser.format(text))

    @cached_property
    def _parser(self) -> ConsilienceOutputParser:
        return ConsilienceOutputParser(validator=self.output_cls)

    def _template(self) -> BasePromptTemplate:
        """A copy of the template that asks for the instance, within whatever it wraps the text in.

        A selector hands its parser to templates that all programs share, so it selects first. Templates in Jinja pay no
        heed to a parser where they make a text: those get the instructions at the end.
        """
        prompt = self.prompt
        if isinstance(prompt, SelectorPromptTemplate):
            prompt = prompt.select(llm=self.owner)
        prompt = prompt.model_copy()
        prompt.output_parser = self._parser
        return prompt

    def _read(self, response: Any) -> Reply:
        return reply_of(response, "json", self._source())

    # LlamaIndex's programs write their parser into the prompt that they get.

    def _instance(self, options: dict[str, Any]) -> Reply:
        try:
            made = self.llm.structured_predict(
                self.output_cls, self.prompt.model_copy(), llm_kwargs=options, **self.prompt_args
            )
        except _REFUSALS as error:
            return self._refused(error)
        return Reply(made, source=self._source())

    async def _ainstance(self, options: dict[str, Any]) -> Reply:
        try:
            made = await self.llm.astructured_predict(
                self.output_cls, self.prompt.model_copy(), llm_kwargs=options, **self.prompt_args
            )
        except _REFUSALS as error:
            return self._refused(error)
        return Reply(made, source=self._source())

    def _refused(self, error: Exception) -> Reply:
        if isinstance(error, self.raise_on):
            raise error
        return Reply(None, error=f"invalid: {type(error).__name__}: {error}", source=self._source())

    def _source(self) -> str | None:
        return self.llm.metadata.model_name
