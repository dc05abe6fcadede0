"""Ballots: the canonical text by which two votes are compared.

A vote may be anything that a validator can return, so the value is first turned into plain JSON, without recursion and
without trusting a single method of it, and then written canonically.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Set
from enum import Enum
from typing import Any

from .._canonical import canonical_text

__all__ = ["ballot", "fields_of", "plain"]

_SCALARS = frozenset({str, int, float, bool, type(None)})
_CYCLE = "<cycle>"


def ballot(value: object) -> str:
    """The canonical JSON text by which votes are compared; it never raises.

    Args:
        value: anything that a validator or a key can return. Pydantic models, dataclasses, enums, Decimal, datetime
            and UUID compare by their JSON form, sets without order; 1, 1.0 and true all differ, and so do "Billing"
            and "billing".

    Returns:
        ASCII text with sorted keys; equal texts are equal votes.

    Example:
        >>> ballot({"b": 2, "a": 1}) == ballot({"a": 1, "b": 2})
        True
        >>> ballot(1) == ballot(1.0)
        False
    """
    return canonical_text(value if type(value) in _SCALARS else plain(value))


def plain(value: object) -> Any:
    """``value`` as plain JSON: dicts with text keys, lists, text, numbers, booleans and None.

    Example:
        >>> plain(("a", {1: {2}}))
        ['a', {'1': [2]}]
    """
    root: list[Any] = [value]
    sets: list[list[Any]] = []
    on_path: dict[int, Any] = {}  # by id, and kept alive, so that no id is given to another object meanwhile
    # A slot is (holder, key, None) to convert holder[key], or (None, None, id) to leave the container with that id.
    slots: list[tuple[Any, Any, int | None]] = [(root, 0, None)]
    while slots:
        holder, key, leaving = slots.pop()
        if leaving is not None:
            del on_path[leaving]
            continue
        original = holder[key]
        if type(original) in _SCALARS:
            continue
        if id(original) in on_path:
            holder[key] = _CYCLE
            continue
        shallow = holder[key] = _one_level(original)
        if type(shallow) in _SCALARS:
            continue
        on_path[id(original)] = original
        slots.append((None, None, id(original)))
        if isinstance(original, Set):
            sets.append(shallow)
        children = shallow if isinstance(shallow, dict) else range(len(shallow))
        slots.extend((shallow, child, None) for child in children if type(shallow[child]) not in _SCALARS)
    for unordered in reversed(sets):  # inner sets were found later, and must be in order before outer ones are sorted
        unordered.sort(key=canonical_text)
    return root[0]


def _one_level(value: object) -> Any:
    """``value`` as a scalar, a dict or a list, whose children are still as they were."""
    try:
        return _convert(value)
    except Exception:
        return _opaque(value)


def _convert(value: object) -> Any:
    if isinstance(value, Enum):
        return _exact(value.value) if type(value.value) in _SCALARS else _one_level(value.value)
    if isinstance(value, (str, int, float)):
        return _exact(value)
    if isinstance(value, (list, tuple, Set)):
        return list(value)
    fields = fields_of(value)
    if fields is not None:
        return _with_text_keys(fields)
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None)  # numpy's arrays and scalars
    return _leaf(value) if to_list is None else _one_level(to_list())


def _exact(value: str | int | float) -> str | int | float:
    """A subclass of a scalar as the scalar itself, whatever methods the subclass overrides."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def fields_of(value: object) -> dict[Any, Any] | None:
    """The top-level fields of a mapping, a pydantic model or a dataclass instance; None for anything else."""
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, type):
        return None
    if hasattr(type(value), "model_fields"):
        # Not mode="json": that would turn sets into lists in an order that differs from process to process.
        dumped = value.model_dump(warnings=False)  # type: ignore[attr-defined]
        return dumped if isinstance(dumped, dict) else {"root": dumped}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _with_text_keys(items: dict[Any, Any]) -> Any:
    if all(type(key) is str for key in items):
        return items
    named = {_key_text(key): value for key, value in items.items()}
    if len(named) == len(items):
        return named
    # Two keys share a JSON form (1 and "1"): keep every pair apart.
    return [[[type(key).__name__, _key_text(key)], value] for key, value in items.items()]


def _key_text(key: object) -> str:
    converted = plain(key)
    return converted if isinstance(converted, str) else canonical_text(converted)


def _leaf(value: object) -> Any:
    """Decimal, datetime, UUID, bytes and the like, in the JSON form that pydantic gives them."""
    from pydantic_core import to_jsonable_python

    if isinstance(value, Iterator):  # reading it would use it up
        return _opaque(value)
    converted = to_jsonable_python(value, fallback=_opaque)
    return _with_text_keys(converted) if isinstance(converted, dict) else converted


def _opaque(value: object) -> str:
    """A text for an object without a JSON form: equal for equal reprs, else different for every object."""
    try:
        return f"<{type(value).__qualname__}: {value!r}>"
    except Exception:
        return f"<{type(value).__qualname__} at {id(value):#x}>"
