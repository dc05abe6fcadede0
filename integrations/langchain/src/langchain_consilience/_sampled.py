"""What all components that sample have in common: they run a chain n times and decide on what it says."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, nullcontext
from typing import Any, Literal

from langchain_core.callbacks.manager import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from langchain_core.runnables.graph import Graph
from langchain_core.runnables.utils import ConfigurableFieldSpec, get_unique_config_specs
from pydantic import PrivateAttr

from consilience import Paraphrases, SettingsError

from ._arguments import checked_bound, checked_choice
from ._batches import abatch_as_completed, batch_limits
from ._cache import salt_the_cache
from ._deciding import DecidingRunnable
from ._interrupts import interrupts
from ._limits import BatchLimit, async_limit, thread_limit
from ._models import has_language_model
from ._samples import Samples

__all__ = ["MOST_CALLS_AT_ONCE", "SampledRunnable"]

MOST_CALLS_AT_ONCE = 32
"""How many of a vote's calls run at once where nobody says otherwise."""


class SampledRunnable(DecidingRunnable):
    """A runnable that runs another one n times. Not public: see ``VoteRunnable`` and ``ConsensusRunnable``."""

    bound: Runnable[Any, Any]
    vary: Literal["seed", "cache"] | None = None
    nostream: bool = True
    concurrency: int | None = None

    _limit: BatchLimit | None = PrivateAttr(default=None)
    """The limit of the batch that this copy belongs to."""

    def __init__(self, *args: Any, settings: Any = None, **options: Any) -> None:
        component = type(self).__name__
        if len(args) > 1 or (args and "bound" in options):
            raise TypeError(f"{component} takes one positional argument, what is to be sampled; got {len(args)}")
        super().__init__(settings=settings, **({"bound": args[0], **options} if args else options))

    @classmethod
    def _checked(cls, given: dict[str, Any], settings: Any) -> dict[str, Any]:
        """The arguments as they are stored: the options of the core, merged, beside those of this package."""
        component = cls.__name__
        checked = super()._checked(given, settings)
        if settings is None:
            checked["concurrency"] = given.get("concurrency")
        checked["bound"] = checked_bound(component, given.get("bound"))
        checked_choice("nostream", given.get("nostream", True), (True, False))
        if checked_choice("vary", given.get("vary"), ("seed", "cache", None)) == "seed":
            _require_language_model(component, checked["bound"])
        return checked

    @property
    def settings(self) -> Any:
        """The options as the core's settings object."""
        options = {name: getattr(self, name) for name in self._settings_type.__dataclass_fields__}
        options["concurrency"] = self.concurrency or min(self.n, MOST_CALLS_AT_ONCE)  # type: ignore[attr-defined]
        return self._settings_type(**options)

    # Running

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the chain n times and decide. Key words go to the chain.

        Raises:
            AbstainError: there is no decision, and ``on_abstain`` is "raise".
        """
        return self._call_with_config(self._decide, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """``invoke`` for asyncio: after an early stop, calls that still run are cancelled."""
        return await self._acall_with_config(self._adecide, input, config, **kwargs)

    def _draw(self, samples: Samples, prompt: Any, settings: Any) -> Any:
        raise NotImplementedError

    async def _adraw(self, samples: Samples, prompt: Any, settings: Any) -> Any:
        raise NotImplementedError

    def _decide(
        self,
        input: Any,  # noqa: A002
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        settings = self._drawing(config)
        samples = Samples(self, run_manager, config, kwargs, settings.raise_on)
        result = self._draw(samples, _one_prompt(input), settings)
        samples.warn_of_copies(result)
        with self._limit.branches if self._limit and self._takes_over(result) else nullcontext():
            return self._settle(input, result, run_manager, config)

    async def _adecide(
        self,
        input: Any,  # noqa: A002
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        settings = self._drawing(config)
        samples = Samples(self, run_manager, config, kwargs, settings.raise_on)
        result = await self._adraw(samples, _one_prompt(input), settings)
        samples.warn_of_copies(result)
        async with self._limit.branches if self._limit and self._takes_over(result) else nullcontext():
            return await self._asettle(input, result, run_manager, config)

    def _drawing(self, config: RunnableConfig) -> Any:
        """The settings of one run: those of the component, within what the config and the batch allow."""
        if self.vary == "cache":
            salt_the_cache()
        settings = self.settings
        most = config.get("max_concurrency") or settings.concurrency
        raise_on = settings.raise_on if isinstance(settings.raise_on, tuple) else (settings.raise_on,)
        return settings.with_options(
            concurrency=min(settings.concurrency, most),
            limiter=settings.limiter if self._limit is None else self._limit.calls,
            raise_on=(*raise_on, *interrupts()),
        )

    # Batches: one limit for all calls of all votes

    def batch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any | None,
    ) -> list[Any]:
        """One vote for each input, in the order of the inputs, with ``max_concurrency`` calls at once in all."""
        limited = self._limited(thread_limit(batch_limits(config), self._limiter))
        return RunnableSerializable.batch(limited, inputs, config, return_exceptions=return_exceptions, **kwargs)

    def batch_as_completed(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any | None,
    ) -> Iterator[tuple[int, Any]]:
        """``batch``, with pairs of index and output as they come."""
        limited = self._limited(thread_limit(batch_limits(config), self._limiter))
        completed: Any = RunnableSerializable.batch_as_completed
        pairs: Iterator[tuple[int, Any]] = completed(
            limited, inputs, config, return_exceptions=return_exceptions, **kwargs
        )
        return pairs

    async def abatch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any | None,
    ) -> list[Any]:
        """``batch`` for asyncio. If a vote raises, the others are cancelled."""
        completed = self.abatch_as_completed(inputs, config, return_exceptions=return_exceptions, **kwargs)
        async with aclosing(completed) as pairs:
            outputs = {index: output async for index, output in pairs}
        return [outputs[index] for index in range(len(inputs))]

    async def abatch_as_completed(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any | None,
    ) -> AsyncGenerator[tuple[int, Any], None]:
        """``abatch``, with pairs of index and output as they come; votes that nobody waits for are cancelled."""
        limited = self._limited(async_limit(batch_limits(config), self._limiter))
        async with aclosing(abatch_as_completed(limited, inputs, config, return_exceptions, kwargs)) as pairs:
            async for pair in pairs:
                yield pair

    @property
    def _limiter(self) -> Any:
        return getattr(self, "limiter", None)

    def _limited(self, limit: BatchLimit) -> Any:
        """A copy of this component whose calls all pass ``limit``."""
        limited = self.model_copy()
        limited._limit = limit
        return limited

    # What the framework asks of a runnable

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name in traces: its own, or the class with what it samples."""
        return super().get_name(suffix, name=name or self.name or f"{type(self).__name__}<{self.bound.get_name()}>")

    @property
    def InputType(self) -> Any:  # noqa: N802 - the framework's spelling
        """What the chain that is sampled takes."""
        return self.bound.InputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """The schema of what the chain that is sampled takes."""
        return self.bound.get_input_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What can be configured in the chain that is sampled, and in the branch for abstentions."""
        return get_unique_config_specs([*self.bound.config_specs, *super().config_specs])

    def get_graph(self, config: RunnableConfig | None = None) -> Graph:
        """The graph of the chain that is sampled."""
        return self.bound.get_graph(config)

    def get_prompts(self, config: RunnableConfig | None = None) -> list[BasePromptTemplate[Any]]:
        """The prompts of the chain that is sampled."""
        return self.bound.get_prompts(config)


def _one_prompt(prompt: Any) -> Any:
    """The input as one wording: the core would take a list of texts for several."""
    return prompt if isinstance(prompt, Paraphrases) else Paraphrases([prompt])


def _require_language_model(component: str, bound: Any) -> None:
    if not has_language_model(bound):
        raise SettingsError(
            f'vary="seed" binds a seed to every language model in what {component} samples, and found none in '
            f"{bound.get_name()}: models that a function calls cannot be seen; give the function's chain itself, or "
            'use vary="cache"'
        )
