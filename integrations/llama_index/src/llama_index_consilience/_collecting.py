"""Collecting: samples that the steps of a workflow of your own have drawn, and the vote on them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.workflow import Context, Event

from consilience import Reply, SettingsError, VoteResult, VoteSettings, settle

from ._calling import CANCELLED_ITSELF, outcome_of
from ._events import announce
from ._replies import reply_of
from ._settings import vote_settings

__all__ = ["SampleEvent", "collect_votes", "draw_sample"]


class SampleEvent(Event):
    """One sample of a vote has been drawn.

    Attributes:
        index: the number of the sample, from 0.
        reply: what was said: a text, a parsed object, a ``Reply``; None when the call failed.
        error: why it failed, as "Type: message"; None when it did not.
        vote: the name of the vote that it belongs to.

    Example:
        >>> SampleEvent(index=0, reply='{"team": "billing"}').error is None
        True
    """

    index: int
    reply: Any = None
    error: str | None = None
    vote: str = "vote"


async def draw_sample(index: int, call: Awaitable[Any], vote: str = "vote") -> SampleEvent:
    """Await one call in a step, and make an event of what came of it; an error makes a failed sample.

    So does a call that cancels itself; if the step is cancelled, the call is cancelled with it.

    Args:
        index: the number of the sample, from 0.
        call: the call, not yet awaited: ``llm.acomplete(prompt)``.
        vote: the name of the vote, where a workflow has several.

    Returns:
        The event, for the step to return.

    Raises:
        TypeError: ``call`` is nothing to await (the answer of ``llm.complete``, say).

    Example:
        >>> import asyncio
        >>> async def call():
        ...     raise ConnectionError("reset by peer")
        >>> asyncio.run(draw_sample(0, call())).error
        'ConnectionError: reset by peer'
    """
    if not inspect.isawaitable(call):
        raise TypeError(f"call must be something to await, such as llm.acomplete(prompt), got {type(call).__name__}")
    ended = await outcome_of(call)
    if ended.cancelled():
        return SampleEvent(index=index, reply=Reply(None, error=CANCELLED_ITSELF), vote=vote)
    try:
        said = ended.result()
    except Exception as error:
        return SampleEvent(index=index, error=f"{type(error).__name__}: {error}", vote=vote)
    if isinstance(said, (ChatResponse, CompletionResponse)):
        said = reply_of(said, "json")
    return SampleEvent(index=index, reply=said, vote=vote)


async def collect_votes(
    ctx: Context, ev: SampleEvent, *, settings: VoteSettings | None = None, name: str = "vote", **options: Any
) -> VoteResult | None:
    """Collect samples in a step, and decide once no more of them are needed.

    Call it in the step that takes ``SampleEvent``, and return a StopEvent when it gives a result: the workflow then
    cancels the workers that still draw. Samples are counted by their index, in whatever order they arrive.

    Args:
        ctx: the context of the step.
        ev: the sample that has come in.
        settings: how to vote, as one object; ``n`` says how many samples there will be.
        name: of the vote; samples of other votes are left to other calls. Two votes in one run need two names, and so
            do runs that share a context, in which samples of an earlier run may still be on their way.
        options: the options of ``VoteSettings`` about judging, deciding and stopping, which replace those of
            ``settings``. With ``early_stop`` or ``stop`` the samples are kept in ``ctx.store`` (whose state must take
            any name, as the default state does) and the step needs ``@step(num_workers=1)``.

    Returns:
        The result; None while more samples are needed.

    Raises:
        SettingsError, TypeError: an argument is wrong, or two samples have the same index.

    Example:
        >>> import asyncio
        >>> from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step
        >>> class Votes(Workflow):
        ...     @step
        ...     async def ask(self, ctx: Context, ev: StartEvent) -> SampleEvent | None:
        ...         for index in range(3):
        ...             ctx.send_event(SampleEvent(index=index, reply={"team": "billing"}))
        ...     @step
        ...     async def count(self, ctx: Context, ev: SampleEvent) -> StopEvent | None:
        ...         result = await collect_votes(ctx, ev, n=3, key="team")
        ...         return StopEvent(result=result) if result else None
        >>> async def main():
        ...     return await Votes().run()
        >>> asyncio.run(main()).value
        'billing'
    """
    wanted = vote_settings("collect_votes", settings, options)
    if ev.vote != name:
        return None
    events: list[Any] | None
    if wanted.early_stop or wanted.stop:
        events = await _so_far(ctx, ev, name)
    else:
        events = ctx.collect_events(ev, [SampleEvent] * wanted.n, buffer_id=name)
        if events is None:
            return None
        events.sort(key=lambda each: each.index)
    _check_indexes(events)
    result = settle({each.index: _reply(each) for each in events}, settings=wanted)
    if result is not None:
        if wanted.early_stop or wanted.stop:
            await ctx.store.set(_place(name), [])
        announce("collect_votes", result)
    return result


async def _so_far(ctx: Context, ev: SampleEvent, name: str) -> list[Any]:
    """The samples that are in, this one included, in the order in which they came."""
    events = [*await ctx.store.get(_place(name), default=[]), ev]
    await ctx.store.set(_place(name), events)
    return events


def _check_indexes(events: list[Any]) -> None:
    """Samples are counted by their number: of two with the same one, one would be lost, and the vote never end."""
    seen: set[int] = set()
    for each in events:
        if each.index in seen:
            raise SettingsError(f"samples of a vote must have different indexes, got two with index {each.index}")
        seen.add(each.index)


def _place(name: str) -> str:
    return f"consilience_{name}"


def _reply(ev: Any) -> Any:
    return ev.reply if ev.error is None else Reply(None, error=f"sampler_error: {ev.error}")
