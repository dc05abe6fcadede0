"""Consolidation of a million sightings of 100,000 facts from an iterator, beside a plain dictionary loop.

The loop keeps the highest confidence of each source and multiplies. It keeps no provenance and no spelling, and checks
nothing.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from typing import Any

from benchmarks._measuring import peak_memory, seconds, verdict
from consilience import ConsolidatedTriple, Consolidation, NoisyORConsolidator

SIGHTINGS = 1_000_000
FACTS = 100_000
SOURCES = 5_000


def sightings(count: int, facts: int) -> Iterator[dict[str, Any]]:
    """Facts in turn, each by any of many sources; every fifth time written in capitals."""
    chance = random.Random(0)
    for number in range(count):
        fact = number % facts
        city = f"City {fact % 1000}"
        yield {
            "subject": f"Person {fact}",
            "predicate": "born_in",
            "object_value": city.upper() if number % 5 == 0 else city,
            "confidence": chance.random(),
            "fragment_key": f"page {number % 30}",
            "evidence": {"source_iri": f"https://example.org/{chance.randrange(SOURCES)}", "excerpt": "born there"},
        }


def dictionary_loop(triples: Iterator[dict[str, Any]]) -> dict[tuple[str, ...], float]:
    facts: dict[tuple[str, ...], dict[str, float]] = {}
    for triple in triples:
        key = tuple(triple[name].strip().casefold() for name in ("subject", "predicate", "object_value"))
        highest = facts.setdefault(key, {})
        source = triple["evidence"]["source_iri"]
        highest[source] = max(highest.get(source, 0.0), triple["confidence"])
    confidences = {}
    for key, highest in facts.items():
        none_right = 1.0
        for confidence in highest.values():
            none_right *= 1.0 - confidence
        confidences[key] = 1.0 - none_right
    return dict(sorted(confidences.items(), key=lambda item: -item[1]))


def consolidate(count: int, facts: int) -> Consolidation[ConsolidatedTriple]:
    return NoisyORConsolidator().consolidate(sightings(count, facts))


def key_of(fact: ConsolidatedTriple) -> tuple[str, ...]:
    return tuple(part.casefold() for part in (fact.subject, fact.predicate, fact.object_value))


def main() -> None:
    alone = seconds(lambda: deque(sightings(SIGHTINGS, FACTS), maxlen=0), 2)
    loop = seconds(lambda: dictionary_loop(sightings(SIGHTINGS, FACTS)), 2)
    whole = seconds(lambda: consolidate(SIGHTINGS, FACTS), 2)
    growth = seconds(lambda: consolidate(500_000, 50_000)) / seconds(lambda: consolidate(250_000, 25_000))
    print(f"{SIGHTINGS:,} sightings of {FACTS:,} facts, from an iterator")
    print(f"{'making the sightings alone':32} {alone:6.2f} s")
    print(f"{'a plain dictionary loop':32} {loop:6.2f} s")
    print(f"{'consilience':32} {whole:6.2f} s (at most 10) {verdict(whole <= 10)}, {whole / loop:.1f} times the loop")
    print(f"{'growth, twice the sightings':32} {growth:6.2f} (at most 2.3) {verdict(growth <= 2.3)}")

    many, few = peak_memory(lambda: consolidate(200_000, 20_000)), peak_memory(lambda: consolidate(100_000, 10_000))
    print(f"{'memory':32} {many / 200_000:6.0f} bytes a sighting, the fact's share included")
    print(f"{'growth, twice the sightings':32} {many / few:6.2f} (at most 2.2) {verdict(many / few <= 2.2)}")

    expected = dictionary_loop(sightings(100_000, 10_000))
    furthest = max(abs(fact.exact_confidence - expected[key_of(fact)]) for fact in consolidate(100_000, 10_000))
    print(f"{'furthest from the loop':32} {furthest:.0e} (at most 1e-14) {verdict(furthest <= 1e-14)}")


if __name__ == "__main__":
    main()
