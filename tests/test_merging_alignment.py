"""Similarity, alignment, order and trust."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.fuzz import ratio

from consilience._canonical import canonical_text
from consilience.merging import Keyed, Ordered, merge
from consilience.merging._alignment import align, find_key
from consilience.merging._order import majority_order
from consilience.merging._similarity import Similarity
from consilience.merging._tree import lay_over
from consilience.merging._trust import mean_similarities, trust_weights

SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "ab", "abc", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner), max_leaves=6
)


def plain_similarity(one, other):
    """A second, plain implementation for values without lists."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = set(one) | set(other)
        shared = sum(plain_similarity(one[key], other[key]) for key in keys if key in one and key in other)
        return shared / len(keys) if keys else 1.0
    if isinstance(one, str) and isinstance(other, str):
        return ratio(one, other) / 100
    return float(canonical_text(one) == canonical_text(other))


FLAT = st.recursive(SCALARS, lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=6)


@settings(deadline=None)
@given(st.lists(FLAT, min_size=1, max_size=4), st.lists(FLAT, min_size=1, max_size=4))
def test_similarity_against_a_plain_implementation(left, right):
    expected = [[plain_similarity(one, other) for other in right] for one in left]
    assert np.allclose(Similarity().matrix(left, right), expected, atol=1e-6)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_similarity_is_symmetric_and_1_for_equals(values):
    matrix = Similarity().matrix(values, values)
    assert np.allclose(matrix, matrix.T, atol=1e-6)
    assert np.allclose(np.diagonal(matrix), 1, atol=1e-6)
    assert matrix.min() >= 0
    assert matrix.max() <= 1 + 1e-9


@settings(deadline=None)
@given(st.lists(st.lists(VALUES, max_size=4), min_size=1, max_size=4))
def test_every_item_stands_in_exactly_one_slot(lists):
    numbered = dict(enumerate(lists))
    slots = align(numbered)
    for revision, items in numbered.items():
        positions = sorted(slot[revision] for slot in slots if revision in slot)
        assert positions == list(range(len(items)))
    assert all(slots)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), max_size=6), st.randoms(use_true_random=False))
def test_a_shuffled_list_is_paired_item_by_item(items, rng):
    shuffled = rng.sample(items, len(items))
    for slot in align({0: items, 1: shuffled}):
        assert items[slot[0]] == shuffled[slot[1]]


def test_items_less_alike_than_half_stay_apart():
    assert len(align({0: ["abcd"], 1: ["wxyz"]})) == 2
    assert len(align({0: ["abcd"], 1: ["abcz"]})) == 1


def test_the_assignment_is_optimal_not_greedy():
    # Greedily, "abcde" takes the better partner "abcd" and leaves "abc" without one.
    slots = align({0: ["abcd", "abcdefgh"], 1: ["abcde", "abc"]})
    assert sorted(map(len, slots)) == [2, 2]


def test_a_key_is_found_only_where_it_is_one():
    def rows(*names):
        return [{"name": name, "n": 1} for name in names]

    assert find_key([rows("mug", "lamp"), rows("lamp", "mug")]) == ("name",)
    assert find_key([rows("mug", "mug"), rows("mug", "lamp")]) == ()
    assert find_key([rows("a", "b"), rows("c", "d"), rows("e", "f")]) == ()
    assert find_key([[{"name": 1}], [{"name": 1}]]) == ()
    assert find_key([rows("mug"), []]) == ()
    assert find_key([rows("mug"), [{"n": 1}]]) == ()


def test_keys_pair_what_is_not_alike():
    one = [{"sku": "a1", "x": 1, "y": 2, "z": 3}, {"sku": "b2", "x": 4, "y": 5, "z": 6}]
    two = [{"sku": "b2", "x": 1, "y": 2, "z": 3}, {"sku": "a1", "x": 4, "y": 5, "z": 6}]
    assert {frozenset(slot.items()) for slot in align({0: one, 1: two})} == {
        frozenset({(0, 0), (1, 1)}),
        frozenset({(0, 1), (1, 0)}),
    }
    assert {frozenset(slot.items()) for slot in align({0: one, 1: two}, Ordered())} == {
        frozenset({(0, 0), (1, 0)}),
        frozenset({(0, 1), (1, 1)}),
    }
    by_x = {frozenset(slot.items()) for slot in align({0: one, 1: two}, Keyed("x"))}
    assert by_x == {frozenset({(0, 0), (1, 0)}), frozenset({(0, 1), (1, 1)})}


def test_majority_order_of_consistent_lists():
    positions = {"a": {0: 0, 1: 0, 2: 2}, "b": {0: 1, 1: 1, 2: 0}, "c": {0: 2, 2: 1}}
    for given_order in permutations("abc"):
        assert majority_order(given_order, positions, {0: 1, 1: 1, 2: 1}) == ["a", "b", "c"]
    assert majority_order("abc", positions, {0: 1, 1: 1, 2: 5}) == ["b", "c", "a"]


def test_items_come_in_the_majoritys_order_whatever_is_missing():
    rng = random.Random(5)
    names = [f"{index:02}{'xyzuvw'[index % 6] * 6}" for index in range(12)]
    lists = [[name for name in names if rng.random() < 0.85] for _ in range(9)]
    merged = merge(lists, weights=None).value
    assert merged == sorted(merged)
    assert set(merged) == {name for name in names if sum(name in each for each in lists) > 4}


def test_trust_of_outliers_only():
    assert trust_weights({0: 0.9, 1: 0.88, 2: 0.86}, {}) == {0: 1, 1: 1, 2: 1}
    weights = trust_weights({0: 0.9, 1: 0.9, 2: 0.1}, {2: 2.0})
    assert sum(weights.values()) == pytest.approx(3)
    assert trust_weights({0: 1.0}, {}) == {0: 1.0}


@settings(deadline=None)
@given(st.lists(FLAT, min_size=2, max_size=5))
def test_mean_similarity_against_a_plain_implementation(revisions):
    def leaves(value, path=()):
        if isinstance(value, dict) and value:
            return {key: leaf for step, child in value.items() for key, leaf in leaves(child, (*path, step)).items()}
        return {path: value}

    def similarity(one, other):
        first, second = leaves(one), leaves(other)
        shared = sum(plain_similarity(first[path], second[path]) for path in first if path in second)
        return shared / len(first.keys() | second.keys())

    found = mean_similarities(lay_over(dict(enumerate(revisions)), {}), range(len(revisions)))
    for index, one in enumerate(revisions):
        others = [similarity(one, other) for place, other in enumerate(revisions) if place != index]
        assert found[index] == pytest.approx(sum(others) / len(others), abs=1e-6)
