"""Keys: what a vote is about, read from a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .._coroutines import require_plain_function
from .._errors import SettingsError, received
from ._excerpts import excerpt_error

__all__ = ["Key", "KeyReader", "MissingKey", "key_reader"]

Key = str | tuple[Any, ...] | Callable[[Any], Any] | None
KeyReader = Callable[[Any], Any]

_STEP = re.compile(r"\[(-?[0-9]{1,9})\]|\.?([^.\[\]]+)")


class MissingKey(Exception):  # noqa: N818 - a signal inside the judging of one reply, not an error of the caller
    """The record lacks the key; the message names it."""


def key_reader(key: Key) -> KeyReader:
    """A function that reads ``key`` from a record, and raises MissingKey when it is not there.

    Args:
        key: a field name, a path ("customer.city", "items[0].sku"), a tuple of them, a function of the record, or
            None for the whole record.

    Raises:
        TypeError: for any other type.
        SettingsError: for an empty name or tuple.

    Example:
        >>> key_reader("items[0].sku")({"items": [{"sku": "A1"}]})
        'A1'
    """
    if key is None:
        return lambda record: record
    if isinstance(key, str):
        return _path_reader(key)
    if isinstance(key, tuple):
        return _tuple_reader(key)
    if callable(key):
        require_plain_function("key", key)
        return _function_reader(key)
    raise TypeError(f"key must be a str, a tuple, a function or None, got {type(key).__name__}")


def _tuple_reader(keys: tuple[Any, ...]) -> KeyReader:
    if not keys or any(part is None for part in keys):
        raise SettingsError(f"key must be a tuple of at least one field name, path or function, got {received(keys)}")
    readers = [key_reader(part) for part in keys]
    return lambda record: tuple([read(record) for read in readers])


def _function_reader(function: Callable[[Any], Any]) -> KeyReader:
    def read(record: Any) -> Any:
        try:
            return function(record)
        except Exception as error:
            raise MissingKey(f"the key function raised {excerpt_error(error)}") from None

    return read


def _path_reader(path: str) -> KeyReader:
    if not path:
        raise SettingsError("key must be a field name or a path, got ''")
    steps = _steps(path)

    def read(record: Any) -> Any:
        try:
            if type(record) is dict and path in record:  # the common case; also: a literal name wins over a path
                return record[path]
        except Exception:  # another key of the record cannot be compared
            raise MissingKey(f"{path!r} cannot be looked up in the record") from None
        found, value = _walk(record, path, steps)
        if not found:
            raise MissingKey(f"no {path!r} in the record")
        return value

    return read


def _steps(path: str) -> tuple[tuple[int | str, int, int], ...]:
    """The steps of a path, each with where its text starts and ends; none if the text is no path but only a name."""
    steps: list[tuple[int | str, int, int]] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or (match[1] is None and path.startswith(".", at) != (at > 0)):
            return ()
        steps.append((int(match[1]), at, match.end()) if match[1] else (match[2], match.start(2), match.end()))
        at = match.end()
    return tuple(steps)


def _walk(record: Any, path: str, steps: tuple[tuple[int | str, int, int], ...]) -> tuple[bool, Any]:
    """Follow the path; at each level the longest literal name that is there and leads on wins."""
    if not steps:
        return _look_up(record, path)
    start = steps[0][1]
    for taken in range(len(steps), 0, -1):
        step: int | str = steps[0][0] if taken == 1 else path[start : steps[taken - 1][2]]
        found, value = _look_up(record, step)
        if found and taken < len(steps):
            found, value = _walk(value, path, steps[taken:])
        if found:
            return True, value
    return False, None


def _look_up(record: Any, step: int | str) -> tuple[bool, Any]:
    try:
        if isinstance(record, Mapping):
            return (True, record[step]) if step in record else (False, None)
        if isinstance(record, (list, tuple)) and isinstance(step, int):
            return True, record[step]
        if isinstance(step, int) or step.startswith("_") or isinstance(record, (str, bytes, int, float, list)):
            return False, None
        value = getattr(record, step)
    except Exception:
        return False, None
    return (False, None) if callable(value) else (True, value)
