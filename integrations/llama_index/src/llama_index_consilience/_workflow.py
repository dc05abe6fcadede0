"""The voting workflow: every sample is a step, and the vote decides how many are needed."""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import Callable
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.llms import LLM
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

from consilience import Reply, SettingsError, sample_index

from ._abstaining import AnyResult, check_on_abstain, raise_abstention
from ._calling import CANCELLED_ITSELF, called, outcome_of
from ._drawing import adraw
from ._replies import reply_of
from ._settings import AnySettings, settings_with
from ._varying import Variation, check_no_temperature

__all__ = ["SampleRequest", "VoteWorkflow"]

WORKERS = 32
"""The most samples of one run that can be drawn at once."""


class SampleRequest(Event):
    """Ask for one sample of a vote.

    Attributes:
        index: the number of the sample, from 0.
        ticket: where the vote waits for it.

    Example:
        >>> SampleRequest(index=0, ticket="1").index
        0
    """

    index: int
    ticket: str


class VoteWorkflow(Workflow):
    """A workflow that draws samples in parallel steps and ends with the vote on them.

    ``await VoteWorkflow(llm, n=5, key="team").run(prompt="...")`` gives a ``VoteResult`` (a ``ConsensusResult`` with
    ``ConsensusSettings``). Errors of a sample are failed samples. Once no more samples are needed the workflow stops,
    and calls in flight are cancelled.

    Args:
        sampler: an LLM of LlamaIndex; or a function, plain or asynchronous, from prompt to a text, a ``Reply``, a
            parsed object or a response of LlamaIndex. Plain ones run in threads, which cannot be cancelled.
        settings: how to vote, or how to merge, as one object.
        on_abstain: what to do without a decision: "return" the result; "raise" ``consilience.AbstainError``; or
            another workflow, that is run with the same prompt, and whose result is the result.
        temperature: of each sample of an LLM; see ``VotingLLM``. A function takes none.
        workflow_timeout: seconds for the whole workflow, after which LlamaIndex ends it with an error; None waits.
            (``timeout`` and ``deadline`` are the core's: seconds for a sample, and for a decision with what is there.)
        verbose: whether LlamaIndex prints the steps.
        options: the options of ``settings``, which replace its own; ``concurrency`` is at most 32.

    Raises:
        SettingsError, TypeError: an argument is wrong.

    Example:
        >>> import asyncio
        >>> async def sampler(prompt):
        ...     return '{"team": "billing"}'
        >>> async def main():
        ...     return await VoteWorkflow(sampler, n=3, key="team", concurrency=3).run(prompt="Which team?")
        >>> asyncio.run(main()).detail
        "'billing' won with 3 of 3 votes"
    """

    def __init__(
        self,
        sampler: LLM | Callable[[Any], Any],
        *,
        settings: AnySettings | None = None,
        on_abstain: Literal["return", "raise"] | Workflow = "return",
        temperature: float | None = None,
        workflow_timeout: float | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        check_on_abstain(on_abstain, Workflow)
        self._settings = settings_with(type(self).__name__, settings, options)
        if self._settings.concurrency > WORKERS:
            raise SettingsError(f"concurrency must be at most {WORKERS} here, got {self._settings.concurrency}")
        self._on_abstain = on_abstain
        if isinstance(sampler, LLM):
            self._sampler = _llm_sampler(sampler, Variation.checked(sampler, temperature))
        else:
            self._sampler = _checked(sampler)
            check_no_temperature(temperature, "a sampler that is an LLM")
        _check_workflow_timeout(workflow_timeout)
        self._tickets: dict[str, _Ticket] = {}
        super().__init__(timeout=workflow_timeout, verbose=verbose)

    @step
    async def decide(self, ctx: Context, ev: StartEvent) -> SampleRequest | StopEvent:
        """Ask for samples as the core needs them, and end with its result."""
        prompt = ev.get("prompt")
        if prompt is None:
            raise TypeError("run() needs prompt=, what each sample is asked")

        async def sampler(wording: Any) -> Any:
            ticket = _Ticket(wording, contextvars.copy_context())
            self._tickets[ticket.name] = ticket
            ctx.send_event(SampleRequest(index=sample_index() or 0, ticket=ticket.name))
            try:
                return await ticket.outcome
            finally:
                del self._tickets[ticket.name]

        result = await adraw(type(self).__name__, sampler, self._settings, prompt)
        return StopEvent(result=await self._outcome(result, prompt))

    @step(num_workers=WORKERS)
    async def draw(self, ev: SampleRequest) -> None:
        """Draw one sample; what it raises goes to the vote, which stops waiting when the sample is not needed."""
        ticket = self._tickets.get(ev.ticket)
        if ticket is None or ticket.outcome.done():
            return
        ticket.settle(await outcome_of(ticket.start(self._sampler), unless=ticket.outcome))

    async def _outcome(self, result: AnyResult, prompt: Any) -> Any:
        if not result.abstained or self._on_abstain == "return":
            return result
        if isinstance(self._on_abstain, Workflow):
            return await self._on_abstain.run(prompt=prompt)
        return raise_abstention(result)


class _Ticket:
    """A sample that the vote waits for, in the context of its call: the worker draws it as if it were the sampler."""

    def __init__(self, prompt: Any, context: contextvars.Context) -> None:
        self.name = uuid.uuid4().hex
        self.outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._prompt = prompt
        self._context = context

    def start(self, sampler: Callable[[Any], Any]) -> asyncio.Task[Any]:
        """Call the sampler as a task, whose spans are children of the step that runs now."""
        self._context.run(active_span_id.set, active_span_id.get())
        return self._context.run(asyncio.ensure_future, _called(sampler, self._prompt))

    def settle(self, call: asyncio.Future[Any]) -> None:
        """Hand over what came of the call, if it is still wanted."""
        if self.outcome.done():
            return
        if call.cancelled():  # by itself: to cancel the vote with it would leave the workflow waiting for ever
            self.outcome.set_result(Reply(None, error=CANCELLED_ITSELF))
            return
        error = call.exception()
        if error is None:
            self.outcome.set_result(call.result())
        else:
            self.outcome.set_exception(error)


async def _called(sampler: Callable[[Any], Any], prompt: Any) -> Any:
    """What a sampler says; responses of LlamaIndex as replies."""
    said = await called(sampler, prompt)
    return reply_of(said, "json") if isinstance(said, (ChatResponse, CompletionResponse)) else said


def _checked(sampler: Any) -> Callable[[Any], Any]:
    if not callable(sampler):
        raise TypeError(f"sampler must be an LLM of LlamaIndex or a function, got {type(sampler).__name__}")
    checked: Callable[[Any], Any] = sampler
    return checked


def _check_workflow_timeout(seconds: Any) -> None:
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"workflow_timeout must be a number of seconds or None, got {type(seconds).__name__}")
    if not seconds > 0:
        raise SettingsError(f"workflow_timeout must be more than 0 seconds, or None for no limit, got {seconds}")


def _llm_sampler(llm: LLM, variation: Variation) -> Callable[[Any], Any]:
    async def sampler(prompt: Any) -> Reply:
        options = variation.options({})
        if isinstance(prompt, str):
            response: Any = await llm.acomplete(prompt, **options)
        else:
            response = await llm.achat(list(prompt), **options)
        return reply_of(response, "json", llm.metadata.model_name)

    return sampler
