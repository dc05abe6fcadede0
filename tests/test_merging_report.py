"""The report on a merge: what it says of every field is what the record holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.merging import Ignore, flatten, merge, prefer_most_common_resolver

LEAVES = st.sampled_from([0, 1, None, "p1", "p2"])
INNER = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "q"]), inner, max_size=2),
    max_leaves=6,
)
RECORDS = st.dictionaries(st.sampled_from(["i", "j"]), INNER, max_size=2)
NOWHERE = object()


def at(record, path):
    """What a record has at a path."""
    for step in path:
        has = step in record if isinstance(record, dict) else isinstance(record, list) and step in range(len(record))
        if not has:
            return NOWHERE
        record = record[step]
    return record


def check_report(result):
    """Every field says what is at its path, nothing in the record is unreported, and the counts add up."""
    for path, field in result.fields.items():
        found = at(result.partial, path)
        if field.status in ("omitted", "absent") or (field.status == "reconciled" and found is NOWHERE):
            assert (found, field.value) == (NOWHERE, None), path
        else:
            assert json.dumps(field.value) == json.dumps(found), path
        if field.status == "unanimous":
            assert len(field.candidates) == 1, path
    kept = [path for path in result.fields if at(result.partial, path) is not NOWHERE]
    leaves = list(flatten(result.partial))
    assert all(not leaf or any(leaf[: len(path)] == path for path in kept) for leaf in leaves)
    if not any(field.status in ("resolved", "reconciled") for field in result.fields.values()):  # whole values, maybe
        assert result.paths_in_consensus_output == len([leaf for leaf in leaves if leaf in result.fields])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(RECORDS, min_size=1, max_size=5),
    st.sampled_from([None, "trust"]),
    st.sampled_from([0.3, 0.5, 0.7]),
    st.sampled_from([{}, {"conflict_resolver": prefer_most_common_resolver}, {"min_support": 0.3}]),
)
def test_the_report_agrees_with_the_record(revisions, weights, threshold, options):
    check_report(merge(revisions, weights=weights, min_agreement=threshold, **options))


@settings(max_examples=150, deadline=None)
@given(st.lists(RECORDS, min_size=2, max_size=5), st.sampled_from(["i", "j"]), st.booleans())
def test_so_it_does_where_constraints_changed_the_record(revisions, key, wanted):
    check_report(merge(revisions, weights=None, constraints=[lambda record: (key in record) is wanted], max_repairs=50))


def test_an_item_of_which_nothing_is_kept_is_omitted():
    items = [[], *([{"id": name, "q": number}] for name in ("p1", "p2") for number in (0, 1))]
    result = merge([{"i": each} for each in items], weights=None)
    assert result.value == {"i": []}
    item, around = result.fields["i[0]"], result.fields["i"]
    assert (item.status, item.value, item.agreement) == ("omitted", None, 0.8)
    assert [(each.value, each.absent, each.weight) for each in item.candidates] == [({}, False, 4.0), (None, True, 1.0)]
    assert (around.status, around.value) == ("agreed", [])
    assert merge([{"i": []}] * 3).fields["i"].status == "unanimous"


def test_a_record_of_which_nothing_is_kept_is_there():
    result = merge([{"a": 1}, {"a": 2}, {"a": 3}, [1]], weights=None)
    assert result.value == {}
    assert (result.fields["$"].value, result.fields["$"].status) == ({}, "agreed")


def test_a_container_is_shown_as_the_constraints_left_it():
    revisions = [{"i": {"a": 1, "b": 5}}, {"i": {"a": 1, "b": 5}}, {"i": {"a": 2, "b": 5}}, {}]
    result = merge(revisions, weights=None, constraints=[lambda record: record["i"]["a"] == 2])
    assert result.value == {"i": {"a": 2, "b": 5}}
    assert result.fields["i"].value == {"a": 2, "b": 5}
    assert result.fields["i"].candidates[0].value == {"a": 2, "b": 5}
    changed = result.fields["i.a"]
    assert (changed.status, changed.value, changed.replaced) == ("reconciled", 2, 1)


def test_what_was_reconciled_away_is_not_in_the_output():
    result = merge([{"a": 1, "b": 1}] * 2 + [{"b": 1}], weights=None, constraints=[lambda record: "a" not in record])
    assert result.value == {"b": 1}
    assert result.fields["a"].status == "reconciled"
    assert (result.unique_paths_considered, result.paths_in_consensus_output) == (2, 1)


def test_fields_are_told_the_same_long_after_the_merge():
    """They are told when asked for; what the constraints chose must not be taken for what memory holds by then."""
    revisions = [{}, {"i": [0]}, {"i": [0]}, {"i": [[]]}]

    def told() -> str:
        result = merge(revisions, weights=None, constraints=[lambda record: "i" not in record], max_repairs=50)
        check_report(result)
        return repr([(path, field.status, field.value, field.candidates) for path, field in result.fields.items()])

    assert len({told() for _ in range(300)}) == 1


def test_whoever_changes_the_value_does_not_change_what_was_agreed():
    revisions = [
        {"a": [1], "b": {"c": 1}},
        {"a": {"x": [2]}, "b": {"c": 1}},
        {"a": {"x": [2]}, "b": {"c": 1}},
        {"a": [3]},
    ]
    for options in ({}, {"schema": {"type": "object"}}, {"compare": {"a": Ignore()}}):
        result = merge(revisions, weights=None, conflict_resolver=prefer_most_common_resolver, **options)
        before = json.dumps(result.partial)
        result.value["a"].clear()
        result.value["b"]["c"] = "changed"
        assert json.dumps(result.partial) == before
        if "compare" not in options:
            check_report(result)


@pytest.mark.parametrize("fields", range(1, 14))
@pytest.mark.parametrize(("most", "n"), [(2, 3), (3, 5), (4, 5), (4, 7), (5, 7), (7, 9), (6, 11)])
def test_a_confidence_that_is_just_enough_is_enough(fields, most, n):
    revisions = [{f"f{field}": min(0, most - 1 - place) for field in range(fields)} for place in range(n)]
    result = merge(revisions, weights=None, min_confidence=most / n)
    assert result.consensus_confidence_score == most / n
    assert not result.abstained
    assert merge(revisions, weights=None, min_confidence=most / n + 1e-6).reason == "low_confidence"
