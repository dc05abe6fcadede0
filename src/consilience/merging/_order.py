"""Order: in which order the keys of an object and the items of a list come out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any, TypeVar

__all__ = ["key_order", "majority_order", "usual_key_order"]

H = TypeVar("H", bound=Hashable)


def majority_order(
    members: Sequence[H], positions: Mapping[H, Mapping[int, int]], weights: Mapping[int, int]
) -> list[H]:
    """Put members into the order in which most of the weight has them, two by two.

    Two members that no revision has both of, or on which the weights are level, are compared by their mean position
    and then by the order in which they are given. Where the majorities contradict each other (a before b before c
    before a), every two neighbours of the result still stand as the majority has them.

    Args:
        members: what to order; the order given decides the last ties, so it must not depend on chance.
        positions: member -> revision -> position.
        weights: revision -> weight.

    Example:
        >>> majority_order("ab", {"a": {0: 1, 1: 0, 2: 1}, "b": {0: 0, 1: 1, 2: 0}}, {0: 1, 1: 1, 2: 1})
        ['b', 'a']
    """
    places = {member: _mean_position(positions[member], weights) for member in members}

    def compare(one: H, other: H) -> int:
        first, second = positions[one], positions[other]
        lead = 0
        for revision, position in first.items():
            if revision in second and revision in weights:
                lead += weights[revision] if position < second[revision] else -weights[revision]
        return _sign(-lead or places[one] - places[other])

    # Nearly in order already, so that the second sort takes about one comparison a member.
    nearly = sorted(members, key=places.__getitem__)
    return sorted(nearly, key=cmp_to_key(compare))


def key_order(value: Any) -> tuple[str, ...]:
    """All keys in a value in the order in which they are written, the only way in which equal values can differ.

    Example:
        >>> key_order({"b": [{"d": 1, "c": 2}], "a": 3})
        ('b', 'd', 'c', 'a')
    """
    keys: list[str] = []
    pending: list[Any] = [value]
    while pending:
        part = pending.pop()
        if type(part) is tuple:
            key, part = part
            keys.append(key)
        if type(part) is dict:
            pending.extend(reversed(part.items()))
        elif type(part) is list:
            pending.extend(reversed(part))
    return tuple(keys)


def usual_key_order(values: Mapping[int, Any], weights: Mapping[int, int]) -> Any:
    """That of several equal values whose keys are in the order with the most weight; on a tie the first order.

    Args:
        values: revision -> value, equal but for the order of keys.
        weights: revision -> weight.

    Example:
        >>> usual_key_order({0: {"b": 1, "a": 2}, 1: {"a": 2, "b": 1}}, {0: 1, 1: 1})
        {'a': 2, 'b': 1}
    """
    total: dict[tuple[str, ...], int] = {}
    written = {}
    for revision, value in values.items():
        order = key_order(value)
        total[order] = total.get(order, 0) + weights[revision]
        written[order] = value
    return written[min(total, key=lambda order: (-total[order], order))]


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _mean_position(positions: Mapping[int, int], weights: Mapping[int, int]) -> float:
    known = [(weights[revision], position) for revision, position in positions.items() if revision in weights]
    total = sum(weight for weight, _ in known)
    return sum(weight * position for weight, position in known) / total if total else math.inf
