"""Centres: groups for a relation that need not be transitive, each of what is within reach of one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import Any

__all__ = ["Run", "around_the_heaviest", "heaviest_first"]


def around_the_heaviest(
    values: Sequence[Any], weights: Sequence[int], same: Callable[[Any, Any], bool]
) -> list[list[int]]:
    """Groups for a relation that need not be transitive: every value within reach of a centre, heaviest group first."""
    numbers = range(len(values))
    return heaviest_first(
        [[other for other in numbers if one == other or same(values[one], values[other])] for one in numbers], weights
    )


@dataclass(frozen=True, slots=True)
class Run(Sequence[int]):
    """Some neighbours in a list, which many runs share."""

    whole: list[int]
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, index: Any) -> Any:
        return self.whole[self.start : self.end][index]

    def __iter__(self) -> Iterator[int]:
        return islice(self.whole, self.start, self.end)


def heaviest_first(reach: Sequence[Sequence[int]], weights: Sequence[int]) -> list[list[int]]:
    """Take the centre with the most weight within its reach, with all of that; then the next, until nothing is left.

    Of equally good centres the one that weighs more wins, then the first. Weight within reach only ever shrinks: what
    is known of a centre is a bound, and is looked at again only when it comes first.
    """
    left = list(weights)
    taken = [False] * len(reach)
    known = [(-sum(map(left.__getitem__, others)), -weights[one], one) for one, others in enumerate(reach)]
    heapify(known)
    groups = []
    while known:
        heaviest, own, centre = known[0]
        if taken[centre]:
            heappop(known)
            continue
        within = -sum(map(left.__getitem__, reach[centre]))
        if within != heaviest:
            heapreplace(known, (within, own, centre))
            continue
        group = sorted(other for other in reach[centre] if not taken[other])
        groups.append(group)
        for member in group:
            taken[member], left[member] = True, 0
    return sorted(groups)
