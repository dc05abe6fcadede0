"""Consolidation: what many sightings came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from ._provenance import ProvenanceRecord

__all__ = ["ConsolidatedClaim", "ConsolidatedTriple", "Consolidation", "Contradiction"]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidatedTriple:
    """A fact with one confidence and everything that it rests on.

    Attributes:
        subject, predicate, object_value: as the most confident sighting spells them (ties: the first in alphabetical
            order), without outer space.
        final_confidence: the noisy-OR over the sources, 0 to 1, rounded to 6 digits.
        raw_confidences: the confidence of every sighting, highest first.
        provenance: every sighting, in the same order.
        source_diversity: how many different sources the fact rests on; all unknown ones together are one, near
            duplicates (if they were looked for) are one.
        exact_confidence: the confidence before it was rounded.
        contradicted: whether a rival object, of which there can be only one, has at least the same confidence.

    Example:
        >>> from consilience import NoisyORConsolidator
        >>> seen = {"subject": "Ada", "predicate": "born_in", "object_value": "London", "confidence": 0.8}
        >>> fact = NoisyORConsolidator().consolidate([seen])[0]
        >>> fact.object_value, fact.final_confidence, fact.source_diversity
        ('London', 0.8, 1)
    """

    subject: Any
    predicate: Any
    object_value: Any
    final_confidence: float
    raw_confidences: tuple[float, ...]
    provenance: tuple[ProvenanceRecord, ...]
    source_diversity: int
    exact_confidence: float
    contradicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidatedClaim:
    """A claim of any kind with one confidence and everything that it rests on.

    Attributes:
        value: the key of the claim, as the most confident sighting spells it; a tuple if there are several.
        final_confidence: the noisy-OR over the sources, 0 to 1, rounded to 6 digits.
        raw_confidences: the confidence of every sighting, highest first.
        provenance: every sighting, in the same order.
        source_diversity: how many different sources the claim rests on; all unknown ones together are one.
        exact_confidence: the confidence before it was rounded.

    Example:
        >>> from consilience import consolidate
        >>> votes = [{"team": "billing", "confidence": 0.8, "source": name} for name in ("large", "small")]
        >>> [(claim.value, claim.final_confidence) for claim in consolidate(votes, key="team")]
        [('billing', 0.96)]
    """

    value: Any
    final_confidence: float
    raw_confidences: tuple[float, ...]
    provenance: tuple[ProvenanceRecord, ...]
    source_diversity: int
    exact_confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Several objects of one subject, for a predicate that can have one only.

    Attributes:
        subject, predicate: as the most confident rival spells them.
        rivals: the facts that exclude each other, highest confidence first.

    Example:
        >>> from consilience import NoisyORConsolidator
        >>> born = [("London", 0.9), ("Paris", 0.6)]
        >>> seen = [{"subject": "Ada", "predicate": "born_in", "object_value": o, "confidence": c} for o, c in born]
        >>> rivalry = NoisyORConsolidator(functional={"born_in"}).consolidate(seen).contradictions[0]
        >>> [(rival.object_value, rival.final_confidence, rival.contradicted) for rival in rivalry.rivals]
        [('London', 0.9, False), ('Paris', 0.6, True)]
    """

    subject: Any
    predicate: Any
    rivals: tuple[ConsolidatedTriple, ...]

    @property
    def winner(self) -> ConsolidatedTriple | None:
        """The rival that is more confident than all others; None in a tie."""
        return next((rival for rival in self.rivals if not rival.contradicted), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consolidation(Sequence[T_co], Generic[T_co]):
    """The claims that many sightings came to, highest confidence first; a sequence, equal to a list of the same claims.

    Attributes:
        claims: what it is a sequence of: ``ConsolidatedTriple`` or ``ConsolidatedClaim``.
        skipped: pairs of reason and number of the claims that were left out (with ``on_bad="skip"``), most first.
        contradictions: the rival objects of functional predicates, in the order of the claims.
        sources: every source that is named, in alphabetical order.

    Example:
        >>> from consilience import consolidate
        >>> seen = [{"team": "billing", "confidence": 0.8}, {"team": "billing"}, {"team": "sales", "confidence": 2}]
        >>> result = consolidate(seen, key="team", on_bad="skip")
        >>> len(result), result[0].value, result.skipped
        (1, 'billing', (('confidence is missing', 1), ('confidence is not from 0 to 1', 1)))
    """

    claims: tuple[T_co, ...]
    skipped: tuple[tuple[str, int], ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    sources: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        return self.claims[index]

    def __len__(self) -> int:
        return len(self.claims)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Consolidation):
            return self._all() == other._all()
        return list(self.claims) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list: what equals one cannot be hashed

    def _all(self) -> tuple[Any, ...]:
        return self.claims, self.skipped, self.contradictions, self.sources
