"""Contradictions: rival objects of predicates that can have one object only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isclose
from typing import Any

from .._errors import SettingsError
from ._consolidation import ConsolidatedTriple, Contradiction
from ._identity import Identity, identity_of, spelled

__all__ = ["functional_predicates", "mark_contradicted"]

_ROUNDING = 1e-12
"""Confidences that differ by no more than this are the same: the difference may be that of two orders of arithmetic."""


def functional_predicates(functional: Any) -> frozenset[Any]:
    """The predicates as they are compared.

    Raises:
        TypeError: it is one text, or not a collection of texts.
        SettingsError: one of them is blank.
    """
    if isinstance(functional, str | bytes) or not isinstance(functional, Iterable):
        raise TypeError(f"functional must be several predicates, such as {{'born_in'}}, got {functional!r}")
    predicates = list(functional)
    for predicate in predicates:
        if not isinstance(predicate, str):
            raise TypeError(f"functional must hold predicates as str, got {predicate!r}")
        if not predicate.strip():
            raise SettingsError(f"functional must hold predicates that are not blank, got {predicate!r}")
    return frozenset(identity_of(spelled(predicates)))


def mark_contradicted(
    facts: dict[Identity, ConsolidatedTriple], functional: frozenset[Any]
) -> tuple[Contradiction, ...]:
    """Mark in ``facts`` those that lose against a rival object; all rivals lose a tie for the first place.

    Args:
        facts: facts by identity, highest confidence first; losers are replaced by marked ones.
        functional: predicates as they are compared.

    Returns:
        One contradiction for each subject and predicate with several objects.
    """
    rivalries: dict[tuple[Any, Any], list[Identity]] = {}
    for identity in facts:
        subject, predicate, _ = identity
        if predicate in functional:
            rivalries.setdefault((subject, predicate), []).append(identity)
    return tuple(_settled(facts, identities) for identities in rivalries.values() if len(identities) > 1)


def _settled(facts: dict[Identity, ConsolidatedTriple], identities: list[Identity]) -> Contradiction:
    first, second = (facts[identity].exact_confidence for identity in identities[:2])
    tied = isclose(first, second, rel_tol=_ROUNDING)
    for identity in identities[0 if tied else 1 :]:
        facts[identity] = replace(facts[identity], contradicted=True)
    rivals = tuple(facts[identity] for identity in identities)
    return Contradiction(subject=rivals[0].subject, predicate=rivals[0].predicate, rivals=rivals)
