"""Likeness: every two texts at a leaf are compared once, and the numbers are those of a plain implementation."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import rapidfuzz.process
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.fuzz import ratio

from consilience import Sample
from consilience.merging import merge
from consilience.merging._likeness import mean_likeness, measured_likeness
from consilience.merging._tree import lay_over

VALUES = st.sampled_from(["", "a", "ab", "abc", "\ud800", "😀", "\uffff", 1, 1.0, True, None, 0, [], {}])
RECORDS = st.dictionaries(st.sampled_from("abc"), VALUES)


def plain_mean(texts):
    pairs = [ratio(one, other) / 100 for one, other in combinations(texts, 2)]
    return sum(pairs) / len(pairs) if pairs else None


@settings(deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_leaves_are_told_how_alike_their_texts_are(revisions):
    tree = lay_over(dict(enumerate(revisions)), {})
    measured_likeness(tree, range(len(revisions)))
    for key, leaf in tree.keys.items():
        expected = plain_mean([each[key] for each in revisions if type(each.get(key)) is str])
        assert leaf.likeness == (None if expected is None else pytest.approx(expected, abs=1e-9))


@settings(deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_so_does_the_result(revisions):
    result = merge(revisions, weights=None)
    means = [plain_mean([each[k] for each in revisions if type(each.get(k)) is str]) for k in set().union(*revisions)]
    known = [mean for mean in means if mean is not None]
    expected = pytest.approx(sum(known) / len(known), abs=1e-9) if known else None
    assert result.average_string_similarity == expected


@settings(deadline=None)
@given(st.dictionaries(st.text("ab", max_size=4), st.integers(1, 3)))
def test_the_mean_likeness_of_counted_texts(texts):
    expected = plain_mean([text for text, times in texts.items() for _ in range(times)])
    assert mean_likeness(texts) == (None if expected is None else pytest.approx(expected, abs=1e-9))


@pytest.mark.parametrize("number", [2, 31, 32, 40])
def test_many_texts_are_compared_as_few_are(number):
    rng = random.Random(number)
    revisions = [{"a": f"{rng.random()}", "b": f"{rng.random():.1f}"} for _ in range(number)]
    found = measured_likeness(lay_over(dict(enumerate(revisions)), {}), range(number))
    for one, other in combinations(range(number), 2):
        expected = sum(ratio(revisions[one][key], revisions[other][key]) for key in "ab") / 200
        assert found[one, other] / 1e9 == pytest.approx(expected, abs=1e-8)
    assert np.array_equal(found, found.T)


@settings(deadline=None)
@given(st.lists(RECORDS, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_revisions_does_not_matter_to_the_last_bit(revisions, rng):
    order = list(range(len(revisions)))
    rng.shuffle(order)
    found = measured_likeness(lay_over(dict(enumerate(revisions)), {}), range(len(order)))
    shuffled = measured_likeness(lay_over(dict(enumerate(revisions[i] for i in order)), {}), range(len(order)))
    assert np.array_equal(found[np.ix_(order, order)], shuffled)


@pytest.mark.parametrize("options", [{}, {"weights": None}, {"one_vote_per_source": True}])
def test_no_two_texts_are_compared_twice(monkeypatch, options):
    compared = Counter()

    def counted(compare, pairs_of):
        def counting(left, right, **how):
            compared.update(frozenset(pair) for pair in pairs_of(left, right))
            return compare(left, right, **how)

        return counting

    def of_matrix(left, right):
        return combinations(left, 2) if left is right else ((one, other) for one in left for other in right)

    monkeypatch.setattr(rapidfuzz.process, "cdist", counted(rapidfuzz.process.cdist, of_matrix))
    monkeypatch.setattr(rapidfuzz.process, "cpdist", counted(rapidfuzz.process.cpdist, zip))
    for number in (5, 40):
        compared.clear()
        records = [{"same": "x", "own": f"text {index}", "two": "yn"[index % 2]} for index in range(number)]
        samples = [Sample(index=i, ok=True, record=record, source=f"{i}") for i, record in enumerate(records)]
        assert merge(samples, **options).value["same"] == "x"
        assert set(compared.values()) == {1}
        assert len(compared) == number * (number - 1) // 2 + 1


def test_a_merge_changes_nothing_that_it_was_given():
    record = {"a": "x", "b": [1, {"c": "y"}], "d": {}}
    result = merge([record, record])
    record["a"], record["d"]["new"] = "changed", 1
    record["b"].append("new")
    assert result.value == {"a": "x", "b": [1, {"c": "y"}], "d": {}}
    assert result.samples[0].record is record
