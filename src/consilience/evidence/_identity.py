"""Identity: when two sightings say the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._canonical import canonical_text
from ._values import UnusableClaim, text_of

__all__ = ["Components", "Identity", "identity_of", "sort_key", "spelled"]

Components = tuple[Any, ...]
"""What a claim is made of: subject, predicate and object, or the parts of a key."""

Identity = tuple[Any, ...]
"""The same, made comparable: equal for sightings of the same claim."""


def spelled(parts: Sequence[Any], needed: Sequence[str] = ()) -> Components:
    """The parts of a claim as they are reported: outer space is not part of a spelling.

    Raises:
        UnusableClaim: one of the parts, of which ``needed`` gives the names, is None.
    """
    try:
        return tuple(map(str.strip, parts))
    except TypeError:  # not all of them are text
        for name, part in zip(needed, parts, strict=False):
            if part is None:
                raise UnusableClaim(f"{name} is missing") from None
        return tuple([part.strip() if isinstance(part, str) else part for part in parts])


def identity_of(components: Components) -> Identity:
    """Text counts without case; any other value by its type and its JSON form, or its own text.

    Args:
        components: in the spelling of one sighting, without outer space.

    Raises:
        UnusableClaim: a component has neither.

    Example:
        >>> identity_of(("Ada", "Born_in", "LONDON")) == identity_of(("ada", "born_in", "London"))
        True
        >>> identity_of(("1",)) == identity_of((1,)), identity_of((1,)) == identity_of((1.0,))
        (False, False)
    """
    try:
        return tuple(map(str.casefold, components))
    except TypeError:  # not all of them are text
        return tuple([part.casefold() if isinstance(part, str) else (_written(part),) for part in components])


def _written(value: Any) -> str:
    try:
        return canonical_text(value)
    except Exception:  # not plain JSON, or a container that holds itself
        return f"{type(value).__qualname__} {text_of(value)}"


def sort_key(identity: Identity) -> tuple[tuple[str, ...], ...]:
    """The identity as a key for sorting, whatever kinds of values it is made of: text first."""
    return tuple([("", part) if isinstance(part, str) else ("value", *part) for part in identity])
