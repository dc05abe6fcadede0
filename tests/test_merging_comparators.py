"""Comparators and clusters: what counts as equal, and what never does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._errors import SettingsError
from consilience.merging import Exact, Ignore, Keyed, Normalized, Ordered, Similar, Tolerance, Unordered, merge
from consilience.merging._clusters import cluster_texts, distinction

NEVER_ONE = [
    ("1.5", "15"),
    ("-5", "5"),
    ("C", "C++"),
    ("C", "C#"),
    ("C++", "C#"),
    ("2019", "2024"),
    ("yes", "no"),
    ("allowed", "not allowed"),
    ("works", "doesn't work"),
    ("5 €", "5 $"),
    ("10%", "10"),
    ("A&B", "AB"),
    ("x²", "x³"),
]


@pytest.mark.parametrize("pair", NEVER_ONE)
def test_texts_that_are_never_spellings_of_one_thing(pair):
    assert distinction(pair[0]) != distinction(pair[1])
    assert cluster_texts(sorted(pair), 0.01) == [[0], [1]]
    assert cluster_texts(sorted(pair), 0.01, lambda texts: __import__("numpy").ones((len(texts),) * 2)) == [[0], [1]]


def test_a_chain_of_near_misses_does_not_glue_two_values_together():
    chain = ["aaaa", "aaab", "aabb", "abbb", "bbbb"]
    groups = cluster_texts(chain, 0.7)
    assert not any({0, 4} <= set(group) for group in groups)


@settings(deadline=None)
@given(st.lists(st.text("abAB1#", max_size=4), unique=True, max_size=8), st.floats(0.1, 1))
def test_every_text_is_in_exactly_one_group(texts, threshold):
    groups = cluster_texts(sorted(texts), threshold)
    assert sorted(index for group in groups for index in group) == list(range(len(texts)))


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50) | st.floats(-50, 50), max_size=8), st.floats(0, 5))
def test_tolerance_groups_are_close_to_their_centre(numbers, tolerance):
    groups = Tolerance(tolerance).groups(numbers, [1] * len(numbers))
    assert sorted(index for group in groups for index in group) == list(range(len(numbers)))
    for group in groups:
        inside = [numbers[index] for index in group]
        assert any(all(abs(one - other) <= tolerance + 1e-6 for other in inside) for one in inside)


def values(texts, **options):
    result = merge([{"a": text} for text in texts], weights=None, **options)
    return result.value.get("a"), result.fields["a"].status


def test_comparators_by_path():
    assert values(["ACME Inc", "Acme inc.", "Apex"], compare={"a": "text"}) == ("ACME Inc", "agreed")
    assert values(["1,180.00", 1180, 7], compare={"a": Normalized("number")})[1] == "agreed"
    assert values(["2026-01-31", "31 January 2026", "x"], compare={"a": "date"})[1] == "agreed"
    assert values([9.99, 10.0, 20.0], compare={"a": Tolerance(0.01)}) == (10.0, "agreed")
    assert values(["Meier GmbH", "Meyer GmbH", "Schulz"], compare={"a": Similar(0.8)}) == ("Meier GmbH", "agreed")
    assert values([1, 1.0, 2.0], compare={"a": Exact()}) == (None, "omitted")
    assert values(["x", "X", "y"], compare={"a": lambda one, other: one.lower() == other.lower()})[0] == "X"


def test_the_heaviest_spelling_is_reported_and_all_are_candidates():
    result = merge([{"a": text} for text in ("ACME", "Acme", "Acme", "Apex")], compare={"a": "text"}, weights=None)
    assert result.value == {"a": "Acme"}
    assert result.fields["a"].support == 0.75
    assert [(each.value, each.revisions) for each in result.fields["a"].candidates] == [
        ("Acme", (1, 2)),
        ("ACME", (0,)),
        ("Apex", (3,)),
    ]


def test_patterns_reach_into_lists():
    revisions = [{"items": [{"sku": "a", "name": name}]} for name in ("Mug", "mug", "MUG")]
    assert merge(revisions, compare={"items[].name": "text"}).value["items"][0]["name"] == "MUG"


def test_ignore_is_copied_from_the_most_trusted_and_never_voted_on():
    revisions = [{"a": 1, "note": "n1"}, {"a": 1, "note": "n2"}, {"a": 2, "note": {"x": 1}}]
    result = merge(revisions, weights=[1, 2, 1], compare={"note": Ignore()})
    assert result.value == {"a": 1, "note": "n2"}
    assert "note" not in result.fields


def test_keyed_pairs_items_that_are_not_alike():
    one = [{"id": 1, "a": "x", "b": "y", "c": 1}, {"id": 2, "a": "q", "b": "r", "c": 2}]
    two = [{"id": 2, "a": "s", "b": "t", "c": 3}, {"id": 1, "a": "u", "b": "v", "c": 4}]
    keyed = merge([one, two, one], compare={"$": Keyed("id")}, weights=None)
    assert keyed.value == one
    assert len(keyed.fields) == 8
    twins = [[{"id": number, "a": "the very same", "b": "words"}] for number in (1, 2, 3)]
    assert len(merge(twins, compare={"$": Keyed("id")}, weights=None, min_support=0.3).value) == 3
    composite = merge([one, two], compare={"$": Keyed("id", "a")}, weights=None)
    assert composite.value is None or composite.value == []


def test_keyed_falls_back_where_the_key_is_missing_or_not_unique():
    one = [{"id": 1, "a": "red apple"}, {"id": 1, "a": "green pear"}]
    two = [{"a": "green pear"}, {"id": 1, "a": "red apple"}]
    assert merge([one, one, two], compare={"$": Keyed("id")}, weights=None).value == one


def test_ordered_pairs_by_position():
    points = [[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]]
    assert merge(points, compare={"$": Ordered()}, weights=None).value == [1.0, 3.0]


def test_unordered_comes_in_the_order_of_the_most_trusted_list():
    lists = [["a", "b", "c"], ["a", "b", "c"], ["c", "b", "a"]]
    assert merge(lists, weights=[1, 1, 1.5]).value == ["a", "b", "c"]
    assert merge(lists, weights=[1, 1, 1.5], compare={"$": Unordered()}).value == ["c", "b", "a"]


def test_bad_arguments():
    with pytest.raises(SettingsError, match="threshold must be a number above 0"):
        Similar(0)
    with pytest.raises(SettingsError, match="Tolerance abs"):
        Tolerance(-1)
    with pytest.raises(TypeError, match="Tolerance rel must be a number"):
        Tolerance(0, "x")
    with pytest.raises(TypeError, match="Keyed takes one or several field names"):
        Keyed()
    with pytest.raises(SettingsError, match="normalize must be"):
        Normalized("colour")
    with pytest.raises(TypeError, match=r"compare\['a'\] needs its arguments"):
        merge([], compare={"a": Similar})
