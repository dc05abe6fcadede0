"""Settings: the core's objects, or the same options as key words, checked when a component is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from consilience import ConsensusSettings, VoteSettings

__all__ = ["AnySettings", "consensus_like", "settings_with", "vote_settings"]

AnySettings = VoteSettings | ConsensusSettings

S = TypeVar("S", VoteSettings, ConsensusSettings)


def vote_settings(component: str, settings: VoteSettings | None, options: Mapping[str, Any]) -> VoteSettings:
    """The settings of a component that votes.

    Raises:
        TypeError: ``settings`` is something else, or an option does not exist; the message names the one meant.
        SettingsError: a value that is not allowed.
    """
    if settings is None:
        settings = VoteSettings()
    elif not isinstance(settings, VoteSettings):
        raise TypeError(f"settings must be a VoteSettings or None, got {type(settings).__name__}")
    return _with_options(component, settings, options)


def settings_with(component: str, settings: AnySettings | None, options: Mapping[str, Any]) -> AnySettings:
    """The settings of a component that votes, or that merges if it is given a ``ConsensusSettings``."""
    if isinstance(settings, ConsensusSettings):
        return _with_options(component, settings, options)
    if settings is not None and not isinstance(settings, VoteSettings):
        raise TypeError(f"settings must be a VoteSettings, a ConsensusSettings or None, got {type(settings).__name__}")
    return vote_settings(component, settings, options)


_DRAWING = ("n", "concurrency", "timeout", "deadline", "raise_on", "limiter", "on_sample")
_READING = ("repair", "allow_nan", "prefer", "min_valid")


def consensus_like(settings: VoteSettings) -> ConsensusSettings:
    """A consensus that draws and reads as a vote does; what the two decide by is not the same, and keeps its defaults.

    ``early_stop`` is not taken over: a consensus that may stop early cannot weigh its revisions by trust.
    """
    return ConsensusSettings(**{name: getattr(settings, name) for name in (*_DRAWING, *_READING)})


def _with_options(component: str, settings: S, options: Mapping[str, Any]) -> S:
    try:
        return settings.with_options(**options)
    except TypeError as error:
        message, name = str(error), f"{type(settings).__name__}()"
        if not message.startswith(name):
            raise
        raise TypeError(message.replace(name, f"{component}()", 1)) from None
