"""Reconciliation: the combination of candidates that satisfies the constraints and loses the least weight."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._canonical import canonical_text
from ._constraints import concerns
from ._options import ABSENT, Branch, Decision, Option, assemble
from ._paths import Path

__all__ = ["Reconciliation", "reconcile"]

Changes = tuple[tuple[int, int], ...]
"""Changes to the consensus: (number of a place, number of an alternative there), in order of place."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The outcome of a search.

    ``choices`` maps ``id`` of a decision to the option to take; None when nothing satisfied the constraints.
    ``tried`` counts combinations; ``hit_limit`` says that the search ended at its bound.
    """

    choices: dict[int, int] | None
    tried: int
    hit_limit: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """A decision that can be changed: its alternatives with the weight that each would lose, least first."""

    decision: Decision
    alternatives: tuple[tuple[int, str, int], ...]


def reconcile(
    root: Decision,
    satisfies: Callable[[Any], bool],
    is_supported: Callable[[Option], bool],
    fields: Sequence[Path],
    max_repairs: int,
) -> Reconciliation:
    """Search for the least costly change to the consensus that satisfies the constraints.

    Combinations come in order of the weight they lose (best first; Lawler 1972): first of the fields named, then of
    all fields. Among equally costly ones the fewest changes win, then canonical text.

    Args:
        root: the decision on the whole record.
        satisfies: whether a merged record satisfies the constraints.
        is_supported: whether an answer has enough sources to be taken; absence needs none.
        fields: patterns of the fields to try first; none to try all at once.
        max_repairs: the most combinations to try.
    """
    places = sorted(_places(root, Path(), is_supported), key=lambda place: place.alternatives[0])
    named = [place for place in places if concerns(place.decision.pattern, fields)] if fields else []
    tried = 0
    for scope in [named, places] if named else [places]:
        found, spent, hit_limit = _search(root, scope, satisfies, max_repairs - tried)
        tried += spent
        if found is not None or hit_limit:
            return Reconciliation(found, tried, hit_limit and found is None)
    return Reconciliation(None, tried, False)


def _places(decision: Decision, path: Path, is_supported: Callable[[Option], bool]) -> Iterator[_Place]:
    """Every decision in the record that has more than one answer, itself and below."""
    alternatives = sorted(
        (loss, f"{path} {_text(option.value)}", index)
        for index, option in enumerate(decision.options)
        if index != decision.choice and (loss := decision.best.weight - option.weight) >= 0 and option.revisions
        if option.value is ABSENT or is_supported(option)
    )
    if alternatives and path:
        yield _Place(decision, tuple(alternatives))
    branch = decision.chosen.value
    if isinstance(branch, Branch):
        for place, (key, child) in enumerate(branch.children):
            yield from _places(child, Path((*path, place if key is None else key)), is_supported)


def _text(value: Any) -> str:
    if value is ABSENT:
        return ""
    if isinstance(value, Branch):
        return " ".join(f"{key}:{_text(child.chosen.value)}" for key, child in value.children)
    return canonical_text(value)


def _search(
    root: Decision, places: Sequence[_Place], satisfies: Callable[[Any], bool], limit: int
) -> tuple[dict[int, int] | None, int, bool]:
    """The best satisfying choices, the combinations tried, and whether the limit was reached."""
    best: tuple[tuple[int, int, tuple[str, ...]], dict[int, int]] | None = None
    tried = 0
    for rank, changes in _cheapest_first(places):
        if best is not None and rank > best[0]:
            break
        if tried == limit:
            return (None if best is None else best[1]), tried, True
        tried += 1
        choices = {id(places[p].decision): places[p].alternatives[a][2] for p, a in changes}
        if satisfies(assemble(root, choices)):
            best = (rank, choices)
    return (None if best is None else best[1]), tried, False


def _cheapest_first(places: Sequence[_Place]) -> Iterator[tuple[tuple[int, int, tuple[str, ...]], Changes]]:
    """Every combination of changes once, in order of loss, number of changes, and text.

    A combination is followed by three others: with the next alternative at its last place, with a change at the
    place after that, and with its last change moved to the place after it. Places are in order of their cheapest
    alternative, so none of these is cheaper.
    """

    def ranked(changes: Changes) -> tuple[tuple[int, int, tuple[str, ...]], Changes]:
        chosen = [places[place].alternatives[alternative] for place, alternative in changes]
        return (sum(loss for loss, _, _ in chosen), len(changes), tuple(text for _, text, _ in chosen)), changes

    heap = [ranked(((0, 0),))] if places else []
    while heap:
        rank, changes = heapq.heappop(heap)
        yield rank, changes
        *before, (place, alternative) = changes
        if alternative + 1 < len(places[place].alternatives):
            heapq.heappush(heap, ranked((*before, (place, alternative + 1))))
        if place + 1 < len(places):
            heapq.heappush(heap, ranked((*changes, (place + 1, 0))))
            if alternative == 0:
                heapq.heappush(heap, ranked((*before, (place + 1, 0))))
