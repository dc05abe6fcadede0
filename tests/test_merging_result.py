"""The result of a consensus: showing it, writing it down and reading it back."""

from __future__ import annotations

import copy
import dataclasses
import html
import json
import logging
import math
import pickle
import threading
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from consilience import Reply, Sample, SettingsError, tally
from consilience.merging import (
    ConsensusResult,
    ConsensusSettings,
    Path,
    Tolerance,
    Unordered,
    consensus,
    merge,
    prefer_most_common_resolver,
)
from consilience.merging._fingerprint import fingerprint

HOSTILE = "\ud800\x00\x1b[31m<script>alert('x')</script>\n‮" + "y" * 500
KEYS = st.sampled_from(["a", "b", "a.b", "a[0]", "0", "", "$", 'q"', "[]", "\n", "\ud800"]) | st.text(max_size=3)
FINITE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    FINITE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
ALIKE = st.recursive(
    st.sampled_from([0, 1, 1.0, None, "p", "P"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "a.b", "1"]), inner, max_size=2),
    max_leaves=6,
)


def back(result: ConsensusResult, model: Any = None) -> ConsensusResult:
    """The result after a trip through JSON, which must be standard JSON."""
    text = result.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert text.isascii()
    return ConsensusResult.from_json(text, model=model)


def assert_survives(result: ConsensusResult, model: Any = None) -> None:
    restored = back(result, model)
    assert restored == result
    assert (restored.id, restored.elapsed) == (result.id, result.elapsed)
    assert list(restored.fields) == list(result.fields)
    assert json.dumps(restored.partial) == json.dumps(result.partial)
    assert [dataclasses.astuple(each) for each in restored.needs_review()] == [
        dataclasses.astuple(each) for each in result.needs_review()
    ]
    assert restored.explain() == result.explain()
    assert json.loads(result.to_json()) == result.to_dict()
    assert back(restored, model) == result


# Names and frozenness


def test_ids_differ_and_do_not_count():
    one, other = (merge([{"a": 1}]) for _ in range(2))
    assert one == other
    assert one.id != other.id
    assert len(one.id) == 32
    assert int(one.id, 16) >= 0


def test_results_can_be_copied_and_pickled():
    result = merge([{"a.b": [1, {}]}, {"a.b": [2]}, Reply({"a.b": [1]}, source="x", usage={"out": 2})])
    assert pickle.loads(pickle.dumps(result)) == result
    assert copy.deepcopy(result) == result
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 1
    assert "samples=" not in repr(result)


def test_a_repr_never_raises():
    class Mute(BaseModel):
        a: int

        def __repr__(self) -> str:
            raise RuntimeError

    assert "ConsensusResult(" in repr(merge([{"a": 1}], schema=Mute))


@pytest.mark.parametrize(
    "options",
    [
        {"n": 3},
        {"min_agreement": 0.6},
        {"weights": None},
        {"compare": {"a": "text"}},
        {"compare": {"b": "text"}},
        {"compare": {"a": Tolerance(0.1)}},
        {"compare": {"a": Tolerance(0.2)}},
        {"conflict_resolver": prefer_most_common_resolver},
        {"schema": {"type": "object"}},
        {"required": ["a"]},
        {"repair": "lenient"},
        {"constraints": [lambda record: True]},
        {"constraints": [lambda record: False]},
    ],
    ids=str,
)
def test_settings_that_decide_otherwise_have_another_fingerprint(options):
    changed = fingerprint(ConsensusSettings(**options))
    assert changed == fingerprint(ConsensusSettings(**options))
    assert changed != fingerprint(ConsensusSettings()) == merge([{}]).settings_hash
    others = fingerprint(ConsensusSettings(**options, concurrency=3, timeout=5, on_sample=print))
    assert others == changed
    assert len(changed) == 16


# Showing it


def test_explain_says_what_to_check_and_what_failed():
    replies = ['{"id": 7, "total": 1}', '{"id": 7, "total": 2}', "Sorry.", '{"id": 7, "tip": 1, "total": 3}', "no"]
    result = merge(tally(replies))
    assert result.explain().splitlines() == [
        "decided: 3 revisions merged: 1 of 3 fields agreed",
        "confidence 0.67, 3 of 5 samples valid",
        "check total (omitted, 0.33): 1 × 1, 2 × 1, 3 × 1",
        "check tip (absent, 0.67): absent × 2, 1 × 1",
        "failures: no_json × 2",
    ]
    abstained = merge(["1", "[]", "{}"])
    assert abstained.explain().splitlines()[0] == f"abstained (low_agreement): {abstained.detail}"


def test_explain_is_short_however_much_there_is_to_check():
    result = merge([{f"f{i}": f"{i + j}" * 200 for i in range(50)} for j in range(9)])
    lines = result.explain().splitlines()
    assert len(lines) == 13
    assert lines[-1] == "check 40 more fields"
    assert "(and 4 more)" in lines[2]
    assert all(len(line) < 600 for line in lines)
    assert result._repr_html_().count("<tr>") == 10


def test_explain_tells_of_constraints_and_dropped_values():
    unmet = merge([{"a": 1}, {"a": 2}], constraints=[lambda record: False], max_repairs=1)
    assert "constraints not met: 1 combination tried, the limit" in unmet.explain()
    typed = merge([{"a": 1}, {"a": "x"}], schema={"properties": {"a": {"type": "integer"}}}, min_agreement=0.4)
    assert "dropped because they do not fit the schema: 1 value" in typed.explain()


def test_hostile_text_is_made_printable(caplog):
    with caplog.at_level(logging.DEBUG, logger="consilience"):
        result = merge([{HOSTILE: HOSTILE}, {HOSTILE: 1}, Reply({"b": 1}, source=HOSTILE)], required=['["\x1b"]'])
    for text in (result.detail, *result.explain().splitlines(), *(record.getMessage() for record in caplog.records)):
        assert text.isprintable()
        assert text.encode("utf-8")
        assert len(text) < 900
    shown = result._repr_html_()
    assert "<script" not in shown
    assert html.escape("<script>") in shown
    assert shown.encode("utf-8")
    assert_survives(result)


# The log


def test_one_info_line_a_consensus_and_one_debug_line_a_sample(caplog):
    with caplog.at_level(logging.DEBUG, logger="consilience"):
        result = merge([{"a": 1}, Sample(index=0, ok=False, error="no_json: none"), {"a": 2}])
    assert [record.levelno for record in caplog.records] == [logging.DEBUG] * 3 + [logging.INFO]
    assert caplog.records[1].getMessage().startswith("sample 1 failed, no_json: none")
    assert caplog.records[3].getMessage() == f"consensus {result.id} decided: {result.detail} (3 of 3 samples)"
    assert {record.name for record in caplog.records} == {"consilience"}


@pytest.mark.parametrize("early_stop", [False, True])
def test_drawing_logs_each_sample_and_the_result_once(caplog, early_stop):
    with caplog.at_level(logging.DEBUG, logger="consilience"):
        result = consensus(lambda prompt: '{"a": 1}', "?", n=5, weights=None, early_stop=early_stop, concurrency=2)
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.DEBUG] * (3 if early_stop else 5) + [logging.INFO]
    assert result.id in caplog.records[-1].getMessage()
    ending = "(3 of 5 samples)" if early_stop else "(5 of 5 samples)"
    assert caplog.records[-1].getMessage().endswith(ending)
    assert ("stopped by when_settled after 3 of 5 calls" in result.explain()) is early_stop


def test_calls_that_go_on_are_counted():
    gate = threading.Event()

    def slow(prompt):
        gate.wait(20)
        return "{}"

    try:
        result = consensus(slow, "?", n=2, concurrency=2, deadline=0.05)
    finally:
        gate.set()
    assert (result.reason, result.abandoned, result.n_planned) == ("deadline", 2, 2)
    assert result.detail.startswith("the deadline ended the consensus after 0 of 2 samples: ")
    assert "calls still running: 2" in result.explain()
    assert_survives(result)


# JSON


@settings(max_examples=200, deadline=None)
@given(
    st.lists(JSON | ALIKE, max_size=4),
    st.sampled_from([None, "trust"]),
    st.sampled_from([{}, {"conflict_resolver": prefer_most_common_resolver}, {"required": ["a", "b[].c"]}]),
)
def test_a_result_survives_json(revisions, weights, options):
    assert_survives(merge(revisions, weights=weights, **options))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(ALIKE, st.sampled_from([None, "x", "y"]), st.none() | st.floats(0, 1), st.booleans()), max_size=5
    ),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_so_it_does_with_sources_and_failures(said, one_vote, sources):
    samples = [
        Sample(
            index=index,
            ok=ok,
            record=record if ok else None,
            source=source,
            confidence=sure,
            error=None if ok else "x: y",
        )
        for index, (record, source, sure, ok) in enumerate(said)
    ]
    assert_survives(merge(samples, one_vote_per_source=one_vote, min_sources=sources, weights=None))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(0, 2), max_size=2), min_size=1, max_size=5))
def test_so_it_does_where_fields_were_reconciled(revisions):
    assert_survives(merge(revisions, weights=None, constraints=[lambda record: record.get("a") == record["b"]]))


class Line(BaseModel):
    sku: str
    price: Annotated[Decimal, Tolerance(0.01)] = Decimal(1)


LINES = st.fixed_dictionaries({"sku": st.sampled_from("ab")}, optional={"price": FINITE})


class Invoice(BaseModel):
    number: str = Field(alias="Nr.")
    lines: Annotated[list[Line], Unordered()] = []
    note: str | None = None

    @model_validator(mode="after")
    def has_lines(self):
        if self.note == "empty" and self.lines:
            raise ValueError("there are lines")
        return self


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "Nr.": st.sampled_from(["1", "2", 3]),
                "lines": st.lists(
                    st.fixed_dictionaries({"sku": st.sampled_from("ab")}, optional={"price": FINITE}), max_size=2
                ),
                "note": st.sampled_from([None, "empty", "x"]),
            },
        ),
        min_size=1,
        max_size=4,
    )
)
def test_values_come_back_as_instances_of_the_model(revisions):
    result = merge(revisions, schema=Invoice)
    assert_survives(result, Invoice)
    assert back(result).value == result.to_dict()["value"]


def test_records_that_are_instances_are_written_as_they_were_set():
    given = [Line(sku="a"), Line(sku="a", price=Decimal("2.50")), Line(sku="b")]
    result = merge(given, schema=Line)
    restored = back(result, Line)
    assert [sample.record for sample in restored.samples] == [{"sku": "a"}, {"sku": "a", "price": 2.5}, {"sku": "b"}]
    assert restored.value == result.value == Line(sku="a")
    assert restored.fields == result.fields
    assert merge(restored, schema=Line).fields == merge(result, schema=Line).fields == result.fields


def test_a_restored_result_can_be_merged_anew():
    result = merge([{"a": 1}, Reply('{"a": 1}', error="refused"), {"a": [2]}, {"a": [2, 3]}])
    again = merge(ConsensusResult.from_json(result.to_json()))
    assert again == result
    votes = tally(['{"a": 1, "b": 2}', '{"a": 1, "b": 3}'], key=("a", "b"), min_agreement=0)
    assert_survives(merge(votes))


def test_what_json_cannot_hold_becomes_text():
    result = merge([{"x": math.nan, "y": [-math.inf], "z": 10**5000}] * 2)
    restored = back(result)
    assert restored.value["x"] == "nan"
    assert restored.fields["y[0]"].value == "-inf"
    assert back(restored) == restored


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a.b": inner}], ids=["lists", "objects"])
def test_records_as_deep_as_can_be_merged_survive(wrap):
    deep: Any = 1
    for _ in range(200):
        deep = wrap(deep)
    other = copy.deepcopy(deep)
    assert_survives(merge([deep, other, wrap(2), Reply(other)], conflict_resolver=prefer_most_common_resolver))


WRONG = [
    ("abstained", 1),
    ("detail", None),
    ("weights", ["1"]),
    ("weights", "1"),
    ("missing", ["a..b"]),
    ("missing", [5]),
    ("fields", []),
    ("fields", {"a..b": {}}),
    ("fields", {"a": {"value": 1}}),
    ("samples", 5),
    ("samples", [{"index": "0", "ok": True, "vote": None}]),
    ("usage", 5),
    ("n_planned", 1.5),
    ("constraints_met", "yes"),
    ("unmatched", [1]),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_from_json_refuses_values_of_the_wrong_type(name, value):
    with pytest.raises(SettingsError, match="to_json"):
        ConsensusResult.from_json(json.dumps({**merge([{"a": 1}, {"a": 2}]).to_dict(), name: value}))


@pytest.mark.parametrize(
    "change", [{"agreement": "high"}, {"candidates": [{}]}, {"more": 1}, {"candidates": "abc"}], ids=str
)
def test_from_json_refuses_fields_that_are_none(change):
    values = merge([{"a": 1}, {"a": 2}]).to_dict()
    values["fields"]["a"].update(change)
    with pytest.raises(SettingsError, match="to_json"):
        ConsensusResult.from_json(json.dumps(values))


def test_from_json_takes_text_of_a_consensus():
    with pytest.raises(TypeError, match="text must be a str"):
        ConsensusResult.from_json({})
    for text in ("", "[]", "{}", tally(['{"a": 1}']).to_json()):
        with pytest.raises(SettingsError, match="to_json\\(\\) of a ConsensusResult"):
            ConsensusResult.from_json(text)
    with pytest.raises(ValueError, match="sku"):
        ConsensusResult.from_json(merge([{"a": 1}]).to_json(), model=Line)


@settings(deadline=None)
@given(st.lists(KEYS | st.integers(0, 9) | st.just(-1), max_size=6))
def test_the_text_of_a_path_reads_back_as_the_path(steps):
    result = dataclasses.replace(merge([{}]), missing=(Path(steps),))
    assert back(result).missing == (tuple(steps),)


class Holder(BaseModel):
    anything: dict[str, Any]


def test_pydantic_writes_a_result_that_it_meets_anywhere_as_to_dict_does() -> None:
    result = merge([{"a": 1, "b": ["x"]}, {"a": 1, "b": math.nan}, {"a": 2}])
    holder = Holder(anything={"consensus": result})
    assert holder.model_dump()["anything"] == {"consensus": result.to_dict()}
    assert json.loads(holder.model_dump_json())["anything"]["consensus"] == json.loads(result.to_json())
    assert holder.anything["consensus"] is result


def test_pydantic_knows_the_form_of_a_result_that_is_a_field_or_a_response() -> None:
    known: TypeAdapter[ConsensusResult] = TypeAdapter(ConsensusResult)
    result = merge([{"a": 1, "b": [{"c.d": 2}]}, {"a": 1, "b": [{"c.d": 2}]}, {"a": 1}])
    written = known.dump_json(result)
    assert set(json.loads(written)["fields"]) == {"a", "b", 'b[0]["c.d"]'}
    assert known.validate_python(result) is result
    assert known.validate_json(written) == result
    assert known.json_schema()["properties"]["fields"]["type"] == "object"
    assert known.json_schema(mode="serialization")["properties"]["missing"]["items"] == {"type": "string"}
    with pytest.raises(ValidationError, match="a path looks like"):
        TypeAdapter(Path).validate_python('a["')
