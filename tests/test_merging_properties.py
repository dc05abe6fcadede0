"""What must hold of every merge: with models, lists of all kinds, constraints, sources and resolvers."""

from __future__ import annotations

import copy
import gc
import json
import math
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, model_validator

from consilience import Reply
from consilience.merging import (
    ConsensusResult,
    Ignore,
    Keyed,
    NumericResolver,
    Ordered,
    Similar,
    SimilarityClusterResolver,
    Tolerance,
    Unordered,
    flatten,
    merge,
    prefer_leading_resolver,
    prefer_most_common_resolver,
)

NOWHERE = object()
LEAVES = st.sampled_from([0, 1, 1.0, True, None, "", "a", "A", "ab", "a.b"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "q", "0"]), inner, max_size=3),
    max_leaves=6,
)
ITEMS = st.lists(
    st.fixed_dictionaries({}, optional={"id": st.sampled_from(["x", "y", "z", 1]), "q": LEAVES, "in": VALUES}),
    max_size=4,
)
RECORDS = st.fixed_dictionaries({}, optional={"items": ITEMS | VALUES, "v": VALUES, "w": LEAVES})
RULES: list[dict[str, Any]] = [
    {},
    {"compare": {"items": Keyed("id")}},
    {"compare": {"items": Unordered(), "w": "text"}},
    {"compare": {"items": Ordered(), "v": Ordered()}},
    {"compare": {"items": Keyed("id"), "items[].q": Tolerance(1), "v": Ignore(), "items[].in": Unordered()}},
    {"compare": {"items[].id": Similar(0.5), "v[]": "text", "w": Ignore()}},
]
RESOLVERS: list[dict[str, Any]] = [
    {},
    {"conflict_resolver": prefer_most_common_resolver},
    {"conflict_resolver": prefer_leading_resolver},
    {"conflict_resolver": SimilarityClusterResolver(0.4)},
    {"conflict_resolver": NumericResolver(1)},
    {"conflict_resolver": lambda path, values, weights: [values]},
]
VOTES: list[dict[str, Any]] = [
    {},
    {"min_agreement": 0.3},
    {"min_agreement": 1},
    {"min_support": 0.3},
    {"min_sources": 2},
    {"one_vote_per_source": True},
    {"one_vote_per_source": True, "min_sources": 2, "min_agreement": 0.6},
]
CONSTRAINTS: list[dict[str, Any]] = [
    {},
    {"constraints": [lambda record: "w" in record], "max_repairs": 30},
    {"constraints": [lambda record: len(record["items"]) == 2], "max_repairs": 30},
    {"constraints": [lambda record: record.get("v") is None], "max_repairs": 30},
    {"constraints": [lambda record: False], "max_repairs": 5},
]
OPTIONS = st.builds(
    lambda *parts: {name: value for part in parts for name, value in part.items()},
    st.sampled_from(RULES),
    st.sampled_from(RESOLVERS),
    st.sampled_from(VOTES),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from([{"weights": None}, {"weights": "trust"}]),
)
SAID = st.lists(st.tuples(RECORDS, st.sampled_from([None, "s", "t", "u"])), min_size=1, max_size=5)


def revisions(said: list[tuple[Any, str | None]]) -> list[Reply]:
    return [Reply(copy.deepcopy(record), source=source) for record, source in said]


def at(record: Any, path: tuple[str | int, ...]) -> Any:
    """What a record has at a path, if there is a record."""
    for step in path:
        has = step in record if isinstance(record, dict) else isinstance(record, list) and step in range(len(record))
        if not has:
            return NOWHERE
        record = record[step]
    return record


def written(value: Any) -> str:
    return "nowhere" if value is NOWHERE else json.dumps(value)


def check(result: ConsensusResult, ignored: tuple[str, ...] = ()) -> None:
    """The report says of every place what the record has there, and of every leaf of the record where it is from."""
    record = NOWHERE if result.reason in ("low_agreement", "too_few_sources") else result.partial
    for path, field in result.fields.items():
        found = at(record, path)
        assert 0 <= field.agreement <= 1, path
        assert 0 <= field.support <= 1, path
        assert not math.isnan(field.agreement)
        if field.status in ("omitted", "absent") or (field.status == "reconciled" and found is NOWHERE):
            assert (found, field.value) == (NOWHERE, None), path
        else:
            assert written(field.value) == written(found), path
        assert all(candidate.weight >= 0 and candidate.revisions for candidate in field.candidates), path
        weights = [candidate.weight for candidate in field.candidates]
        assert weights == sorted(weights, reverse=True), path
        if field.status == "unanimous":
            assert len(field.candidates) == 1, path
    for leaf, value in flatten(result.partial).items() if result.fields else ():
        if leaf in result.fields:
            assert written(result.fields[leaf].value) == written(value), leaf
        elif leaf[:1] not in [(name,) for name in ignored]:
            holders = [leaf[:end] for end in range(len(leaf)) if leaf[:end] in result.fields]
            assert holders or not leaf, leaf  # a part of a value taken whole; a record of which nothing is kept
    assert 0 <= result.consensus_confidence_score <= 1
    assert result.paths_in_consensus_output <= result.unique_paths_considered
    counted = result.paths_agreed_by_threshold + result.paths_resolved_by_conflict_resolver + result.paths_omitted
    assert counted <= result.unique_paths_considered


def ignored_in(options: dict[str, Any]) -> tuple[str, ...]:
    return tuple(path for path, rule in options.get("compare", {}).items() if isinstance(rule, Ignore))


def told(result: ConsensusResult) -> dict[str, Any]:
    """All of a result that does not depend on the numbers of the revisions."""
    fields = {
        str(path): (
            written(field.value),
            field.status,
            field.agreement,
            field.support,
            written(field.replaced),
            [
                (written(each.value), each.weight, each.absent, each.sources, len(each.revisions))
                for each in field.candidates
            ],
        )
        for path, field in result.fields.items()
    }
    return {
        "partial": written(result.partial),
        "reason": result.reason,
        "missing": result.missing,
        "fields": list(fields.items()),
        "weights": sorted(result.weights),
        "repairs": (result.constraints_met, result.repairs_tried),
        "score": (result.consensus_confidence_score, result.average_string_similarity),
    }


@settings(max_examples=500, deadline=None)
@given(SAID, OPTIONS)
def test_the_report_and_the_record_say_the_same(said, options):
    check(merge(revisions(said), **options), ignored_in(options))


@settings(max_examples=300, deadline=None)
@given(SAID, OPTIONS, st.randoms())
def test_the_order_of_revisions_does_not_matter(said, options, rng):
    shuffled = rng.sample(said, len(said))
    assert told(merge(revisions(shuffled), **options)) == told(merge(revisions(said), **options))


@settings(max_examples=200, deadline=None)
@given(SAID, OPTIONS)
def test_what_is_told_late_is_what_is_told_at_once(said, options):
    """Fields are told when asked for: other merges, and the memory that they were given meanwhile, change nothing."""
    at_once = told(merge(revisions(said), **options))
    late = merge(revisions(said), **options)
    for _ in range(3):
        merge(revisions(said), **options)
    gc.collect()
    last_first = list(late.fields)[::-1]
    for path in last_first:
        assert late.fields[path] is late.fields[path]
    assert told(late) == at_once
    assert told(ConsensusResult.from_json(late.to_json())) == at_once


@settings(max_examples=200, deadline=None)
@given(RECORDS | VALUES, st.integers(1, 5), st.sampled_from(RULES), st.sampled_from(RESOLVERS))
def test_a_unanimous_set_comes_back_byte_for_byte(record, times, rules, resolver):
    result = merge([copy.deepcopy(record) for _ in range(times)], **rules, **resolver)
    assert written(result.value) == written(record)
    assert {field.status for field in result.fields.values()} <= {"unanimous"}
    assert result.consensus_confidence_score in (1.0, 0.0 if not result.unique_paths_considered else 1.0)


@settings(max_examples=300, deadline=None)
@given(
    RECORDS | VALUES,
    st.lists(RECORDS | VALUES, max_size=3),
    st.sampled_from(RULES),
    st.sampled_from([0.3, 0.5, 0.7, 1]),
)
def test_one_more_copy_of_the_record_of_a_strict_majority_lowers_no_agreement(record, others, rules, threshold):
    """Of every field as the majority has it; fields of the others may lose."""
    given_ = [record] * (len(others) + 1) + others
    before = merge(given_, weights=None, min_agreement=threshold, **rules)
    after = merge([record, *given_], weights=None, min_agreement=threshold, **rules)
    for path, field in before.fields.items():
        if at(before.partial, path) is NOWHERE or path not in after.fields:
            continue
        if written(field.value) == written(at(record, path)):
            assert after.fields[path].agreement >= field.agreement - 1e-12, path
    if not ignored_in(rules):
        assert written(after.partial) == written(before.partial) or threshold > 0.5


@settings(max_examples=200, deadline=None)
@given(SAID, OPTIONS)
def test_nothing_is_made_up(said, options):
    """Every leaf of the record stands in some revision, unless a resolver of the user's made it."""
    if options.get("conflict_resolver") in [RESOLVERS[-1]["conflict_resolver"]]:
        return
    leaves = {written(leaf) for record, _ in said for leaf in flatten(record).values()}
    merged = merge(revisions(said), **options)
    written_empty = {"{}", "[]"}
    assert {written(leaf) for leaf in flatten(merged.partial).values()} <= leaves | written_empty | {"null"}


class Item(BaseModel):
    id: str
    q: Annotated[float, Tolerance(0.5)] = 0
    tags: Annotated[list[str], Unordered()] = []


class Model(BaseModel):
    items: Annotated[list[Item], Keyed("id")] = []
    at: tuple[int, str] | None = None
    w: Annotated[str | None, Ignore()] = None
    n: int | None = None

    @model_validator(mode="after")
    def counts(self) -> Model:
        if self.n is not None and self.n != len(self.items):
            raise ValueError("n is not the number of items")
        return self


TYPED = st.fixed_dictionaries(
    {},
    optional={
        "items": st.lists(
            st.fixed_dictionaries(
                {"id": st.sampled_from(["x", "y", "z"])},
                optional={
                    "q": st.sampled_from([0, 0.4, "1", 7, "bad"]),
                    "tags": st.lists(st.sampled_from("abc"), max_size=3),
                },
            ),
            max_size=3,
        ),
        "at": st.sampled_from([[1, "a"], [1, "b"], ["2", "a"], [3], "no"]),
        "w": st.sampled_from(["one", "two", None]),
        "n": st.integers(0, 3),
    },
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TYPED, min_size=1, max_size=5), st.sampled_from(VOTES), st.sampled_from([None, "trust"]), st.randoms())
def test_all_of_it_holds_with_a_model(records, votes, weights, rng):
    said = [(record, source) for record, source in zip(records, ["s", "t", None, "s", "u"], strict=False)]
    result = merge(revisions(said), schema=Model, weights=weights, **votes)
    check(result, ("w",))
    assert (result.value is None) is result.abstained
    if result.decided:
        assert result.value == Model.model_validate(copy.deepcopy(result.partial))
    again = merge(revisions(rng.sample(said, len(said))), schema=Model, weights=weights, **votes)
    assert told(again) == told(result)


@pytest.mark.parametrize("weights", [None, "trust"])
def test_a_model_of_a_unanimous_set_is_the_one_that_was_given(weights):
    one = Model(items=[Item(id="x", q=0.4, tags=["b", "a"])], at=(1, "a"), w="one", n=1)
    result = merge([one.model_copy(deep=True) for _ in range(3)], schema=Model, weights=weights)
    assert result.value == one
    assert result.constraints_met
