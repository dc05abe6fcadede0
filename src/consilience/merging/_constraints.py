"""Constraints: what must hold between several fields of one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._coroutines import require_plain_function
from ..replies._validation import is_boolean
from ._paths import Path, parse_path, pattern_of
from ._revisions import plain_json

__all__ = ["Constraint", "constraint", "is_met"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition on a record; make it with ``constraint``.

    Example:
        >>> constraint(len, fields=["items[].qty"]).fields
        (Path('items[].qty'),)
    """

    check: Callable[[Any], Any]
    fields: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.check):
            raise TypeError(f"constraint takes a function of the record, got {type(self.check).__name__}")
        require_plain_function("check", self.check)
        if isinstance(self.fields, str) or not isinstance(self.fields, Iterable):
            raise TypeError(f'fields must be a list of paths such as ["total"], got {self.fields!r}')
        object.__setattr__(self, "fields", tuple(map(parse_path, self.fields)))


def constraint(check: Callable[[Any], Any], *, fields: Iterable[str] = ()) -> Constraint:
    """Declare what must hold between several fields.

    Args:
        check: a function of the merged record (plain JSON); it returns False or raises when the record does not
            satisfy it.
        fields: paths or patterns of the fields involved, which are tried first; all fields when empty.

    Raises:
        TypeError: ``check`` is not a function, or an asynchronous one.
        SettingsError: a field is not a path.

    Example:
        >>> adds_up = constraint(lambda r: r["total"] == sum(i["price"] for i in r["items"]),
        ...                      fields=["total", "items[].price"])
        >>> [str(path) for path in adds_up.fields]
        ['total', 'items[].price']
    """
    return Constraint(check, fields)  # type: ignore[arg-type]  # it makes paths of them


def is_met(constraints: Sequence[Constraint], record: Any) -> bool:
    """Whether a record satisfies all constraints. One that raises is not met: fields it needs may be missing."""
    try:
        # A check may change what it is given, and the next one must not see that.
        return not any(is_boolean(each.check(plain_json(record)), False) for each in constraints)
    except Exception:
        return False


def concerns(pattern: Sequence[str | int], fields: Sequence[Path]) -> bool:
    """Whether a place is one of these fields, or a container that holds one."""
    place = pattern_of(pattern)
    return any(place == field[: len(place)] for field in fields)
