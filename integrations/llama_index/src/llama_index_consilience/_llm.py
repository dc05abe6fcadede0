"""The voting LLM: a language model whose every answer is the decision of several."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any, Literal, TypeVar, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SerializeAsAny
from llama_index.core.llms import LLM
from llama_index.core.prompts import BasePromptTemplate

from consilience import ConsensusSettings, Failure, Reply, VoteResult, VoteSettings

from ._abstaining import AnyResult, check_on_abstain, raise_abstention
from ._answers import chat_response, completion_response, handed_over
from ._drawing import adraw, draw
from ._replies import TEXT, Answers, check_answers, reply_of
from ._settings import consensus_like, vote_settings
from ._structured import StructuredCall
from ._varying import Variation

__all__ = ["VotingLLM"]

_TAKEN_OVER = (
    "system_prompt",
    "messages_to_prompt",
    "completion_to_prompt",
    "output_parser",
    "pydantic_program_mode",
    "query_wrapper_prompt",
)
"""What LlamaIndex asks of the outer model before it calls it; the inner one is called with what came of it."""

_PASSED_ON = {"callback_manager", "rate_limiter"}
"""What belongs to the calls, which the inner model makes."""


class VotingLLM(LLM):
    """A language model that answers with the decision of several samples of another; usable wherever an LLM is.

    ``complete`` and ``chat`` (also asynchronous, and as streams of one chunk) sample ``llm`` n times and vote. The
    answer is the winning record in JSON; ``additional_kwargs["vote"]`` holds the result. ``structured_predict`` (and
    with it ``as_structured_llm`` and ``as_query_engine(output_cls=...)``) makes a consensus of n instances, field by
    field. Every call's result is also in ``last_vote``, and in a ``VoteEvent`` of the instrumentation.

    Args:
        llm: the model that is sampled. Its prompts, parser and callbacks hold for this one, too.
        settings: how to vote, as one object.
        consensus: how ``structured_predict`` merges; by default it draws and reads as ``settings`` say, and merges by
            the core's defaults. Its ``schema`` is always the class that is asked for.
        on_abstain: what to do without a decision: "raise" ``consilience.AbstainError``; "return" a response whose
            text says why; or another LLM, that is asked once. An abstention of ``structured_predict`` is raised where
            no other LLM is given: no instance says that there is none.
        answers: what replies hold: "json", a record; or "text", nothing but the answer, which becomes the record
            ``{"text": ...}`` with ``key="text"``.
        temperature: of each sample, 0 or more. None raises the model's own to 0.8 where it is lower, because
            LlamaIndex's default is 0.1.
        options: the options of ``consilience.VoteSettings``, which replace those of ``settings``; and the fields of
            every LLM of LlamaIndex (``system_prompt``, ``callback_manager``, ...).

    Raises:
        SettingsError, TypeError: an argument is wrong; before any call.

    Warns:
        UserWarning: the temperature is 0: samples would be copies.

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> llm = VotingLLM(MockLLM(), n=3, key="team")  # MockLLM repeats the prompt
        >>> response = llm.complete('{"team": "billing"}')
        >>> response.text, response.additional_kwargs["vote"].detail
        ('{"team": "billing"}', "'billing' won with 3 of 3 votes")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    llm: SerializeAsAny[LLM] = Field(description="The model that is sampled.")
    answers: Answers = Field(default="json", description="What replies hold.", frozen=True)
    temperature: float | None = Field(default=None, description="The temperature of each sample.")

    _settings: VoteSettings = PrivateAttr()
    _consensus: ConsensusSettings = PrivateAttr()
    _on_abstain: Any = PrivateAttr()
    _last_vote: AnyResult | None = PrivateAttr(default=None)

    def __init__(
        self,
        llm: LLM,
        *,
        settings: VoteSettings | None = None,
        consensus: ConsensusSettings | None = None,
        on_abstain: Literal["raise", "return"] | LLM = "raise",
        answers: Answers = "json",
        temperature: float | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(llm, LLM):
            raise TypeError(f"llm must be an LLM of LlamaIndex, got {type(llm).__name__}")
        if consensus is not None and not isinstance(consensus, ConsensusSettings):
            raise TypeError(f"consensus must be a ConsensusSettings or None, got {type(consensus).__name__}")
        check_on_abstain(on_abstain, LLM)
        check_answers(answers)
        fields = {name: options.pop(name) for name in LLM.model_fields if name in options}
        voting = vote_settings(type(self).__name__, settings, options)
        if answers == "text" and voting.key is None:
            voting = voting.with_options(key=TEXT)
        Variation.checked(llm, temperature)
        taken_over = {name: getattr(llm, name) for name in _TAKEN_OVER}
        super().__init__(
            llm=llm,
            answers=answers,
            temperature=temperature,
            **{"callback_manager": llm.callback_manager, **taken_over, **fields},
        )
        self._settings = voting
        self._consensus = consensus or consensus_like(voting)
        self._on_abstain = on_abstain
        for name in _PASSED_ON & fields.keys():
            self._pass_on(name, getattr(self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "llm" and not isinstance(value, LLM):
            raise TypeError(f"llm must be an LLM of LlamaIndex, got {type(value).__name__}")
        if name == "temperature":
            Variation.checked(self.llm, value)
        super().__setattr__(name, value)
        if name in _PASSED_ON and "llm" in self.__dict__:
            # Synthesizers and Settings give their callbacks to the LLM that they know; others make the calls.
            self._pass_on(name, value)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> VotingLLM:
        # Settings never change, and may hold what cannot be copied, such as a limiter; results are only read.
        memo = {} if memo is None else memo
        for shared in (self._settings, self._consensus, self._last_vote):
            memo[id(shared)] = shared
        copied: VotingLLM = super().__deepcopy__(memo)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # The base class would drop what it cannot pickle, and with it the settings, without an error.
        arguments = {
            "llm": self.llm,
            "settings": self._settings,
            "consensus": self._consensus,
            "on_abstain": self._on_abstain,
            "answers": self.answers,
            "temperature": self.temperature,
        }
        own = {name: getattr(self, name) for name in _TAKEN_OVER}
        changed = {name: value for name, value in own.items() if value is not getattr(self.llm, name)}
        return _made_of, (type(self), {**arguments, **changed})

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows this class."""
        return "voting_llm"

    @property
    def metadata(self) -> LLMMetadata:
        """The inner model's; but a decision of several replies calls no function."""
        return self.llm.metadata.model_copy(update={"is_function_calling_model": False})

    @property
    def settings(self) -> VoteSettings:
        """How ``complete`` and ``chat`` vote."""
        return self._settings

    @property
    def consensus(self) -> ConsensusSettings:
        """How ``structured_predict`` merges."""
        return self._consensus

    @property
    def last_vote(self) -> AnyResult | None:
        """The result of the call that ended last, of all threads and tasks; None before the first."""
        return self._last_vote

    @property
    def _variation(self) -> Variation:
        return Variation(self.llm, self.temperature)

    def _pass_on(self, name: str, value: Any) -> None:
        for llm in (self.llm, (self.__pydantic_private__ or {}).get("_on_abstain")):
            if isinstance(llm, LLM):
                setattr(llm, name, value)

    # Answers in one piece

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Vote on completions of a prompt.

        Args:
            prompt: the text.
            formatted: whether it needs no further template of the model.
            kwargs: passed to every call of the inner model; ``seed`` is counted up from sample to sample.

        Raises:
            AbstainError: no answer won, with ``on_abstain="raise"``.
        """
        result = self._vote(lambda options: self.llm.complete(prompt, formatted=formatted, **options), kwargs)
        if (other := self._other_llm(result)) is not None:
            return _carrying(other.complete(prompt, formatted=formatted, **kwargs), result)
        return completion_response(result, self.answers)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Vote on replies to a conversation; takes and raises the same as ``complete``."""
        messages = list(messages)
        result = self._vote(lambda options: self.llm.chat(list(messages), **options), kwargs)
        if (other := self._other_llm(result)) is not None:
            return _carrying(other.chat(messages, **kwargs), result)
        return chat_response(result, self.answers)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """``complete`` for asyncio; after an early stop, calls in flight are cancelled."""
        result = await self._avote(lambda options: self.llm.acomplete(prompt, formatted=formatted, **options), kwargs)
        if (other := self._other_llm(result)) is not None:
            return _carrying(await other.acomplete(prompt, formatted=formatted, **kwargs), result)
        return completion_response(result, self.answers)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """``chat`` for asyncio; after an early stop, calls in flight are cancelled."""
        messages = list(messages)
        result = await self._avote(lambda options: self.llm.achat(list(messages), **options), kwargs)
        if (other := self._other_llm(result)) is not None:
            return _carrying(await other.achat(messages, **kwargs), result)
        return chat_response(result, self.answers)

    # Streams: a vote is over before its first word is known, so they have one chunk.

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """``complete`` as a stream of one chunk."""
        return _once(self.complete(prompt, formatted=formatted, **kwargs))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """``chat`` as a stream of one chunk."""
        return _once(self.chat(messages, **kwargs))

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        """``acomplete`` as a stream of one chunk."""
        return _aonce(await self.acomplete(prompt, formatted=formatted, **kwargs))

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """``achat`` as a stream of one chunk."""
        return _aonce(await self.achat(messages, **kwargs))

    # Instances

    def structured_predict(
        self,
        output_cls: type[BaseModel],
        prompt: BasePromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> BaseModel:
        """Make one instance of several, field by field.

        Args:
            output_cls: the pydantic model that is asked for.
            prompt: the template.
            llm_kwargs: passed to every call of the inner model.
            prompt_args: the variables of the template.

        Raises:
            AbstainError: there is no instance, and no other LLM to ask; the error carries the ``ConsensusResult``.
        """
        call = self._structured_call(output_cls, prompt, prompt_args)
        sampler = call.sampler(lambda: self._variation.options(llm_kwargs or {}))
        result = draw(type(self).__name__, sampler, self._consensus.with_options(schema=output_cls))
        if (other := self._other_llm(result)) is not None:
            return cast(
                BaseModel,
                other.structured_predict(output_cls, prompt.model_copy(), llm_kwargs=llm_kwargs, **prompt_args),
            )
        return _instance(result)

    async def astructured_predict(
        self,
        output_cls: type[BaseModel],
        prompt: BasePromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> BaseModel:
        """``structured_predict`` for asyncio."""
        call = self._structured_call(output_cls, prompt, prompt_args)
        sampler = call.asampler(lambda: self._variation.options(llm_kwargs or {}))
        result = await adraw(type(self).__name__, sampler, self._consensus.with_options(schema=output_cls))
        if (other := self._other_llm(result)) is not None:
            return cast(
                BaseModel,
                await other.astructured_predict(output_cls, prompt.model_copy(), llm_kwargs=llm_kwargs, **prompt_args),
            )
        return _instance(result)

    def stream_structured_predict(
        self,
        output_cls: type[BaseModel],
        prompt: BasePromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Generator[BaseModel, None, None]:
        """``structured_predict`` as a stream of one instance."""
        return _once(self.structured_predict(output_cls, prompt, llm_kwargs=llm_kwargs, **prompt_args))

    async def astream_structured_predict(
        self,
        output_cls: type[BaseModel],
        prompt: BasePromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> AsyncGenerator[BaseModel, None]:
        """``astructured_predict`` as a stream of one instance."""
        return _aonce(await self.astructured_predict(output_cls, prompt, llm_kwargs=llm_kwargs, **prompt_args))

    # What sync and async share

    def _vote(self, call: Callable[[dict[str, Any]], Any], kwargs: dict[str, Any]) -> VoteResult:
        def sampler(_: Any) -> Reply:
            return self._reply(call(self._variation.options(kwargs)))

        return draw(type(self).__name__, sampler, self._settings)

    async def _avote(self, call: Callable[[dict[str, Any]], Any], kwargs: dict[str, Any]) -> VoteResult:
        async def sampler(_: Any) -> Reply:
            return self._reply(await call(self._variation.options(kwargs)))

        return await adraw(type(self).__name__, sampler, self._settings)

    def _reply(self, response: Any) -> Reply:
        return reply_of(response, self.answers, self.llm.metadata.model_name)

    def _structured_call(
        self, output_cls: type[BaseModel], prompt: BasePromptTemplate, prompt_args: dict[str, Any]
    ) -> StructuredCall:
        return StructuredCall(self.llm, self, output_cls, prompt, prompt_args, self._consensus.raise_on)

    def _other_llm(self, result: AnyResult) -> LLM | None:
        """Note the result; who is to be asked instead of it, if anyone is."""
        self._last_vote = result
        if not result.abstained:
            return None
        if self._on_abstain == "raise":
            raise_abstention(result, _hint(result))
        return self._on_abstain if isinstance(self._on_abstain, LLM) else None


def _hint(result: AnyResult) -> str | None:
    """What to do if nothing but prose came in: most parts of LlamaIndex ask for no JSON, and get no JSON."""
    if isinstance(result, VoteResult) and {sample.code for sample in result.samples} == {Failure.NO_JSON}:
        return 'answers="text" votes on plain texts'
    return None


def _made_of(kind: type[VotingLLM], arguments: dict[str, Any]) -> VotingLLM:
    return kind(**arguments)


def _instance(result: AnyResult) -> BaseModel:
    instance: BaseModel = result.unwrap()
    return instance


R = TypeVar("R", CompletionResponse, ChatResponse)


def _carrying(response: R, result: AnyResult) -> R:
    """The response of the LLM that was asked instead, with the vote that could not decide."""
    response.additional_kwargs = handed_over(response.additional_kwargs, result)
    return response


def _once(item: Any) -> Generator[Any, None, None]:
    yield item


async def _aonce(item: Any) -> AsyncGenerator[Any, None]:
    yield item
