"""Comparators and clusters: what counts as equal, and what never does."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._canonical import canonical_text
from consilience._errors import ConsilienceError, SettingsError
from consilience.merging import (
    Comparator,
    Exact,
    Ignore,
    Keyed,
    Normalized,
    Ordered,
    Similar,
    Tolerance,
    Unordered,
    merge,
)
from consilience.merging._clusters import cluster_texts, distinction
from consilience.merging._comparators import Custom

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
    ("- 500", "500"),
    ("500-", "500"),
    ("− 5 °C", "5 °C"),
    ("(500)", "500"),
    ("+5", "5"),
    ("5000‰", "5000"),
    ("12'", '12"'),
    ("12′", "12″"),
    ("12'", "12"),
    ("§ 5", "5"),
    ("< 5", "5"),
    ("minus 500 USD", "500 USD"),
    ("keinen Schaden", "einen Schaden"),
    ("keinerlei Schaden", "einerlei Schaden"),
    ("can\u02bct", "can"),
    ("dont", "do"),
    ("n'est", "est"),
    ("geen schade", "een schade"),
    ("aucun dommage", "un dommage"),
]

SPELLINGS = [
    ("don't go", "don\u2019t go"),
    ("don\u02bct go", "dont go"),
    ("10-20", "10 \u2013 20"),
    ("-5", "\u2212 5"),
    ("5 \u2033", '5"'),
    ("e-mail", "email"),
    ("Tokyo, Japan", "Tokyo (Japan)"),
    ("1990s.", "1990s"),
]


@pytest.mark.parametrize("pair", SPELLINGS)
def test_spellings_that_differ_in_nothing_that_counts(pair):
    assert distinction(pair[0]) == distinction(pair[1])


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


@pytest.mark.parametrize(
    ("numbers", "rule"),
    [
        ([10**12, 10**12 + 900, 3], Tolerance(0.01)),
        ([4915112345678, 4915112345679, 4915112345670], Tolerance()),
        ([5.0, float("inf"), 7.0], Tolerance(0.5)),
        ([float("nan"), float("inf"), float("-inf")], Tolerance(1, 1)),
        ([10**400, 10**400 + 2, 1.5], Tolerance(1, 0)),
        ([10.0, 9.98, 9.96], Tolerance(0.01)),
    ],
)
def test_numbers_that_are_not_close(numbers, rule):
    assert rule.groups(numbers, [1] * len(numbers)) == [[0], [1], [2]]
    assert rule.equal_pairs(numbers, numbers[::-1])[:, ::-1].sum() <= len(numbers)
    assert values(numbers, compare={"a": rule})[1] == "omitted"


def test_tolerance_is_exact_at_its_edge():
    assert Tolerance(0.01).groups([9.99, 10.0], [1, 1]) == [[0, 1]]
    assert Tolerance(rel=0.1).groups([0.9, 1.0], [1, 1]) == [[0, 1]]
    assert Tolerance(1).groups([10**400, 10**400 + 1], [1, 1]) == [[0, 1]]


RULES = [
    Exact(),
    Normalized("text"),
    Normalized("number"),
    Similar(0.6),
    Similar(0.6, lambda a, b: float(a[:1] == b[:1])),
]
RULES += [Tolerance(1), Tolerance(rel=0.5), Custom(lambda one, other: str(one)[:1] == str(other)[:1])]
MIXED = st.integers(-3, 3) | st.sampled_from([0.5, 1.5, True, None, "a", "A", "ab", "abb", "1", "#a", "", 10**400])


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(RULES), st.lists(MIXED, min_size=1, max_size=4), st.lists(MIXED, min_size=1, max_size=4))
def test_equal_pairs_are_the_groups_of_two(rule, left, right):
    matrix = rule.equal_pairs(left, right)
    for row, one in enumerate(left):
        for column, other in enumerate(right):
            two = sorted({canonical_text(value): value for value in (one, other)}.items())
            expected = len(rule.groups([value for _, value in two], [1] * len(two))) == 1
            if len(two) == 2:
                assert matrix[row, column] == expected


class FirstLetter(Comparator):
    """A comparator that has ``groups`` alone."""

    def groups(self, values, weights):
        letters = sorted({value[0] for value in values})
        return [[index for index, value in enumerate(values) if value[0] == letter] for letter in letters]


@pytest.mark.parametrize(
    ("lists", "rule", "expected"),
    [
        ([[1.0], [1.001], [0.999]], Tolerance(0.01), [0.999]),
        ([["URGENT"], ["urgent"], ["Urgent"]], "text", ["URGENT"]),
        ([["Bob"], ["Robert"], ["bob"]], lambda one, other: True, ["Bob"]),
        ([["ax"], ["ay"], ["bz"]], FirstLetter(), ["ax"]),
        ([["1,180.00", "7"], [7, 1180], ["1180", "7"]], "number", ["1,180.00", "7"]),
    ],
)
def test_comparators_pair_the_items_of_lists(lists, rule, expected):
    for order in permutations(lists):
        assert merge(list(order), compare={"[]": rule}, weights=None).value == expected


def test_comparators_of_fields_pair_items_and_find_keys():
    rows = [[{"sku": sku, "q": 1}, {"sku": "zz", "q": 2}] for sku in ("A-1", "a-1", "A-1 ")]
    result = merge(rows, compare={"$": Keyed("sku"), "[].sku": "text"}, weights=None)
    assert result.value == [{"sku": "A-1 ", "q": 1}, {"sku": "zz", "q": 2}]
    keyed = merge([[{"n": 1.0, "a": "x", "b": "y"}], [{"n": 1.001, "a": "q", "b": "r"}]] * 2, weights=None,
                  compare={"$": Keyed("n"), "[].n": Tolerance(0.01)})  # fmt: skip
    assert keyed.value[0]["n"] == 1.0


def test_what_is_never_voted_on_pairs_nothing():
    lists = [[{"a": "same", "note": note, "more": note}] for note in ("one", "quite another", "third")]
    assert merge(lists, compare={"[].note": Ignore(), "[].more": Ignore()}, weights=None).value[0]["a"] == "same"


def test_a_comparator_that_raises_on_items_names_the_pattern():
    def broken(one, other):
        raise KeyError("x")

    with pytest.raises(ConsilienceError, match=r"comparator of \S*\[\] raised KeyError"):
        merge([["a"], ["b"]], compare={"[]": broken})


@pytest.mark.parametrize("groups", [[], [[0]], [[0, 1], [1]], [[0], [5]], 7])
def test_groups_that_are_no_partition_are_an_error_with_the_path(groups):
    class Broken(Comparator):
        def groups(self, values, weights):
            return groups

    with pytest.raises(ConsilienceError, match=r"comparator of .* raised"):
        merge([[{"id": "a"}], [{"id": "b"}]], compare={"$": Keyed("id"), "[].id": Broken()})


def test_asynchronous_functions_are_refused():
    async def same(one, other):
        return True

    for make in (lambda: Custom(same), lambda: Similar(0.5, same), lambda: merge([], compare={"a": same})):
        with pytest.raises(TypeError, match="must be a plain function, got the asynchronous 'same'"):
            make()


def test_one_position_of_a_list_cannot_have_a_comparator():
    with pytest.raises(SettingsError, match=r"items are paired across revisions: write items\[\]\.name"):
        merge([], compare={"items[0].name": "text"})
