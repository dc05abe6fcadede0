"""The sampled module: what a vote and a consensus have in common as modules of a program."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import dspy

from consilience import AbstainError, ConsensusResult, SettingsError, VoteResult

from ._decisions import Decision, check_names, handed_over
from ._outputs import signature_of, types_of
from ._sampling import Drawn
from ._saved_settings import SavedSettings

__all__ = ["OnAbstain", "SampledModule"]

OnAbstain: TypeAlias = Any
"""The words "return" and "raise", or a ``dspy.Module`` (for which dspy has no types)."""


class SampledModule(dspy.Module):  # type: ignore[misc] # dspy has no types
    """Calls a module several times and decides.

    Its attributes are what DSPy looks for in a program: ``module`` and a module in ``on_abstain`` are sub-modules,
    ``rules`` is a parameter. Nothing else is kept between calls.
    """

    module: Any
    rules: SavedSettings[Any]
    on_abstain: Any

    def __init__(self, module: Any, rules: SavedSettings[Any], on_abstain: OnAbstain, callbacks: Any) -> None:
        super().__init__(callbacks=callbacks)
        if not isinstance(module, dspy.Module):
            raise TypeError(f"module must be a dspy.Module, got {_kind(module)}")
        if not (isinstance(on_abstain, dspy.Module) or on_abstain in ("return", "raise")):
            if isinstance(on_abstain, str):
                raise SettingsError(f'on_abstain must be "return", "raise" or a dspy.Module, got {on_abstain!r}')
            raise TypeError(f'on_abstain must be "return", "raise" or a dspy.Module, got {_kind(on_abstain)}')
        check_names(list(types_of(signature_of(module))))
        self.module = module
        self.rules = rules
        self.on_abstain = on_abstain
        self._check(rules.settings)

    @property
    def signature(self) -> Any:
        """The signature of the module that is sampled, where it is known."""
        return signature_of(self.module)

    @property
    def settings(self) -> Any:
        """The core's settings. They can be replaced: ``vote.settings = vote.settings.with_options(n=9)``."""
        return self.rules.settings

    @settings.setter
    def settings(self, settings: Any) -> None:
        if type(settings) is not type(self.rules.settings):
            wanted = type(self.rules.settings).__name__
            raise TypeError(f"settings must be a {wanted}, got {type(settings).__name__}")
        self._check(settings)
        self.rules.settings = settings

    def forward(self, *args: Any, **kwargs: Any) -> Decision:
        """Sample, decide, and do as ``on_abstain`` says; called by ``module(...)``."""
        decision = self._decided((args, kwargs))
        if self._asks_another(decision):
            return handed_over(decision, self.on_abstain(*args, **kwargs))
        return decision

    async def aforward(self, *args: Any, **kwargs: Any) -> Decision:
        """``forward`` for asyncio; called by ``module.acall(...)``."""
        decision = await self._adecided((args, kwargs))
        if self._asks_another(decision):
            return handed_over(decision, await _asked(self.on_abstain, args, kwargs))
        return decision

    @abstractmethod
    def _check(self, settings: Any) -> None:
        """Refuse settings that name fields which the module does not give."""

    @abstractmethod
    def _decided(self, inputs: Any) -> Decision:
        """The decision on one set of inputs."""

    @abstractmethod
    async def _adecided(self, inputs: Any) -> Decision:
        """``_decided`` for asyncio."""

    def _names(self, successful: Sequence[Drawn]) -> list[str]:
        """The output fields, as far as they are known where no sample gives them."""
        names = [*types_of(self.signature), *(name for drawn in successful for name in drawn.fields)]
        if not names:
            predictors = self.module.predictors()
            names = list(types_of(predictors[-1].signature)) if predictors else []
        return list(dict.fromkeys(names))

    def _asks_another(self, decision: Decision) -> bool:
        if decision.abstained and self.on_abstain == "raise":
            result = decision.consilience
            raise AbstainError(result, f"{_what(result)} abstained ({decision.abstain_reason}): {_detail(result)}")
        return bool(decision.abstained) and isinstance(self.on_abstain, dspy.Module)


async def _asked(module: Any, args: Any, kwargs: Any) -> Any:
    """What a module answers; in a thread, with this context, if it has no other way."""
    if hasattr(module, "aforward"):
        return await module.acall(*args, **kwargs)
    return await asyncio.to_thread(module, *args, **kwargs)


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _what(result: VoteResult | ConsensusResult | None) -> str:
    return "the vote" if isinstance(result, VoteResult) else "the consensus"


def _detail(result: VoteResult | ConsensusResult | None) -> str:
    return "" if result is None else result.detail
