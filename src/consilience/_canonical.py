"""Canonical text: one spelling for every JSON value, so that values can be compared, counted and hashed."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

__all__ = ["canonical_text"]

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode
_quote = json.encoder.encode_basestring_ascii
_LARGE = 1 << 64
_INFINITE = float("inf")


def canonical_text(value: Any) -> str:
    """Return the canonical JSON text of a plain JSON value.

    Keys are sorted, there is no space between tokens and everything is ASCII (lone surrogates are escaped, too). Values
    of different types never share a text: ``1``, ``1.0``, ``true`` and ``"1"`` are four. Any depth is safe, whatever
    the caller's stack depth.

    Args:
        value: dict with str keys, list, str, int, float, bool or None, nested in any way.

    Raises:
        TypeError: the value holds something else.
        ValueError: the value contains itself.

    Example:
        >>> canonical_text({"b": [1, 1.0, True], "a": "é"})
        '{"a":"\\\\u00e9","b":[1,1.0,true]}'
    """
    kind = type(value)
    if kind is str:
        return _quote(value)
    # The encoder takes far longer to start than to write a number.
    if (kind is int and -_LARGE < value < _LARGE) or (kind is float and -_INFINITE < value < _INFINITE):
        return repr(value)
    try:
        return _encode(value)
    except (RecursionError, ValueError):  # too deep for the C encoder, or an integer too long for str()
        return _write(value)


def _write(root: Any) -> str:
    """The same text, written with a stack of our own instead of the interpreter's."""
    out: list[str] = []
    on_path: set[int] = set()
    pending: list[Any] = [("value", root)]
    while pending:
        what, item = pending.pop()
        if what == "text":
            out.append(item)
        elif what == "leave":
            on_path.discard(item)
        elif isinstance(item, dict | list):
            if id(item) in on_path:
                raise ValueError("the value contains itself")
            on_path.add(id(item))
            pending.append(("leave", id(item)))
            pending.extend(reversed(_parts(item)))
        else:
            out.append(_scalar(item))
    return "".join(out)


def _parts(container: dict[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    is_object = isinstance(container, dict)
    parts: list[tuple[str, Any]] = [("text", "{" if is_object else "[")]
    if isinstance(container, dict):
        items = sorted(container.items(), key=lambda item: item[0])
    else:
        items = [("", item) for item in container]
    for position, (key, item) in enumerate(items):
        comma = "," if position else ""
        parts.append(("text", f"{comma}{_quote(key)}:" if is_object else comma))
        parts.append(("value", item))
    parts.append(("text", "}" if is_object else "]"))
    return parts


def _scalar(value: Any) -> str:
    try:
        return _encode(value)
    except ValueError:
        return format(Decimal(value), "f")  # knows no limit of digits
