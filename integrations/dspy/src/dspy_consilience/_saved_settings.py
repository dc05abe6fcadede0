"""The saved settings: what a module keeps of its rules when its program is saved."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar

from dspy.predict.parameter import Parameter

from consilience import ConsensusSettings, Path, SettingsError, VoteSettings

__all__ = ["SavedSettings"]

_log = logging.getLogger("consilience")

S = TypeVar("S", VoteSettings, ConsensusSettings)


class SavedSettings(Parameter, Generic[S]):  # type: ignore[misc] # dspy has no types
    """The settings of a module, as a parameter of its program: saved, loaded, copied and reset with it.

    Args:
        settings: the core's settings.
        temperature: the temperature of each sample, or None.
    """

    settings: S
    temperature: float | None

    def __init__(self, settings: S, temperature: float | None) -> None:
        self._given: tuple[S, float | None] = (settings, _checked_temperature(temperature))
        self.reset()

    def reset(self) -> None:
        """Back to what the module was made with; optimizers start from there."""
        self.settings, self.temperature = self._given

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:  # noqa: ARG002 - the same in both modes
        """What JSON can hold of the options; those that are code are named, and stay in the program's source."""
        options = {field.name: getattr(self.settings, field.name) for field in fields(self.settings)}
        saved = {name: _saved(value) for name, value in options.items() if _is_data(value)}
        return {"options": saved, "code": sorted(set(options) - set(saved)), "temperature": self.temperature}

    def load_state(self, state: Mapping[str, Any], **_: Any) -> None:
        """Take over what was saved; options that are code stay those that the module was made with.

        Raises:
            SettingsError, TypeError: the state holds a value or an option that this version does not know; the settings
                stay as they were.
        """
        if not isinstance(state, Mapping) or not {"options", "code", "temperature"} <= set(state):
            raise SettingsError(f"the saved state must be one of a vote or a consensus, got {state!r:.80}")
        temperature = _checked_temperature(state["temperature"])
        options = {name: _loaded(name, value) for name, value in state["options"].items()}
        self.settings = self.settings.with_options(**options)
        self.temperature = temperature
        missing = [name for name in state["code"] if _is_data(getattr(self.settings, name))]
        if missing:
            _log.warning(
                "the saved settings had code for %s, which a file cannot hold: make the module with it before loading",
                ", ".join(missing),
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> SavedSettings[S]:
        # The settings are frozen, and their limiter must stay one limiter however often a program is copied.
        copied = type(self)(*self._given)
        copied.settings, copied.temperature = self.settings, self.temperature
        return copied


def _checked_temperature(temperature: Any) -> float | None:
    if temperature is None:
        return None
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float)):
        raise TypeError(f"temperature must be a number or None, got {temperature!r}")
    if not 0 < temperature < float("inf"):
        raise SettingsError(f"temperature must be a number above 0 or None, got {temperature!r}")
    return temperature


def _is_data(value: Any) -> bool:
    """Whether JSON gives the value back as it is."""
    if isinstance(value, Path):
        return True
    if isinstance(value, (list, tuple)):
        return all(map(_is_data, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_data(each) for name, each in value.items())
    return value is None or isinstance(value, (str, int, float))


def _saved(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_saved(each) for each in value]
    return str(value) if isinstance(value, str) else value


def _loaded(name: str, value: Any) -> Any:
    """JSON has no tuples, but these options are compared as such."""
    if name in ("key", "raise_on") and isinstance(value, list):
        return tuple(_loaded(name, each) for each in value)
    return value
