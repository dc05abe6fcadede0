"""Similarity, alignment, order and trust."""

from __future__ import annotations

import random
import time
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.fuzz import ratio

from consilience._canonical import canonical_text
from consilience.merging import Keyed, Ordered, merge
from consilience.merging._alignment import align, find_key
from consilience.merging._likeness import measured_likeness
from consilience.merging._order import majority_order
from consilience.merging._paths import EACH, Path
from consilience.merging._ratios import _each_pair_once, text_ratios
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


def mean_likeness_of(tree, size):
    return mean_similarities(measured_likeness(tree, range(size)), range(size))


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

    found = mean_likeness_of(lay_over(dict(enumerate(revisions)), {}), len(revisions))
    for index, one in enumerate(revisions):
        others = [similarity(one, other) for place, other in enumerate(revisions) if place != index]
        assert found[index] == pytest.approx(sum(others) / len(others), abs=1e-6)


def best_pairing(one, other):
    """The optimal assignment of two short lists, by brute force."""
    if not one or not other:
        return float(not one and not other)
    shorter, longer = sorted((one, other), key=len)
    sums = (sum(map(plain_similarity, shorter, chosen)) for chosen in permutations(longer, len(shorter)))
    return max(sums) / len(longer)


@settings(deadline=None, max_examples=60)
@given(st.lists(FLAT, max_size=4), st.lists(FLAT, max_size=4))
def test_similarity_of_lists_is_never_less_than_the_best_pairing(one, other):
    found = Similarity().matrix([one], [other])[0, 0]
    assert best_pairing(one, other) - 1e-6 <= found <= 1 + 1e-9
    assert (found == 1) or canonical_text(one) != canonical_text(other)


@settings(deadline=None, max_examples=60)
@given(st.permutations("abcd"), st.permutations("abef"))
def test_similarity_of_lists_is_the_best_pairing_where_partners_do_not_collide(one, other):
    assert Similarity().matrix([one], [other])[0, 0] == pytest.approx(0.5)


def test_lists_are_compared_in_blocks_with_the_same_result(monkeypatch):
    rng = random.Random(3)
    lists = [[rng.choice(["a", "ab", "abc", 1, None, ["x"]]) for _ in range(rng.randint(0, 4))] for _ in range(30)]
    whole = Similarity().matrix(lists[:15], lists[15:])
    monkeypatch.setattr("consilience.merging._similarity._CELLS", 20)
    assert np.array_equal(whole, Similarity().matrix(lists[:15], lists[15:]))


def test_trust_is_the_same_whatever_is_looked_at_together(monkeypatch):
    rng = random.Random(4)
    revisions = {r: {f"k{i}": "ab"[: rng.randint(0, 2)] * i for i in range(20)} for r in range(7)}
    tree = lay_over(revisions, {})
    whole = mean_likeness_of(tree, 7)
    monkeypatch.setattr("consilience.merging._likeness._CELLS", 1)
    assert mean_likeness_of(tree, 7) == whole
    monkeypatch.setattr("consilience.merging._likeness._MANY", 2)
    assert mean_likeness_of(tree, 7) == whole


def test_lists_of_positions_are_compared_by_position():
    points = Similarity({Path((EACH,)): Ordered()})
    assert points.matrix([[1, 2]], [[2, 1], [1, 3], [1, 2, 3]], Path((EACH,))).tolist() == [
        [0, 0.5, pytest.approx(2 / 3)]
    ]


def noisy(base, rng, noise):
    return [[item if rng.random() > noise else [*item[::-1], "new"] for item in base] for _ in range(5)]


def test_many_lists_within_a_list_take_seconds_at_most():
    rng = random.Random(6)
    base = [[f"{rng.random():.5f}" for _ in range(3)] for _ in range(300)]
    started = time.perf_counter()
    merged = merge(noisy(base, rng, 0.2), weights=None).value
    assert time.perf_counter() - started < 20  # pair by pair it was minutes
    assert len(merged) >= 295


def test_many_revisions_of_many_fields_fit_into_memory():
    rng = random.Random(7)
    revisions = [{f"k{i}": rng.choice("abc") for i in range(300)} for _ in range(120)]
    tree = lay_over(dict(enumerate(revisions)), {})
    tracemalloc.start()
    mean_likeness_of(tree, 120)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text("abc", max_size=6), min_size=1, max_size=5))
def test_ratios_of_texts_with_themselves(texts):
    assert np.allclose(_each_pair_once(texts), text_ratios(texts, list(texts)))


def test_ratios_of_long_texts():
    texts = ["ab" * 15_000, "ba" * 15_000]
    assert np.allclose(text_ratios(texts, texts), text_ratios(texts, list(texts)))
