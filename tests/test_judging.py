"""Judging: one reply, one sample, the right code."""

from __future__ import annotations

import dataclasses
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from consilience.merging import merge
from consilience.replies._reply import Reply
from consilience.voting import Failure, Sample, VoteResult, VoteSettings, tally
from consilience.voting._copies import _copied_containers, private_copy
from consilience.voting._judging import Judge, Origin


class Ticket(BaseModel):
    team: str
    urgent: bool = False


@dataclasses.dataclass
class Label:
    team: str


def judge(reply: Any, **options: Any) -> Sample:
    return Judge(VoteSettings(**{"key": "team", **options})).reply(Origin(3, 1), reply).sample


def test_a_valid_reply() -> None:
    text = 'Sure! {"team": "billing", "confidence": 0.8}'
    sample = judge(text, confidence_field="confidence")
    assert sample == Sample(
        index=3,
        prompt_index=1,
        ok=True,
        vote="billing",
        record={"team": "billing", "confidence": 0.8},
        confidence=0.8,
        raw=text,
    )
    assert sample.code is None


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("", Failure.EMPTY_REPLY),
        (" \n\t", Failure.EMPTY_REPLY),
        (None, Failure.EMPTY_REPLY),
        (Reply(None), Failure.EMPTY_REPLY),
        (b"", Failure.EMPTY_REPLY),
        ("Sorry.", Failure.NO_JSON),
        ('"team"', Failure.NO_JSON),
        ("5", Failure.NO_JSON),
        (5, Failure.NO_JSON),
        (math.nan, Failure.NO_JSON),
        (iter("text"), Failure.NO_JSON),
        ((c for c in "text"), Failure.NO_JSON),
        (object(), Failure.NO_JSON),
        ({"a"}, Failure.NO_JSON),
        (Ticket, Failure.NO_JSON),
        (Reply(Reply('{"team": "a"}')), Failure.NO_JSON),
        ('{"team": "bill', Failure.TRUNCATED),
        ('{"Team": "billing"}', Failure.MISSING_KEY),
        ({"Team": "billing"}, Failure.MISSING_KEY),
        ([{"team": "billing"}], Failure.MISSING_KEY),
        ('[{"team": "billing"}]', Failure.MISSING_KEY),
        ([], Failure.MISSING_KEY),
        ("\ud800", Failure.NO_JSON),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_codes_of_bad_replies(reply: Any, code: str) -> None:
    sample = judge(reply)
    assert not sample.ok
    assert sample.code == code
    assert sample.error is not None
    assert sample.error.isprintable()
    assert (sample.vote, sample.record, sample.confidence) == (None, None, None)
    assert sample.raw is reply


@pytest.mark.parametrize(
    "reply",
    [
        '{"team": "billing"}',
        b'{"team": "billing"}',
        bytearray(b'\xff {"team": "billing"}'),
        {"team": "billing"},
        Ticket(team="billing"),
        Label("billing"),
        Reply({"team": "billing"}),
        Reply('```json\n{"team": "billing"}\n```'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_text_and_records_are_read(reply: Any) -> None:
    sample = judge(reply)
    assert (sample.ok, sample.vote) == (True, "billing")
    assert sample.raw is reply


def test_null_and_the_word_none_are_votes() -> None:
    assert judge('{"team": null}').ok
    assert judge('{"team": "none"}').vote == "none"
    result = tally(['{"team": null}', '{"team": null}', '{"team": "none"}'], key="team")
    assert (result.abstained, result.value, result.record) == (False, None, None)
    assert result.counts == ((None, 2), ("none", 1))
    assert result.detail == "None won with 2 of 3 votes"


def test_the_error_of_the_candidate_that_came_furthest() -> None:
    def check(record: Any) -> bool:
        return record.get("ok", False)

    assert judge('{"x": 1} {"ok": true}', validator=check).code == Failure.MISSING_KEY
    assert judge('{"ok": true} {"x": 1}', validator=check).code == Failure.MISSING_KEY
    assert judge('{"x": 1}', validator=check).error == "invalid: the validator returned False"
    assert judge('{"x": 1} {"ok": true} {"ok": true, "team": "a"}', validator=check).vote == "a"


def test_a_cut_off_reply_is_truncated_unless_a_whole_record_came_first() -> None:
    cut = judge('{"team": "billing"} and then {"team": "ship')
    assert (cut.ok, cut.vote, cut.truncated) == (True, "billing", True)
    lost = judge('{"other": 1} and then {"team": "ship')
    assert (lost.code, lost.truncated) == (Failure.TRUNCATED, True)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_the_finish_reason_marks_truncation(reason: str) -> None:
    assert judge(Reply("I think that", finish_reason=reason)).code == Failure.TRUNCATED
    whole = judge(Reply('{"team": "a"}', finish_reason=reason))
    assert (whole.ok, whole.truncated) == (True, True)
    assert judge(Reply('{"Team": "a"}', finish_reason=reason)).code == Failure.MISSING_KEY
    assert not judge(Reply('{"team": "a"}', finish_reason="stop")).truncated
    assert not judge(Reply('{"team": "a"}', finish_reason=["length"])).truncated  # type: ignore[arg-type]


def test_a_draft_and_a_final_answer_are_ambiguous() -> None:
    text = 'Draft {"team": "a"}, final {"team": "b"}, again {"team": "b", "x": 1}'
    assert (judge(text).vote, judge(text).ambiguous) == ("a", True)
    last = judge(text, prefer="last")
    assert (last.vote, last.ambiguous, last.record) == ("b", True, {"team": "b", "x": 1})
    assert not judge('{"team": "a"} and {"team": "a", "x": 1}').ambiguous
    assert not judge('{"team": "a"} and {"x": 1}').ambiguous
    assert not judge('{"team": "A"} and {"team": "a"}', normalize="text").ambiguous


def test_the_last_answer_is_the_one_furthest_down_the_text() -> None:
    fenced_first = 'Final: {"team": "b"}\n```json\n{"team": "a"}\n```\nNo: {"team": "c"}'
    assert judge(fenced_first).vote == "a"
    assert judge(fenced_first, prefer="last").vote == "c"


def test_ambiguity_is_found_out_with_as_few_candidates_as_possible() -> None:
    seen: list[Any] = []
    many = " ".join(f'{{"team": {number}}}' for number in range(100))
    assert judge(many, validator=seen.append).ambiguous
    assert len(seen) == 2


def test_repair_comes_last_and_is_marked() -> None:
    broken = "{'team': 'a'}"
    assert judge(broken).code == Failure.NO_JSON
    repaired = judge(broken, repair=True)
    assert (repaired.vote, repaired.repaired) == ("a", True)
    both = judge(broken + ' but {"team": "b"}', repair=True)
    assert (both.vote, both.repaired, both.ambiguous) == ("b", False, False)
    lenient = judge('{"team": "a",}', repair="lenient")
    assert (lenient.vote, lenient.repaired) == ("a", True)


def test_validators_replace_the_record() -> None:
    sample = judge('{"team": "billing", "confidence": 0.7}', validator=Ticket, confidence_field="confidence")
    assert sample.record == Ticket(team="billing")
    assert sample.confidence == 0.7  # the model dropped the field, the candidate still has it
    assert judge('{"team": 5}', validator=Ticket).code == Failure.INVALID
    schema = {"type": "object", "required": ["team"], "properties": {"team": {"enum": ["a"]}}}
    assert judge('{"team": "a"}', validator=schema).ok
    assert judge('{"team": "b"}', validator=schema).code == Failure.INVALID


def test_confidence_comes_from_the_record_then_from_the_client() -> None:
    options = {"confidence_field": "confidence"}
    assert judge(Reply('{"team": "a", "confidence": "80%"}', confidence=0.1), **options).confidence == 0.8
    assert judge(Reply('{"team": "a", "confidence": "high"}', confidence=0.1), **options).confidence == 0.1
    assert judge(Reply('{"team": "a"}', confidence=7)).confidence == 1.0
    assert judge(Reply('{"team": "a"}', confidence=math.nan)).confidence is None
    assert judge('{"team": "a", "meta": {"p": 0.3}}', confidence_field="meta.p").confidence == 0.3


def test_whole_records_are_compared_without_the_confidence() -> None:
    replies = [
        '{"team": "a", "confidence": 0.9}',
        '{"confidence": 0.7, "team": "a"}',
        '{"team": "b", "confidence": 0.9}',
    ]
    result = tally(replies, confidence_field="confidence")
    assert result.agreement == 2 / 3
    assert result.value == result.record == {"team": "a", "confidence": 0.9}
    assert result.confidence == 0.8
    assert result.field_agreement == {"team": 2 / 3}
    assert tally(replies).reason == "tie"


def test_sources_of_replies() -> None:
    assert judge(Reply('{"team": "a"}', source="x")).source == "x"
    assert judge(Reply("no", source="x")).source == "x"
    assert judge(Reply('{"team": "a"}', source=5)).source == "5"  # type: ignore[arg-type]
    with_source = Judge(VoteSettings(key="team")).reply(Origin(0, source="model"), Reply('{"team": "a"}', source="x"))
    assert with_source.sample.source == "model"


@given(
    st.text() | st.binary() | st.none() | st.floats() | st.lists(st.integers()) | st.dictionaries(st.text(), st.text())
)
def test_no_reply_raises(reply: Any) -> None:
    for key in (None, "team", "a.b[0]"):
        sample = judge(reply, key=key, confidence_field="c", normalize="text")
        assert sample.ok == (sample.error is None)


def test_records_that_raise_at_every_touch_do_not_raise_here() -> None:
    class Loud(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no items")

        def __getitem__(self, name: str) -> Any:
            raise RuntimeError("no item")

        def __contains__(self, name: object) -> bool:
            raise RuntimeError("no membership")

        def __repr__(self) -> str:
            raise RuntimeError("no text")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

        __hash__ = None  # type: ignore[assignment]

    class LoudError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert judge(Loud(), key="team").code in (Failure.NO_JSON, Failure.MISSING_KEY)
    result = tally([Loud(), LoudError(), {"team": Loud()}, {"team": Loud()}], key="team")
    assert result.num_samples == 4
    assert result.explain()
    assert result._repr_html_()
    assert tally([{"a": 1}], validator=lambda record: Loud(), min_valid=0).num_samples == 1


def _marked(record: Any) -> None:
    """A validator that edits in place, the record itself and what is inside it."""
    if isinstance(record, dict):
        record["team"] += "!"
        record["seen"][0].append("marked")
    else:
        record.team += "!"


@pytest.mark.parametrize("make", [lambda: {"team": "a", "seen": [[]]}, lambda: Ticket(team="a"), lambda: Label("a")])
@pytest.mark.parametrize("wrap", [lambda content: content, Reply])
@pytest.mark.parametrize(
    "options",
    [
        {"validator": _marked},
        {"key": lambda record: (_marked(record), getattr(record, "team", None) or record["team"])[1]},
        {"key": (lambda record: (_marked(record), getattr(record, "team", None) or record["team"])[1],)},
        {"key": None, "normalize": lambda vote: _marked(vote)},
    ],
    ids=["validator", "key", "tuple of keys", "normalize"],
)
def test_functions_that_edit_in_place_leave_the_reply_as_it_was(make: Any, wrap: Any, options: dict[str, Any]) -> None:
    content = make()
    result = tally([wrap(content)] * 3, **{"key": "team", **options})
    assert content == make()
    assert result.num_valid == 3
    assert len(result.counts) == 1
    again = tally(result, **{"key": "team", **options})
    assert again.counts == result.counts
    assert again.samples[0].raw == wrap(make())


def test_what_cannot_be_copied_deeply_is_copied_as_far_as_it_goes() -> None:
    lock = threading.Lock()
    record: dict[str, Any] = {"team": "a", "seen": [[]], "lock": lock}
    record["self"] = record["seen"].append(record) or record
    deep: Any = {}
    for _ in range(50_000):
        deep = {"a": deep}
    for content in (record, {"team": "a", "seen": [[]], "deep": deep}):
        sample = judge(content, validator=_marked)
        assert sample.vote == "a!"
        assert content["team"] == "a"
        assert content["seen"][0] == []
    copied = private_copy(record)
    assert copied["lock"] is lock
    assert copied["self"] is copied
    assert copied["seen"][1] is copied


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)


@given(JSON_VALUES)
def test_copied_containers_are_equal_and_share_none(value: Any) -> None:
    def containers(root: Any) -> set[int]:
        inside = root.values() if isinstance(root, dict) else root if isinstance(root, list) else ()
        own = {id(root)} if isinstance(root, (dict, list)) else set()
        return own.union(*map(containers, inside))

    copied = _copied_containers(value)
    assert copied == value
    assert not containers(copied) & containers(value)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("OutputParserException: no team", "invalid: OutputParserException: no team"),
        ("empty_reply: the parser returned None", "empty_reply: the parser returned None"),
        ("missing_key", "invalid: missing_key"),
        ("", "invalid: "),
        (ValueError("not even text"), "invalid: ValueError: not even text"),
    ],
)
def test_a_reply_that_the_client_refused_has_failed_whatever_it_holds(error: Any, expected: str) -> None:
    reply = Reply('{"team": "billing"}', error=error, usage={"output_tokens": 3}, source="small")
    result = tally([reply], key="team")
    [sample] = result.samples
    assert (sample.ok, sample.error, sample.raw, sample.source) == (False, expected, reply, "small")
    assert result.usage == {"output_tokens": 3}
    assert tally(result, key="team").samples == result.samples
    assert merge([reply, {"a": 1}]).samples[0].error == expected


def test_a_refused_reply_that_was_cut_off_is_truncated() -> None:
    sample = judge(Reply('{"team": "bil', error="invalid: no JSON", finish_reason="length"), key="team")
    assert (sample.error, sample.truncated) == ("truncated: no JSON", True)


def test_a_refused_reply_survives_json() -> None:
    result = tally([Reply("Bill!", error="invalid: no such team")])
    assert VoteResult.from_json(result.to_json()) == result
