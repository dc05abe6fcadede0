"""Arguments: what the components of this package are made of, checked before pydantic gets to see it.

Pydantic would wrap the core's errors in its own, and ignore the order of ``settings=`` and the key words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from langchain_core.output_parsers import BaseOutputParser
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableParallel, RunnableSequence
from langchain_core.runnables.base import coerce_to_runnable

from consilience import SettingsError

from ._models import has_language_model

__all__ = ["check_names", "checked_bound", "checked_choice", "checked_on_abstain", "checked_runnable", "merged_options"]


def check_names(component: str, given: Mapping[str, Any], known: list[str]) -> None:
    """Refuse a key word that does not exist, with the one that is meant.

    Example:
        >>> check_names("VoteRunnable", {"N": 99}, ["bound", "key", "n"])
        Traceback (most recent call last):
        ...
        TypeError: VoteRunnable() got an unexpected keyword argument 'N'; did you mean 'n'?
    """
    for name in given:
        if name not in known:
            if "bound" in known and "bound" not in given and isinstance(given[name], Runnable):
                raise TypeError(
                    f"{component}() got an unexpected keyword argument {name!r}: what is to be sampled is the first "
                    f"argument, {component}({name}, n=5)"
                )
            close = get_close_matches(name.lower(), known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{component}() got an unexpected keyword argument {name!r}{hint}")


def checked_bound(component: str, bound: Any) -> Runnable[Any, Any]:
    """What is to be sampled, as a runnable.

    Example:
        >>> checked_bound("VoteRunnable", None)
        Traceback (most recent call last):
        ...
        TypeError: VoteRunnable needs what it is to sample as its first argument, VoteRunnable(model | parser, n=5), ...
    """
    spelling = (
        f"{component}(model | parser, n=5), and in a chain prompt | {component}(model | parser, n=5): to the right "
        "of | it gets one finished output, which cannot be sampled again"
    )
    if bound is None:
        raise TypeError(f"{component} needs what it is to sample as its first argument, {spelling}")
    runnable = checked_runnable(bound, f"what {component} samples", f": {spelling}")
    if _repeats_itself(runnable) and not has_language_model(runnable):  # there are parsers that ask a model
        raise TypeError(
            f"{component} needs a model to sample, got only a {type(bound).__name__}, which says the same every "
            f"time: {spelling}"
        )
    return runnable


def checked_runnable(given: Any, name: str, help: str = "") -> Runnable[Any, Any]:  # noqa: A002
    """What is given as a Runnable, as one. A class is refused: called with an input, it makes an instance, not a reply.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> checked_runnable(FakeListChatModel, "branches['tie']")
        Traceback (most recent call last):
        ...
        TypeError: branches['tie'] must be a Runnable, a function or a dict of them, got the class FakeListChatModel
    """
    if isinstance(given, type) or not (isinstance(given, Runnable | Mapping) or callable(given)):
        got = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{name} must be a Runnable, a function or a dict of them, got {got}{help}")
    runnable: Runnable[Any, Any] = coerce_to_runnable(given)
    return runnable


def _repeats_itself(part: Any) -> bool:
    """Whether there are only prompts and parsers in it."""
    if isinstance(part, RunnableSequence):
        return all(map(_repeats_itself, part.steps))
    if isinstance(part, RunnableParallel):
        return all(map(_repeats_itself, part.steps__.values()))
    return isinstance(part, BaseOutputParser | BasePromptTemplate)


def checked_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """``value``, if it is among those allowed.

    Example:
        >>> checked_choice("output", "vlaue", ("result", "value"))
        Traceback (most recent call last):
        ...
        consilience._errors.SettingsError: output must be 'result' or 'value', got 'vlaue'
    """
    if not any(value is each or (isinstance(value, str) and value == each) for each in allowed):
        raise SettingsError(f"{name} must be {' or '.join(map(repr, allowed))}, got {value!r}")
    return value


def checked_on_abstain(policy: Any, name: str = "on_abstain") -> Any:
    """What happens on abstention: None, "return", "raise", or whatever is made a runnable.

    Example:
        >>> checked_on_abstain("rase")
        Traceback (most recent call last):
        ...
        consilience._errors.SettingsError: on_abstain must be "return", "raise" or a Runnable, got 'rase'
    """
    if policy is None or (isinstance(policy, str) and policy in ("return", "raise")):
        return policy
    if isinstance(policy, Runnable | Mapping) or (callable(policy) and not isinstance(policy, type)):
        return coerce_to_runnable(policy)
    raise SettingsError(f'{name} must be "return", "raise" or a Runnable, got {policy!r}')


def merged_options(settings_type: Callable[..., Any], settings: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of the core's settings, with ``options`` in place of those of ``settings``, checked by the core.

    Args:
        settings_type: ``VoteSettings`` or ``ConsensusSettings``.
        settings: one of these, or None for the defaults.
        options: key words.

    Raises:
        SettingsError, TypeError: as the core raises them.
    """
    if settings is not None and not isinstance(settings, settings_type):  # type: ignore[arg-type]
        name = getattr(settings_type, "__name__", "")
        raise TypeError(f"settings must be a {name} or None, got {type(settings).__name__}")
    options = dict(options)
    if isinstance(options.get("key"), list):  # what JSON makes of a tuple: a component loaded from its dump
        options["key"] = tuple(options["key"])
    merged = (settings_type() if settings is None else settings).with_options(**options)
    return {field.name: getattr(merged, field.name) for field in fields(merged)}
