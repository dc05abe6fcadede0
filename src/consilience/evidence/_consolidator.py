"""The consolidator: settings and verbs that make one confidence of many sightings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeVar

from .._arguments import check_share
from .._errors import SettingsError
from ._claims import ClaimReader, Reader, TripleReader
from ._consolidation import ConsolidatedClaim, ConsolidatedTriple, Consolidation, Contradiction
from ._contradictions import functional_predicates, mark_contradicted
from ._gathering import Gathering
from ._identity import Components, Identity, sort_key
from ._source_model import SourceModel

__all__ = ["NoisyORConsolidator", "consolidate"]

logger = logging.getLogger("consilience")

T = TypeVar("T", ConsolidatedTriple, ConsolidatedClaim)
OnBad = Literal["raise", "skip"]
Part = str | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class NoisyORConsolidator:
    """Consolidates triples: many sightings of a fact become one fact with one confidence and all its sources.

    The confidence is one minus the product, over the sources, of one minus the highest confidence within that source.
    Repetition inside one source is one piece of evidence.

    Args:
        trusted_threshold: the least ``final_confidence`` of a fact that is trusted, 0 to 1.
        functional: the predicates that can have one object only, such as ``{"born_in"}``; compared without case and
            outer space.
        leak: the probability, 0 to 1, of any fact before there is evidence (a prior).
        correlation: how much sources depend on each other, 0 to 1: each source but the most confident is discounted by
            this share. 0 takes them for independent, 1 lets only the most confident count.
        near_duplicates: whether sources whose excerpts for a fact are nearly the same are one source: False, True (a
            similarity of 0.9) or the least similarity, above 0 and up to 1 (the same but for case and space).
        on_bad: what a triple without components or a usable confidence does: "raise", or "skip" to count it.

    Raises:
        SettingsError: a value that is not allowed.
        TypeError: a value of the wrong type.

    Source: Pearl 1988, Probabilistic Reasoning in Intelligent Systems (noisy-OR); Henrion 1989, Some practical issues
        in constructing belief networks (leak).

    Example:
        >>> def seen(place, confidence, source):
        ...     fact = {"subject": "Ada", "predicate": "born_in", "object_value": place}
        ...     return {**fact, "confidence": confidence, "evidence": {"source_iri": source}}
        >>> consolidator = NoisyORConsolidator()
        >>> sightings = [seen("London", 0.8, "a"), seen("london ", 0.7, "b"), seen("Paris", 0.4, "c")]
        >>> facts = consolidator.consolidate(sightings)
        >>> [(fact.object_value, fact.final_confidence, fact.source_diversity) for fact in facts]
        [('London', 0.94, 2), ('Paris', 0.4, 1)]
        >>> trusted, remaining = consolidator.split_by_threshold(facts)
        >>> len(trusted), len(remaining)
        (1, 1)
    """

    trusted_threshold: float = 0.75
    _: KW_ONLY
    functional: Iterable[str] = ()
    leak: float = 0.0
    correlation: float = 0.0
    near_duplicates: bool | float = False
    on_bad: OnBad = "raise"

    def __post_init__(self) -> None:
        check_share("trusted_threshold", self.trusted_threshold)
        object.__setattr__(self, "functional", functional_predicates(self.functional))
        _check_on_bad(self.on_bad)
        self._source_model()

    def consolidate(self, triples: Iterable[Any]) -> Consolidation[ConsolidatedTriple]:
        """Group the sightings of each fact and give it one confidence.

        Sightings are of one fact when subject, predicate and object are equal without case and outer space. The order
        of the sightings changes nothing.

        Args:
            triples: objects or mappings with ``subject``, ``predicate``, ``object_value``, ``confidence`` (0 to 1) and,
                if known, ``evidence`` (with ``source_iri`` and ``excerpt``) and ``fragment_key``. An iterator is read
                once, and only what the result holds is kept. Triples without a source come from one unknown source.

        Returns:
            The facts, highest confidence first, with what was skipped, the contradictions and the sources.

        Raises:
            SettingsError: a triple cannot be used (unless ``on_bad="skip"``); the message names it and says why.
            TypeError: ``triples`` is not an iterable of triples.
        """
        gathering = _gathered(triples, TripleReader(), self.on_bad)
        facts = _ranked(gathering, self._source_model(), _triple)
        contradictions = mark_contradicted(facts, frozenset(self.functional))
        return _result(gathering, facts, contradictions)

    def split_by_threshold(
        self, consolidated: Iterable[ConsolidatedTriple]
    ) -> tuple[list[ConsolidatedTriple], list[ConsolidatedTriple]]:
        """Separate the facts to act on from the others, both in the order given.

        Args:
            consolidated: what ``consolidate`` returned, or some of it.

        Returns:
            Trusted facts, with a ``final_confidence`` of at least ``trusted_threshold`` and without a rival object that
            is at least as confident; and all remaining facts.

        Example:
            >>> fact = {"subject": "Ada", "predicate": "born_in"}
            >>> sightings = [("London", 0.9), ("Paris", 0.8)]
            >>> triples = [{**fact, "object_value": place, "confidence": share} for place, share in sightings]
            >>> consolidator = NoisyORConsolidator(0.75, functional={"born_in"})
            >>> trusted, remaining = consolidator.split_by_threshold(consolidator.consolidate(triples))
            >>> trusted[0].object_value, remaining[0].object_value
            ('London', 'Paris')
        """
        trusted: list[ConsolidatedTriple] = []
        remaining: list[ConsolidatedTriple] = []
        for fact in consolidated:
            is_trusted = fact.final_confidence >= self.trusted_threshold and not fact.contradicted
            (trusted if is_trusted else remaining).append(fact)
        return trusted, remaining

    def _source_model(self) -> SourceModel:
        return SourceModel(correlation=self.correlation, leak=self.leak, near_duplicates=self.near_duplicates)


def consolidate(
    claims: Iterable[Any],
    *,
    key: Part | tuple[Part, ...],
    confidence: Part = "confidence",
    source: Part | None = "source",
    fragment: Part | None = None,
    excerpt: Part | None = None,
    leak: float = 0.0,
    correlation: float = 0.0,
    near_duplicates: bool | float = False,
    on_bad: OnBad = "raise",
) -> Consolidation[ConsolidatedClaim]:
    """Consolidate claims of any kind (records, field values, votes) as ``NoisyORConsolidator`` does triples.

    Args:
        claims: objects or mappings; an iterator is read once, and only what the result holds is kept.
        key: what is claimed: the name of a field or attribute, several as a tuple, or a function of the claim. Text is
            compared without case and outer space, other values by type and JSON form; None is a value.
        confidence: the name of the confidence (0 to 1), or a function.
        source: the name of the source, or a function; None, or None as its value, is one unknown source.
        fragment: the name of the part of the source, or a function; None for none.
        excerpt: the name of the words that say so, or a function; None for none.
        leak: the probability, 0 to 1, of any claim before there is evidence.
        correlation: how much sources depend on each other, 0 to 1.
        near_duplicates: whether sources with nearly the same excerpts are one source: False, True, or the least
            similarity.
        on_bad: what a claim without the key or a usable confidence does: "raise", or "skip" to count it.

    Returns:
        The claims, highest confidence first, with what was skipped and the sources.

    Raises:
        SettingsError: a value that is not allowed, or a claim that cannot be used (unless ``on_bad="skip"``).
        TypeError: a value of the wrong type.

    Source: as ``NoisyORConsolidator``.

    Example:
        >>> votes = [("billing", 0.8, "large"), ("billing", 0.7, "large"), ("Billing", 0.5, "small")]
        >>> result = consolidate(votes, key=lambda v: v[0], confidence=lambda v: v[1], source=lambda v: v[2])
        >>> result[0].value, result[0].final_confidence, result[0].raw_confidences
        ('billing', 0.9, (0.8, 0.7, 0.5))
    """
    reader = ClaimReader(key=key, confidence=confidence, source=source, fragment=fragment, excerpt=excerpt)
    model = SourceModel(correlation=correlation, leak=leak, near_duplicates=near_duplicates)
    _check_on_bad(on_bad)
    gathering = _gathered(claims, reader, on_bad)
    return _result(gathering, _ranked(gathering, model, _claim))


def _check_on_bad(on_bad: Any) -> None:
    if on_bad not in ("raise", "skip"):
        raise SettingsError(f'on_bad must be "raise" or "skip", got {on_bad!r}')


# From sightings to claims.


def _gathered(claims: Iterable[Any], reader: Reader, on_bad: OnBad) -> Gathering:
    gathering = Gathering(reader, skip=on_bad == "skip")
    gathering.take(claims)
    return gathering


def _ranked(gathering: Gathering, model: SourceModel, make: Callable[..., T]) -> dict[Identity, T]:
    """What was gathered, by identity, highest confidence first."""
    claims: dict[Identity, T] = {}
    for identity, components, provenance in gathering.drain():
        exact, sources = model.worth(provenance)
        claims[identity] = make(
            components,
            final_confidence=round(exact, 6),
            raw_confidences=tuple([record.confidence for record in provenance]),
            provenance=provenance,
            source_diversity=sources,
            exact_confidence=exact,
        )
    return dict(sorted(claims.items(), key=_rank))


def _rank(item: tuple[Identity, ConsolidatedTriple | ConsolidatedClaim]) -> tuple[Any, ...]:
    identity, claim = item
    return -claim.final_confidence, -claim.exact_confidence, sort_key(identity)


def _triple(components: Components, **worth: Any) -> ConsolidatedTriple:
    subject, predicate, object_value = components
    return ConsolidatedTriple(subject=subject, predicate=predicate, object_value=object_value, **worth)


def _claim(components: Components, **worth: Any) -> ConsolidatedClaim:
    return ConsolidatedClaim(value=components[0] if len(components) == 1 else components, **worth)


def _result(
    gathering: Gathering, claims: dict[Identity, T], contradictions: tuple[Contradiction, ...] = ()
) -> Consolidation[T]:
    sources = {record.source_iri for claim in claims.values() for record in claim.provenance} - {""}
    logger.info(
        "consolidated %d sightings into %d claims from %d named sources; %d skipped, %d contradictions",
        sum(len(claim.provenance) for claim in claims.values()),
        len(claims),
        len(sources),
        sum(count for _, count in gathering.skipped),
        len(contradictions),
    )
    return Consolidation(
        claims=tuple(claims.values()),
        skipped=gathering.skipped,
        contradictions=contradictions,
        sources=tuple(sorted(sources)),
    )
