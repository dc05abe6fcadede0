"""Analytics over many runs, and the settings object."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
import threading
import time

import pytest

from consilience import tally
from consilience._errors import AbstainError, SettingsError
from consilience.merging import (
    ConsensusSettings,
    WorkflowAnalyticsCollector,
    aconsensus,
    consensus,
    merge,
    prefer_most_common_resolver,
)
from consilience.merging._settings import MERGING_OPTIONS
from consilience.replies import Reply


def test_the_analytics_of_one_merge():
    revisions = [{"a": "mug", "b": 1, "c": 1}, {"a": "mugs", "b": 1, "c": 2}, {"a": "mug", "b": 1}]
    result = merge(revisions, weights=None)
    assert result.revisions_processed == 3
    assert result.unique_paths_considered == 3
    assert result.paths_in_consensus_output == 2
    assert result.paths_agreed_by_threshold == 2
    assert result.paths_omitted == 1
    assert result.paths_resolved_by_conflict_resolver == 0
    assert result.consensus_confidence_score == pytest.approx((2 / 3 + 1 + 1 / 3) / 3)
    assert result.average_string_similarity == pytest.approx((1 + 2 * 6 / 7) / 3)
    assert result.revision_weights == (1, 1, 1)
    chosen = merge(revisions, weights=None, conflict_resolver=prefer_most_common_resolver)
    assert chosen.paths_resolved_by_conflict_resolver == 1
    assert merge([{"a": 1}]).average_string_similarity is None


def test_many_runs():
    collector = WorkflowAnalyticsCollector()
    replies = iter([Reply('{"a": 1}', usage={"output_tokens": 5}), "no", Reply('{"a": 1}', usage={"output_tokens": 7})])
    collector.record(consensus(lambda prompt: next(replies), "?", n=3))
    collector.record(merge([]))
    collector.record(tally(['{"a": 1}', "x"], key="a"))
    collector.record_event("retrieval", documents=3)
    collector.record_event("retrieval", documents=4)
    summary = collector.summary()
    assert summary["runs"] == 3
    assert summary["calls"] == 5
    assert summary["calls_failed"] == 2
    assert summary["errors"] == {"no_json": 2}
    assert summary["tokens"] == {"output_tokens": 12}
    assert summary["abstained"] == {"no_valid": 1}
    assert summary["events"] == {"retrieval": 2}
    assert summary["means"]["revisions_processed"] == 1.0
    everything = json.loads(json.dumps(collector.to_dict()))
    assert [event["documents"] for event in everything["events"]] == [3, 4]
    assert len(everything["runs"]) == 3
    with pytest.raises(TypeError, match="record takes"):
        collector.record({"a": 1})
    with pytest.raises(TypeError, match="name must be a str"):
        collector.record_event(3)


def test_threads_lose_nothing():
    collector = WorkflowAnalyticsCollector()
    result = merge([{"a": 1}])

    def work():
        for _ in range(200):
            collector.record(result)
            collector.record_event("step")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (collector.summary()["runs"], collector.summary()["events"]) == (800, {"step": 800})


def test_settings_are_one_frozen_object():
    chosen = ConsensusSettings(min_agreement=0.6, required=["a.b"])
    assert merge([{"a": 1}, {"a": 1}, {"a": 2}], settings=chosen, required=[]).value == {"a": 1}
    assert merge([{"a": 1}, {"a": 2}], settings=chosen).reason == "incomplete"
    with pytest.raises(AttributeError):
        chosen.n = 3
    with pytest.raises(TypeError, match="settings must be a ConsensusSettings"):
        merge([], settings={"n": 3})
    with pytest.raises(TypeError, match="unexpected keyword argument 'n'"):
        merge([], n=3)
    for verb in (consensus, aconsensus):
        assert set(ConsensusSettings.__dataclass_fields__) <= set(inspect.signature(verb).parameters)
    assert set(MERGING_OPTIONS) <= set(inspect.signature(merge).parameters)


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ([1, 2, 3], SettingsError),
        ([0, 0], SettingsError),
        ([1, -1], SettingsError),
        ([1, "x"], TypeError),
        ("votes", SettingsError),
        (3, TypeError),
    ],
)
def test_weights_that_do_not_fit(weights, error):
    with pytest.raises(error, match="weights"):
        merge([{"a": 1}, {"a": 2}], weights=weights)


def test_weights_by_confidence_source_and_function():
    replies = [Reply({"a": 1}, confidence=0.9, source="x"), Reply({"a": 2}, confidence=0.3, source="y")]
    assert merge(replies, weights="confidence").value == {"a": 1}
    assert merge(replies, weights={"y": 3}).value == {"a": 2}
    assert merge(replies, weights=lambda sample: 1 + sample.index).value == {"a": 2}
    assert merge([{"a": 1}, {"a": 2}], weights=[0, 1]).value == {"a": 2}
    assert merge([{"a": [1]}, {"a": []}], weights=[0, 1], min_support=0.4).value == {"a": []}


def test_a_result_that_abstained():
    result = merge([1, 2])
    with pytest.raises(AbstainError, match="abstained: low_agreement"):
        result.unwrap()
    assert result.value_or("nothing") == "nothing"
    assert merge([1]).unwrap() == 1
    assert not result.decided


def test_results_are_values():
    revisions = [{"a": 1, "l": [1, 2]}, {"a": 1, "l": [1]}, {"a": 2}]
    first, second = merge(revisions), merge(revisions)
    assert first == second
    assert pickle.loads(pickle.dumps(first)) == first
    assert copy.deepcopy(first).fields["a"] == first.fields["a"]
    assert "$" not in first.fields
    assert first.fields != merge(revisions[:2]).fields


def nothing(result):
    return result.value, result.reason


def test_replies_without_any_weight_abstain():
    assert nothing(merge([{"a": 1}, {"a": 1}], weights="confidence")) == (None, "no_valid")
    assert nothing(merge([{"a": 1}, {"a": 1}], weights=lambda sample: 0)) == (None, "no_valid")
    assert nothing(merge([Reply({"a": 1}, source="s")], weights={"s": 0})) == (None, "no_valid")
    assert "none of 2 valid revisions reports a confidence above 0" in merge([{}, {}], weights="confidence").detail


def test_a_reply_that_the_weights_cannot_weigh_is_a_failed_sample():
    result = merge([{"a": 1, "w": 1}, {"a": 1, "w": 2}, {"a": 7}], weights=lambda sample: sample.record["w"])
    assert result.value == {"a": 1, "w": 2}
    assert result.weights == (1, 2, 0)
    assert "weights raised KeyError" in result.samples[2].error
    assert nothing(merge([{"a": 1}], weights=lambda sample: "much")) == (None, "no_valid")


def test_the_number_of_weights_is_checked_before_the_first_call():
    calls = []
    for verb in (consensus, lambda *given, **options: asyncio.run(aconsensus(*given, **options))):
        with pytest.raises(SettingsError, match="one number for each of 3 revisions, got 2"):
            verb(calls.append, "p", n=3, weights=[1, 1])
    assert calls == []
    with pytest.raises(SettingsError, match="one number for each of 1 revisions, got 2"):
        merge([{}], weights=[1, 1])


def test_a_deadline_leaves_the_weights_of_the_revisions_drawn():
    def slow(prompt):
        if slow.calls:
            time.sleep(0.3)
        slow.calls += 1
        return '{"a": 1}'

    slow.calls = 0
    assert consensus(slow, "p", n=5, weights=[1, 2, 3, 4, 5], deadline=0.1, min_valid=0).value in ({"a": 1}, None)


def test_merge_reads_the_confidence_field():
    revisions = [{"a": 1, "sure": "90%"}, {"a": 2, "sure": 0.2}, {"a": 2}]
    result = merge(revisions, weights="confidence", confidence_field="sure")
    assert result.weights == (0.9, 0.2, 0)
    assert result.value["a"] == 1


def test_numbers_that_are_not_finite_are_refused_on_demand():
    for record in ({"a": float("nan")}, [[float("inf")]]):
        with pytest.raises(SettingsError, match=r"revisions\[0\] holds NaN or infinity"):
            merge([record], settings=ConsensusSettings(allow_nan=False))
    result = consensus(lambda prompt: {"a": float("nan")}, "p", n=2, allow_nan=False)
    assert [sample.code for sample in result.samples] == ["invalid", "invalid"]


def test_asynchronous_functions_are_refused_before_the_first_call():
    async def slow(*given):
        return 1

    for options in ({"weights": slow}, {"conflict_resolver": slow}, {"compare": {"a": slow}}):
        with pytest.raises(TypeError, match="must be a plain function, got the asynchronous 'slow'"):
            ConsensusSettings(**options)
