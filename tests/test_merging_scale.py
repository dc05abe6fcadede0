"""Scale: what is large or of an unlucky shape takes its share of time and no more, with the same outcome.

Work is counted where it can be; processor time is measured only where the slow way took ten times as long.
"""

from __future__ import annotations

import math
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import NumericResolver, Similar, Tolerance, merge
from consilience.merging import _likeness
from consilience.merging._centres import around_the_heaviest, heaviest_first
from consilience.merging._clusters import _average_linkage, distinction
from consilience.merging._comparators import _exact
from consilience.merging._likeness import measured_likeness
from consilience.merging._ratios import text_ratios
from consilience.merging._tree import lay_over

NUMBERS = st.one_of(
    st.integers(-9, 9),
    st.integers(-20, 20).map(lambda tenths: tenths / 10),
    st.sampled_from([None, "x", True, 1e308, -1e308, 10**400, -(10**400), math.inf, -math.inf, math.nan, 0.0, 5e-324]),
)
RULES = st.builds(
    Tolerance,
    st.sampled_from([0, 0.1, 0.5, 1, 2.5, 1e308]),
    st.sampled_from([0, 0.1, 0.5, 0.99, 1, 1.5, 3]),
)


def plain_groups(values, weights, same):
    """Groups around the heaviest, everything looked at again every time."""
    places = range(len(values))
    reach = {one: {other for other in places if one == other or same(values[one], values[other])} for one in places}
    left, groups = set(places), []
    while left:
        centre = max(left, key=lambda one: (sum(weights[each] for each in reach[one] & left), weights[one], -one))
        groups.append(sorted(reach[centre] & left))
        left -= reach[centre]
    return sorted(groups)


@settings(max_examples=400, deadline=None)
@given(RULES, st.lists(st.tuples(NUMBERS, st.sampled_from([0, 1, 2, 5])), min_size=1, max_size=12))
def test_close_numbers_are_grouped_as_if_every_two_were_compared(rule, given_values):
    values, weights = [value for value, _ in given_values], [weight for _, weight in given_values]
    exact = [_exact(value) for value in values]
    expected = plain_groups(exact, weights, rule._is_close)
    assert rule.groups(values, weights) == expected
    assert around_the_heaviest(exact, weights, rule._is_close) == expected
    assert rule.equal_pairs(values, values).tolist() == [[rule._is_close(a, b) for b in exact] for a in exact]


@pytest.mark.parametrize("tolerance", [0.1, 100, 1e6])
@pytest.mark.parametrize("options", [{"compare": True}, {"conflict_resolver": True}])
def test_two_thousand_numbers_are_not_compared_two_by_two(monkeypatch, tolerance, options):
    calls = 0
    is_close = Tolerance._is_close

    def counted(self, one, other):
        nonlocal calls
        calls += 1
        return is_close(self, one, other)

    monkeypatch.setattr(Tolerance, "_is_close", counted)
    rule = {"a": Tolerance(tolerance)} if "compare" in options else None
    resolver = {"conflict_resolver": NumericResolver(tolerance)} if rule is None else {"compare": rule}
    result = merge([{"a": number * 1.5} for number in range(2000)], weights=None, **resolver)
    assert len(result.fields["a"].candidates) == 2000
    assert calls <= 5 * 2000


def test_items_within_a_tolerance_are_compared_one_by_one_at_its_edge_only(monkeypatch):
    exactly = []
    is_close = Tolerance._is_close
    monkeypatch.setattr(Tolerance, "_is_close", lambda self, *two: exactly.append(two) or is_close(self, *two))
    numbers = list(range(300))
    near = Tolerance(10).equal_pairs(numbers, numbers)
    assert near.tolist() == [[abs(one - other) <= 10 for other in numbers] for one in numbers]
    assert len(exactly) == 2 * 290  # those exactly 10 apart


def test_a_centre_is_looked_at_again_only_when_it_comes_first():
    reach = [[place] for place in range(20_000)]
    started = process_time()
    assert heaviest_first(reach, [1] * len(reach)) == reach
    assert process_time() - started < 5


def plain_linkage(matrix, threshold):
    """Average linkage, every two groups looked at again every time."""
    groups = {index: [index] for index in range(len(matrix))}
    sums, sizes = np.array(matrix, dtype=float), np.ones(len(matrix))
    np.fill_diagonal(sums, -np.inf)
    while len(groups) > 1:
        means = sums / np.outer(sizes, sizes)
        first, second = divmod(int(np.argmax(means)), len(matrix))
        if means[first, second] < threshold - 1e-9:
            break
        sums[first] += sums[second]
        sums[:, first] = sums[first]
        sums[second] = sums[:, second] = sums[first, first] = -np.inf
        sizes[first] += sizes[second]
        groups[first] = sorted(groups[first] + groups.pop(second))
    return list(groups.values())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_linkage_joins_what_it_would_if_all_were_looked_at_again(data):
    size = data.draw(st.integers(2, 10))
    levels = data.draw(st.sampled_from([[0.5, 0.6, 0.9], [share / 100 for share in range(101)]]))
    matrix = np.array(data.draw(st.lists(st.sampled_from(levels), min_size=size * size, max_size=size * size)))
    matrix = matrix.reshape(size, size)
    if data.draw(st.booleans()):
        matrix = np.maximum(matrix, matrix.T)
    threshold = data.draw(st.sampled_from([0.1, 0.5, 0.6, 0.75, 0.9]))
    assert _average_linkage(matrix, threshold) == plain_linkage(matrix, threshold)


def test_many_texts_that_are_nearly_the_same():
    letters = "abcdefghijkl"
    texts = [f"the quick brown fox {a}{b}{c} jumps" for a in letters for b in letters for c in letters][:1500]
    started = process_time()
    groups = Similar(0.9).groups(texts, [1] * len(texts))
    assert process_time() - started < 15
    assert sorted(index for group in groups for index in group) == list(range(len(texts)))


@pytest.mark.parametrize("text", [" " * 200_000, "1" + " " * 200_000 + "x", "(" + "\n" * 200_000, "+" + " " * 200_000])
def test_long_runs_of_spaces_are_read_once(text):
    started = process_time()
    assert distinction(text) == distinction(text[:1] + " " * 5 + text[200_001:])
    assert process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("- 5", ("-5",)),
        ("a   5", ("5",)),
        ("500-", ("500-",)),
        ("( 5 )", ("(5)",)),
        ("3 - 5", ("3", "-5")),
        ("+\n7", ("+7",)),
    ],
)
def test_signs_that_stand_apart(text, numbers):
    assert distinction(text)[0] == numbers


def test_long_texts_in_lists_are_compared_as_fast_as_elsewhere():
    text = "all work and no play makes Jack a dull boy " * 10_000
    started = process_time()
    result = merge([[f"{text}{mark}{text}"] for mark in "aab"])
    assert process_time() - started < 5
    assert result.value == [f"{text}a{text}"]
    assert result.unique_paths_considered == 1
    assert text_ratios(["x" * 9000], ["x" * 9000, "x" * 8999 + "y"]).round(4).tolist() == [[1.0, 0.9999]]


RARE = st.dictionaries(
    st.sampled_from([f"k{number}" for number in range(20)]),
    st.sampled_from(["a", "ab", "abc", 1, 1.0, True, None, [], {}]),
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(RARE, min_size=32, max_size=40))
def test_leaves_that_few_have_count_as_all_others_do(revisions):
    def measured():
        tree = lay_over(dict(enumerate(revisions)), {})
        return measured_likeness(tree, range(len(revisions))).tolist(), [leaf.likeness for leaf, _ in tree.leaves()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_likeness._Rare, "takes", lambda _self, _answers: False)
        expected = measured()
    assert measured() == expected


def test_what_only_one_revision_has_is_not_compared_with_all(monkeypatch):
    cells = 0
    compare = _likeness._Block.compare

    def counted(self, ones, others):
        nonlocal cells
        cells += len(self.leaves) * len(ones)
        return compare(self, ones, others)

    monkeypatch.setattr(_likeness._Block, "compare", counted)
    result = merge([{f"k{number}": number, "name": "x"} for number in range(300)])
    assert result.value == {"name": "x"}
    assert cells == 0
