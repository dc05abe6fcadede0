"""The samples: the sampler that runs a chain as number i of a vote, in LangChain's own tracing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.globals import get_llm_cache
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config

from consilience import Reply, sample_index

from ._cache import enter_sample, warn_of_hits
from ._models import has_text_model, salted, seeded
from ._runs import SampleRuns

if TYPE_CHECKING:
    from ._sampled import SampledRunnable

__all__ = ["NOSTREAM", "Samples"]

NOSTREAM = "nostream"
"""The tag by which LangGraph knows runs whose tokens are not for the user's eyes."""


class Samples:
    """The samples of one vote.

    Args:
        component: what samples, and how.
        run_manager: the run of the vote, whose children the samples are.
        config: the config of the vote.
        kwargs: what the chain is called with beside its input.
        raise_on: exceptions that are not to become failed samples.
    """

    def __init__(
        self,
        component: SampledRunnable,
        run_manager: Any,
        config: RunnableConfig,
        kwargs: Mapping[str, Any],
        raise_on: tuple[type[BaseException], ...],
    ) -> None:
        self._component = component
        self._bound = salted(component.bound) if component.vary == "cache" else component.bound
        self._run_manager = run_manager
        self._config = config
        self._kwargs = kwargs
        self._raise_on = raise_on
        self._copies: set[int] = set()
        self._may_hit_unseen = (
            component.vary is None and get_llm_cache() is not None and has_text_model(component.bound)
        )

    def draw(self, prompt: Any) -> Reply:
        """Run the chain once."""
        index, runs = self._begin()
        config, _ = self._config_of(index, runs)
        try:
            output = self._chain(index).invoke(prompt, config, **self._kwargs)
        except Exception as error:
            return self._failed(index, runs, error)
        return self._landed(index, runs, output)

    async def adraw(self, prompt: Any) -> Reply:
        """Run the chain once, in asyncio; cancelled, it leaves no run open."""
        index, runs = self._begin()
        config, manager = self._config_of(index, runs)
        try:
            output = await self._chain(index).ainvoke(prompt, config, **self._kwargs)
        except asyncio.CancelledError as cancelled:
            await runs.close(manager, cancelled)
            raise
        except Exception as error:
            return self._failed(index, runs, error)
        return self._landed(index, runs, output)

    def warn_of_copies(self, result: Any) -> None:
        """Warn if samples came from LangChain's cache, unless each has an entry of its own there."""
        copies = sum(sample.index in self._copies for sample in result.samples)
        if copies and self._component.vary is None and len(result.samples) > 1:
            warn_of_hits(copies, len(result.samples))

    def _begin(self) -> tuple[int, SampleRuns]:
        index = sample_index()
        assert index is not None, "only the core draws samples"
        if self._component.vary == "cache":
            enter_sample(index)
        return index, SampleRuns()

    def _chain(self, index: int) -> Runnable[Any, Any]:
        chain: Runnable[Any, Any] = seeded(self._bound, index) if self._component.vary == "seed" else self._bound
        return chain

    def _config_of(self, index: int, runs: SampleRuns) -> tuple[RunnableConfig, Any]:
        manager = self._run_manager.get_child(f"sample:{index}")
        manager.set_handlers(
            [each.for_votes_inside() if isinstance(each, SampleRuns) else each for each in manager.handlers]
        )
        manager.add_handler(runs, inherit=True)
        if self._component.nostream:
            manager.add_tags([NOSTREAM], inherit=True)
        return patch_config(self._config, callbacks=manager), manager

    def _landed(self, index: int, runs: SampleRuns, output: Any) -> Reply:
        if runs.copied or (self._may_hit_unseen and not runs.started):
            self._copies.add(index)
        return runs.reply_of(output)

    def _failed(self, index: int, runs: SampleRuns, error: Exception) -> Reply:
        """The reply that failed; a failure of the call itself is raised, for the core to record."""
        if runs.copied:
            self._copies.add(index)
        reply = None if isinstance(error, self._raise_on) else runs.reply_of_error(error)
        if reply is None:
            raise error
        return reply
