"""The voting query engine: what was retrieved once is read several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle

from consilience import Reply, VoteSettings, sample_index

from ._abstaining import AnyResult, abstention_error, check_on_abstain, raise_abstention, watched_abstentions
from ._answers import VOTE, answer_text, handed_over, winning_record
from ._drawing import adraw, draw
from ._replies import TEXT, Answers, check_answers, reply_to
from ._settings import AnySettings, settings_with
from ._varying import warn_of_copies

__all__ = ["VoteQueryEngine"]

_EMPTY = "Empty Response"
"""What synthesizers of LlamaIndex say when they have nothing to say, or have swallowed an error."""

Responses = dict[int, Any]
"""Number of the sample -> the response that it was read from."""


class VoteQueryEngine(BaseQueryEngine):
    """A query engine that lets another one answer n times, and gives the answer that won; or says that none did.

    An engine that can retrieve and synthesize apart (``RetrieverQueryEngine``, which ``as_query_engine()`` makes, and
    its kin) retrieves once and synthesizes n times; any other is queried n times. The response keeps the source nodes
    and the metadata of the first winning sample; ``metadata["vote"]`` holds the result.

    Args:
        engine: the engine that is sampled. Its LLM should have a temperature of 0.5 or more: LlamaIndex's default of
            0.1 gives copies.
        settings: how to vote, as one object; with a ``ConsensusSettings`` the answers are merged field by field.
        on_abstain: what to do without a decision: "return" a response whose text says why; "raise"
            ``consilience.AbstainError``; or another query engine, that is asked once.
        answers: what answers hold: "text", nothing but the answer, so that equal texts agree (``normalize="text"``
            makes that wider); or "json", a record. By default "json" if the settings name a key, a validator, a
            schema or a confidence field, else "text". Instances of ``output_cls`` are records in any case.
        callback_manager: that of ``engine`` by default.
        options: the options of ``settings``, which replace its own.

    Raises:
        SettingsError, TypeError: an argument is wrong.

    Warns:
        UserWarning: the temperature of the engine's LLM is 0.1 or less.

    Example:
        >>> from llama_index.core import Document, SummaryIndex
        >>> from llama_index.core.llms import MockLLM
        >>> index = SummaryIndex.from_documents([Document(text="The mill was built in 1862.")])
        >>> engine = VoteQueryEngine(index.as_query_engine(llm=MockLLM(max_tokens=2)), n=3)
        >>> response = engine.query("When was the mill built?")
        >>> response.response, response.metadata["vote"].agreement, len(response.source_nodes)
        ('text text', 1.0, 1)
    """

    def __init__(
        self,
        engine: BaseQueryEngine,
        *,
        settings: AnySettings | None = None,
        on_abstain: Literal["return", "raise"] | BaseQueryEngine = "return",
        answers: Answers | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(engine, BaseQueryEngine):
            raise TypeError(f"engine must be a query engine of LlamaIndex, got {type(engine).__name__}")
        check_on_abstain(on_abstain, BaseQueryEngine)
        wanted = settings_with(type(self).__name__, settings, options)
        if answers is not None:
            check_answers(answers)
        self._answers: Answers = answers or _answers_for(wanted)
        if self._answers == "text" and isinstance(wanted, VoteSettings) and wanted.key is None:
            wanted = wanted.with_options(key=_whole_answer)
        super().__init__(callback_manager or engine.callback_manager)
        self._engine = engine
        self._settings = wanted
        self._on_abstain = on_abstain
        self._retrieves_once = _retrieves_apart(type(engine), "_query", "retrieve", "synthesize")
        # An engine without an aretrieve of its own is retrieved from by retrieve.
        aretrieve = "aretrieve" if hasattr(engine, "aretrieve") else "retrieve"
        self._aretrieves_once = _retrieves_apart(type(engine), "_aquery", aretrieve, "asynthesize")
        warn_of_copies(getattr(getattr(engine, "_response_synthesizer", None), "_llm", None))

    @property
    def settings(self) -> AnySettings:
        """How this engine decides."""
        return self._settings

    # Prompts are those of the inner engine, by its names: LlamaIndex cannot set prompts that are two levels down.

    def _get_prompts(self) -> PromptDictType:
        return self._engine._get_prompts()

    def _get_prompt_modules(self) -> PromptMixinType:
        return self._engine._get_prompt_modules()

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self._engine._update_prompts(prompts)

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """What the inner engine retrieves."""
        return self._engine.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """``retrieve`` for asyncio."""
        if not hasattr(self._engine, "aretrieve"):
            return self._engine.retrieve(query_bundle)
        nodes: list[NodeWithScore] = await self._engine.aretrieve(query_bundle)
        return nodes

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """Vote on n answers that the inner engine makes of these nodes.

        Raises:
            AbstainError: no answer won, with ``on_abstain="raise"``.
        """
        return self._decided(
            query_bundle, lambda: self._engine.synthesize(query_bundle, nodes, additional_source_nodes), nodes
        )

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """``synthesize`` for asyncio."""
        return await self._adecided(
            query_bundle, lambda: self._engine.asynthesize(query_bundle, nodes, additional_source_nodes), nodes
        )

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with self._query_event(query_bundle) as event:
            if self._retrieves_once:
                response = self.synthesize(query_bundle, self.retrieve(query_bundle))
            else:
                response = self._decided(query_bundle, lambda: self._engine.query(query_bundle), [])
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with self._query_event(query_bundle) as event:
            if self._aretrieves_once:
                response = await self.asynthesize(query_bundle, await self.aretrieve(query_bundle))
            else:
                response = await self._adecided(query_bundle, lambda: self._engine.aquery(query_bundle), [])
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _query_event(self, query_bundle: QueryBundle) -> Any:
        return self.callback_manager.event(CBEventType.QUERY, payload={EventPayload.QUERY_STR: query_bundle.query_str})

    # Sampling

    def _decided(self, query: QueryBundle, ask: Callable[[], Any], nodes: list[NodeWithScore]) -> RESPONSE_TYPE:
        responses: Responses = {}

        def sampler(_: Any) -> Reply:
            with watched_abstentions() as abstentions:
                response = ask()
                if isinstance(response, StreamingResponse):
                    response = response.get_response()
            return self._noted(response, responses, abstentions)

        result = draw(type(self).__name__, sampler, self._settings)
        if (other := self._other_engine(result)) is not None:
            return _carrying(other.query(query), result)
        return self._response(result, responses, nodes)

    async def _adecided(self, query: QueryBundle, ask: Callable[[], Any], nodes: list[NodeWithScore]) -> RESPONSE_TYPE:
        responses: Responses = {}

        async def sampler(_: Any) -> Reply:
            with watched_abstentions() as abstentions:
                response = await ask()
                if isinstance(response, AsyncStreamingResponse):
                    response = await response.get_response()
                elif isinstance(response, StreamingResponse):
                    response = response.get_response()
            return self._noted(response, responses, abstentions)

        result = await adraw(type(self).__name__, sampler, self._settings)
        if (other := self._other_engine(result)) is not None:
            return _carrying(await other.aquery(query), result)
        return self._response(result, responses, nodes)

    def _noted(self, response: Any, responses: Responses, abstentions: set[str]) -> Reply:
        """The reply in a response, which is kept for its source nodes; an abstention inside the engine is no answer."""
        responses[sample_index() or 0] = response
        content = getattr(response, "response", response)
        if content == _EMPTY:
            return Reply(content, error=f"empty_reply: LlamaIndex said {_EMPTY!r}, which means that there is no answer")
        if isinstance(content, str) and content.strip() in abstentions:
            return Reply(content, error=abstention_error(content.strip()))
        return reply_to(content if isinstance(content, (str, BaseModel, type(None))) else str(response), self._answers)

    def _other_engine(self, result: AnyResult) -> BaseQueryEngine | None:
        if not result.abstained:
            return None
        if self._on_abstain == "raise":
            raise_abstention(result)
        return self._on_abstain if isinstance(self._on_abstain, BaseQueryEngine) else None

    def _response(self, result: AnyResult, responses: Responses, nodes: list[NodeWithScore]) -> RESPONSE_TYPE:
        """The decision as the response of an engine, with the sources that it was made from."""
        sample = responses.get(_first_behind(result))
        sources = list(getattr(sample, "source_nodes", None) or nodes)
        metadata = {**(getattr(sample, "metadata", None) or {}), VOTE: result}
        if result.decided and isinstance(sample, PydanticResponse):
            record = winning_record(result)
            model = record if isinstance(record, BaseModel) else sample.response
            return PydanticResponse(model, source_nodes=sources, metadata=metadata)
        return Response(answer_text(result, self._answers), source_nodes=sources, metadata=metadata)


def _answers_for(settings: AnySettings) -> Answers:
    reading = (settings.validator, settings.confidence_field, getattr(settings, "key", None))
    schema = getattr(settings, "schema", None)
    return "text" if all(option is None for option in (*reading, schema)) else "json"


def _whole_answer(record: Any) -> Any:
    """The key of plain texts; of instances it is the instance."""
    return record[TEXT] if isinstance(record, dict) and set(record) == {TEXT} else record


def _retrieves_apart(kind: type[BaseQueryEngine], query: str, retrieve: str, synthesize: str) -> bool:
    """Whether retrieving and synthesizing is all that an engine does.

    The base class can only refuse to do either. A class that writes a query of its own, further down than what it
    inherits for the two, does something else besides (a check of the answer, say), which must not be left out.
    """
    base = kind.__mro__.index(BaseQueryEngine)
    synthesizing = _place_of(kind, synthesize)
    return max(_place_of(kind, retrieve), synthesizing) < base and _place_of(kind, query) >= synthesizing


def _place_of(kind: type[BaseQueryEngine], name: str) -> int:
    """How far up the line of classes a method is found."""
    return next(place for place, each in enumerate(kind.__mro__) if name in vars(each))


def _first_behind(result: AnyResult) -> int:
    """The number of the first sample that says what won; of all samples the first, where none did."""
    valid = [sample for sample in result.samples if sample.ok]
    record = winning_record(result)
    behind = [sample for sample in valid if sample.record is record] or valid or list(result.samples)
    return behind[0].index if behind else 0


def _carrying(response: Any, result: AnyResult) -> RESPONSE_TYPE:
    """The response of the engine that was asked instead, with the vote that could not decide."""
    response.metadata = handed_over(getattr(response, "metadata", None), result)
    answered: RESPONSE_TYPE = response
    return answered
