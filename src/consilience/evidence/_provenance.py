"""Provenance: where a claim was seen, and how sure that sighting was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

__all__ = ["ProvenanceRecord", "Sighting", "in_order"]


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


Sighting = tuple[float, str, str, str]
"""Confidence, source, fragment and excerpt, as they are gathered.

A plain tuple, because the garbage collector stops looking at tuples of text and numbers. It would go through a million
records again and again while they are gathered, which takes as long as all the rest.
"""

_confidence = itemgetter(0)
_texts = itemgetter(1, 2, 3)


def in_order(sightings: Iterable[Sighting]) -> tuple[ProvenanceRecord, ...]:
    """Highest confidence first, then by text: an order that does not depend on how the sightings came."""
    ordered = sorted(sorted(sightings, key=_texts), key=_confidence, reverse=True)
    return tuple([ProvenanceRecord(source, part, confidence, text) for confidence, source, part, text in ordered])
