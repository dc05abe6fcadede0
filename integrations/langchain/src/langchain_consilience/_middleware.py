"""The middleware: votes and consensus on what an agent does next."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any, ClassVar, Union, get_origin

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse, hook_config
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, TypeAdapter, ValidationError

from consilience import AbstainError, ConsensusReason, ConsensusResult, Sample, VoteResult, VoteSettings, tally

from ._agent_state import ConsensusState, VoteState, abstention, after_step, stored, with_decision
from ._arguments import check_names, checked_choice, checked_on_abstain
from ._consensus import ConsensusRunnable
from ._sampled import SampledRunnable
from ._steps import ModelStep
from ._vote import VoteRunnable

__all__ = ["ConsensusMiddleware", "VoteMiddleware"]

_NOT_OPTIONS = {"bound", "output", "name"}
"""What a runnable takes and its middleware does not: here the agent says what is sampled and what comes out."""

_WITHOUT_RECORDS = {ConsensusReason.NO_VALID, ConsensusReason.TOO_FEW_VALID}


class _DecidingMiddleware(AgentMiddleware[Any, Any]):
    """Asks the model n times at each step, and gives back one response."""

    _runnable_type: ClassVar[type[SampledRunnable]]

    def __init__(
        self, *args: Any, settings: Any = None, on_abstain: Any = "return", vary: Any = None, **options: Any
    ) -> None:
        super().__init__()
        if args:
            component = type(self).__name__
            raise TypeError(
                f"{component} takes key words only, because what it samples is the agent's model: "
                f"create_agent(model, tools, middleware=[{component}(n=5)])"
            )
        known = [name for name in self._runnable_type.model_fields if name not in _NOT_OPTIONS]
        check_names(type(self).__name__, options, [*known, "settings"])
        self._on_abstain = checked_on_abstain(on_abstain) or "return"
        self._vary = checked_choice("vary", vary, ("seed", "cache", None))
        self._options = {**options, "settings": settings, "name": type(self).__name__}
        if self._vary == "cache":
            self._options["vary"] = "cache"
        self.settings: Any = self._runnable_type(lambda _: None, **self._options).settings

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Any]) -> Any:
        step = self._step(request)
        sampling = self._runnable_type(step.sampled(handler), **self._options_for(request))
        result = sampling.invoke(request.messages)
        decision = self._decide(step, result)
        response = decision.response or self._abstained(request, handler, decision)
        return with_decision(response, **decision.state)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Awaitable[Any]]) -> Any:
        step = self._step(request)
        sampling = self._runnable_type(step.asampled(handler), **self._options_for(request))
        result = await sampling.ainvoke(request.messages)
        decision = self._decide(step, result)
        response = decision.response or await self._aabstained(request, handler, decision)
        return with_decision(response, **decision.state)

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 # the framework's
        return after_step(state)

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 # the framework's
        return after_step(state)

    def _step(self, request: ModelRequest[Any]) -> ModelStep:
        raise NotImplementedError

    def _decide(self, step: ModelStep, result: Any) -> _Decision:
        raise NotImplementedError

    def _options_for(self, request: ModelRequest[Any]) -> dict[str, Any]:  # noqa: ARG002 # for those that need it
        return self._options

    def _abstained(
        self, request: ModelRequest[Any], handler: Callable[[Any], Any], decision: _Decision
    ) -> ModelResponse[Any]:
        policy = self._on_abstain
        if isinstance(policy, BaseChatModel):
            return _as_response(handler(request.override(model=policy)))
        if isinstance(policy, Runnable):
            return _as_response(policy.invoke({"input": request.messages, "result": decision.result}))
        return _without_help(policy, decision)

    async def _aabstained(
        self, request: ModelRequest[Any], handler: Callable[[Any], Awaitable[Any]], decision: _Decision
    ) -> ModelResponse[Any]:
        policy = self._on_abstain
        if isinstance(policy, BaseChatModel):
            return _as_response(await handler(request.override(model=policy)))
        if isinstance(policy, Runnable):
            return _as_response(await policy.ainvoke({"input": request.messages, "result": decision.result}))
        return _without_help(policy, decision)


@dataclass
class _Decision:
    """What came of a step: the response to give back, or why there is none, and what the state is to hold of it."""

    result: Any
    state: dict[str, Any]
    response: ModelResponse[Any] | None = None
    misfit: str | None = None
    """Why a merged record, though decided, is none that the agent may return."""

    @property
    def reason(self) -> str | None:
        return self.result.reason if self.misfit is None else ConsensusReason.INCOMPLETE

    @property
    def detail(self) -> str:
        return str(self.result.detail) if self.misfit is None else self.misfit


class VoteMiddleware(_DecidingMiddleware):
    """Asks an agent's model n times at each step and takes the step that wins: a tool call, a record or words.

    What is voted on is, by default, the whole of a step: the name and the arguments of its tool calls, the structured
    response, the JSON object in its text, or else its words, as ``{"name": None, "args": {"text": …}}``. With
    ``key="name"`` it is only which tool is called, if any. The winner's response is given back whole; the vote goes
    into the agent's state as ``state["vote"]`` (``VoteResult.to_dict``). No token of a sample is streamed.

    Args:
        settings: the core's ``VoteSettings``; key words replace its values.
        on_abstain: what happens without a decision: "return" has the agent say so and end, without a tool call;
            "raise" raises ``AbstainError``; a chat model is asked once in place of the agent's own; any other Runnable
            is given ``{"input": messages, "result": …}`` and returns a message or a text.
        vary: what makes samples differ where a cache would make them copies: "seed" puts ``seed=i`` among the model
            settings, "cache" keeps a cache entry for each sample; None does nothing.
        options: those of ``VoteRunnable``, by the same name, except ``bound``, ``output`` and ``name``.

    Raises:
        TypeError: a key word that does not exist.
        SettingsError: a value that is not allowed.
        ImportError: langchain is not installed (extra ``agents``).

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models, applied to each
    step of an agent.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=["Bern", "Bonn", "Bern"])
        >>> agent = create_agent(model, middleware=[VoteMiddleware(n=3, concurrency=1)])
        >>> state = agent.invoke({"messages": "The capital of Switzerland, in one word?"})
        >>> state["messages"][-1].text, round(state["vote"]["agreement"], 2)
        ('Bern', 0.67)
    """

    state_schema = VoteState
    _runnable_type: ClassVar[type[SampledRunnable]] = VoteRunnable

    def _step(self, request: ModelRequest[Any]) -> ModelStep:
        return ModelStep(request, vary=self._vary, reading=_reading(self.settings))

    def _decide(self, step: ModelStep, result: VoteResult) -> _Decision:
        response = None if result.abstained else step.response_of(_winner(result))
        return _Decision(result, {"vote": stored(result.to_dict())}, response)


class ConsensusMiddleware(_DecidingMiddleware):
    """Asks an agent's model n times at each step and merges its structured responses into one, field by field.

    Without ``schema=`` the record is that of the agent's ``response_format`` (one schema, not a union); without that,
    the JSON object in the text. ``state["consensus"]`` holds the result (``ConsensusResult.to_dict``).

    Half of one tool call and half of another is neither: a step in which too few samples (``min_valid``) hold a record
    is decided by a vote of the same samples on what to do, and ``state["vote"]`` holds it.

    Args:
        settings: the core's ``ConsensusSettings``; key words replace its values.
        on_abstain, vary: as in ``VoteMiddleware``.
        actions: how steps without a record are voted on; by default ``VoteSettings()`` with the same ``min_valid``,
            ``min_agreement`` and ``repair``.
        options: those of ``ConsensusRunnable``, by the same name, except ``bound``, ``output`` and ``name``.

    Raises:
        TypeError: a key word that does not exist; later, an agent whose ``response_format`` is a union.
        SettingsError: a value that is not allowed.
        ImportError: langchain is not installed (extra ``agents``).

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models, applied to each
    field of an agent's structured response.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> replies = ['{"to": "Bern", "qty": 2}', '{"to": "Bonn", "qty": 2}', '{"to": "Bern"}']
        >>> model = FakeListChatModel(responses=replies)
        >>> agent = create_agent(model, middleware=[ConsensusMiddleware(n=3, concurrency=1)])
        >>> agent.invoke({"messages": "Two mugs to Bern."})["messages"][-1].text
        '{"to": "Bern", "qty": 2}'
    """

    state_schema = ConsensusState
    _runnable_type: ClassVar[type[SampledRunnable]] = ConsensusRunnable

    def __init__(
        self,
        *args: Any,
        settings: Any = None,
        on_abstain: Any = "return",
        vary: Any = None,
        actions: VoteSettings | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, settings=settings, on_abstain=on_abstain, vary=vary, **options)
        if actions is not None and not isinstance(actions, VoteSettings):
            raise TypeError(f"actions must be a VoteSettings or None, got {type(actions).__name__}")
        own = self.settings
        self.actions = actions or VoteSettings(
            min_valid=own.min_valid, min_agreement=own.min_agreement, repair=own.repair, allow_nan=own.allow_nan
        )

    def _options_for(self, request: ModelRequest[Any]) -> dict[str, Any]:
        schema = _schema_of(request.response_format)
        if self.settings.schema is None and isinstance(schema, type) and issubclass(schema, BaseModel):
            return {**self._options, "schema": schema}
        return self._options

    def _step(self, request: ModelRequest[Any]) -> ModelStep:
        return ModelStep(request, vary=self._vary, reading=_reading(self.settings), records_only=True)

    def _decide(self, step: ModelStep, result: ConsensusResult) -> _Decision:
        if result.reason in _WITHOUT_RECORDS:
            return self._acted(step, result)
        state = {"consensus": stored(result.to_dict())}
        if result.abstained:
            return _Decision(result, state)
        try:
            return _Decision(result, state, _merged_response(step.request, result))
        except ValidationError as error:
            decision = _Decision(result, state, misfit=f"the merged record does not fit the response_format: {error}")
            state["consensus"].update(abstained=True, reason=decision.reason, detail=decision.detail)
            return decision

    def _acted(self, step: ModelStep, result: ConsensusResult) -> _Decision:
        """The step without a record: what most samples want to do."""
        vote = tally(step.actions(result.samples), settings=self.actions)
        response = None if vote.abstained else step.response_of(result.samples[_winner(vote).index])
        return _Decision(vote, {"vote": stored(vote.to_dict())}, response)


def _winner(result: VoteResult) -> Sample:
    """The sample whose record is that of a decided vote: the first winning one (a null vote has no record there)."""
    return next(
        sample
        for sample in result.samples
        if sample.ok and (sample.vote is None if result.record is None else sample.record is result.record)
    )


def _reading(settings: Any) -> dict[str, Any]:
    return {"repair": settings.repair, "allow_nan": settings.allow_nan}


def _without_help(policy: str, decision: _Decision) -> ModelResponse[Any]:
    if policy == "raise":
        raise AbstainError(decision.result, f"the agent's step abstained ({decision.reason}): {decision.detail}")
    return abstention(decision.detail, decision.reason)


def _as_response(output: Any) -> ModelResponse[Any]:
    """What stands in for an abstention, as a response."""
    if isinstance(output, ModelResponse):
        return output
    if isinstance(output, str):
        output = AIMessage(output)
    if isinstance(output, AIMessage):
        return ModelResponse(result=[output])
    raise TypeError(f"on_abstain must return an AIMessage, a str or a ModelResponse, got {type(output).__name__}")


def _schema_of(response_format: Any) -> Any:
    """The one schema of an agent's structured response; None without any."""
    schema = getattr(response_format, "schema", response_format)
    if get_origin(schema) in (Union, UnionType) or (isinstance(schema, dict) and "oneOf" in schema):
        raise TypeError(
            "ConsensusMiddleware merges records of one schema, and the agent's response_format is a union: "
            "use VoteMiddleware, which takes one of them whole"
        )
    return schema


def _merged_response(request: ModelRequest[Any], result: ConsensusResult) -> ModelResponse[Any]:
    """The merged record as the agent's response.

    Raises:
        ValidationError: it does not fit the dataclass or the TypedDict that the agent is to return.
    """
    record, schema = result.value, _schema_of(request.response_format)
    text = record.model_dump_json() if isinstance(record, BaseModel) else json.dumps(record, ensure_ascii=False)
    if schema is None:
        return ModelResponse(result=[AIMessage(text)])
    if not isinstance(schema, dict) and not isinstance(record, BaseModel):
        record = TypeAdapter(schema).validate_python(record)
    return ModelResponse(result=[AIMessage(text)], structured_response=record)
