"""The result: asking it, showing it, writing it down and reading it back."""

from __future__ import annotations

import copy
import dataclasses
import html
import json
import logging
import math
import pickle
import time
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from consilience import ConsensusResult, _errors, merge
from consilience.replies._reply import Reply
from consilience.voting import Sample, VoteResult, tally, vote
from consilience.voting._excerpts import excerpt, excerpt_error, excerpt_value

DECIDED = tally(
    ['{"team": "a"}', '{"team": "a"}', '{"team": "b"}', "no", "no idea", "", ValueError("x")],
    key="team",
    min_valid=0.4,
    min_agreement=0.2,
)
ABSTAINED = tally(["no", "no idea"], key="team")
HOSTILE = "\ud800\x00\x1b[31m<script>alert('x')</script>\n\u202e" + "y" * 500


class Invoice(BaseModel):
    number: str
    total: Decimal
    due: date | None = None


@dataclasses.dataclass
class Label:
    team: str


def test_unwrap_and_value_or() -> None:
    assert DECIDED.unwrap() == DECIDED.value_or("human") == "a"
    assert DECIDED.decided
    assert not ABSTAINED.decided
    assert ABSTAINED.value_or("human") == "human"
    with pytest.raises(_errors.AbstainError, match="no_valid") as caught:
        ABSTAINED.unwrap()
    assert caught.value.result is ABSTAINED
    assert not isinstance(caught.value, ValueError)
    assert tally([{"a": None}], key="a").unwrap() is None
    assert tally([{"a": None}], key="a").value_or("human") is None


def test_explain_gives_decision_counts_and_failures() -> None:
    assert DECIDED.explain().splitlines() == [
        "decided: 'a' won with 2 of 7 votes",
        "agreement 0.29, 3 of 7 samples valid",
        "votes: 'a' × 2, 'b' × 1",
        "failures: no_json × 2, empty_reply × 1, sampler_error × 1",
    ]
    assert ABSTAINED.explain().splitlines()[0] == f"abstained (no_valid): {ABSTAINED.detail}"


def test_samples_are_hidden_from_repr() -> None:
    assert "samples=" not in repr(DECIDED)
    assert "raw=" not in repr(DECIDED.samples[0])


def test_results_and_samples_are_frozen_and_can_be_copied() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DECIDED.value = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        DECIDED.samples[0].vote = "b"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(DECIDED)) == DECIDED
    assert copy.deepcopy(DECIDED) == DECIDED


def test_ids_differ_and_do_not_count() -> None:
    one, other = (tally(['{"a": 1}'], key="a") for _ in range(2))
    assert one == other
    assert one.id != other.id
    assert len(one.id) == 32
    assert one.settings_hash == other.settings_hash != tally(['{"a": 1}'], key=("a",)).settings_hash


# --- hostile text -----------------------------------------------------------------------------------------------------


def test_hostile_text_is_made_printable() -> None:
    result = tally(
        [{"team": HOSTILE}, {"team": HOSTILE}, Reply("no", source=HOSTILE), RuntimeError(HOSTILE)], key="team"
    )
    assert result.value == HOSTILE
    for text in (result.detail, *result.explain().splitlines(), *(s.error for s in result.samples if s.error)):
        assert text.isprintable()
        assert text.encode("utf-8")
        assert len(text) < 700
    shown = result._repr_html_()
    assert "<script" not in shown
    assert html.escape("<script>") in shown
    assert shown.encode("utf-8")


def test_the_notebook_shows_bars_for_counts() -> None:
    shown = DECIDED._repr_html_()
    assert shown.count("<tr>") == 2 + 3
    assert shown.startswith("<div>")
    many = tally([{"team": str(i)} for i in range(50)], key="team")
    assert many._repr_html_().count("<tr>") == 10
    assert "and 40 more answers" in many.explain()


@given(st.text(), st.integers(1, 50))
def test_excerpts_are_short_and_printable(text: str, limit: int) -> None:
    assert excerpt(text, limit).isprintable()
    assert excerpt_value(text, limit).isprintable()
    assert len(excerpt(text, limit)) <= 10 * limit + 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "'a'"),
        (None, "None"),
        (True, "True"),
        (1.0, "1.0"),
        ((1, "b"), '[1,"b"]'),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ],
    ids=str,
)
def test_excerpts_of_values(value: Any, shown: str) -> None:
    assert excerpt_value(value) == shown


def test_excerpts_of_the_unspeakable() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert excerpt_error(MuteError()) == "MuteError"
    assert excerpt_error(ValueError()) == "ValueError"
    assert len(excerpt_value(10**5000)) < 100
    assert excerpt_value(math.nan) == "nan"


# --- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "replies",
    [
        ['{"team": "a", "c": 0.5}', "no", '{"team": "b"}'],
        [{"team": None}, {"team": HOSTILE}, {"team": [1, {"x": 1.5}]}],
        [
            Reply(
                '{"team": "a"}', usage={"out": 3, "more": {"in": 1}}, confidence=0.3, source="x", finish_reason="length"
            )
        ],
        [ValueError("x"), None, 5],
        [],
    ],
    ids=lambda replies: str(len(replies)),
)
@pytest.mark.parametrize("key", ["team", None])
def test_a_result_survives_json(replies: list[Any], key: Any) -> None:
    result = tally(replies, key=key, confidence_field="c")
    text = result.to_json()
    assert text.isascii()
    restored = VoteResult.from_json(text)
    assert restored == result
    assert (restored.id, restored.elapsed) == (result.id, result.elapsed)
    assert json.loads(text) == result.to_dict()
    assert VoteResult.from_json(restored.to_json()) == result


def test_a_restored_result_can_be_judged_anew() -> None:
    replies = [Reply('{"team": "a"}', source="x"), '{"team": "b"}', {"team": "b"}, "no"]
    result = tally(replies, key="team")
    again = tally(VoteResult.from_json(result.to_json()), key="team")
    assert again == result


def test_records_come_back_as_instances_of_a_model() -> None:
    replies = ['{"number": "1", "total": "2.50", "due": "2026-11-30"}'] * 2
    result = tally(replies, validator=Invoice)
    assert isinstance(result.value, Invoice)
    restored = VoteResult.from_json(result.to_json(), model=Invoice)
    assert restored.record == restored.value == restored.samples[1].record == restored.samples[1].vote == result.record
    plain = VoteResult.from_json(result.to_json())
    assert plain.record == {"number": "1", "total": "2.50", "due": "2026-11-30"}
    labels = tally([Label("a"), Label("a")], key="team")
    assert VoteResult.from_json(labels.to_json(), model=Label).record == Label("a")


def test_numbers_that_json_cannot_hold_become_text() -> None:
    result = tally([{"x": math.nan, "y": [-math.inf]}, {"x": 10**5000}], key="x", min_agreement=0)
    text = result.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert VoteResult.from_json(text).samples[0].record == {"x": "nan", "y": ["-inf"]}


def test_deep_records_can_be_written_and_read() -> None:
    for depth in (150, 900, 5_000, 50_000):
        deep: Any = 1
        for _ in range(depth):
            deep = [deep]
        result = tally([{"x": deep}], key="x")
        restored = VoteResult.from_json(result.to_json())
        assert restored.decided
        assert (restored == result) == (depth < 200)
        assert VoteResult.from_json(restored.to_json()) == restored


@pytest.mark.parametrize(
    ("replies", "key"),
    [
        (['{"a": 1, "b": [2]}'] * 2, ("a", "b")),
        (['{"a": 1, "b": [2]}', '{"a": 1, "b": [3]}', "no"], ("a", ("b", "a"))),
        ([{"a": ["x", "y"]}, {"a": ["z"]}], lambda record: tuple(record["a"])),
        ([("a", 1), ("a", 2), ["a", 1]], None),
    ],
    ids=["flat", "nested", "of different lengths", "whole"],
)
def test_votes_that_are_tuples_come_back_as_tuples(replies: list[Any], key: Any) -> None:
    result = tally(replies, key=key, min_agreement=0, abstain_on_tie=False)
    restored = VoteResult.from_json(result.to_json())
    assert restored.value == result.value
    assert isinstance(restored.value, tuple)
    if key is not None:
        assert restored == result
        assert tally(restored, key=key, min_agreement=0, abstain_on_tie=False) == result


def test_whole_records_come_back_as_instances_wherever_they_were_voted_on() -> None:
    replies = ['{"number": "1", "total": "2.50"}'] * 2 + ['{"number": "2", "total": "2.50"}', "no"]
    for options in ({}, {"normalize": {"number": "number"}}):
        result = tally(replies, validator=Invoice, **options)
        assert VoteResult.from_json(result.to_json(), model=Invoice) == result
    by_field = tally(replies, validator=Invoice, key="number")
    restored = VoteResult.from_json(by_field.to_json(), model=Invoice)
    assert restored == by_field
    assert restored.counts == (("1", 2), ("2", 1))


WRONG_VALUES: list[tuple[str, Any]] = [
    ("agreement", "high"),
    ("agreement", True),
    ("abstained", 1),
    ("detail", None),
    ("reason", 5),
    ("sources", "abc"),
    ("sources", [1]),
    ("counts", [["a"]]),
    ("counts", [["a", "b"]]),
    ("field_agreement", [1]),
    ("field_agreement", {"a": "b"}),
    ("usage", 5),
    ("n_planned", 1.5),
    ("samples", "abc"),
    ("samples", [5]),
    ("samples", [{"index": "0", "ok": True, "vote": None}]),
    ("samples", [{"index": 0, "ok": True, "vote": None, "reply": 5}]),
    ("elapsed", "long"),
]


@pytest.mark.parametrize(("name", "value"), WRONG_VALUES, ids=str)
def test_from_json_refuses_values_of_the_wrong_type(name: str, value: Any) -> None:
    with pytest.raises(_errors.SettingsError, match="to_json"):
        VoteResult.from_json(json.dumps({**DECIDED.to_dict(), name: value}))


@pytest.mark.parametrize("text", [None, 5, {}, []], ids=str)
def test_from_json_takes_text(text: Any) -> None:
    with pytest.raises(TypeError, match="text must be a str"):
        VoteResult.from_json(text)


def test_replies_come_back_whatever_they_reported() -> None:
    result = tally([Reply('{"a": 1}', confidence="80%", source=5, usage=None)], key="a")  # type: ignore[arg-type]
    assert VoteResult.from_json(result.to_json()) == result


@pytest.mark.parametrize("text", ["", "5", "[]", "{}", '{"samples": 5}', "nonsense"])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(_errors.SettingsError, match="to_json"):
        VoteResult.from_json(text)


def test_a_record_that_the_model_refuses_is_the_models_error() -> None:
    text = tally([{"number": "1"}], key="number").to_json()
    with pytest.raises(ValidationError):
        VoteResult.from_json(text, model=Invoice)


def test_from_json_refuses_fields_it_does_not_know() -> None:
    text = DECIDED.to_json().replace('"detail":', '"details":', 1)
    with pytest.raises(_errors.SettingsError, match="to_json"):
        VoteResult.from_json(text)


# --- what else is summed ----------------------------------------------------------------------------------------------


def test_usage_is_summed() -> None:
    class Usage(BaseModel):
        out: int = 2
        model: str = "m"

    replies = [
        Reply("{}", usage={"out": 1, "cost": 0.5, "model": "m", "cached": True, "more": {"in": 1}}),
        Reply("{}", usage={"out": 4, "more": {"in": 2, "deep": {"x": 1}}}),
        Reply("no", usage=Usage()),  # type: ignore[arg-type]
        "{}",
    ]
    assert tally(replies).usage == {"out": 7, "cost": 0.5, "more": {"in": 3, "deep": {"x": 1}}}
    assert tally(["{}"]).usage is None
    assert tally([Reply("{}", usage={})]).usage == {}
    assert tally([Reply("{}", usage=5), Reply("{}", usage={"a": {"b": 1}}), Reply("{}", usage={"a": 1})]).usage  # type: ignore[arg-type]


def test_distinct_replies() -> None:
    assert tally(["a", "a", "b", None, {"x": 1}, {"x": 1.0}, {"x": 1}, Reply("a"), '{"x":1}']).distinct_replies == 5


def test_samples_without_a_reply_stand_as_they_are() -> None:
    samples = [
        Sample(index=9, ok=True, vote="a"),
        Sample(index=3, ok=True, vote="a"),
        Sample(index=1, ok=False, error="timeout: 2 s"),
    ]
    result = tally(samples, key="team")
    assert (result.value, result.agreement) == ("a", 2 / 3)
    assert [sample.index for sample in result.samples] == [1, 3, 9]
    assert result.samples[0].error == "timeout: 2 s"
    assert tally([Sample(index=0, ok=False)]).samples[0].code == "empty_reply"


@pytest.mark.parametrize(
    "replies", ["text", b"text", {"a": 1}, 5, None, Reply("{}"), Sample(index=0, ok=True)], ids=repr
)
def test_one_reply_is_no_list_of_replies(replies: Any) -> None:
    with pytest.raises(TypeError, match="replies must be"):
        tally(replies)


def test_one_info_line_a_result_and_one_debug_line_a_sample(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="consilience"):
        tally([{"team": HOSTILE}, "no", Reply("{}", source="x" * 500)], key="team")
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.DEBUG] * 3 + [logging.INFO]
    assert all(record.name == "consilience" for record in caplog.records)
    assert all(record.getMessage().isprintable() and len(record.getMessage()) < 600 for record in caplog.records)
    with caplog.at_level(logging.WARNING, logger="consilience"):
        caplog.clear()
        tally(["no"])
    assert not caplog.records


def test_the_commonest_error_is_that_of_the_commonest_type() -> None:
    errors = [RuntimeError("once"), *[PermissionError(f"request {number}: no such key") for number in range(4)]]
    detail = tally(['{"a": 1}', *errors], key="a").detail
    assert detail.endswith("most often: sampler_error: PermissionError: request 0: no such key")
    mixed = tally([RuntimeError("a"), PermissionError("b"), "no", "no"], key="a").detail
    assert mixed.endswith("most often: no_json: the reply holds no JSON object or array")


def test_one_sample_is_singular() -> None:
    failed = tally(["no"], key="a")
    assert failed.detail.startswith("the only sample was not valid; most often: no_json")
    assert "0 of 1 sample valid" in failed.explain()
    assert tally(['{"a": 1}'], key="a").detail == "1 won with 1 of 1 vote"
    late = vote(lambda prompt: time.sleep(1), "?", n=1, deadline=0.01)
    assert late.detail == "the deadline ended the vote after 0 of 1 sample: there are no samples"


class Holder(BaseModel):
    anything: dict[str, Any]


def test_pydantic_writes_a_result_that_it_meets_anywhere_as_to_dict_does() -> None:
    odd = Reply({"team": object()}, usage={"tokens": 3})
    result = tally(['{"team": "billing"}', odd, RuntimeError("down")], key="team", min_valid=0, min_agreement=0)
    holder = Holder(anything={"vote": result, "others": [result]})
    assert holder.model_dump()["anything"] == {"vote": result.to_dict(), "others": [result.to_dict()]}
    assert json.loads(holder.model_dump_json())["anything"]["vote"] == json.loads(result.to_json())
    assert holder.anything["vote"] is result


class Response(BaseModel):
    vote: VoteResult
    merged: ConsensusResult | None = None


def test_a_model_that_declares_results_writes_them_as_they_write_themselves() -> None:
    voted, merged = tally(['{"a": 1}', '{"a": 1}'], key="a"), merge([{"a.b": [1]}, {"a.b": [2]}, {"a.b": [1]}])
    response = Response(vote=voted, merged=merged)
    assert response.vote is voted
    assert json.loads(response.model_dump_json()) == {"vote": voted.to_dict(), "merged": json.loads(merged.to_json())}
    assert json.loads(TypeAdapter(VoteResult).dump_json(voted)) == voted.to_dict()
    assert "agreement" in Response.model_json_schema(mode="serialization")["$defs"]["VoteResult"]["properties"]
