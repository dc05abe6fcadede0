"""What all components have in common that come to a result: what they put out, and what an abstention leads to."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Literal

from langchain_core.callbacks.manager import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import ConfigDict

from ._arguments import check_names, checked_choice, checked_on_abstain, merged_options
from ._runs import SampleRuns
from ._serialization import Component

__all__ = ["DecidingRunnable"]


class DecidingRunnable(Component):
    """A runnable with the options of a verb of the core. Not public: see ``VoteRunnable`` and its siblings."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    _settings_type: ClassVar[Any]
    _result_type: ClassVar[Any]

    output: Literal["result", "value"] = "result"
    on_abstain: Any = None

    def __init__(self, *, settings: Any = None, **options: Any) -> None:
        check_names(type(self).__name__, options, [*type(self).model_fields, "settings"])
        super().__init__(**self._checked(options, settings))

    @classmethod
    def _checked(cls, given: dict[str, Any], settings: Any) -> dict[str, Any]:
        """The arguments as they are stored: the options of the core, merged, beside those of this package."""
        of_the_core = cls._settings_type.__dataclass_fields__
        options = {
            name: value
            for name, value in given.items()
            if name in of_the_core and not (name == "concurrency" and value is None)
        }
        merged = merged_options(cls._settings_type, settings, options)
        own = {name: value for name, value in given.items() if name not in of_the_core}
        own["on_abstain"] = checked_on_abstain(own.get("on_abstain"))
        checked_choice("output", own.get("output", "result"), ("result", "value"))
        return {**{name: value for name, value in merged.items() if name in cls.model_fields}, **own}

    @property
    def settings(self) -> Any:
        """The options as the core's settings object."""
        names = [name for name in self._settings_type.__dataclass_fields__ if name in type(self).model_fields]
        return self._settings_type(**{name: getattr(self, name) for name in names})

    def _settle(
        self,
        input: Any,  # noqa: A002
        result: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> Any:
        """What comes out for a result."""
        if not self._takes_over(result):
            return self._output(result)
        child = patch_config(config, callbacks=run_manager.get_child("abstain"))
        return self.on_abstain.invoke({"input": input, "result": result}, child)

    async def _asettle(
        self,
        input: Any,  # noqa: A002
        result: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> Any:
        if not self._takes_over(result):
            return self._output(result)
        manager, runs = run_manager.get_child("abstain"), SampleRuns()
        manager.add_handler(runs, inherit=True)
        try:
            return await self.on_abstain.ainvoke(
                {"input": input, "result": result}, patch_config(config, callbacks=manager)
            )
        except asyncio.CancelledError as cancelled:
            await runs.close(manager, cancelled)
            raise

    def _takes_over(self, result: Any) -> bool:
        """Whether a branch answers for an abstention."""
        return bool(result.abstained) and isinstance(self.on_abstain, Runnable)

    def _output(self, result: Any) -> Any:
        raises = self.on_abstain == "raise" or (self.on_abstain is None and self.output == "value")
        if result.abstained:
            return result.unwrap() if raises else result
        return result.value if self.output == "value" else result

    # What the framework asks of a runnable

    @property
    def OutputType(self) -> Any:  # noqa: N802 - the framework's spelling
        """The result, or anything where the value itself or a branch may come out."""
        return Any if self.output == "value" or isinstance(self.on_abstain, Runnable) else self._result_type

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What can be configured in the branch for abstentions."""
        return self.on_abstain.config_specs if isinstance(self.on_abstain, Runnable) else []
