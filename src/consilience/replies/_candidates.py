"""Candidates: the containers found in a reply, kept small."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["Candidate", "Found", "Piece"]

_VALUES_KEPT = 64


class Candidate(NamedTuple):
    """A container that was found: its value, where it stands in the text, and how it was read."""

    value: Any
    start: int
    end: int
    fenced: bool
    repaired: bool


class Piece(NamedTuple):
    """A broken or cut-off container, for repair: its place, and whether its matching close was found."""

    start: int
    end: int
    closed: bool
    fenced: bool


class Found:
    """The candidates of one scan, in order of place.

    A reply can hold a hundred thousand small objects, whose values would take many times the memory of the text. Only
    the first values are kept; the others are read again when they are asked for.

    Args:
        text: the reply.
        read_again: gives the value of the container between two positions, and whether it was read leniently.
    """

    __slots__ = ("_ends", "_read_again", "_starts", "_text", "_values")

    def __init__(self, text: str, read_again: Callable[[int, int, bool], Any]) -> None:
        self._text = text
        self._read_again = read_again
        self._starts = array("q")
        self._ends = array("q")  # with the two flags in the lowest bits
        self._values: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, value: Any, start: int, end: int, fenced: bool, repaired: bool, keep: bool) -> None:
        """Add a candidate; ``keep`` tells that its value must not be read again."""
        if keep or len(self._values) < _VALUES_KEPT:
            self._values[len(self._starts)] = value
        self._starts.append(start)
        self._ends.append(end << 2 | fenced << 1 | repaired)

    def drop_from(self, mark: int) -> None:
        """Forget the candidates from number ``mark`` on."""
        for index in range(mark, len(self._starts)):
            self._values.pop(index, None)
        del self._starts[mark:], self._ends[mark:]

    def drop_arrays_from(self, mark: int) -> None:
        """Forget the arrays among the candidates from number ``mark`` on."""
        objects = [index for index in range(mark, len(self)) if not self._is_array(index)]
        values = {mark + i: self._values[index] for i, index in enumerate(objects) if index in self._values}
        starts = array("q", (self._starts[index] for index in objects))
        ends = array("q", (self._ends[index] for index in objects))
        self.drop_from(mark)
        self._starts += starts
        self._ends += ends
        self._values |= values

    def in_order(self) -> Iterable[Candidate]:
        """The candidates in the order in which they count: fenced, then objects, then arrays."""
        if len(self) < 2:
            return [self._candidate(index) for index in range(len(self))]
        return self._by_rank()

    def _by_rank(self) -> Iterator[Candidate]:
        ranks = bytes(map(self._rank, range(len(self))))
        for rank in sorted(set(ranks)):
            yield from (self._candidate(index) for index, its_rank in enumerate(ranks) if its_rank == rank)

    def _rank(self, index: int) -> int:
        if self._ends[index] & 2:
            return 0
        return 2 if self._is_array(index) else 1

    def _is_array(self, index: int) -> bool:
        return self._text[self._starts[index]] == "["

    def _candidate(self, index: int) -> Candidate:
        start, flagged = self._starts[index], self._ends[index]
        end = flagged >> 2
        repaired = bool(flagged & 1)
        value = self._values[index] if index in self._values else self._read_again(start, end, repaired)
        return Candidate(value, start, end, bool(flagged & 2), repaired)
