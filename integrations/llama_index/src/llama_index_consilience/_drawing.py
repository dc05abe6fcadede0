"""Drawing: the core's verbs, the one that the settings belong to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, overload

from consilience import (
    ConsensusResult,
    ConsensusSettings,
    VoteResult,
    VoteSettings,
    aconsensus,
    avote,
    consensus,
    vote,
)

from ._abstaining import AnyResult
from ._events import announce
from ._settings import AnySettings

__all__ = ["adraw", "draw"]


@overload
def draw(component: str, sampler: Callable[[Any], Any], settings: VoteSettings, prompt: Any = None) -> VoteResult: ...
@overload
def draw(
    component: str, sampler: Callable[[Any], Any], settings: ConsensusSettings, prompt: Any = None
) -> ConsensusResult: ...


def draw(component: str, sampler: Callable[[Any], Any], settings: AnySettings, prompt: Any = None) -> AnyResult:
    """Draw samples and decide, and tell the instrumentation. Most samplers know their prompt, and get None."""
    result: AnyResult
    if isinstance(settings, VoteSettings):
        result = vote(sampler, prompt, settings=settings)
    else:
        result = consensus(sampler, prompt, settings=settings)
    announce(component, result)
    return result


@overload
async def adraw(
    component: str, sampler: Callable[[Any], Awaitable[Any]], settings: VoteSettings, prompt: Any = None
) -> VoteResult: ...
@overload
async def adraw(
    component: str, sampler: Callable[[Any], Awaitable[Any]], settings: ConsensusSettings, prompt: Any = None
) -> ConsensusResult: ...


async def adraw(
    component: str, sampler: Callable[[Any], Awaitable[Any]], settings: AnySettings, prompt: Any = None
) -> AnyResult:
    """``draw`` for asyncio."""
    result: AnyResult
    if isinstance(settings, VoteSettings):
        result = await avote(sampler, prompt, settings=settings)
    else:
        result = await aconsensus(sampler, prompt, settings=settings)
    announce(component, result)
    return result
