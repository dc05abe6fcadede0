"""Facts from three documents, one of them copied: one confidence for each fact, with all its sources."""

from collections.abc import Iterator
from typing import Any

from consilience import ConsolidatedTriple, NoisyORConsolidator

# What a model read out of the documents, fragment by fragment. The mirror is a copy of the web page.
EXTRACTED = {
    ("harbour survey", "page 4", "Norvik Light was completed in 1862."): [("Norvik Light", "built_in", "1862", 0.8)],
    ("harbour survey", "page 31", "Repainted in 1872, ten years old."): [("norvik light", "built_in", "1862", 0.7)],
    ("harbour survey", "page 7", "The tower is 28 m high."): [("Norvik Light", "height", "28 m", 0.8)],
    ("guidebook", "page 90", "The light has burned since 1862."): [("Norvik Light", "built_in", "1862", 0.6)],
    ("guidebook", "page 91", "Climb all 28 M of it!"): [("Norvik Light", "height", "28 M", 0.7)],
    ("web page", "", "Built in 1872, it is open on Sundays."): [
        ("Norvik Light", "built_in", "1872", 0.7),
        ("Norvik Light", "open_on", "Sunday", 0.6),
    ],
    ("mirror", "", "Built in 1872, it is open on sundays!"): [
        ("Norvik Light", "built_in", "1872", 0.7),
        ("Norvik Light", "open_on", "Sunday", 0.6),
    ],
}


def sightings() -> Iterator[dict[str, Any]]:
    for (source, fragment, excerpt), triples in EXTRACTED.items():
        for subject, predicate, object_value, confidence in triples:
            yield {
                "subject": subject,
                "predicate": predicate,
                "object_value": object_value,
                "confidence": confidence,
                "fragment_key": fragment,
                "evidence": {"source_iri": source, "excerpt": excerpt},
            }


def show(title: str, facts: list[ConsolidatedTriple]) -> None:
    print(title)
    for fact in facts:
        mark = ", contradicted" if fact.contradicted else ""
        print(f"  {fact.subject} {fact.predicate} {fact.object_value}: {fact.final_confidence:.2f}{mark}")
        print(f"    independent sources: {fact.source_diversity}")
        for seen in fact.provenance:
            print(f"    {seen.confidence:.1f} {f'{seen.source_iri} {seen.fragment_key}'.strip()}: {seen.excerpt}")


def main() -> None:
    naive = NoisyORConsolidator(trusted_threshold=0.75)
    trusted, _ = naive.split_by_threshold(naive.consolidate(sightings()))
    print("if copies counted:", ", ".join(f"{fact.object_value} ({fact.final_confidence:.2f})" for fact in trusted))

    careful = NoisyORConsolidator(trusted_threshold=0.75, near_duplicates=True, functional={"built_in"})
    trusted, remaining = careful.split_by_threshold(careful.consolidate(sightings()))
    show("trusted", trusted)
    show("remaining", remaining)


if __name__ == "__main__":
    main()
