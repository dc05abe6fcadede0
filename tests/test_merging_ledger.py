"""Drawing a consensus: reading, failures, early stop over fields, threads and tasks."""

from __future__ import annotations

import asyncio
import json
import threading
from itertools import combinations_with_replacement as combos
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from consilience._errors import SettingsError
from consilience.merging import (
    Ignore,
    Similar,
    aconsensus,
    consensus,
    default_conflict_resolver,
    merge,
    prefer_leading_resolver,
    prefer_most_common_resolver,
)
from consilience.merging._merge import Merger
from consilience.merging._settings import ConsensusSettings
from consilience.merging._settling import Said, Settling
from consilience.replies import Reply


def replay(replies):
    """A sampler that answers with these replies in turn and counts its calls; exceptions are raised."""
    lock, calls = threading.Lock(), []

    def sampler(prompt):
        with lock:
            reply = replies[len(calls)]
            calls.append(prompt)
        if isinstance(reply, Exception):
            raise reply
        return reply

    sampler.calls = calls
    return sampler


def test_failed_replies_are_outside_the_denominator():
    replies = ['{"a": 1}', "Sorry.", ValueError("no"), 'Sure: {"a": 1, "b": 2}', '{"a": 1, "b": 2}']
    result = consensus(replay(replies), "?", n=5, weights=None)
    assert result.value == {"a": 1, "b": 2}
    assert result.fields["b"].support == 2 / 3
    assert result.revisions_processed == 3
    assert [sample.code for sample in result.samples] == [None, "no_json", "sampler_error", None, None]
    assert result.weights == (1, 0, 0, 1, 1)


def test_too_few_valid():
    result = consensus(replay(['{"a": 1}', "x", "y"]), "?", n=3)
    assert result.reason == "too_few_valid"
    assert "only 1 of 3 revisions were valid (0.33 is below min_valid 0.5); most often: no_json" in result.detail
    assert consensus(replay(["x", "y", "z"]), "?", n=3).reason == "no_valid"


@pytest.mark.parametrize("bad", [[{1: 2}], {"a": object()}, {"a": {"b": {3: 4}}}])
def test_an_object_that_is_not_json_is_a_failed_sample(bad):
    result = consensus(replay([bad, {"a": 1}, {"a": 1}]), "?", n=3)
    assert result.value == {"a": 1}
    assert result.samples[0].code == "invalid"


def test_a_deep_or_cyclic_object_is_a_failed_sample():
    cyclic: dict = {}
    cyclic["a"] = cyclic
    result = consensus(replay([cyclic, {"a": 1}, {"a": 1}]), "?", n=3)
    assert [sample.ok for sample in result.samples] == [False, True, True]


class Order(BaseModel):
    total: float
    city: str | None = None


def test_schema_drops_fields_and_revisions():
    replies = ['{"total": "x", "city": "Rome"}', '{"total": 2, "city": "Rome"}', '{"total": "2"}', "[1]"]
    result = consensus(replay(replies), "?", n=4, schema=Order)
    assert result.value == Order(total=2, city="Rome")
    assert result.fields_dropped == 1
    assert result.samples[3].error == "invalid: the revision as a whole does not fit the schema"


def test_usage_sources_and_confidence():
    def sampler(prompt):
        return Reply('{"a": 1, "sure": 0.5}', usage={"output_tokens": 3})

    result = consensus({"one": sampler, "two": sampler}, "?", n=4, weights="confidence", confidence_field="sure")
    assert result.usage == {"output_tokens": 12}
    assert [sample.source for sample in result.samples] == ["one", "two", "one", "two"]
    assert result.weights == (0.5,) * 4


def test_early_stop_makes_no_more_calls_than_needed():
    sampler = replay(['{"a": 1, "l": [1, 2]}'] * 9)
    result = consensus(sampler, "?", n=5, weights=None, early_stop=True)
    assert (len(sampler.calls), result.stopped_early, result.stopped_by) == (3, True, "when_settled")
    assert result.value == {"a": 1, "l": [1, 2]}
    sampler = replay(['{"a": 1}'] * 9)
    assert consensus(sampler, "?", n=5, weights=None, early_stop=True, concurrency=5).value == {"a": 1}
    assert len(sampler.calls) == 3


def test_early_stop_needs_one_vote_each():
    with pytest.raises(SettingsError, match="early_stop needs weights=None"):
        consensus(replay([]), "?", early_stop=True)


def test_nothing_settles_while_constraints_may_change_it():
    sampler = replay(['{"a": 1}'] * 5)
    consensus(sampler, "?", n=5, weights=None, early_stop=True, constraints=[lambda record: True])
    assert len(sampler.calls) == 5


def test_ignored_fields_count_as_settled():
    replies = [f'{{"a": 1, "note": "n{i}", "more": {{"note": [{i}]}}}}' for i in range(5)]
    options = {"n": 5, "weights": None, "early_stop": True}
    ignore = {"note": Ignore(), "more": Ignore()}
    for compare, calls in ((ignore, 3), ({"note": Ignore(), "more.note": Ignore()}, 3), (None, 5)):
        sampler = replay(replies)
        result = consensus(sampler, "?", compare=compare, **options)
        assert len(sampler.calls) == calls
        assert result.value["a"] == 1
        if calls == 3:
            assert (result.value["note"], result.value["more"]) == ("n0", {"note": [0]})
    only = consensus(replay(['{"note": 1}', '{"note": 2}', '{"note": 3}']), "?", **{**options, "n": 3}, compare=ignore)
    assert (len(only.samples), only.value) == (2, {"note": 1})


def test_async_matches_sync():
    replies = ['{"a": 1, "b": [1]}', '{"a": 2, "b": [1, 2]}', '{"a": 1, "b": [2, 1]}', "no", '{"a": 1}']
    sync = consensus(replay(replies), "?", n=5)

    async def sampler(prompt):
        await asyncio.sleep(0)
        return plain(prompt)

    plain = replay(replies)
    assert asyncio.run(aconsensus(sampler, "?", n=5, concurrency=3)) == sync
    assert asyncio.run(aconsensus(replay(replies), "?", n=5)) == sync
    assert consensus(replay(replies), "?", n=5, concurrency=5).partial == sync.partial


def test_deadline_and_timeout():
    gate = threading.Event()

    def slow(prompt):
        gate.wait(20)
        return "{}"

    try:
        assert consensus(slow, "?", n=2, timeout=0.05).samples[0].code == "timeout"
        result = consensus(slow, "?", n=2, deadline=0.05)
        assert (result.reason, result.stopped_by) == ("deadline", "deadline")
    finally:
        gate.set()


def test_on_sample_sees_every_sample_and_may_fail():
    seen = []

    def note(sample):
        seen.append(sample.index)
        raise ValueError

    assert consensus(replay(["{}", "x", "{}"]), "?", n=3, on_sample=note).value == {}
    assert seen == [0, 1, 2]


def test_bad_arguments_raise_before_the_first_call():
    sampler = replay([])
    for options, error in [
        ({"n": 0}, SettingsError),
        ({"schema": 3}, TypeError),
        ({"weights": "trsut"}, SettingsError),
        ({"constraints": [3]}, TypeError),
        ({"compare": {"a": 3}}, TypeError),
        ({"min_support": 2}, SettingsError),
        ({"timeout": -1}, SettingsError),
        ({"on_unmet": "raise"}, SettingsError),
        ({"required": "a"}, TypeError),
        ({"max_repairs": -1}, SettingsError),
    ]:
        with pytest.raises(error):
            consensus(sampler, "?", **options)
    assert not sampler.calls


RECORDS = [
    {"a": 1},
    {"a": 2},
    {"a": 1, "l": [1]},
    {"a": 2, "l": [1, 2]},
    {"a": [1]},
    {"l": [2, 1], "a": 1},
    [1],
    {"a": {"b": 1}},
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_agreement": 0.3},
        {"min_agreement": 0.7, "min_support": 0.4},
        {"conflict_resolver": default_conflict_resolver},
        {"conflict_resolver": prefer_leading_resolver, "min_agreement": 0.6},
        {"conflict_resolver": prefer_most_common_resolver},
        {"compare": {"a": lambda one, other: True}},
        {"min_valid": 0.75},
    ],
)
def test_settled_means_that_no_completion_changes_the_outcome(options):
    """Brute force: every prefix that counts as settled, with every completion, failures included."""
    chosen = ConsensusSettings(weights=None, n=4, **options)
    checked = 0
    for prefix in [*product(RECORDS, repeat=2), *([each] * 3 for each in RECORDS), *product(RECORDS[:4], repeat=3)]:
        still_open = 4 - len(prefix)
        if not Settling(chosen, Merger(chosen).rules, still_open).is_settled([Said(each) for each in prefix], 0):
            continue
        checked += 1
        outcomes = set()
        for rest in product([*RECORDS, None], repeat=still_open):
            revisions = [*prefix, *rest]
            texts = ["no" if each is None else json.dumps(each) for each in revisions]
            result = consensus(replay(texts), "?", settings=chosen)
            outcomes.add((json.dumps(result.value), result.reason))
        assert len(outcomes) == 1, prefix
    assert checked


EMPTIES = [
    {"a": {"k": 1}},
    {"a": {"k": 2}},
    {"a": {"k": 3}},
    {"a": {}},
    {"a": {"k": {"k": 1}}},
    {"a": {"k": {"k": 2}}},
    {"a": {"k": {}}},
    {"a": {"k": []}},
    {"a": {"k": [{}]}},
    {"a": []},
    {},
]


@pytest.mark.parametrize(
    "options", [{"min_agreement": 0.6}, {"min_agreement": 0.3}, {"min_agreement": 0.8, "min_support": 0.4}]
)
def test_settled_foresees_containers_that_come_out_empty(options):
    """Brute force: an object without any field left is kept if one revision, the last one too, wrote it empty."""
    chosen = ConsensusSettings(weights=None, n=5, **options)
    merger = Merger(chosen)
    settled = set()
    for prefix in combos(EMPTIES, 4):
        if not Settling(chosen, merger.rules, 1).is_settled([Said(each) for each in prefix], 0):
            continue
        outcomes = {json.dumps(merge([*prefix, *rest], weights=None, **options).value) for rest in [(), *zip(EMPTIES)]}
        assert len(outcomes) == 1, prefix
        settled |= outcomes
    assert {"{}", '{"a": {}}', '{"a": {"k": {}}}', '{"a": {"k": [{}]}}'} <= settled


def test_early_stop_waits_for_an_object_that_may_yet_be_written_empty():
    texts = ['{"a": {"k": 1}}', '{"a": {"k": 2}}', '{"a": {"k": 3}}', '{"a": {"k": 4}}', '{"a": {}}']
    result = consensus(replay(texts), "?", n=5, weights=None, min_agreement=0.6, early_stop=True)
    assert result.value == {"a": {}}
    sampler = replay([texts[4], *texts[:4]])
    assert consensus(sampler, "?", n=5, weights=None, min_agreement=0.6, early_stop=True).value == {"a": {}}
    assert len(sampler.calls) == 4


def test_early_stop_ends_where_the_whole_record_comes_out_empty():
    sampler = replay([f'{{"a": {number}}}' for number in range(5)])
    result = consensus(sampler, "?", n=5, weights=None, min_agreement=0.6, early_stop=True)
    assert (result.value, len(sampler.calls)) == ({}, 4)


LISTS = [({"l": [1]}, "x"), ({"l": [2]}, "y"), ({"l": [1]}, "y"), ({"l": [1, 2]}, "x"), ({"l": [2]}, "x"), ({}, "y")]
SAID = [({"a": 1}, "x"), ({"a": 1}, "y"), ({"a": 2, "l": [1]}, "x"), ({"a": 1, "l": [1]}, "z"), ([1], "y"), ({}, "y")]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_agreement": 0.3},
        {"min_agreement": 0.7},
        {"conflict_resolver": prefer_most_common_resolver},
        {"min_sources": 3},
        {"compare": {"a": lambda one, other: True}},
    ],
)
@pytest.mark.parametrize("said", [SAID, LISTS])
def test_settled_holds_whatever_the_sources_of_the_rest(options, said):
    """Brute force over prefixes and completions, each revision from one of several sources."""
    chosen = ConsensusSettings(**{"weights": None, "n": 5, "min_sources": 2, **options})
    checked = 0
    agreeing = [*said[:4], (said[0][0], "z")]
    for prefix in [*combos(agreeing, 3), *combos(agreeing, 4)]:
        still_open = 5 - len(prefix)
        if not Settling(chosen, Merger(chosen).rules, still_open).is_settled([Said(*each) for each in prefix], 0):
            continue
        checked += 1
        outcomes = set()
        for rest in product([*said, None], repeat=still_open):
            replies = [ValueError() if each is None else Reply(each[0], source=each[1]) for each in [*prefix, *rest]]
            result = consensus(replay(replies), "?", settings=chosen)
            outcomes.add((json.dumps(result.value), result.reason))
        assert len(outcomes) == 1, prefix
    assert checked


@pytest.mark.parametrize(("n", "share"), [(10, 0.1), (5, 0.2), (20, 0.05)])
def test_early_stop_waits_for_a_list_whose_new_item_would_be_exactly_enough(n, share):
    lists = [["a"]] * (n - 1) + [["a", "b"]]
    texts = [json.dumps(each) for each in lists]
    options = {"n": n, "weights": None, "min_support": share}
    assert consensus(replay(texts), "?", **options).value == ["a", "b"]
    assert consensus(replay(texts), "?", early_stop=True, **options).value == ["a", "b"]


def test_early_stop_waits_for_a_second_source():
    replies = [Reply({"a": 1}, source=source) for source in ["x", "x", "x", "x", "y", "y", "y"]]
    one, two = replay(replies), replay(replies)
    assert consensus(one, "?", n=7, weights=None, early_stop=True).value == {"a": 1}
    result = consensus(two, "?", n=7, weights=None, early_stop=True, min_sources=2)
    assert (result.value, result.stopped_by) == ({"a": 1}, "when_settled")
    assert (len(one.calls), len(two.calls)) == (4, 5)


def test_early_stop_counts_the_sources_of_calls_in_flight():
    sampler = replay(['{"a": 1}'] * 6)
    result = consensus(
        {"x": sampler, "y": sampler}, "?", n=6, weights=None, early_stop=True, min_sources=2, concurrency=6
    )
    assert (result.value, len(sampler.calls)) == ({"a": 1}, 4)


def test_early_stop_and_one_vote_per_source_exclude_each_other():
    with pytest.raises(SettingsError, match="early_stop needs one_vote_per_source=False"):
        consensus(replay([]), "?", weights=None, early_stop=True, one_vote_per_source=True)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(SAID), min_size=5, max_size=5), st.integers(1, 5), st.integers(1, 3))
def test_early_stop_never_changes_the_record_with_sources(said, concurrency, min_sources):
    replies = [Reply(record, source=source) for record, source in said]
    full = consensus(replay(replies), "?", n=5, weights=None, min_sources=min_sources)
    early = consensus(
        replay(replies),
        "?",
        n=5,
        weights=None,
        early_stop=True,
        concurrency=concurrency,
        min_sources=min_sources,
    )
    assert (early.value, early.reason) == (full.value, full.reason) or (full.abstained and early.abstained)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([*RECORDS, "no"]), min_size=5, max_size=5), st.integers(1, 5))
def test_early_stop_never_changes_the_record(revisions, concurrency):
    texts = [each if isinstance(each, str) else json.dumps(each) for each in revisions]
    full = consensus(replay(texts), "?", n=5, weights=None)
    early = consensus(replay(texts), "?", n=5, weights=None, early_stop=True, concurrency=concurrency)
    assert (early.value, early.reason) == (full.value, full.reason) or (full.abstained and early.abstained)


def test_merging_samples_again_gives_the_same():
    first = consensus(replay(['{"a": "ann"}', '{"a": "anna"}', "no", '{"a": "anne"}']), "?", n=4)
    assert first.value == {}
    assert merge(first, compare={"a": Similar(0.6)}).value == {"a": "ann"}
    assert merge(first.samples).partial == first.partial
