"""Merging as a whole: worked values, and properties that hold for any JSON."""

from __future__ import annotations

import copy
import json
import math
import random
from itertools import permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from consilience._canonical import canonical_text
from consilience._errors import ConsilienceError, SettingsError
from consilience.merging import (
    ConsensusReason,
    Ignore,
    JSONConsensus,
    Keyed,
    SimilarityClusterResolver,
    Unordered,
    default_conflict_resolver,
    flatten,
    merge,
    prefer_leading_resolver,
    prefer_most_common_resolver,
)
from consilience.replies import Reply

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -0.0])
    | st.sampled_from(["", "a", "ab", "b", "1", "1.5", "15", "C", "C#", "Smith", "Smyth"])
)
KEYS = st.sampled_from(["a", "b", "c.d", "0", "[]", ""])
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
RECORDS = st.fixed_dictionaries({"id": st.sampled_from(["x", "y"]), "n": st.integers(0, 2)}) | JSON
REVISIONS = st.lists(JSON, min_size=1, max_size=5)
WEIGHTINGS = st.sampled_from([None, "trust"])


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def outcome(result) -> tuple:
    return (
        text(result.partial),
        result.reason,
        sorted(map(canonical_text, map(list, result.fields))),
        round(result.consensus_confidence_score, 12),
        [(str(path), field.status, field.agreement, field.support) for path, field in result.fields.items()],
    )


def test_superwidget():
    one = {"name": "SuperWidget", "specs": {"ram_gb": 16}, "tags": ["A", "B"]}
    two = {"name": "SuperWidget", "specs": {"ram_gb": 32}, "tags": ["A", "C"]}
    result = merge([one, two], weights=[1.2, 0.8])
    assert result.value == {"name": "SuperWidget", "specs": {"ram_gb": 16}, "tags": ["A", "B"]}
    assert result.fields["name"].agreement == 1.0
    assert result.fields["name"].status == "unanimous"
    assert result.fields["tags.0"].agreement == 1.0
    assert result.fields["tags[1]"].value == "B"
    assert result.fields["tags[1]"].agreement == pytest.approx(0.6)
    assert result.fields["tags[1]"].support == 0.5
    left_out = result.fields["tags[2]"]
    assert left_out.value is None
    assert left_out.status == "absent"
    assert [(each.value, each.absent, each.weight) for each in left_out.candidates] == [
        (None, True, 1.2),
        ("C", False, 0.8),
    ]
    assert result.unique_paths_considered == 5
    assert result.paths_in_consensus_output == 4


def test_countries():
    revisions = [{"country": name} for name in ("USA", "U.S.A.", "United States", "France")]
    assert merge(revisions).value == {}
    assert merge(revisions).fields["country"].status == "omitted"
    clustered = merge(revisions, conflict_resolver=SimilarityClusterResolver(), weights=None)
    assert clustered.value == {"country": "USA"}
    assert clustered.fields["country"].status == "resolved"
    assert clustered.paths_resolved_by_conflict_resolver == 1


def test_numbers_and_truth_never_merge():
    result = merge([True, 1, 1.0])
    assert result.abstained
    assert result.reason == ConsensusReason.LOW_AGREEMENT
    assert merge([{"a": True}, {"a": 1}, {"a": 1.0}]).value == {}


@pytest.mark.parametrize(
    ("revisions", "value"),
    [
        ([{"a": []}] * 3, {"a": []}),
        ([{"a": {}}] * 3, {"a": {}}),
        ([{"a": {"k": "x"}}, {"a": {"k": "x"}}, {"a": ["x"]}], {"a": {"k": "x"}}),
        ([{}, {}, {"a": "x"}], {}),
        ([{"a": None}, {"a": None}, {"a": "x"}], {"a": None}),
        ([[], [], [1]], []),
        ([["x"], ["x"], "x"], ["x"]),
    ],
)
def test_kinds_empties_and_absence(revisions, value):
    assert merge(revisions).value == value


@pytest.mark.parametrize("weights", [None, "trust"])
@pytest.mark.parametrize(
    ("revisions", "value"),
    [
        ([{"a": "x", "b": ["y"]}, {"a": "x"}], {"a": "x", "b": ["y"]}),
        ([{"a": "x", "b": {"c": "y"}}, {"a": "x"}], {"a": "x", "b": {"c": "y"}}),
        ([{"b": {"c": 1, "d": 2}}, {"b": {"c": 1, "d": 3}}, {}, {}], {"b": {"c": 1}}),
        ([{"b": []}, {"b": []}, {}, {}], {"b": []}),
        ([{"b": ["y"]}, {}, {}], {}),
        ([{"b": ["y"]}, {"b": {"c": 1}}, {}, {}], {}),
        ([{"b": ["y"]}, {"b": "y"}], {}),
        ([{"a": "x", "b": "y"}, {"a": "x"}], {"a": "x"}),
        ([["a", "b"], ["a"]], ["a"]),
    ],
)
def test_a_container_that_half_of_the_weight_has_meets_the_threshold(revisions, value, weights):
    assert merge(revisions, weights=weights).value == value
    assert merge(revisions[::-1], weights=weights).value == value


def test_by_default_a_value_that_leads_alone_is_taken_for_review():
    result = merge([{"ram": value} for value in (16, 32, 32, 64, 8)], weights=None)
    field = result.fields["ram"]
    assert result.value == {"ram": 32}
    assert (field.status, field.agreement) == ("resolved", 0.4)
    assert [str(each.path) for each in result.needs_review(below=0.8)] == ["ram"]
    assert JSONConsensus(weights=None).get_consensus([{"ram": value} for value in (1, 2, 2, 3, 4)]).value == {"ram": 2}


@pytest.mark.parametrize("values", [(16, 32), (16, 16, 32, 32), (16, 32, 64), (True, 1, 1.0), (16, 32, 32, 16, 8)])
def test_by_default_a_value_that_does_not_lead_alone_is_left_out(values):
    assert merge([{"ram": value} for value in values], weights=None).value == {}


@pytest.mark.parametrize("threshold", [0.51, 0.8, 1.0])
def test_who_asks_for_more_than_half_gets_nothing_that_has_less(threshold):
    revisions = [{"ram": value} for value in (16, 32, 32, 64, 8)]
    assert merge(revisions, weights=None, min_agreement=threshold).value == {}
    assert merge(revisions, weights=None, conflict_resolver=default_conflict_resolver).value == {}


def test_a_leading_value_with_too_few_sources_is_left_out():
    samples = [Reply({"a": value}, source=source) for value, source in ((1, "x"), (1, "x"), (2, "y"))]
    assert merge(samples, weights=None, min_sources=2).value == {}
    assert merge(samples, weights=None, min_sources=2, conflict_resolver=prefer_leading_resolver).value == {}


def test_a_container_that_half_has_is_shown_for_review():
    result = merge([{"a": "x", "b": ["y"]}, {"a": "x"}])
    field = result.fields["b"]
    assert (field.value, field.status, field.agreement, field.support) == (["y"], "agreed", 0.5, 0.5)
    assert [(each.value, each.absent) for each in field.candidates] == [(["y"], False), (None, True)]
    assert [str(each.path) for each in result.needs_review(below=0.8)] == ["b"]
    assert merge([{"b": ["y"]}, {}], min_agreement=0.6).value == {}


def test_null_is_a_value():
    plain, trusting = merge([None, None, "x"], weights=None), merge([None, None, "x"])
    assert plain.value is None
    assert not plain.abstained
    assert plain.fields["$"].agreement == 2 / 3
    assert trusting.fields["$"].agreement == pytest.approx(0.75)
    assert trusting.fields["$"].support == 2 / 3


@pytest.mark.parametrize("weights", [None, "trust"])
@pytest.mark.parametrize(
    "pair",
    [("1.5", "15"), ("-5", "5"), ("C", "C#"), ("C", "C++"), (2019, 2024), (True, None), ("Smith", "Smyth"), (1, 1.0)],
)
def test_two_different_values_are_a_conflict(pair, weights):
    assert merge([{"a": pair[0]}, {"a": pair[1]}], weights=weights).value == {}
    assert merge([{"a": each} for each in (*pair, *pair)], weights=weights).value == {}


@pytest.mark.parametrize("pair", [("1.5", "15"), ("-5", "5"), ("C", "C++"), ("C", "C#"), ("C++", "C#")])
def test_the_text_normaliser_keeps_them_apart_too(pair):
    assert merge([{"a": each} for each in pair], compare={"a": "text"}).value == {}


def test_items_in_any_order_with_one_missing_and_one_extra():
    mug, lamp, desk = ({"sku": sku, "qty": qty} for sku, qty in (("mug-1", 2), ("lamp-7", 1), ("desk-3", 5)))
    extra = {"sku": "pencil-9", "qty": 40}
    result = merge([[mug, lamp, desk], [desk, mug, lamp], [mug, lamp], [mug, extra, lamp, desk]])
    assert result.value == [mug, lamp, desk]


def test_duplicates_stay_when_the_majority_has_them_as_often():
    assert merge([["a", "a", "b"], ["a", "a", "b"], ["a", "b"]]).value == ["a", "a", "b"]
    assert merge([["a", "a", "b"], ["a", "b"], ["a", "b"]]).value == ["a", "b"]


def test_lists_of_lists():
    assert merge([[[1, 2], [3, 4]], [[3, 4], [1, 2]], [[1, 2], [3, 4]]]).value == [[1, 2], [3, 4]]
    assert merge([[[1, 2], [3, 4, 5]], [[1, 2], [3, 4, 6]], [[1, 2], [3, 4, 5]]]).value == [[1, 2], [3, 4, 5]]


def test_min_support_sets_items_apart():
    lists = [["a", "b"], ["a"], ["a"]]
    assert merge(lists, weights=None).value == ["a"]
    assert merge(lists, weights=None, min_support=0.3).value == ["a", "b"]
    assert merge(lists, weights=None, min_agreement=0.3, min_support=1).value == ["a"]


def test_a_hallucinated_revision_counts_less():
    good = {"name": "Ada", "city": "Turin", "total": 12.5}
    wild = {"name": "Zorro", "planet": "Mars"}
    weights = merge([good, good, good, wild]).weights
    assert weights[0] == weights[1] == weights[2] > 1 > weights[3] > 0
    assert sum(weights) == pytest.approx(4)


@settings(max_examples=150, deadline=None)
@given(JSON, st.integers(1, 5), WEIGHTINGS)
def test_a_unanimous_set_comes_back_unchanged(value, times, weights):
    result = merge([copy.deepcopy(value) for _ in range(times)], weights=weights)
    assert text(result.value) == text(value)
    assert result.consensus_confidence_score == 1.0
    assert all(field.status == "unanimous" for field in result.fields.values())


@settings(max_examples=200, deadline=None)
@given(REVISIONS, WEIGHTINGS, st.randoms(use_true_random=False), st.sampled_from([0.3, 0.5, 0.7, 1.0]))
def test_the_order_of_revisions_never_matters(revisions, weights, rng, threshold):
    shuffled = rng.sample(revisions, len(revisions))
    first = merge(revisions, weights=weights, min_agreement=threshold)
    second = merge(shuffled, weights=weights, min_agreement=threshold)
    assert outcome(first) == outcome(second)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(RECORDS, max_size=3), min_size=2, max_size=4), WEIGHTINGS)
def test_nor_does_it_for_lists(revisions, weights):
    resolver = SimilarityClusterResolver()
    outcomes = {
        outcome(merge(list(order), weights=weights, conflict_resolver=resolver)).__repr__()
        for order in permutations(revisions)
    }
    assert len(outcomes) == 1


def rewritten(value, rng):
    """An equal value with its keys in another order."""
    if isinstance(value, dict):
        return {key: rewritten(value[key], rng) for key in rng.sample(sorted(value), len(value))}
    return [rewritten(each, rng) for each in value] if isinstance(value, list) else value


def shown(result) -> tuple:
    """All that a result says, but for the numbers of the revisions."""
    fields = []
    for path, field in result.fields.items():
        candidates = [(text(each.value), each.weight, each.absent) for each in field.candidates]
        fields.append((str(path), text(field.value), field.status, field.agreement, field.support, candidates))
    scores = result.consensus_confidence_score, result.average_string_similarity
    return text(result.partial), text(result.value), result.reason, sorted(fields), scores


WHOLE = [{"a": 1, "b": 2}, {"a": 1, "b": [{"c": 1, "d": 2}]}, [1], 5, None, [{"a": 1, "b": 2}] * 2, {}, []]
SPELLED = st.fixed_dictionaries({"x": st.sampled_from(WHOLE)}, optional={"y": st.sampled_from(WHOLE)})


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(SPELLED, st.sampled_from([0, 1, 2])), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
    st.sampled_from([None, "trust", "given"]),
    st.sampled_from(
        [prefer_most_common_resolver, SimilarityClusterResolver(), lambda path, values, weights: values[0]]
    ),
    st.sampled_from([{}, {"x": Ignore()}, {"x.a": Ignore()}, {"$": Ignore()}, {"x": Unordered()}, {"y": Keyed("a")}]),
    st.sampled_from([0.4, 0.6, 0.9]),
)
def test_nor_do_the_keys_of_values_taken_whole(weighed, rng, weighting, resolver, compare, threshold):
    weighed = [(rewritten(record, rng), weight) for record, weight in [*weighed, weighed[0]]]
    assume(weighting != "given" or any(weight for _, weight in weighed))
    outcomes = set()
    for order in permutations(weighed):
        weights = [weight for _, weight in order] if weighting == "given" else weighting
        result = merge(
            [record for record, _ in order],
            weights=weights,
            conflict_resolver=resolver,
            compare=compare,
            min_agreement=threshold,
        )
        outcomes.add(repr(shown(result)))
    assert len(outcomes) == 1


def test_a_value_taken_whole_has_its_keys_as_most_write_them():
    one, two = {"x": {"b": 1, "a": 2}}, {"x": {"a": 2, "b": 1}}
    rest = [{"x": [1]}, {"x": 5}, {"x": None}, {"x": "u"}]
    options = {"conflict_resolver": prefer_most_common_resolver, "min_agreement": 0.6, "weights": None}
    assert text(merge([two, one, one, *rest], **options).value) == text(one)
    assert text(merge([one, two, *rest], **options).value) == text(two)
    heavy = {**options, "weights": [1, 2, 0, 1, 1, 1, 1]}
    assert text(merge([two, one, two, *rest], **heavy).value) == text(one)


@settings(max_examples=150, deadline=None)
@given(JSON, st.lists(JSON, max_size=3))
def test_a_copy_of_the_majoritys_record_never_lowers_its_agreement(record, others):
    majority = [record] * (len(others) + 1)
    before = merge(majority + others, weights=None)
    after = merge([*majority, record, *others], weights=None)
    assert text(before.partial) == text(after.partial) == text(record)
    for path in flatten(record):
        assert after.fields[path].agreement >= before.fields[path].agreement


def test_what_is_left_out_has_no_say_in_the_order():
    record = {"a": 1, "b": 2}
    assert text(merge([record, record, {"b": 2, "x": 0, "y": 0, "a": 1}], weights=None).value) == text(record)
    majority = [False, []]
    assert text(merge([majority] * 3 + [[[], None], [None, False]], weights=None).value) == text(majority)


@settings(max_examples=200, deadline=None)
@given(REVISIONS, WEIGHTINGS, st.sampled_from([0.3, 0.5, 1.0]))
def test_nothing_is_made_up(revisions, weights, threshold):
    result = merge(revisions, weights=weights, min_agreement=threshold)
    written = {canonical_text(leaf) for revision in revisions for leaf in flatten(revision).values()}
    if not result.abstained and not (isinstance(result.value, dict | list) and not result.value):
        assert {canonical_text(leaf) for leaf in flatten(result.value).values()} <= written
    for field in result.fields.values():
        assert 0 <= field.agreement <= 1.0 + 1e-12
        if field.status == "agreed":
            assert field.agreement >= threshold
    assert result.paths_in_consensus_output <= result.unique_paths_considered


@settings(max_examples=100, deadline=None)
@given(REVISIONS)
def test_revisions_are_left_alone(revisions):
    before = copy.deepcopy(revisions)
    result = merge(revisions, conflict_resolver=prefer_most_common_resolver)
    assert text(revisions) == text(before)
    if isinstance(result.value, dict):
        result.value["mine"] = 1
        assert text(revisions) == text(before)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)), min_size=1, max_size=6))
def test_flat_records_against_a_plain_counter(revisions):
    expected = {}
    for key in {key for record in revisions for key in record}:
        counts: dict = {}
        for record in revisions:
            value = record.get(key, "absent")
            counts[value] = counts.get(value, 0) + 1
        present = len(revisions) - counts.get("absent", 0)
        absent = counts.pop("absent", 0)
        best = max(counts.values())
        leaders = [value for value, count in counts.items() if count == best]
        if present > absent and len(leaders) == 1 and (best / len(revisions) >= 0.5 or best > absent):
            expected[key] = leaders[0]
    assert merge(revisions, weights=None).value == expected


def test_nan_equals_nan():
    assert math.isnan(merge([{"a": math.nan}, {"a": math.nan}, {"a": 1.0}]).value["a"])


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def cycle() -> dict:
    record: dict = {}
    record["self"] = record
    return record


@pytest.mark.parametrize(
    ("revision", "error", "message"),
    [
        (nested(10_000), SettingsError, r"revisions\[1\] is nested deeper than 200"),
        (cycle(), SettingsError, "contains itself"),
        ({1: "x"}, TypeError, r"revisions\[1\] has a key that is not text at \$: 1"),
        ({"a": [object()]}, TypeError, r"revisions\[1\] is not JSON at a\[0\]: object"),
    ],
)
def test_bad_revisions_are_refused(revision, error, message):
    with pytest.raises(error, match=message):
        merge([{}, revision])


def test_deep_revisions_merge():
    value = nested(190)
    assert merge([value, value, []]).value == value
    other = nested(150)
    assert merge([value, other, value]).value == value
    records = [{"a": value}, {"a": other, "b": 1}]
    assert merge([records, records[::-1]]).value == records


@pytest.mark.parametrize("threshold", [0, -1, 1.01, math.nan, math.inf])
def test_thresholds_outside_are_refused(threshold):
    with pytest.raises(SettingsError, match="min_agreement must be a number above 0 and at most 1"):
        merge([{}], min_agreement=threshold)
    with pytest.raises(SettingsError):
        JSONConsensus(threshold)


def test_no_revisions():
    result = merge([])
    assert result.abstained
    assert result.reason == "no_valid"
    assert result.value is None
    with pytest.raises(TypeError, match="revisions must be a list"):
        merge("abc")
    with pytest.raises(TypeError, match="did you mean 'min_agreement'"):
        merge([], min_agrement=1)


def test_a_resolver_that_raises_names_the_path():
    def broken(path, values, weights):
        raise ZeroDivisionError("oh")

    with pytest.raises(ConsilienceError, match=r"conflict resolver raised at items\[0\].qty"):
        merge([{"items": [{"sku": "a", "qty": 1}]}, {"items": [{"sku": "a", "qty": 2}]}], conflict_resolver=broken)


def test_a_comparator_that_raises_names_the_path():
    def broken(one, other):
        raise ZeroDivisionError("oh")

    with pytest.raises(ConsilienceError, match=r"the comparator of a\.b raised ZeroDivisionError"):
        merge([{"a": {"b": 1}}, {"a": {"b": 2}}], compare={"a.b": broken})


def test_required_paths_and_confidence():
    revisions = [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    result = merge(revisions, required=["b"])
    assert result.reason == "incomplete"
    assert [str(path) for path in result.missing] == ["b"]
    assert result.value is None
    assert result.partial == {"a": 1}
    assert merge(revisions, min_confidence=0.9).reason == "low_confidence"
    assert merge([{"l": [{"x": 1}, {}]}], required=["l[].x"]).reason == "incomplete"


def test_review_lists_the_worst_first():
    revisions = [{"a": 1, "b": "x", "c": 3}, {"a": 1, "b": "y", "c": 3}, {"a": 2, "b": "z", "c": 3}]
    items = merge(revisions, weights=None).needs_review(below=0.8)
    assert [(str(item.path), item.value, item.status) for item in items] == [("b", "x", "omitted"), ("a", 1, "agreed")]
    assert items[1].replies == ((revisions[0], revisions[1]), (revisions[2],))
    assert [str(path) for path, _ in merge(revisions).conflicts] == ["b", "a"]


def test_json_consensus_is_merge():
    rng = random.Random(7)
    revisions = [{"a": rng.randint(0, 2), "l": [rng.randint(0, 2) for _ in range(3)]} for _ in range(5)]
    assert JSONConsensus(0.6).get_consensus(revisions) == merge(revisions, min_agreement=0.6)
