"""Arguments: the checks that several rooms share."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

from ._errors import SettingsError, received

__all__ = ["check_names", "check_share", "check_threshold"]


def check_share(name: str, value: Any) -> None:
    """Require a number from 0 to 1.

    Raises:
        TypeError, SettingsError: it is no number, or outside.
    """
    _check_number(name, value, "from 0 to 1")
    if not 0 <= value <= 1:
        raise SettingsError(f"{name} must be a number from 0 to 1, got {value!r}")


def check_threshold(name: str, value: Any) -> None:
    """Require a number above 0 and at most 1: a threshold of 0 would be met by nothing at all.

    Raises:
        TypeError, SettingsError: it is no number, or outside.
    """
    _check_number(name, value, "above 0 and at most 1")
    if not 0 < value <= 1:
        raise SettingsError(f"{name} must be a number above 0 and at most 1, got {value!r}")


def _check_number(name: str, value: Any, allowed: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number {allowed}, got {received(value)}")


def check_names(verb: str, options: Iterable[str], allowed: Collection[str]) -> None:
    """Refuse key words that do not exist, and name the one that is meant.

    Raises:
        TypeError: one of ``options`` is not among those ``allowed``.

    Example:
        >>> check_names("vote", ["N"], ["n", "key"])
        Traceback (most recent call last):
        ...
        TypeError: vote() got an unexpected keyword argument 'N'; did you mean 'n'?
    """
    for name in options:
        if name not in allowed:
            close = get_close_matches(name.lower(), allowed, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}{hint}")
