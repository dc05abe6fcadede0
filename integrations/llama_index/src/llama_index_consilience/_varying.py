"""Varying: what makes the samples of one model differ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llama_index.core.constants import DEFAULT_TEMPERATURE
from llama_index.core.llms import LLM

from consilience import SettingsError, sample_index

__all__ = ["LEAST_TEMPERATURE", "Variation", "check_no_temperature", "warn_of_copies"]

LEAST_TEMPERATURE = 0.8
"""What a low temperature is raised to. The default of LlamaIndex's models is 0.1: samples hardly differ there."""


@dataclass(frozen=True)
class Variation:
    """What each call of a model gets besides its prompt, so that samples are not copies of one.

    Args:
        llm: the model that is sampled.
        temperature: for each sample, 0 or more; None raises the model's own to 0.8 where it is lower.
    """

    llm: LLM
    temperature: float | None = None

    @classmethod
    def checked(cls, llm: LLM, temperature: float | None) -> Variation:
        """The same, where a user has given the temperature.

        Raises:
            SettingsError, TypeError: ``temperature`` is something else.

        Warns:
            UserWarning: the temperature is 0: all samples will be the same.
        """
        if temperature is not None:
            if isinstance(temperature, bool) or not isinstance(temperature, (int, float)):
                raise TypeError(f"temperature must be a number or None, got {type(temperature).__name__}")
            if not 0 <= temperature < float("inf"):
                raise SettingsError(f"temperature must be a number of at least 0, got {temperature}")
        if temperature == 0:
            warnings.warn(_COPIES, stacklevel=3)
        elif temperature is None and _own_temperature(llm) == 0:
            warnings.warn(_RAISED, stacklevel=3)
        return cls(llm, temperature)

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The key words of one call; what the caller has given for all calls comes first. Called in the sampler."""
        options = dict(given)
        if "temperature" in options:
            if options["temperature"] == 0:
                warnings.warn(_COPIES, stacklevel=2)
        elif (temperature := self._needed_temperature()) is not None:
            options["temperature"] = temperature
        seed = options.get("seed", _own_seed(self.llm))
        if isinstance(seed, int) and not isinstance(seed, bool):
            options["seed"] = seed + (sample_index() or 0)
        return options

    def _needed_temperature(self) -> float | None:
        """What must be said in each call; None where the model's own will do, or where it has none to set."""
        if self.temperature is not None:
            return self.temperature
        own = _own_temperature(self.llm)
        return LEAST_TEMPERATURE if own is not None and own < LEAST_TEMPERATURE else None


_COPIES = "the temperature is 0, at which the samples of a vote are copies of one reply: agreement will mean nothing"
_HARDLY_DIFFER = (
    "the temperature of the model is {own:g}, at which the samples of a vote hardly differ: set it to 0.5 or more, or "
    "agreement will mean little"
)
_RAISED = (
    f"the temperature of the model is 0, at which all samples are the same: they are drawn at {LEAST_TEMPERATURE} "
    "instead; temperature= says otherwise"
)


def _own_temperature(llm: LLM) -> float | None:
    own = getattr(llm, "temperature", None)
    return float(own) if isinstance(own, (int, float)) and not isinstance(own, bool) else None


def _own_seed(llm: LLM) -> Any:
    own = getattr(llm, "additional_kwargs", None)
    return own.get("seed") if isinstance(own, Mapping) else None


def check_no_temperature(temperature: Any, component: str) -> None:
    """Check that no temperature is given where it could not be told to a model.

    Raises:
        SettingsError: there is one; ``component`` names what it needs.
    """
    if temperature is not None:
        raise SettingsError(f"temperature needs {component}; a function calls its model itself, got {temperature!r}")


def warn_of_copies(llm: Any) -> None:
    """Warn of a model with a temperature so low that samples hardly differ, where no other can be said in each call.

    Warns:
        UserWarning: the temperature is 0, or not above LlamaIndex's default of 0.1.
    """
    own = None if llm is None else _own_temperature(llm)
    if own == 0:
        warnings.warn(_COPIES, stacklevel=3)
    elif own is not None and own <= DEFAULT_TEMPERATURE:
        warnings.warn(_HARDLY_DIFFER.format(own=own), stacklevel=3)
