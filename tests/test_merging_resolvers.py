"""Resolvers: what happens to a field on which no value meets the threshold."""

from __future__ import annotations

import copy
import pickle
from itertools import permutations

import numpy as np
import pytest

from consilience._errors import SettingsError
from consilience.merging import (
    OMIT,
    NumericResolver,
    SimilarityClusterResolver,
    by_path,
    by_type,
    default_conflict_resolver,
    merge,
    prefer_leading_resolver,
    prefer_most_common_resolver,
)

COUNTRIES = ["USA", "U.S.A.", "United States", "France"]
MEANING = {"USA": (1, 0), "U.S.A.": (1, 0.1), "United States": (1, 0.05), "France": (0, 1)}


def embed(texts):
    return np.array([MEANING[text] for text in texts])


def merged(values, **options):
    result = merge([{} if value is OMIT else {"a": value} for value in values], weights=None, **options)
    return result.value.get("a", OMIT)


def test_the_default_omits():
    assert merged([1, 2, 3]) is OMIT
    assert default_conflict_resolver(("a",), [1, 1, 2], [1, 1, 1]) is OMIT


def test_most_common():
    assert merged([2, 1, 2, 3, 4], conflict_resolver=prefer_most_common_resolver) == 2
    for order in permutations([3, 1, 2]):
        assert merged(order, conflict_resolver=prefer_most_common_resolver) == 1
    assert prefer_most_common_resolver((), [], []) is OMIT


def test_leading_needs_to_lead():
    assert merged([2, 1, 2, 3, 4], conflict_resolver=prefer_leading_resolver) == 2
    assert merged([2, 1], conflict_resolver=prefer_leading_resolver) is OMIT
    assert merged([1, 2, 3, OMIT, OMIT], conflict_resolver=prefer_leading_resolver) is OMIT


def test_clusters_of_spellings():
    for order in permutations(COUNTRIES):
        assert merged(order, conflict_resolver=SimilarityClusterResolver()) == "USA"
    assert merged(COUNTRIES, conflict_resolver=SimilarityClusterResolver(consensus_threshold=0.6)) is OMIT
    assert merged([*COUNTRIES, OMIT], conflict_resolver=SimilarityClusterResolver()) is OMIT
    assert merged(["ab", "cd", "ab", "cd", "x"], conflict_resolver=SimilarityClusterResolver()) is OMIT


def test_clusters_of_meaning():
    resolver = SimilarityClusterResolver(0.9, semantic=embed, consensus_threshold=0.7)
    result = merge([{"a": name} for name in COUNTRIES], weights=None, conflict_resolver=resolver)
    assert result.value["a"] in COUNTRIES[:3]
    assert merged(COUNTRIES, conflict_resolver=SimilarityClusterResolver(0.9, semantic=embed)) != "France"


def test_meaning_never_joins_what_differs_in_a_number_or_a_negation():
    def all_alike(texts):
        return np.ones((len(texts), 2))

    resolver = SimilarityClusterResolver(semantic=all_alike)
    for pair in (("yes", "no"), ("1.5", "15"), ("-5", "5"), ("C", "C#")):
        assert merged(pair, conflict_resolver=resolver) is OMIT


def test_a_scorer_of_ones_own():
    resolver = SimilarityClusterResolver(1.0, scorer=lambda one, other: float(one[0] == other[0]))
    assert merged(["Ann", "Anna", "Bo", "Cy"], conflict_resolver=resolver) in ("Ann", "Anna")
    with pytest.raises(SettingsError, match="give scorer or semantic, not both"):
        SimilarityClusterResolver(scorer=lambda one, other: 1.0, semantic=embed)
    with pytest.raises(SettingsError, match="similarity_threshold"):
        SimilarityClusterResolver(0)


def test_numbers_within_a_tolerance():
    assert merged([9.9, 10.0, 10.2, 55], conflict_resolver=NumericResolver(0.5)) == 10.0
    assert merged([9.9, 55, 80, 100], conflict_resolver=NumericResolver(0.5)) is OMIT
    assert merged([True, 1, "1", None], conflict_resolver=NumericResolver(5)) is OMIT
    assert merged([100, 101, 102, 500], conflict_resolver=NumericResolver(rel=0.02)) == 101


def test_by_type_and_by_path():
    resolver = by_type(str=SimilarityClusterResolver(), number=NumericResolver(1))
    assert merged(COUNTRIES, conflict_resolver=resolver) == "USA"
    assert merged([10, 11, 12, "x"], conflict_resolver=resolver) == 11
    assert merged([True, False], conflict_resolver=resolver) is OMIT
    by = by_path({"a": prefer_most_common_resolver, "items[].n": prefer_most_common_resolver})
    assert merged([1, 2], conflict_resolver=by) == 1
    revisions = [{"items": [{"sku": "x", "n": n, "m": n}]} for n in (1, 2)]
    assert merge(revisions, conflict_resolver=by).value == {"items": [{"sku": "x", "n": 1}]}
    with pytest.raises(SettingsError, match="by_type takes"):
        by_type(int=NumericResolver())


def test_any_function_and_what_it_is_given():
    seen = []

    def resolver(path, values, weights):
        seen.append((str(path), values, weights))

    result = merge([{"a": 2}, {"a": 1}, {}], weights=[1, 2, 1.5], conflict_resolver=resolver)
    assert result.value == {"a": None}
    assert result.fields["a"].status == "resolved"
    assert seen == [("a", [1, 2], [2.0, 1.0])]


def test_a_value_that_is_not_json_is_refused():
    with pytest.raises(Exception, match="conflict resolver raised at a"):
        merge([{"a": 1}, {"a": 2}], conflict_resolver=lambda path, values, weights: object())


def test_omit_is_one_object():
    assert copy.deepcopy(OMIT) is OMIT
    assert pickle.loads(pickle.dumps(OMIT)) is OMIT


def test_numbers_that_are_not_the_same_are_not_merged_without_a_tolerance():
    assert merged([4915112345678, 4915112345679, 4915112345670], conflict_resolver=NumericResolver()) is OMIT
    assert merged([5, float("inf"), 7], conflict_resolver=NumericResolver(1)) is OMIT
    assert merged([16, 32], conflict_resolver=NumericResolver()) is OMIT


def test_numbers_too_large_for_floating_point():
    numbers = [10**400, 10**400 + 1, 10**400 + 1000, 5]
    assert merged(numbers, conflict_resolver=NumericResolver(1)) == 10**400
    assert merged(numbers, conflict_resolver=NumericResolver(rel=0.1)) == 10**400 + 1


def test_what_is_no_number_leaves_the_order_of_the_rest_alone():
    nan = float("nan")
    for order in permutations([nan, 3.0, 1.0, 2.0]):
        assert merged(order, conflict_resolver=NumericResolver(1)) == 2.0


@pytest.mark.parametrize(
    "resolver", [SimilarityClusterResolver(), NumericResolver(1), prefer_leading_resolver, prefer_most_common_resolver]
)
def test_values_without_any_weight(resolver):
    assert merge([["a"], ["zz"]], weights=[1, 0], conflict_resolver=resolver).value == ["a"]
    assert resolver(("a",), [1, 2], [0.0, 0.0]) in (OMIT, 1)
    assert resolver(("a",), [], []) is OMIT


def test_resolvers_that_cannot_be_called_are_refused():
    async def slow(path, values, weights):
        return values[0]

    for make in (lambda r: by_type(str=r), lambda r: by_path({"a": r}), lambda r: by_path({}, otherwise=r)):
        with pytest.raises(TypeError, match="must be a plain function, got the asynchronous 'slow'"):
            make(slow)
        with pytest.raises(TypeError, match="must be a function of path, values and weights"):
            make(7)
        with pytest.raises(TypeError, match="must be a function of path, values and weights"):
            make(NumericResolver)
    with pytest.raises(TypeError, match="mapping from path"):
        by_path([])
    for asynchronous in ({"scorer": slow}, {"semantic": slow}):
        with pytest.raises(TypeError, match="asynchronous 'slow'"):
            SimilarityClusterResolver(**asynchronous)
