"""A read-only mapping that, unlike ``types.MappingProxyType``, can be pickled and copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["ReadOnlyMapping"]

V = TypeVar("V")


class ReadOnlyMapping(Mapping[str, V], Generic[V]):
    """A mapping from text that cannot be changed.

    Example:
        >>> ReadOnlyMapping({"team": 0.6})["team"]
        0.6
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, name: str) -> V:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __reduce__(self) -> tuple[type[ReadOnlyMapping[V]], tuple[dict[str, V]]]:
        return type(self), (self._items,)

    def __repr__(self) -> str:
        return repr(self._items)
