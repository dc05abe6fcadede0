"""Provenance: where a claim was seen, and how sure that sighting was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

__all__ = ["ProvenanceRecord", "in_order"]


@dataclass(frozen=True, slots=True)
class ProvenanceRecord:
    """One sighting of a claim.

    Attributes:
        source_iri: the document (or model, or person) it comes from; "" when that is not known.
        fragment_key: the part of the source, such as a page or a chunk.
        confidence: how sure this sighting is, 0 to 1.
        excerpt: the words that say so.

    Example:
        >>> ProvenanceRecord("https://example.org/a", "page 2", 0.8, "Ada was born in London.").confidence
        0.8
    """

    source_iri: str
    fragment_key: str
    confidence: float
    excerpt: str = ""


_texts = attrgetter("source_iri", "fragment_key", "excerpt")
_confidence = attrgetter("confidence")


def in_order(records: Iterable[ProvenanceRecord]) -> tuple[ProvenanceRecord, ...]:
    """Highest confidence first, then by text: an order that does not depend on how the records came."""
    return tuple(sorted(sorted(records, key=_texts), key=_confidence, reverse=True))
