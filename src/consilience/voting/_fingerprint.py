"""Fingerprints: a short text that is the same for settings that decide alike."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Mapping
from operator import attrgetter
from types import CodeType
from typing import Any

from .._canonical import canonical_text
from ._ballots import plain
from ._settings import JUDGING_OPTIONS, VoteSettings

__all__ = ["Fingerprint", "fingerprint"]

_PLAIN = frozenset({bool, int, float, str})
_DEEPEST = 8


class Fingerprint:
    """A hash of the options that decide (not of those that only say how calls are made), equal in every process.

    Functions count by their qualified name, by the values that they close over and, if they have no name by which they
    could be found again (a lambda, a function inside a function), by their code, which is that of one version of
    Python. Other objects count by their type and, for dataclasses, by their fields.

    Args:
        deciding: the names of the options that decide, at least two.
        defaults: settings with nothing but defaults.

    Example:
        >>> of_settings = Fingerprint(["n", "stop"], VoteSettings())
        >>> of_settings(VoteSettings(n=9)) == of_settings(VoteSettings(n=9, min_agreement=0.9))
        True
    """

    def __init__(self, deciding: Iterable[str], defaults: Any) -> None:
        self._names = tuple(deciding)
        self._read = attrgetter(*self._names)
        self._defaults = self._read(defaults)

    def __call__(self, settings: Any) -> str:
        """The hash of these settings, as 16 hexadecimal digits."""
        # Options left at their default are left out, so that an option added later changes no hash made before.
        options = {
            name: _described(value, 0)
            for name, value, default in zip(self._names, self._read(settings), self._defaults, strict=True)
            if value is not default
            and not (type(value) is type(default) and type(value) in _PLAIN and value == default)
        }
        return hashlib.sha256(canonical_text(options).encode("ascii")).hexdigest()[:16]


_of_vote = Fingerprint(
    ["n", "stop", "early_stop", *(name for name in JUDGING_OPTIONS if name != "on_sample")], VoteSettings()
)


def fingerprint(settings: VoteSettings) -> str:
    """The fingerprint of the settings of a vote.

    Example:
        >>> fingerprint(VoteSettings(n=5)) == fingerprint(VoteSettings(concurrency=4))
        True
        >>> fingerprint(VoteSettings(n=5)) == fingerprint(VoteSettings(n=7))
        False
    """
    return _of_vote(settings)


def _described(value: Any, depth: int) -> Any:
    """``value`` in plain JSON, without anything that differs from process to process, such as an address."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (str, int, float, bytes)):
        return plain(value)
    if depth >= _DEEPEST:
        return _name(type(value))
    if isinstance(value, Mapping):
        return {f"{type(k).__name__}:{plain(k)}": _described(item, depth + 1) for k, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_described(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_described(item, depth + 1) for item in value), key=canonical_text)
    if isinstance(value, functools.partial):
        return ["partial", *(_described(part, depth + 1) for part in (value.func, value.args, value.keywords))]
    if isinstance(value, type):
        return _name(value)
    if dataclasses.is_dataclass(value):
        items = [_described(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)]
        return [_name(type(value)), *items]
    if isinstance(value, CodeType):
        return [value.co_code.hex(), *(_described(part, depth + 1) for part in (value.co_names, value.co_consts))]
    named = _name(value if hasattr(value, "__qualname__") else type(value))
    return [named, *_closed_over(value, depth), *(_anonymous_code(value, depth) if "<" in named else ())]


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{value.__qualname__}"


def _closed_over(function: Any, depth: int) -> list[Any]:
    return [_described(_contents(cell), depth + 1) for cell in getattr(function, "__closure__", None) or ()]


def _anonymous_code(function: Any, depth: int) -> list[Any]:
    parts = [getattr(function, name, None) for name in ("__code__", "__defaults__", "__kwdefaults__")]
    return [_described(part, depth + 1) for part in parts if part is not None]


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return None
