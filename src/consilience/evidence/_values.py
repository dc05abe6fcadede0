"""Values: text and confidences as sightings hold them, and how values are shown."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

from .._errors import received

__all__ = ["UnusableClaim", "confidence_of", "text_of"]

_NOT_SHOWN: Any = object()


class UnusableClaim(Exception):  # noqa: N818 - a verdict on a claim, caught inside this room
    """A claim that cannot count. The reason is the same for all of its kind; the message adds the value received."""

    def __init__(self, reason: str, value: Any = _NOT_SHOWN) -> None:
        super().__init__(reason if value is _NOT_SHOWN else f"{reason}, got {received(value)}")
        self.reason = reason


def text_of(value: Any) -> str:
    """A value as text; "" for None.

    Raises:
        UnusableClaim: it has no text.
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, str):
        return str.__str__(value)  # str() of an enumeration's member would be its name
    try:
        return str(value)
    except Exception as error:
        raise UnusableClaim(f"a {type(value).__name__} cannot be written as text") from error


def confidence_of(value: Any) -> float:
    """A confidence as a float from 0 to 1.

    Raises:
        UnusableClaim: it is missing, no number, or outside.
    """
    number = value if type(value) is float else _as_float(value)
    if 0 <= number <= 1:
        return number + 0.0  # makes 0.0 of -0.0: equal numbers that look different would depend on the order
    if number != number:
        raise UnusableClaim("confidence is NaN")
    raise UnusableClaim("confidence is not from 0 to 1", value)


def _as_float(value: Any) -> float:
    if value is None:
        raise UnusableClaim("confidence is missing")
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise UnusableClaim("confidence is not a number", value)
    try:
        return float(value)
    except OverflowError:
        raise UnusableClaim("confidence is not from 0 to 1", value) from None
    except ValueError:  # a signalling NaN of decimal
        raise UnusableClaim("confidence is NaN") from None
