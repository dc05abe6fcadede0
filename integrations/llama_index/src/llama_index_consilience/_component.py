"""The vote as a component of a query pipeline, as long as there were query pipelines: up to llama-index-core 0.12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.base.query_pipeline.query import (  # type: ignore[import-not-found]  # gone since 0.13
    ChainableMixin,
    CustomQueryComponent,
    QueryComponent,
)
from llama_index.core.base.response.schema import Response
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
from llama_index.core.llms import LLM

from consilience import Reply, SettingsError, VoteResult, VoteSettings, tally

from ._abstaining import abstention_text, check_on_abstain, raise_abstention
from ._answers import VOTE, completion_response
from ._calling import called
from ._drawing import adraw, draw
from ._events import announce
from ._replies import TEXT, Answers, check_answers, reply_of, text_of
from ._settings import vote_settings
from ._varying import Variation, check_no_temperature

__all__ = ["VoteComponent"]


class VoteComponent(CustomQueryComponent):  # type: ignore[misc]  # Any, where there are no query pipelines
    """A component that votes: it samples what it is given to sample, or counts samples that come in.

    It has one input, ``input``, and one output, ``output``: a ``CompletionResponse`` whose text is the winning record
    in JSON and whose ``additional_kwargs["vote"]`` is the result; so a parser, a prompt or an LLM can come next.

    Args:
        bound: what is sampled with the input: an LLM, any other part of a pipeline with one free input and one output,
            or a function. None if samples come in: a list of them (from an ``FnComponent`` with a parameter for each,
            say), or one response of a ``VotingLLM``, whose vote is taken as it is; an answer that another LLM gave
            in its place stands.
        settings: how to vote, as one object.
        on_abstain: what to do without a decision: "raise" ``consilience.AbstainError``; "return" a response whose text
            says why; or a component that gets the same input.
        answers: what replies hold: "json" or "text"; see ``VotingLLM``.
        temperature: of each sample of an LLM; see ``VotingLLM``. Anything else takes none.
        options: the options of ``consilience.VoteSettings``, which replace those of ``settings``.

    Raises:
        SettingsError, TypeError: an argument is wrong.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> from llama_index.core.prompts import PromptTemplate
        >>> from llama_index.core.query_pipeline import QueryPipeline
        >>> prompt = PromptTemplate('{{"team": "{team}"}}')  # MockLLM repeats the prompt
        >>> pipeline = QueryPipeline(chain=[prompt, VoteComponent(MockLLM(), n=3, key="team")])
        >>> pipeline.run(team="billing").additional_kwargs["vote"].detail
        "'billing' won with 3 of 3 votes"
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    _bound: Any = PrivateAttr()
    _settings: VoteSettings = PrivateAttr()
    _on_abstain: Any = PrivateAttr()
    _answers: Answers = PrivateAttr()
    _variation: Variation | None = PrivateAttr()

    def __init__(
        self,
        bound: LLM | ChainableMixin | QueryComponent | Callable[[Any], Any] | None = None,
        *,
        settings: VoteSettings | None = None,
        on_abstain: Literal["raise", "return"] | ChainableMixin | QueryComponent = "raise",
        answers: Answers = "json",
        temperature: float | None = None,
        **options: Any,
    ) -> None:
        if bound is not None and not isinstance(bound, (ChainableMixin, QueryComponent)) and not callable(bound):
            raise TypeError(f"bound must be a part of a query pipeline, a function or None, got {type(bound).__name__}")
        if isinstance(on_abstain, ChainableMixin):
            on_abstain = on_abstain.as_query_component()
        check_on_abstain(on_abstain, QueryComponent)
        check_answers(answers)
        voting = vote_settings(type(self).__name__, settings, options)
        if answers == "text" and voting.key is None:
            voting = voting.with_options(key=TEXT)
        if not isinstance(bound, LLM):
            check_no_temperature(temperature, "an LLM to sample")
        super().__init__()
        self._settings, self._on_abstain, self._answers = voting, on_abstain, answers
        self._variation = Variation.checked(bound, temperature) if isinstance(bound, LLM) else None
        self._bound = _component_of(bound)
        for component in (self._bound, on_abstain):
            if isinstance(component, QueryComponent):
                _check_one_way(component)

    @property
    def settings(self) -> VoteSettings:
        """How this component votes."""
        return self._settings

    @property
    def _input_keys(self) -> set[str]:
        return {"input"}

    @property
    def _output_keys(self) -> set[str]:
        return {"output"}

    def set_callback_manager(self, callback_manager: Any) -> None:
        """Pass the callbacks on to what is sampled, whose calls they are about."""
        super().set_callback_manager(callback_manager)
        target = self._bound.llm if hasattr(self._bound, "llm") else self._bound
        if isinstance(target, QueryComponent):
            target.set_callback_manager(callback_manager)
        elif isinstance(target, LLM):
            target.callback_manager = callback_manager

    def _run_component(self, **kwargs: Any) -> dict[str, Any]:
        given = kwargs["input"]
        if self._bound is None and _answered_by_another(given):
            return {"output": given}
        result = self._counted(given) if self._bound is None else self._drawn(given)
        if (other := self._other(result)) is not None:
            return {"output": _one_output(other.run_component(**_inputs(other, given)))}
        return {"output": completion_response(result, self._answers)}

    async def _arun_component(self, **kwargs: Any) -> dict[str, Any]:
        given = kwargs["input"]
        if self._bound is None and _answered_by_another(given):
            return {"output": given}
        result = self._counted(given) if self._bound is None else await self._adrawn(given)
        if (other := self._other(result)) is not None:
            return {"output": _one_output(await other.arun_component(**_inputs(other, given)))}
        return {"output": completion_response(result, self._answers)}

    def _drawn(self, given: Any) -> VoteResult:
        def sampler(_: Any) -> Any:
            if isinstance(self._bound, LLM):
                assert self._variation is not None
                options = self._variation.options({})
                if _is_conversation(given):
                    return self._reply(self._bound.chat(list(given), **options))
                return self._reply(self._bound.complete(_prompt_of(given), **options))
            if isinstance(self._bound, QueryComponent):
                return self._reply(_one_output(self._bound.run_component(**_inputs(self._bound, given))))
            return self._reply(self._bound(given))

        return draw(type(self).__name__, sampler, self._settings)

    async def _adrawn(self, given: Any) -> VoteResult:
        async def sampler(_: Any) -> Any:
            if isinstance(self._bound, LLM):
                assert self._variation is not None
                options = self._variation.options({})
                if _is_conversation(given):
                    return self._reply(await self._bound.achat(list(given), **options))
                return self._reply(await self._bound.acomplete(_prompt_of(given), **options))
            if isinstance(self._bound, QueryComponent):
                return self._reply(_one_output(await self._bound.arun_component(**_inputs(self._bound, given))))
            return self._reply(await called(self._bound, given))

        return await adraw(type(self).__name__, sampler, self._settings)

    def _counted(self, given: Any) -> VoteResult:
        """The vote that a response carries, else the vote on the samples that came in."""
        carried = getattr(given, "additional_kwargs", {}).get(VOTE)
        if isinstance(carried, VoteResult):
            return carried
        if not isinstance(given, (list, tuple)):
            raise TypeError(
                "a VoteComponent that samples nothing needs a list of samples or a response of a VotingLLM, "
                f"got {type(given).__name__}; VoteComponent(llm) samples an LLM"
            )
        result = tally([self._reply(each) for each in given], settings=self._settings)
        announce(type(self).__name__, result)
        return result

    def _reply(self, said: Any) -> Any:
        if isinstance(said, (Reply, BaseException)):
            return said
        return reply_of(said.response if isinstance(said, Response) else said, self._answers)

    def _other(self, result: VoteResult) -> Any:
        if not result.abstained:
            return None
        if self._on_abstain == "raise":
            raise_abstention(result)
        return self._on_abstain if isinstance(self._on_abstain, QueryComponent) else None


def _answered_by_another(given: Any) -> bool:
    """Whether this is the response of an LLM that a VotingLLM without a decision has asked instead: an answer."""
    carried = getattr(given, "additional_kwargs", {}).get(VOTE)
    return isinstance(carried, VoteResult) and carried.abstained and text_of(given) != abstention_text(carried)


def _component_of(bound: Any) -> Any:
    """What is sampled, as a component; an LLM is called by itself, so that its temperature can be raised."""
    return bound.as_query_component() if isinstance(bound, ChainableMixin) and not isinstance(bound, LLM) else bound


def _check_one_way(component: Any) -> None:
    free, outputs = component.free_req_input_keys, component.output_keys.required_keys
    if len(free) != 1 or len(outputs) != 1:
        raise SettingsError(
            f"a component to sample needs one free input and one output, {type(component).__name__} has "
            f"{sorted(free)} and {sorted(outputs)}"
        )


def _inputs(component: Any, given: Any) -> dict[str, Any]:
    (key,) = component.free_req_input_keys
    return {key: given}


def _one_output(outputs: dict[str, Any]) -> Any:
    (output,) = outputs.values()
    return output


def _is_conversation(given: Any) -> bool:
    return isinstance(given, (list, tuple))


def _prompt_of(given: Any) -> str:
    return text_of(given) if isinstance(given, (ChatResponse, CompletionResponse)) else str(given)
