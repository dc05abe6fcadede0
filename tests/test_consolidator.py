"""Consolidation: worked values, a second plain implementation, bad input, streams."""

from __future__ import annotations

import copy
import gc
import itertools
import logging
import math
import pickle
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import (
    ConsolidatedTriple,
    Consolidation,
    NoisyORConsolidator,
    ProvenanceRecord,
    SettingsError,
    consolidate,
    tally,
)


def seen(
    confidence: Any = 0.8,
    source: str | None = "a",
    *,
    subject: Any = "Ada",
    predicate: Any = "born_in",
    object_value: Any = "London",
    fragment: str = "",
    excerpt: str = "",
) -> dict[str, Any]:
    evidence = None if source is None else {"source_iri": source, "excerpt": excerpt}
    return {
        "subject": subject,
        "predicate": predicate,
        "object_value": object_value,
        "confidence": confidence,
        "fragment_key": fragment,
        "evidence": evidence,
    }


def only(*sightings: dict[str, Any], **options: Any) -> ConsolidatedTriple:
    (fact,) = NoisyORConsolidator(**options).consolidate(sightings)
    return fact


# Worked values.


def test_two_documents() -> None:
    fact = only(seen(0.8, "a"), seen(0.8, "b"))
    assert (fact.final_confidence, fact.source_diversity) == (0.96, 2)


def test_two_fragments_of_one_document() -> None:
    fact = only(seen(0.8, "a", fragment="page 1"), seen(0.7, "a", fragment="page 2"))
    assert (fact.final_confidence, fact.exact_confidence, fact.source_diversity) == (0.8, 0.8, 1)
    assert fact.raw_confidences == (0.8, 0.7)
    assert [record.fragment_key for record in fact.provenance] == ["page 1", "page 2"]


def test_three_documents() -> None:
    assert only(seen(0.5, "a"), seen(0.6, "b"), seen(0.7, "c")).final_confidence == 0.94


def test_one_sighting() -> None:
    assert only(seen(0.8)) == ConsolidatedTriple(
        subject="Ada",
        predicate="born_in",
        object_value="London",
        final_confidence=0.8,
        raw_confidences=(0.8,),
        provenance=(ProvenanceRecord("a", "", 0.8, ""),),
        source_diversity=1,
        exact_confidence=0.8,
    )


def test_no_input() -> None:
    result = NoisyORConsolidator().consolidate([])
    assert result == []
    assert not result
    assert NoisyORConsolidator().split_by_threshold(result) == ([], [])


def test_the_threshold_itself_is_trusted() -> None:
    consolidator = NoisyORConsolidator(trusted_threshold=0.75)
    facts = consolidator.consolidate(seen(c, object_value=str(c)) for c in (0.6, 0.9, 0.75))
    trusted, remaining = consolidator.split_by_threshold(facts)
    assert [fact.final_confidence for fact in trusted] == [0.9, 0.75]
    assert [fact.final_confidence for fact in remaining] == [0.6]


def test_a_confidence_that_adds_up_to_the_threshold_is_trusted() -> None:
    consolidator = NoisyORConsolidator(0.96)
    trusted, _ = consolidator.split_by_threshold(consolidator.consolidate([seen(0.8, "a"), seen(0.8, "b")]))
    assert len(trusted) == 1


def test_case_and_outer_space_make_no_second_fact() -> None:
    fact = only(seen(0.8, "a", object_value=" Paris "), seen(0.7, "b", object_value="paris", subject="ADA"))
    assert (fact.subject, fact.object_value, fact.final_confidence) == ("Ada", "Paris", 0.94)


def test_the_most_confident_sighting_gives_the_spelling() -> None:
    spellings = [seen(0.5, object_value="london"), seen(0.9, object_value="LONDON"), seen(0.7, object_value="London")]
    assert {only(*order).object_value for order in itertools.permutations(spellings)} == {"LONDON"}
    tied = [seen(0.9, object_value=spelling) for spelling in ("london", "LONDON", "London")]
    assert {only(*order).object_value for order in itertools.permutations(tied)} == {"LONDON"}


def test_the_highest_confidence_comes_first_then_the_components() -> None:
    facts = [
        seen(0.5, object_value="b"),
        seen(0.5, object_value="a"),
        seen(0.5, object_value=7),
        seen(0.4, "a", object_value="c"),
        seen(0.4, "b", object_value="c"),
        # The same when rounded to 6 digits, and so before what is exactly less.
        seen(0.50000001, object_value="z"),
    ]
    for order in (facts, facts[::-1]):
        result = NoisyORConsolidator().consolidate(order)
        assert [fact.object_value for fact in result] == ["c", "z", "a", "b", 7]


def test_unknown_sources() -> None:
    fact = only(seen(0.8, None), seen(0.7, None), seen(0.6, " "))
    assert (fact.final_confidence, fact.source_diversity) == (0.8, 1)
    assert {record.source_iri for record in fact.provenance} == {""}


def test_the_sources_of_everything() -> None:
    sightings = [seen(0.1, "b"), seen(0.2, "a", object_value="Rome"), seen(0.3, None), seen(0.4, "b")]
    assert NoisyORConsolidator().consolidate(sightings).sources == ("a", "b")


def test_near_duplicates_count_once_and_are_all_listed() -> None:
    copied = "Ada Lovelace, born in London, wrote the first program."
    sightings = [
        seen(0.7, "a", excerpt=copied),
        seen(0.6, "b", excerpt=copied.upper()),
        seen(0.5, "c", excerpt="London!"),
    ]
    fact = only(*sightings, near_duplicates=True)
    assert (fact.final_confidence, fact.source_diversity) == (0.85, 2)
    assert [record.source_iri for record in fact.provenance] == ["a", "b", "c"]
    assert only(*sightings).final_confidence == 0.94


def test_objects_of_any_kind_and_depth() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    facts = [seen(0.8, "a", object_value=deep), seen(0.8, "b", object_value=deep), seen(0.5, object_value={"m": 28})]
    result = NoisyORConsolidator().consolidate(facts)
    assert [fact.final_confidence for fact in result] == [0.96, 0.5]
    assert result[0].object_value is deep


# A second, plain implementation, in rational numbers.


def plainly(sightings: list[dict[str, Any]]) -> dict[tuple[str, ...], tuple[Fraction, int, list[float]]]:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for sighting in sightings:
        components = tuple(sighting[name].strip().casefold() for name in ("subject", "predicate", "object_value"))
        groups.setdefault(components, []).append(sighting)
    return {components: plain_worth(group) for components, group in groups.items()}


def plain_worth(group: list[dict[str, Any]]) -> tuple[Fraction, int, list[float]]:
    by_source: dict[str, list[float]] = {}
    for sighting in group:
        source = sighting["evidence"]["source_iri"] if sighting["evidence"] else ""
        by_source.setdefault(source, []).append(sighting["confidence"])
    none_right = math.prod((1 - Fraction(max(each)) for each in by_source.values()), start=Fraction(1))
    everything = sorted((c for each in by_source.values() for c in each), reverse=True)
    return 1 - none_right, len(by_source), everything


confidences = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 5e-324, 1e-18, 0.5, 0.9])
texts = st.sampled_from(["x", " X", "y", "ß", "SS"])
any_sighting = st.builds(
    seen,
    confidences,
    st.sampled_from([None, "a", "b", "c"]),
    subject=texts,
    object_value=texts,
    fragment=st.sampled_from(["", "1"]),
    excerpt=st.sampled_from(["", "so it is", "so it is!"]),
)


@given(st.lists(any_sighting, max_size=12))
def test_a_plain_implementation_agrees(sightings: list[dict[str, Any]]) -> None:
    expected = plainly(sightings)
    result = NoisyORConsolidator().consolidate(sightings)
    assert len(result) == len(expected)
    assert sum(len(fact.provenance) for fact in result) == len(sightings)
    for fact in result:
        value, sources, raw = expected[tuple(map(str.casefold, (fact.subject, fact.predicate, fact.object_value)))]
        assert fact.exact_confidence == pytest.approx(float(value), rel=1e-15, abs=1e-323)
        assert fact.final_confidence == round(fact.exact_confidence, 6)
        assert fact.source_diversity == sources
        assert list(fact.raw_confidences) == raw
        assert raw == [record.confidence for record in fact.provenance]


@given(st.lists(any_sighting, max_size=8), st.randoms(use_true_random=False), st.sampled_from([False, True, 0.5]))
def test_the_order_of_sightings_changes_nothing(
    sightings: list[dict[str, Any]], chance: Any, near: bool | float
) -> None:
    consolidator = NoisyORConsolidator(near_duplicates=near, functional={"born_in"}, correlation=0.3, leak=0.01)
    before = consolidator.consolidate(sightings)
    chance.shuffle(sightings)
    after = consolidator.consolidate(sightings)
    assert after == before
    assert repr(after) == repr(before)


@given(st.lists(any_sighting, min_size=1, max_size=8), confidences)
def test_one_more_source_never_lowers_a_confidence(sightings: list[dict[str, Any]], confidence: float) -> None:
    before = NoisyORConsolidator().consolidate(sightings)
    further = {**sightings[0], "confidence": confidence, "evidence": {"source_iri": "new"}}
    after = NoisyORConsolidator().consolidate([*sightings, further])
    known = {(f.subject.casefold(), f.object_value.casefold()): f for f in after}
    assert all(
        known[f.subject.casefold(), f.object_value.casefold()].exact_confidence >= f.exact_confidence for f in before
    )


@given(st.lists(any_sighting, min_size=1, max_size=8), st.floats(0, 1))
def test_a_weaker_fragment_of_a_known_source_changes_no_confidence(
    sightings: list[dict[str, Any]], share: float
) -> None:
    before = NoisyORConsolidator().consolidate(sightings)
    weaker = {**sightings[0], "confidence": sightings[0]["confidence"] * share, "fragment_key": "new"}
    after = NoisyORConsolidator().consolidate([*sightings, weaker])
    worth = [[(fact.exact_confidence, fact.source_diversity) for fact in facts] for facts in (before, after)]
    assert worth[0] == worth[1]


@given(st.lists(any_sighting, min_size=1, max_size=8))
def test_a_confidence_lies_between_the_highest_sighting_and_one(sightings: list[dict[str, Any]]) -> None:
    for fact in NoisyORConsolidator().consolidate(sightings):
        assert fact.raw_confidences[0] <= fact.exact_confidence <= 1.0


def test_a_thousand_nearly_certain_sources() -> None:
    fact = only(*(seen(0.999, f"source {number}") for number in range(1000)))
    assert (fact.exact_confidence, fact.final_confidence, fact.source_diversity) == (1.0, 1.0, 1000)


# Bad input.


BAD = [
    (seen(1.2), "confidence is not from 0 to 1, got 1.2"),
    (seen(-0.1), "confidence is not from 0 to 1, got -0.1"),
    (seen(math.nan), "confidence is NaN"),
    (seen("high"), "confidence is not a number, got 'high'"),
    (seen(None), "confidence is missing"),
    (seen(subject=None), "subject is missing"),
    ({**seen(), "evidence": "a"}, "evidence has no source_iri, got 'a'"),
    ("Ada was born in London", "subject is missing"),
    (None, "subject is missing"),
]


@pytest.mark.parametrize(("triple", "reason"), BAD, ids=lambda value: str(value)[:30])
def test_a_bad_triple_is_named(triple: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^triple 2 \(") as caught:
        NoisyORConsolidator().consolidate([seen(), seen(), triple, seen()])
    assert isinstance(caught.value, SettingsError)
    assert reason in str(caught.value)
    if isinstance(triple, dict) and triple["subject"]:
        assert "('Ada', 'born_in', 'London')" in str(caught.value)


def test_what_is_skipped_is_counted_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="consilience")
    result = NoisyORConsolidator(on_bad="skip").consolidate([*(triple for triple, _ in BAD), seen(0.8)])
    assert result.skipped == (
        ("subject is missing", 3),
        ("confidence is not from 0 to 1", 2),
        ("confidence is NaN", 1),
        ("confidence is missing", 1),
        ("confidence is not a number", 1),
        ("evidence has no source_iri", 1),
    )
    assert [fact.raw_confidences for fact in result] == [(0.8,)]
    assert "skipped triple 0 ('Ada', 'born_in', 'London'): confidence is not from 0 to 1, got 1.2" in caplog.messages
    assert caplog.messages[-1] == (
        "consolidated 1 sightings into 1 claims from 1 named sources; 9 skipped, 0 contradictions"
    )


@pytest.mark.parametrize("triples", ["text", b"text", seen(), None, 3])
def test_what_is_no_collection_of_triples(triples: Any) -> None:
    with pytest.raises(TypeError, match=f"triples must be an iterable of triples, got {type(triples).__name__}"):
        NoisyORConsolidator(on_bad="skip").consolidate(triples)


def test_a_stream_that_breaks_breaks_the_consolidation() -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield seen()
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        NoisyORConsolidator(on_bad="skip").consolidate(broken())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"trusted_threshold": 1.5}, SettingsError, "trusted_threshold must be a number from 0 to 1, got 1.5"),
        ({"trusted_threshold": "0.5"}, TypeError, "trusted_threshold must be a number"),
        ({"functional": "born_in"}, TypeError, "functional must be several predicates"),
        ({"leak": 2}, SettingsError, "leak must be a number from 0 to 1, got 2"),
        ({"correlation": -1}, SettingsError, "correlation must be a number from 0 to 1, got -1"),
        ({"near_duplicates": 0.0}, SettingsError, "near_duplicates must be True, False, or a number above 0"),
        ({"on_bad": "ignore"}, SettingsError, 'on_bad must be "raise" or "skip", got \'ignore\''),
        ({"threshold": 0.5}, TypeError, "threshold"),
    ],
)
def test_bad_settings(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        NoisyORConsolidator(**options)


def test_settings_are_checked_before_a_claim_is_read() -> None:
    def unread() -> Iterator[Any]:
        raise AssertionError("a claim was read")
        yield

    for options in ({"leak": 2}, {"correlation": 2}, {"near_duplicates": 2}, {"on_bad": "?"}, {"excerpt": 3}):
        with pytest.raises((SettingsError, TypeError), match=next(iter(options))):
            consolidate(unread(), key="team", **options)  # type: ignore[arg-type]


# Streams.


class Triple:
    """An object that can be watched."""

    def __init__(self, number: int) -> None:
        self.subject, self.predicate, self.object_value = f"subject {number % 10}", "is", "seen"
        self.confidence = 0.5
        self.evidence = None


def test_a_stream_is_read_once_and_its_objects_are_let_go() -> None:
    alive: list[weakref.ref[Triple]] = []
    most = 0

    def stream() -> Iterator[Triple]:
        nonlocal most
        for number in range(100):
            triple = Triple(number)
            alive.append(weakref.ref(triple))
            yield triple
            del triple
            most = max(most, sum(each() is not None for each in alive))

    result = NoisyORConsolidator().consolidate(stream())
    gc.collect()
    assert [len(fact.provenance) for fact in result] == [10] * 10
    assert most <= 2
    assert not any(each() for each in alive)


def test_a_source_is_named_once_in_memory() -> None:
    result = NoisyORConsolidator().consolidate(seen(0.5, "".join(["https://", "example.org"])) for _ in range(3))
    assert len({id(record.source_iri) for record in result[0].provenance}) == 1


# Claims of any kind.


def test_records_and_fields() -> None:
    records = [
        {"city": "London", "confidence": 0.8, "source": "a", "page": 1, "said": "in London"},
        {"city": " london", "confidence": 0.5, "source": "b", "page": 2, "said": "at London"},
        {"city": "Paris", "confidence": 0.4, "source": "a", "page": 1, "said": "in Paris"},
    ]
    result = consolidate(records, key="city", fragment="page", excerpt="said")
    assert [(claim.value, claim.final_confidence) for claim in result] == [("London", 0.9), ("Paris", 0.4)]
    assert result[0].provenance[1] == ProvenanceRecord("b", "2", 0.5, "at London")
    assert result.sources == ("a", "b")


def test_several_fields_are_one_claim() -> None:
    records = [{"who": "Ada", "where": "London", "confidence": 0.5}, {"who": "ada", "where": None, "confidence": 0.6}]
    result = consolidate(records, key=("who", "where"))
    assert [claim.value for claim in result] == [("ada", None), ("Ada", "London")]


def test_triples_as_claims_give_the_same() -> None:
    sightings = [seen(0.8, "a"), seen(0.7, "b"), seen(0.6, object_value="Rome")]
    facts = NoisyORConsolidator(correlation=0.2, leak=0.1).consolidate(sightings)
    claims = consolidate(
        sightings,
        key=("subject", "predicate", "object_value"),
        source=lambda triple: triple["evidence"]["source_iri"],
        correlation=0.2,
        leak=0.1,
    )
    assert [(f.subject, f.predicate, f.object_value) for f in facts] == [claim.value for claim in claims]
    assert [fact.exact_confidence for fact in facts] == [claim.exact_confidence for claim in claims]
    assert [fact.provenance for fact in facts] == [claim.provenance for claim in claims]


def test_votes_are_claims() -> None:
    from consilience import Reply

    replies = [
        Reply('{"team": "billing", "p": 0.8}', source="large"),
        Reply('{"team": "billing", "p": 0.6}', source="large"),
        Reply('{"team": "billing", "p": 0.7}', source="small"),
        Reply('{"team": "sales", "p": 0.9}', source="local"),
        Reply("no idea", source="local"),
    ]
    result = tally(replies, key="team", confidence_field="p")
    claims = consolidate(result.samples, key="vote", on_bad="skip")
    assert [(claim.value, claim.final_confidence) for claim in claims] == [("billing", 0.94), ("sales", 0.9)]
    assert claims.skipped == (("confidence is missing", 1),)
    assert claims[0].exact_confidence == result.corroboration


def test_a_bad_claim_is_named() -> None:
    with pytest.raises(SettingsError, match=r"claim 1 \{'team': 'b'\}: confidence is missing; on_bad=\"skip\""):
        consolidate([{"team": "a", "confidence": 0.5}, {"team": "b"}], key="team")


# The result.


def test_a_consolidation_is_a_sequence() -> None:
    result = NoisyORConsolidator().consolidate(
        [seen(0.8), seen(0.5, object_value="Rome"), seen(0.3, object_value="Oslo")]
    )
    assert len(result) == 3
    assert result[0] in result
    assert result[-1].object_value == "Oslo"
    assert result[1:] == tuple(result)[1:]
    assert next(reversed(result)) == result[2]
    assert result == list(result)
    assert result != list(result)[1:]
    assert result != "x"
    with pytest.raises(IndexError):
        result[3]


def test_what_was_skipped_makes_a_difference() -> None:
    consolidator = NoisyORConsolidator(on_bad="skip")
    assert consolidator.consolidate([seen()]) == consolidator.consolidate([seen()])
    assert consolidator.consolidate([seen()]) != consolidator.consolidate([seen(), seen(2)])


def test_results_and_settings_can_be_pickled_copied_and_not_changed() -> None:
    consolidator = NoisyORConsolidator(functional={"born_in"}, on_bad="skip")
    result = consolidator.consolidate([seen(0.8), seen(0.7, object_value="Rome"), seen(7)])
    for value in (result, consolidator):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
    assert isinstance(result, Consolidation)
    for frozen, name in ((result, "claims"), (result[0], "subject"), (consolidator, "leak")):
        with pytest.raises(AttributeError):
            setattr(frozen, name, None)


@settings(max_examples=25)
@given(st.lists(st.one_of(st.none(), st.integers(), st.text(), st.dictionaries(st.text(), st.integers())), max_size=5))
def test_nothing_is_dropped_silently(rubbish: list[Any]) -> None:
    result = NoisyORConsolidator(on_bad="skip").consolidate([*rubbish, seen()])
    assert sum(count for _, count in result.skipped) == len(rubbish)
    assert len(result) == 1
