"""Near duplicates: sources that say nearly the same words are one source."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from ._provenance import ProvenanceRecord

__all__ = ["originals"]


def originals(provenance: Iterable[ProvenanceRecord], similarity: float) -> dict[str, str]:
    """For each source of a claim the source that stands for it: one for all that share nearly the same excerpt.

    Copies of copies are copies: sources are one when a chain of near duplicates joins them. Excerpts are compared
    without case and with collapsed space; a blank excerpt is like no other.

    Args:
        provenance: the sightings of one claim.
        similarity: the least similarity of two excerpts that count as nearly the same, from 0 (excluded) to 1: twice
            the length of their longest common subsequence over the sum of their lengths.

    Example:
        >>> from consilience.evidence import ProvenanceRecord
        >>> said = {"a": "Ada lived in London.", "b": "Ada lived in London!"}
        >>> originals([ProvenanceRecord(source, "", 0.8, excerpt) for source, excerpt in said.items()], 0.9)
        {'a': 'a', 'b': 'a'}
    """
    groups = _Groups()
    said: dict[str, str] = {}
    for record in provenance:
        groups.find(record.source_iri)
        excerpt = " ".join(record.excerpt.casefold().split())
        if excerpt:
            groups.join(record.source_iri, said.setdefault(excerpt, record.source_iri))
    for first, *others in _chains(list(said), similarity):
        for excerpt in others:
            groups.join(said[first], said[excerpt])
    return groups.representatives()


def _chains(excerpts: list[str], similarity: float) -> Iterator[list[str]]:
    """The different excerpts, put together where a chain of nearly the same ones joins them."""
    if len(excerpts) < 2 or similarity == 1:
        return
    from rapidfuzz import fuzz, process

    rest = sorted(excerpts, key=len)
    while rest:
        chain = [rest.pop()]
        for excerpt in chain:  # which grows meanwhile
            start, end = _of_similar_length(excerpt, rest, similarity)
            alike = process.extract_iter(
                excerpt, rest[start:end], scorer=fuzz.ratio, processor=None, score_cutoff=100 * similarity
            )
            positions = sorted((start + position for _, _, position in alike), reverse=True)
            chain += [rest.pop(position) for position in positions]
        yield chain


def _of_similar_length(excerpt: str, ordered: list[str], similarity: float) -> tuple[int, int]:
    """Where those stand in a list, ordered by length, that are neither too short nor too long to be nearly the same."""
    most = (2 / similarity - 1) * (1 + 1e-9)  # of one length over the other, whatever the rounding
    return (
        bisect_left(ordered, len(excerpt) / most, key=len),
        bisect_right(ordered, len(excerpt) * most, key=len),
    )


class _Groups:
    """Disjoint sets of sources; the first in alphabetical order stands for its set."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, source: str) -> str:
        parents = self._parents
        parent = parents.setdefault(source, source)
        while parent != source:
            parents[source] = parents[parent]  # halves the path
            source, parent = parent, parents[parent]
        return source

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.find(one), self.find(other)))
        self._parents[second] = first

    def representatives(self) -> dict[str, str]:
        return {source: self.find(source) for source in sorted(self._parents)}
