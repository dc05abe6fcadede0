"""Near duplicates: which sources are one, against every pair and every path."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from consilience import ProvenanceRecord
from consilience.evidence._near_duplicates import originals

SENTENCE = "Ada Lovelace was born in London on the tenth of December 1815."


def said(*pairs: tuple[str, str]) -> list[ProvenanceRecord]:
    return [ProvenanceRecord(source, "", 0.5, excerpt) for source, excerpt in pairs]


def test_a_copy_is_no_source_of_its_own() -> None:
    records = said(("b", SENTENCE), ("a", SENTENCE.upper().replace(" ", "\n ")), ("c", "She came from London."))
    assert originals(records, 0.9) == {"a": "a", "b": "a", "c": "c"}


def test_a_copy_with_small_changes() -> None:
    records = said(("a", SENTENCE), ("b", SENTENCE.replace("the tenth of December", "10 December")))
    assert originals(records, 0.8) == {"a": "a", "b": "a"}
    assert originals(records, 0.95) == {"a": "a", "b": "b"}


def test_at_one_the_words_must_be_the_same() -> None:
    records = said(("a", SENTENCE), ("b", f" {SENTENCE.lower()}"), ("c", SENTENCE[:-1]))
    assert originals(records, 1) == {"a": "a", "b": "a", "c": "c"}


def test_copies_of_copies_are_copies() -> None:
    chain = "abcdefghij"
    texts = [chain, "X" + chain[1:], "XY" + chain[2:], "XYZ" + chain[3:]]
    records = said(*zip("dcba", texts, strict=True))
    assert originals(records, 0.9) == dict.fromkeys("abcd", "a")


def test_blank_excerpts_are_like_no_other() -> None:
    records = said(("a", ""), ("b", ""), ("c", "  \n"), ("a", " "))
    assert originals(records, 0.01) == {"a": "a", "b": "b", "c": "c"}


def test_any_excerpt_of_a_source_can_make_it_a_copy() -> None:
    records = said(("a", "one thing"), ("a", SENTENCE), ("b", "quite another matter"), ("b", SENTENCE))
    assert originals(records, 0.9) == {"a": "a", "b": "a"}


def test_the_unknown_source_can_be_a_copy_too() -> None:
    assert originals(said(("", SENTENCE), ("a", SENTENCE)), 0.9) == {"": "", "a": ""}


def reachable(records: list[ProvenanceRecord], similarity: float) -> dict[str, set[str]]:
    """For each source all that a path of near duplicates leads to: every pair, and then every path."""
    texts = [(record.source_iri, " ".join(record.excerpt.casefold().split())) for record in records]
    reach = {source: {source} for source, _ in texts}
    for (one, left), (other, right) in itertools.product(texts, repeat=2):
        if left and right and (left == right or fuzz.ratio(left, right) >= 100 * similarity):
            reach[one].add(other)
    for middle, one, other in itertools.product(reach, repeat=3):
        if middle in reach[one] and other in reach[middle]:
            reach[one].add(other)
    return reach


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.text("xyZ ", max_size=8)), max_size=7),
    st.floats(0.05, 1),
)
def test_every_pair_counts_and_every_path(pairs: list[tuple[str, str]], similarity: float) -> None:
    records = said(*pairs)
    expected = {source: min(reach) for source, reach in reachable(records, similarity).items()}
    assert originals(records, similarity) == expected


@pytest.mark.parametrize("similarity", [0.3, 2 / 3, 0.7, 0.8, 0.9])
def test_no_pair_is_lost_to_the_bound_on_lengths(similarity: float) -> None:
    for length in range(1, 60):
        for further in range(1, 60):
            records = said(("a", "x" * length), ("b", "x" * (length + further)))
            alike = fuzz.ratio("x" * length, "x" * (length + further)) >= 100 * similarity
            assert (originals(records, similarity)["b"] == "a") == alike
