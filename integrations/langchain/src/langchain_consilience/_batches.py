"""Batches: many votes in asyncio, under one limit, none of which outlives whoever waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, get_config_list

__all__ = ["abatch_as_completed", "batch_limits"]


def batch_limits(config: RunnableConfig | Sequence[RunnableConfig] | None) -> Mapping[str, Any]:
    """The config that speaks for a whole batch: the first, with what a chain around it hands down.

    Example:
        >>> batch_limits([{"max_concurrency": 3}, {}])["max_concurrency"]
        3
    """
    if config is None or isinstance(config, Mapping):
        return ensure_config(config)
    return ensure_config(config[0] if config else None)


async def abatch_as_completed(
    component: Runnable[Any, Any],
    inputs: Sequence[Any],
    config: RunnableConfig | Sequence[RunnableConfig] | None,
    return_exceptions: bool,
    kwargs: Mapping[str, Any],
) -> AsyncGenerator[tuple[int, Any], None]:
    """Run ``component`` on each input and yield pairs of index and output as they come.

    However the iteration ends, the votes that still run are cancelled, and their end is waited for.
    """
    if not inputs:
        return
    configs = get_config_list(config, len(inputs))
    permits = configs[0].get("max_concurrency")
    turn = asyncio.Semaphore(permits) if permits else nullcontext()

    async def run(index: int) -> tuple[int, Any]:
        async with turn:
            try:
                return index, await component.ainvoke(inputs[index], configs[index], **kwargs)
            except Exception as error:
                if not return_exceptions:
                    raise
                return index, error

    tasks = [asyncio.create_task(run(index)) for index in range(len(inputs))]
    running = set(tasks)
    try:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # of several that raised, one is told
