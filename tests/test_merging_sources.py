"""Sources of a consensus: who is behind a candidate, how many of them there must be, and one vote for each."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import Reply, Sample, SettingsError, consolidate, tally
from consilience._canonical import canonical_text
from consilience.merging import (
    Conflict,
    NumericResolver,
    Path,
    SimilarityClusterResolver,
    Unordered,
    consensus,
    default_conflict_resolver,
    merge,
    prefer_most_common_resolver,
)

SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "ab"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
FLAT = st.dictionaries(st.sampled_from("ab"), st.integers(0, 2), max_size=2)
SOURCES = st.sampled_from([None, "x", "y", "z"])
THRESHOLDS = st.sampled_from([0.3, 0.5, 0.6, 1])


def said(*given) -> list[Reply]:
    """Revisions as replies: (source, record) or (source, record, confidence)."""
    return [Reply(record, source=source, confidence=sure[0] if sure else None) for source, record, *sure in given]


def outcome(result) -> tuple:
    return (
        json.dumps(result.partial),
        result.reason,
        [(str(path), field.status, field.agreement, field.support) for path, field in result.fields.items()],
    )


# Candidates and their sources


def test_candidates_carry_sources_and_corroboration():
    revisions = said(("x", {"a": 1}, 0.8), ("y", {"a": 1}, 0.5), ("x", {"a": 1}, 0.7), (None, {"a": 2}), ("z", {}, 0.4))
    one, two, absent = merge(revisions, weights=None).fields["a"].candidates
    assert (one.sources, one.corroboration) == (("x", "y"), pytest.approx(0.9))
    assert (two.value, two.sources, two.corroboration) == (2, (), None)
    assert (absent.absent, absent.sources, absent.corroboration) == (True, ("z",), 0.4)


@given(st.lists(st.tuples(SOURCES, st.integers(0, 1), st.none() | st.floats(0, 1)), min_size=1, max_size=6))
def test_corroboration_is_that_of_a_vote_and_of_consolidation(given_):
    revisions = said(*((source, {"a": value}, sure) for source, value, sure in given_))
    for candidate in merge(revisions, weights=None).fields["a"].candidates:
        behind = [given_[index] for index in candidate.revisions]
        votes = [
            Sample(index=i, ok=True, source=source, vote=1, record={"a": 1}, confidence=sure, raw=Reply({"a": 1}))
            for i, (source, _, sure) in enumerate(behind)
        ]
        replies = [Reply({"a": 1, "sure": s.confidence}, source=s.source) for s in votes]
        assert candidate.corroboration == tally(replies, key="a", confidence_field="sure").corroboration
        sure = [(source, sure) for source, _, sure in behind if sure is not None]
        if sure:
            [claim] = consolidate(sure, key=lambda _: "a", confidence=lambda c: c[1], source=lambda c: c[0] or "")
            assert candidate.corroboration == claim.exact_confidence


def test_confidences_are_coerced_as_in_a_vote():
    revisions = [Reply({"a": 1}, source="x", confidence=85), Sample(index=0, ok=True, record={"a": 1}, confidence=2.0)]
    assert merge(revisions).fields["a"].candidates[0].corroboration == 1.0


def test_sources_come_from_samplers_too():
    samplers = {name: lambda prompt: '{"a": 1, "sure": 0.5}' for name in ("x", "y")}
    result = consensus(samplers, "?", n=4, confidence_field="sure", min_sources=2)
    [candidate] = result.fields["a"].candidates
    assert (candidate.sources, candidate.corroboration) == (("x", "y"), 0.75)


# min_sources


def test_a_value_of_one_source_is_a_conflict():
    revisions = said(("x", {"a": 1, "b": 1}), ("x", {"a": 1, "b": 1}), ("y", {"b": 1}))
    result = merge(revisions, weights=None, min_sources=2)
    assert result.value == {"b": 1}
    assert result.detail == "3 revisions merged: 1 of 2 fields agreed, 1 met min_agreement but not min_sources 2"
    field = result.fields["a"]
    assert (field.status, field.too_few_sources, field.value) == ("omitted", True, None)
    assert not result.fields["b"].too_few_sources
    assert [str(item.path) for item in result.needs_review(below=0.1)] == ["a"]
    assert merge(revisions, weights=None).value == {"a": 1, "b": 1}


def test_the_resolver_decides_on_what_has_too_few_sources():
    revisions = said(("x", {"a": 1}), ("x", {"a": 1}), ("y", {"a": 2}))
    result = merge(revisions, weights=None, min_sources=2, conflict_resolver=prefer_most_common_resolver)
    assert (result.value, result.fields["a"].status, result.fields["a"].too_few_sources) == ({"a": 1}, "resolved", True)


def test_a_conflict_below_the_threshold_is_none_of_sources():
    result = merge(said(("x", {"a": 1}), ("y", {"a": 2}), ("z", {"a": 3})), weights=None, min_sources=2)
    assert not result.fields["a"].too_few_sources
    assert "min_sources" not in result.detail


def test_items_need_sources():
    revisions = said(
        ("x", {"tags": ["a", "b", "c"]}),
        ("x", {"tags": ["a", "b", "c"]}),
        ("y", {"tags": ["a", "c"]}),
        ("y", {"tags": ["c"]}),
    )
    result = merge(revisions, weights=None, min_sources=2)
    assert merge(revisions, weights=None, conflict_resolver=prefer_most_common_resolver).value == {"tags": ["a", "c"]}
    assert result.value == {"tags": ["a", "c"]}
    chatty = said(("x", ["a", "b"]), ("x", ["a", "b"]), ("x", ["a", "b"]), ("y", ["a"]))
    assert merge(chatty, weights=None).value == ["a", "b"]
    result = merge(chatty, weights=None, min_sources=2)
    assert result.value == ["a"]
    assert (result.fields["[1]"].status, result.fields["[1]"].too_few_sources) == ("omitted", True)
    kept = merge(chatty, weights=None, min_sources=2, conflict_resolver=prefer_most_common_resolver)
    assert (kept.value, kept.fields["[1]"].status) == (["a", "b"], "resolved")


def test_an_item_that_lacks_weight_is_none_of_sources():
    result = merge(said(("x", ["a", "b"]), ("y", ["a"])), weights=None, min_sources=2)
    assert result.value == ["a"]
    assert (result.fields["[1]"].status, result.fields["[1]"].too_few_sources) == ("omitted", False)


def test_containers_need_sources_even_empty_ones():
    for container in ({}, [], {"b": 1}, [1]):
        revisions = said(("x", {"a": container, "k": 1}), ("x", {"a": container, "k": 1}), ("y", {"k": 1}))
        assert merge(revisions, weights=None).value == {"a": container, "k": 1}
        result = merge(revisions, weights=None, min_sources=2)
        assert (result.value, result.fields["a"].too_few_sources) == ({"k": 1}, True)


def test_a_record_of_too_few_sources_abstains():
    for revisions in ([{"a": 1}] * 3, said(("x", {"a": 1}), (None, {"a": 1}))):
        result = merge(revisions, min_sources=2)
        assert (result.reason, result.value) == ("too_few_sources", None)
        assert result.detail == "the record as a whole is supported by fewer sources than min_sources 2"


def test_absence_needs_no_witness():
    result = merge(said(("x", {"k": 1}), ("x", {"k": 1}), ("y", {"k": 1, "a": 1})), weights=None, min_sources=2)
    assert (result.fields["a"].status, result.fields["a"].too_few_sources) == ("absent", False)
    assert result.value == {"k": 1}


def test_the_text_absent_is_a_value_like_any_other():
    result = merge(said(("x", {"k": 1, "a": "absent"}), ("x", {"k": 1, "a": "absent"}), ("y", {"k": 1})), min_sources=2)
    assert result.value == {"k": 1}


def test_resolvers_with_a_threshold_count_sources():
    spellings = [("x", "USA"), ("x", "U.S.A."), ("y", "France"), ("x", "USA.")]
    for country, kept in (("France", {"k": 1}), ("U.S.A", {"country": "U.S.A.", "k": 1})):
        given_ = [*spellings[:2], ("y", country), spellings[3]]
        revisions = said(*((source, {"k": 1, "country": value}) for source, value in given_))
        options = {"weights": None, "min_agreement": 0.6, "conflict_resolver": SimilarityClusterResolver()}
        assert "country" in merge(revisions, **options).value
        assert set(merge(revisions, **options, min_sources=2).value) == set(kept)
    numbers = said(("x", {"k": 1, "n": 10}), ("x", {"k": 1, "n": 10.1}), ("y", {"k": 1, "n": 55}))
    options = {"weights": None, "min_agreement": 0.6, "conflict_resolver": NumericResolver(0.5)}
    assert "n" in merge(numbers, **options).value
    assert "n" not in merge(numbers, **options, min_sources=2).value


def test_a_conflict_keeps_its_sources_when_narrowed():
    conflict = Conflict(Path(("a",)), [1, 2, 1], [1.0] * 3, 3.0, 0.5, ["x", "y", None], 2)
    assert conflict.is_supported([1, 2])
    assert not conflict.is_supported([1])
    narrowed = conflict.only(lambda value: value == 1)
    assert (narrowed.sources, narrowed.is_supported([1])) == (["x", None], False)


def test_constraints_do_not_bring_in_what_has_too_few_sources():
    records = [("x", {"a": 1, "b": 2, "s": 3}), ("y", {"a": 1, "b": 2, "s": 4}), ("z", {"a": 1, "b": 2, "s": 4})]
    options = {
        "weights": None,
        "constraints": [lambda record: record.get("a", 0) + record.get("b", 0) == record.get("s")],
    }
    assert merge(said(*records), **options).value["s"] == 3
    result = merge(said(*records), **options, min_sources=2)
    assert (result.value["s"], result.constraints_met) == (4, False)


@given(st.lists(st.tuples(SOURCES, FLAT), min_size=1, max_size=6), THRESHOLDS, st.integers(1, 3))
def test_flat_records_against_plain_sets(given_, threshold, min_sources):
    omit = default_conflict_resolver
    result = merge(
        said(*given_), weights=None, min_agreement=threshold, min_sources=min_sources, conflict_resolver=omit
    )
    if number(source for source, _ in given_) < min_sources:
        assert result.reason == "too_few_sources"
        return
    expected = {}
    for key in "ab":
        votes = Counter(record.get(key, "absent") for _, record in given_)
        kinds = Counter(record.get(key, "absent") == "absent" for _, record in given_)
        if 2 * kinds[False] == len(given_) or kinds[False] / len(given_) < threshold or kinds[True] > kinds[False]:
            continue
        if number(source for source, record in given_ if key in record) < min_sources:
            continue
        del votes["absent"]
        (value, most), *others = votes.most_common()
        alone = all(count < most for _, count in others)
        supported = number(source for source, record in given_ if record.get(key) == value) >= min_sources
        if alone and most / len(given_) >= threshold and supported:
            expected[key] = value
    assert result.value == expected


def number(sources) -> int:
    """How many witnesses there are; those without a name may be any of the named ones, and are one by themselves."""
    known = set(sources)
    return len(known - {None}) or len(known)


# One vote per source


def test_a_chatty_source_does_not_outvote_three_others():
    revisions = said(*[("chatty", {"a": 1})] * 5, ("x", {"a": 2}), ("y", {"a": 2}), ("z", {"a": 2}))
    assert merge(revisions, weights=None).value == {"a": 1}
    result = merge(revisions, weights=None, one_vote_per_source=True)
    field = result.fields["a"]
    assert (result.value, field.agreement, field.support) == ({"a": 2}, 0.75, 0.75)
    assert [(each.value, each.weight, each.sources) for each in field.candidates] == [
        (2, 3.0, ("x", "y", "z")),
        (1, 1.0, ("chatty",)),
    ]


def test_a_source_is_not_trusted_for_agreeing_with_itself():
    revisions = said(*[("chatty", {"a": 1, "b": 1})] * 20, ("x", {"a": 2, "b": 1}), ("y", {"a": 2, "b": 1}))
    assert merge(revisions).weights[0] > merge(revisions).weights[-1]
    result = merge(revisions, one_vote_per_source=True)
    assert result.weights[0] <= result.weights[-1]
    assert result.fields["a"].agreement >= 2 / 3
    alone = merge(revisions[:3], one_vote_per_source=True)
    assert (alone.value, alone.weights) == ({"a": 1, "b": 1}, (1.0, 1.0, 1.0))


def test_a_source_that_is_tied_within_itself_supports_nobody():
    revisions = said(("x", {"a": 1}), ("x", {"a": 2}), ("y", {"a": 1}), ("z", {"a": 1}))
    field = merge(revisions, weights=None, one_vote_per_source=True).fields["a"]
    assert (field.value, field.agreement, field.support) == (1, 2 / 3, 2 / 3)
    assert (field.candidates[0].sources, field.candidates[0].revisions) == (("y", "z"), (0, 2, 3))
    alone = said(("x", {"a": 1}), ("x", {"a": 2}))
    for resolver in (prefer_most_common_resolver, lambda path, values, weights: max(values)):
        assert merge(alone, weights=None, one_vote_per_source=True, conflict_resolver=resolver).value == {}


def test_each_place_has_its_own_plurality():
    x = [{"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {"b": 2}}, {"a": "text"}]
    revisions = said(*(("x", each) for each in x), ("y", {"a": {"b": 2}}), ("y", {"a": ["q"]}), ("y", {"a": {"c": 1}}))
    result = merge(revisions, weights=None, one_vote_per_source=True)
    # y is for an object, and within it tied between having b and not having it.
    assert result.fields["a.b"].candidates[0].sources == ("x",)
    assert result.value == {"a": {"b": 2}}


def test_revisions_of_another_kind_than_their_source_have_no_say_below():
    revisions = said(
        ("x", {"a": {"b": 1}}), ("y", {"a": {"b": 1}}), ("z", {"a": 0}), ("z", {"a": 0}), ("z", {"a": {"b": 2, "c": 3}})
    )
    result = merge(revisions, weights=None, one_vote_per_source=True)
    assert result.value == {"a": {"b": 1}}
    assert result.fields["a.b"].agreement == 1.0
    assert "a.c" not in result.fields
    assert (result.fields["a"].agreement, result.fields["a"].support) == (2 / 3, 2 / 3)


def test_items_are_kept_by_sources():
    revisions = said(*[("chatty", ["a", "b"])] * 4, ("x", ["a"]), ("y", ["a"]))
    assert merge(revisions, weights=None).value == ["a", "b"]
    result = merge(revisions, weights=None, one_vote_per_source=True)
    assert (result.value, result.fields["[1]"].status) == (["a"], "absent")
    kept = merge(revisions, weights=None, one_vote_per_source=True, min_support=0.3)
    assert (kept.value, kept.fields["[1]"].agreement) == (["a", "b"], 1 / 3)


def test_what_an_item_holds_is_said_by_the_sources_that_have_it():
    lists = [
        ("x", [{"k": "mug", "n": 1}]),
        ("y", [{"k": "mug", "n": 1}]),
        ("z", [{"k": "mug", "n": 2}]),
        ("z", []),
        ("z", []),
    ]
    item = merge(said(*lists), weights=None, one_vote_per_source=True).fields["[0].n"]
    assert (item.value, item.agreement, [each.sources for each in item.candidates]) == (1, 1.0, [("x", "y")])


def test_the_order_of_items_is_that_of_most_sources():
    revisions = said(*[("chatty", ["a", "b"])] * 3, ("x", ["b", "a"]), ("y", ["b", "a"]))
    assert merge(revisions, weights=None).value == ["a", "b"]
    assert merge(revisions, weights=None, one_vote_per_source=True).value == ["b", "a"]
    keys = said(*[("chatty", {"a": 1, "b": 1})] * 3, ("x", {"b": 1, "a": 1}), ("y", {"b": 1, "a": 1}))
    assert list(merge(keys, weights=None, one_vote_per_source=True).value) == ["b", "a"]
    unordered = merge(revisions, weights=[1, 1, 1, 1, 2], compare={"$": Unordered()}, one_vote_per_source=True)
    assert unordered.value == ["b", "a"]


def test_spellings_that_count_as_equal_are_one_answer_of_a_source():
    revisions = said(("x", {"a": "ACME"}), ("x", {"a": "Acme"}), ("y", {"a": "Acme"}), ("z", {"a": "Bolt"}))
    field = merge(revisions, weights=None, one_vote_per_source=True, compare={"a": "text"}).fields["a"]
    assert (field.value, field.agreement) == ("Acme", 2 / 3)
    assert merge(revisions, weights=None, one_vote_per_source=True, min_agreement=0.6).value == {}


def test_a_resolver_hears_every_source_once():
    heard = []

    def note(path, values, weights):
        heard.append((str(path), values, weights))
        return max(values)

    revisions = said(*[("chatty", {"a": 1})] * 3, ("x", {"a": 2}), ("y", {"a": 3}), ("y", {"a": 3}), ("z", {}))
    result = merge(revisions, weights=None, one_vote_per_source=True, conflict_resolver=note)
    assert heard == [("a", [1, 2, 3], [1.0, 1.0, 1.0])]
    assert (result.value, result.fields["a"].support) == ({"a": 3}, 0.25)


def test_a_source_weighs_as_much_as_its_heaviest_revision():
    revisions = said(("x", {"a": 1}), ("x", {"a": 1}), ("y", {"a": 2}))
    field = merge(revisions, weights=[0.5, 0.25, 1.0], one_vote_per_source=True).fields["a"]
    assert (field.value, field.agreement) == (2, 1.0 / 1.5)
    assert merge(revisions, weights={"x": 0.2}, one_vote_per_source=True).value == {"a": 2}


def test_both_rules_together_count_the_sources_that_speak_for_a_value():
    revisions = said(*[("x", {"a": 1})] * 3, ("y", {"a": 2}), ("y", {"a": 2}), ("y", {"a": 1}))
    assert merge(revisions, weights=None, min_sources=2).value == {"a": 1}
    both = merge(revisions, weights=None, min_sources=2, one_vote_per_source=True, min_agreement=0.5)
    assert both.value == {}


@settings(deadline=None)
@given(st.lists(JSON, min_size=1, max_size=5), st.sampled_from([None, "trust"]), THRESHOLDS)
def test_with_a_source_each_it_is_the_plain_merge(revisions, weights, threshold):
    named = said(*((f"s{index}", revision) for index, revision in enumerate(revisions)))
    plain = merge(named, weights=weights, min_agreement=threshold)
    assert outcome(merge(named, weights=weights, min_agreement=threshold, one_vote_per_source=True)) == outcome(plain)


@settings(deadline=None)
@given(st.lists(st.tuples(JSON, st.integers(1, 3)), min_size=1, max_size=4), THRESHOLDS, st.integers(1, 3))
def test_saying_it_again_changes_nothing(said_, threshold, min_sources):
    once = said(*((f"s{index}", revision) for index, (revision, _) in enumerate(said_)))
    again = [reply for reply, (_, times) in zip(once, said_, strict=True) for _ in range(times)]
    options = {"weights": None, "min_agreement": threshold, "one_vote_per_source": True, "min_sources": min_sources}
    if has_list([revision for revision, _ in said_]):
        return  # which items are the same is found from all lists alike, copies included
    assert outcome(merge(again, **options)) == outcome(merge(once, **options))


def has_list(revisions) -> bool:
    return any("[" in canonical_text(revision) for revision in revisions)


@settings(deadline=None)
@given(
    st.lists(st.tuples(SOURCES, JSON), min_size=1, max_size=5),
    st.sampled_from([None, "trust"]),
    st.booleans(),
    st.integers(1, 2),
    st.randoms(),
)
def test_the_order_of_revisions_never_matters(given_, weights, one_vote_per_source, min_sources, rng):
    options = {
        "weights": weights,
        "one_vote_per_source": one_vote_per_source,
        "min_sources": min_sources,
        "conflict_resolver": SimilarityClusterResolver(),
    }
    shuffled = rng.sample(given_, len(given_))
    assert outcome(merge(said(*shuffled), **options)) == outcome(merge(said(*given_), **options))


LONG = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["red", "green", "reed", 1, 2]), max_size=6)


@settings(deadline=None)
@given(st.lists(LONG, min_size=2, max_size=5), st.lists(st.integers(1, 4), min_size=5, max_size=5), THRESHOLDS)
def test_a_source_that_repeats_itself_is_weighed_as_if_it_did_not(records, times, threshold):
    """A chatty source that is far from the others does not make its own distance the usual one."""
    options = {"one_vote_per_source": True, "weights": "trust", "min_agreement": threshold}
    once = merge(said(*((f"s{i}", record) for i, record in enumerate(records))), **options)
    often = [(f"s{i}", record) for i, record in enumerate(records) for _ in range(times[i])]
    repeated = merge(said(*often), **options)
    assert repeated.partial == once.partial
    weights = [weight / repeated.weights[0] for weight in repeated.weights]
    assert weights == pytest.approx([once.weights[int(s[1:])] / once.weights[0] for s, _ in often])
    assert [field.agreement for field in repeated.fields.values()] == pytest.approx(
        [field.agreement for field in once.fields.values()]
    )


@given(st.lists(st.tuples(SOURCES, FLAT), min_size=1, max_size=7), THRESHOLDS)
def test_flat_records_against_a_plain_count_of_sources(given_, threshold):
    sources = {source for source, _ in given_}
    expected = {}
    for key in "ab":
        held = {
            source: Counter(key in record for own, record in given_ if own == source).most_common()
            for source in sources
        }
        have = [source for source in sources if plurality(held[source]) is True]
        lack = [source for source in sources if plurality(held[source]) is False]
        if len(have) <= len(lack) or len(have) / len(sources) < threshold:
            continue
        votes = Counter(
            choice for source in have if (choice := plurality(values_of(given_, source, key))) is not None
        ).most_common()
        choice = plurality(votes)
        if choice is not None and votes[0][1] / len(sources) >= threshold:
            expected[key] = choice
    options = {"min_agreement": threshold, "one_vote_per_source": True, "conflict_resolver": default_conflict_resolver}
    assert merge(said(*given_), weights=None, **options).value == expected


def values_of(given_, source, key) -> list[tuple[int, int]]:
    return Counter(record[key] for own, record in given_ if own == source and key in record).most_common()


def plurality(counted):
    """The commonest answer, None on a tie."""
    (answer, most), *others = counted or [(None, 0)]
    return None if any(count == most for _, count in others) else answer


# Arguments


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_sources": 0}, SettingsError, "min_sources must be an int of at least 1, got 0"),
        ({"min_sources": 1.5}, TypeError, "min_sources must be an int"),
        ({"one_vote_per_source": 1}, TypeError, "one_vote_per_source must be True or False"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        merge([{}], **options)
