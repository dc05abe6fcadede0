"""Contradictions: rival objects, who wins, and what is trusted then."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import Consolidation, NoisyORConsolidator, SettingsError
from consilience.evidence._contradictions import functional_predicates


def seen(
    place: str, confidence: float, source: str = "a", predicate: str = "born_in", who: str = "Ada"
) -> dict[str, Any]:
    evidence = {"source_iri": source}
    return {
        "subject": who,
        "predicate": predicate,
        "object_value": place,
        "confidence": confidence,
        "evidence": evidence,
    }


CONSOLIDATOR = NoisyORConsolidator(functional={"born_in"})


def marks(result: Consolidation[Any]) -> list[tuple[str, bool]]:
    return [(fact.object_value, fact.contradicted) for fact in result]


def test_the_most_confident_rival_wins() -> None:
    result = CONSOLIDATOR.consolidate(
        [seen("London", 0.9), seen("Paris", 0.8, "b"), seen("paris", 0.1), seen("Rome", 0)]
    )
    assert marks(result) == [("London", False), ("Paris", True), ("Rome", True)]
    (rivalry,) = result.contradictions
    assert (rivalry.subject, rivalry.predicate) == ("Ada", "born_in")
    assert rivalry.rivals == result.claims
    assert rivalry.winner == result[0]


def test_the_losing_side_is_not_trusted() -> None:
    result = CONSOLIDATOR.consolidate([seen("London", 0.9), seen("Paris", 0.8)])
    trusted, remaining = CONSOLIDATOR.split_by_threshold(result)
    assert [fact.object_value for fact in trusted] == ["London"]
    assert [fact.object_value for fact in remaining] == ["Paris"]


def test_nobody_wins_a_tie() -> None:
    result = CONSOLIDATOR.consolidate([seen("London", 0.9), seen("Paris", 0.9), seen("Rome", 0.3)])
    assert marks(result) == [("London", True), ("Paris", True), ("Rome", True)]
    assert result.contradictions[0].winner is None
    assert CONSOLIDATOR.split_by_threshold(result)[0] == []


def test_a_rounding_error_breaks_no_tie() -> None:
    together = NoisyORConsolidator().consolidate([seen("London", 0.8), seen("London", 0.8, "b")])[0].exact_confidence
    for other in (0.96, together, 0.96 - 1e-16, 0.96 + 2e-16):
        result = CONSOLIDATOR.consolidate([seen("London", 0.8), seen("London", 0.8, "b"), seen("Paris", other, "c")])
        assert result.contradictions[0].winner is None


def test_a_difference_that_rounding_to_six_digits_hides_decides() -> None:
    many = [seen("London", 0.9, f"source {number}") for number in range(9)]
    few = [seen("Paris", 0.9, f"source {number}") for number in range(7)]
    result = CONSOLIDATOR.consolidate(few + many)
    assert [fact.final_confidence for fact in result] == [1.0, 1.0]
    assert result.contradictions[0].winner.object_value == "London"


def test_predicates_and_subjects_are_compared_like_components() -> None:
    consolidator = NoisyORConsolidator(functional=[" Born_In"])
    result = consolidator.consolidate([seen("London", 0.9, predicate="born_in "), seen("Paris", 0.8, who=" ADA")])
    assert len(result.contradictions) == 1
    assert result.contradictions[0].rivals[1].contradicted


def test_other_predicates_can_have_several_objects() -> None:
    facts = [seen("London", 0.9, predicate="lived_in"), seen("Paris", 0.8, predicate="lived_in")]
    assert CONSOLIDATOR.consolidate(facts).contradictions == ()
    assert NoisyORConsolidator().consolidate([seen("London", 0.9), seen("Paris", 0.8)]).contradictions == ()


def test_one_object_in_two_spellings_is_no_contradiction() -> None:
    assert CONSOLIDATOR.consolidate([seen("London", 0.9), seen(" LONDON ", 0.8)]).contradictions == ()


def test_several_contradictions_come_in_the_order_of_the_facts() -> None:
    facts = [seen(place, c, who=who) for who, c in (("Eve", 0.7), ("Ada", 0.9)) for place in ("London", "Paris")]
    assert [each.subject for each in CONSOLIDATOR.consolidate(facts).contradictions] == ["Ada", "Eve"]


sightings = st.builds(
    seen, st.sampled_from(["x", "X ", "y", "z"]), st.sampled_from([0.0, 0.5, 0.75, 1.0]), st.sampled_from("ab")
)


@given(st.lists(sightings, max_size=5))
def test_at_most_one_rival_is_left_whatever_the_order(facts: list[dict[str, Any]]) -> None:
    result = CONSOLIDATOR.consolidate(facts)
    assert sum(not fact.contradicted for fact in result) <= 1
    assert len(result.contradictions) == (len(result) > 1)
    confidences = sorted((fact.final_confidence for fact in result), reverse=True)
    if len(result) > 1:
        assert (result.contradictions[0].winner is None) == (confidences[0] == confidences[1])
    assert all(CONSOLIDATOR.consolidate(order) == result for order in itertools.permutations(facts))


@pytest.mark.parametrize(
    ("functional", "error", "message"),
    [
        ("born_in", TypeError, "functional must be several predicates"),
        (None, TypeError, "functional must be several predicates"),
        (3, TypeError, "functional must be several predicates"),
        ([3], TypeError, "functional must hold predicates as str, got 3"),
        ({" "}, SettingsError, "not blank"),
    ],
)
def test_what_cannot_be_functional(functional: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        functional_predicates(functional)
