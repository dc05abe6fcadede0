"""The revision: one reply's record as plain JSON, whatever Python object it came as."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from .._canonical import canonical_text
from .._errors import SettingsError
from ._annotations import write_path
from ._paths import Path

__all__ = ["MAX_DEPTH", "decimal_number", "plain_json"]

MAX_DEPTH = 200
"""The same depth at which reading a reply gives up."""

_PLAIN = frozenset({str, bool, int, float, type(None)})
_TEXT = frozenset({str})

_OF_ADDRESSES = frozenset({"ipaddress", "pydantic", "pydantic_core"})
"""Packages whose values are URLs and other addresses, when they are nothing else that is known here."""


def plain_json(value: Any, name: str = "the value") -> Any:
    """Copy a Python value into plain JSON: dict with text keys, list, str, int, float, bool, None.

    Pydantic models are written as they were set, without defaults and under the keys that they read, so that a
    default is never a vote.
    Dataclasses, enums, Decimal, dates, UUIDs, tuples and sets become their JSON form.

    Args:
        value: the value to copy; it is never changed.
        name: what to call the value in an error.

    Raises:
        TypeError: the value holds something that has no JSON form, or a key that is not text.
        SettingsError: the value contains itself or is nested deeper than 200.

    Example:
        >>> plain_json({"due": date(2026, 1, 31), "tags": ("a", "b")})
        {'due': '2026-01-31', 'tags': ['a', 'b']}
    """
    return _copy(value, name, ())


def _copy(value: Any, name: str, path: tuple[str | int, ...]) -> Any:
    if type(value) in _PLAIN:
        return value
    if len(path) > MAX_DEPTH:
        # A cycle ends here as well: there is no other way for a finite value to be this deep by mistake.
        raise SettingsError(f"{name} is nested deeper than {MAX_DEPTH} levels or contains itself")
    if type(value) is dict and _TEXT.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values())):
        return value.copy()
    if isinstance(value, Mapping):
        return {
            key if type(key) is str else _key(key, name, path): (
                child if type(child) in _PLAIN else _copy(child, name, (*path, key))
            )
            for key, child in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            child if type(child) in _PLAIN else _copy(child, name, (*path, index)) for index, child in enumerate(value)
        ]
    return _copy_object(value, name, path)


def _key(key: Any, name: str, path: tuple[str | int, ...]) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{name} has a key that is not text at {Path(path)}: {key!r} ({type(key).__name__})")
    return str.__str__(key)


def _copy_object(value: Any, name: str, path: tuple[str | int, ...]) -> Any:
    if hasattr(value, "__pydantic_fields_set__") and hasattr(value, "model_dump"):
        return _copy(_as_set(value), name, path)
    if hasattr(value, "get_secret_value"):
        return _copy(value.get_secret_value(), name, path)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _copy(named, name, path)
    if isinstance(value, Enum):
        return _copy(value.value, name, path)
    if isinstance(value, str | int | float):
        return _base(value)
    if isinstance(value, Decimal):
        return decimal_number(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID | PurePath) or type(value).__module__.partition(".")[0] in _OF_ADDRESSES:
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted((_copy(child, name, (*path, 0)) for child in value), key=canonical_text)
    raise TypeError(f"{name} is not JSON at {Path(path)}: {type(value).__name__} has no JSON form")


def _as_set(instance: Any) -> Any:
    """The values of a pydantic instance that were set, where its model reads them.

    Not its dump: serializers write for other readers, and what they hide or reformat could not be read again.
    """
    model, values = type(instance), instance.__dict__
    if model.__pydantic_root_model__:
        return values["root"]
    found: dict[str, Any] = {}
    for field_name, field in model.model_fields.items():
        if field_name in instance.__pydantic_fields_set__ and field_name in values:
            *outer, key = write_path(field_name, field)
            place = found
            for step in outer:
                place = place.setdefault(step, {})
            place[key] = values[field_name]
    return {**found, **(instance.__pydantic_extra__ or {})}


def _base(value: Any) -> Any:
    """The plain value of an instance of a subclass of str, int or float."""
    if isinstance(value, str):
        return str.__str__(value)
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def decimal_number(value: Decimal) -> float | str:
    """A Decimal as a JSON number where that loses nothing, so that 12.5 and Decimal("12.50") agree; else its text."""
    number = float(value)
    return number if math.isfinite(number) and Decimal(repr(number)) == value else str(value)
