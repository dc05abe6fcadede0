"""Excerpts: short, printable pieces of text and values that nobody vouches for, for messages, logs and notebooks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ._ballots import ballot

__all__ = ["excerpt", "excerpt_error", "excerpt_value", "fields_repr", "plural"]

_PLAIN_SCALARS = frozenset({int, float, bool, type(None)})


def excerpt(text: str, limit: int = 80) -> str:
    r"""At most about ``limit`` characters of ``text``, with control characters and lone surrogates escaped.

    Example:
        >>> excerpt("one\ntwo and three", limit=9)
        'one\\ntwo a…'
    """
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return cut + "…" if len(text) > limit else cut


def excerpt_value(value: Any, limit: int = 60) -> str:
    """A short form of a vote: text in quotes, numbers as Python writes them, anything else as canonical JSON.

    Example:
        >>> excerpt_value("billing"), excerpt_value({"b": 1, "a": None})
        ("'billing'", '{"a":null,"b":1}')
    """
    if type(value) is str:
        return repr(value if len(value) <= limit else value[:limit] + "…")
    try:
        return repr(value) if type(value) in _PLAIN_SCALARS else excerpt(ballot(value), limit)
    except ValueError:  # an int with more digits than Python agrees to print
        return excerpt(ballot(value), limit)


def excerpt_error(error: BaseException, limit: int = 300) -> str:
    """``TypeName: message`` of an exception, also of one whose own text raises.

    Example:
        >>> excerpt_error(KeyError("team"))
        "KeyError: 'team'"
    """
    name = type(error).__name__
    try:
        message = excerpt(str(error).strip(), limit)
    except Exception:
        message = ""
    return f"{name}: {message}" if message else name


def fields_repr(instance: Any) -> str:
    """The repr of a dataclass instance, also when a value in it has none: a log line must not raise."""
    shown = [f"{each.name}={_guarded_repr(getattr(instance, each.name))}" for each in fields(instance) if each.repr]
    return f"{type(instance).__qualname__}({', '.join(shown)})"


def _guarded_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return excerpt_value(value)


def plural(number: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> plural(1, "vote"), plural(3, "vote")
        ('1 vote', '3 votes')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
