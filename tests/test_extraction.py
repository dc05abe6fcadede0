"""Extraction: what counts as a candidate, in which order, at which level of reading."""

from __future__ import annotations

import base64
import gzip
import html
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import SettingsError, extract_json, field_in, iter_json_candidates, tally
from consilience.replies import read

RECORDED = Path(__file__).parents[2] / "shared"


SAME = object()


def both(strict: Any, repair: Any = SAME) -> tuple[Any, Any]:
    """The value under strict reading, and under repair: the same, another one, or ``...`` where any will do."""
    return strict, strict if repair is SAME else repair


KINDS: dict[str, tuple[str, tuple[Any, Any]]] = {
    # a fence inside a value
    "fence in a value, tilde fence around": ('~~~\n{"a": "```js\\nx\\n```"}\n~~~', both({"a": "```js\nx\n```"})),
    "fence in a value, no fence around": ('Here: {"a": "```\\nx\\n```"} done', both({"a": "```\nx\n```"})),
    "fence in a value, raw line breaks": ('```json\n{"a": "```\nx\n```"}\n```', both(None, {"a": "```\nx\n```"})),
    # citations
    "citation after": ('{"answer": 42} [1][2]', both({"answer": 42})),
    "citation list before": ("See [1, 2, 3].\n" + '{"a": 1}', both({"a": 1})),
    "citation as a link": ('[1](http://example.org) {"a": 1}', both({"a": 1})),
    "footnote only": ("It is so [12].", both(None)),
    "check boxes": ('- [ ] open\n- [x] done\n{"a": 1}', both({"a": 1})),
    "numbers alone on a line": ("The answer:\n[1, 2]\nThat is all.", both([1, 2])),
    "numbers as the whole reply": (" [1, 2.5] ", both([1, 2.5])),
    "numbers in a fence": ("see ```[1, 2]```", both([1, 2])),
    "words in a line of prose are an array": ('I choose ["a", "b"].', both(["a", "b"])),
    # order
    "fenced before found": ('Draft {"a": 0}\n```json\n{"a": 1}\n```', both({"a": 1})),
    "object before array": ('["x"] then {"a": 1}', both({"a": 1})),
    "inline fence": ('Result: ```json {"a": 1}``` as asked, not {"a": 0}', both({"a": 1})),
    "fence with a spaced label": ('``` json\n{"a": 1}\n```', both({"a": 1})),
    "fence without a label": ('{"a": 0}\n```\n{"a": 1}\n```', both({"a": 1})),
    "fence of four": ('{"a": 0}\n````json\n{"a": 1}\n````', both({"a": 1})),
    "fence with another label": ('{"a": 0}\n```JavaScript\n{"a": 1}\n```', both({"a": 1})),
    "code in a fence, object outside": ('```py\nx = {"a": 0}[k]\n```\n{"a": 1}', both({"a": 0})),
    "fence with windows line ends": ('{"a": 0}\r\n```json\r\n{"a": 1}\r\n```\r\n', both({"a": 1})),
    "two fences": ('```json\n{"a": 1}\n```\nor\n```json\n{"a": 2}\n```', both({"a": 1})),
    "object between two fences": ('```\ncode\n```\n{"a": 0}\n```json\n{"a": 1}\n```', both({"a": 1})),
    "fence closed right after": ('{"a": 0} ```json\n{"a": 1}```', both({"a": 1})),
    "lines of objects in a fence are found by the scan": ('```\n{"a": 1}\n{"a": 2}\n```', both({"a": 1})),
    # reasoning
    "thinking": ('<thinking>{"x": 0}</thinking>{"x": 1}', both({"x": 1})),
    "reasoning": ('<reasoning>{"x": 0}</reasoning>\n{"x": 1}', both({"x": 1})),
    "upper case": ('<THINK>{"x": 0}</THINK>{"x": 1}', both({"x": 1})),
    "nested": ('<think>a <think>{"x": 0}</think> {"x": 2}</think>{"x": 1}', both({"x": 1})),
    "unpaired close": ('maybe {"x": 0}\n</think>\n{"x": 1}', both({"x": 1})),
    "unpaired close after a draft that was cut off": ('so {"x": "bil </think> {"x": 1}', both({"x": 1})),
    "unpaired close after a broken draft": ('so {"x": … hm </think> {"x": 1}', both({"x": 1})),
    "draft cut off inside": ('<think>{"x": "unfin</think>{"x": 1}', both({"x": 1})),
    "open tag named inside": ('<think>the <think> tag {"x": 0}</think>{"x": 1}', both({"x": 1})),
    "only reasoning": ('<think>so {"x": 0}</think> Done.', both({"x": 0})),
    "reasoning never closed": ('<think>so {"x": 0}', both({"x": 0})),
    "answer cut off after reasoning": ('<think>{"x": 0}</think>{"x": 1, "y', both(None)),
    "answer broken after reasoning": ('<think>{"x": 0}</think>{"x": 1,}', both(None, {"x": 1})),
    "tag in a string": ('{"t": "<think>"} and {"u": "</think>"}', both({"t": "<think>"})),
    "tag in the string of the whole reply": ('{"t": "a </think> b"}', both({"t": "a </think> b"})),
    "a fence inside reasoning": ('<think>```json\n{"x": 0}\n```</think>\n{"x": 1}', both({"x": 1})),
    # wrapped
    "tool call": ('<tool_call>{"name": "f"}</tool_call>', both({"name": "f"})),
    "tag with attributes": ('<answer type="json">{"a": 1}</answer>', both({"a": 1})),
    "a string that holds an object": (json.dumps('{"a": 1}'), both({"a": 1})),
    "a string that holds a fenced object": (json.dumps('```json\n{"a": "x"}\n```'), both({"a": "x"})),
    "double braces": ('{{"a": 1}}', both({"a": 1})),
    "byte-order mark in front of a fence": ('\ufeff```json\n{"a": 1}\n```', both({"a": 1})),
    "assignment": ('answer = {"a": 1};', both({"a": 1})),
    "list item": ('1. {"a": 1}\n2. {"a": 2}', both({"a": 1})),
    "quoted as in mail": ('> {"a": 1}', both({"a": 1})),
    "bracket around": ('[see {"a": 1}]', both({"a": 1})),
    "set and object": ('{1, 2} and {"a": 1}', both({"a": 1})),
    "quote in a brace": ('{"} to quote. Then {"a": 1}', both({"a": 1})),
    "smile": (':-[ {"a": 1} :-{', both({"a": 1})),
    # pieces of a broken or cut-off answer
    "broken around a complete object": ('{"a": {"b": 1}, "c": oops}', both(None, {"a": {"b": 1}, "c": "oops"})),
    "brace in a string of a broken object": ('{"a": x, "b": "}", "c": {"d": 1}}', both(None, ...)),
    "broken, then a good one": ('{"a": x} {"b": 1}', both({"b": 1})),
    "cut off in a list": ('[{"a": 1}, {"a": 2}, {"a"', both(None)),
    "cut off in a fence": ('```json\n{"a": 1, "b": [1, 2', both(None)),
    "cut off in a literal": ('{"a": tru', both(None)),
    "cut off in a number": ('{"a": -', both(None)),
    "cut off in an escape": ('{"a": "\\u00', both(None)),
    "cut off after the colon": ('{"a":', both(None)),
    "cut off after a single quote": ("{'a': 1, 'b': 'unfin", both(None)),
    "complete, then cut off": ('{"a": 1} and {"b": ', both({"a": 1})),
    "broken around a complete object, then cut off": (
        '{"a": None, "items": [{"id": 1}, {"id": 2}',
        both(None),
    ),
    "Python, cut off around a complete object": ("{'a': {'b': 1}", both(None)),
    "Python in a fence, cut off": ("```json\n{'a': {'b': 1}\n```", both(None)),
    "Python list, cut off": ("[{'a': 1}, {'a'", both(None)),
    "typographic, cut off": ("{“a”: {“b”: 1}", both(None)),
    "bare keys, cut off": ('{team: "x", meta: {id: 1}', both(None, ...)),
    "HTML after a cut-off string": ('{"t": "x &quot;} then {&quot;b&quot;: 1}', both(None)),
    # a list whose first item is broken
    "list of Python literals": ('[{"a": True}, {"a": False}]', both(None, [{"a": True}, {"a": False}])),
    "list of broken and good": ('[{"n": "A" "m": 1}, {"n": "B"}]', both(None, [{"n": "A", "m": 1}, {"n": "B"}])),
    "list of None and good": ('[{"a": None}, {"a": 2}]', both(None, [{"a": None}, {"a": 2}])),
    "list of bare keys": ("[{a: 1}, {a: 2}]", both(None, [{"a": 1}, {"a": 2}])),
    "list of lists of Python": ("[['a','b'],['c','d']]", both(None, [["a", "b"], ["c", "d"]])),
    "list of typographic": ("[{“a”: 1}, {“a”: 2}]", both(None, [{"a": 1}, {"a": 2}])),
    # reasoning tags in strings of what does not hold together
    "tag in a string, then cut off": ('{"x": "a </think> b", "y": {"z": 1}, "w": "unf', both(None)),
    "paired tags in a string, then cut off": ('{"x": "<think>q</think>", "w": "unf', both(None)),
    "tag in a string, then broken": ('{"x": "a </think> b", "y": True}', both(None, {"x": "a </think> b", "y": True})),
    "HTML inside reasoning": ("<think>{&quot;a&quot;: 1}</think>", both(None, {"a": 1})),
    # strings that hold JSON
    "a string with a raw line break": ('"{\\"a\\": 1,\n\\"b\\": 2}"', both(None, {"a": 1, "b": 2})),
    "a string that holds Python": (json.dumps('{"a": True}'), both(None, {"a": True})),
    # fences
    "byte-order mark inside a fence": ('{"a": 0}\n```json\n\ufeff{"a": 1}\n```', both({"a": 1})),
    "pandoc's label": ('{"a": 0}\n```{.json}\n{"a": 1}\n```', both({"a": 1})),
    "marks named in prose": ('x {"a": 0}\nWrap it in ``` marks.\n{"a": 1}', both({"a": 0})),
    "a fence in a list item": ('{"a": 0}\n1. ```json\n   {"a": 1}\n   ```', both({"a": 1})),
    # digits
    "a long fraction": ('{"x": 0.1234567890123456789}', both({"x": 0.1234567890123456789})),
    "negative": ('{"id": -98765432109876543210}', both({"id": -98765432109876543210})),
    "digits in a repaired reply": ('{"id": 98765432109876543210,}', both(None, {"id": 98765432109876543210})),
    # no JSON at all
    "empty": ("", both(None)),
    "only braces of a format": ("f'{x:>10} {y}' and ${HOME}", both(None)),
    "mathematics": (r"\frac{1}{2} \in [0, 1) \cup {x : x > 2}", both(None)),
    "a scalar": ("42", both(None)),
    "a string": ('"billing"', both(None)),
    "css": ("body {margin: 0}", both(None, ...)),
    # slips
    "tab in a string": ('{"t": "a\tb"}', both(None, {"t": "a\tb"})),
    "carriage return in a string": ('{"t": "a\r\nb"}', both(None, {"t": "a\r\nb"})),
    "backslash that escapes nothing": (r'{"t": "\(x\) costs \$5 \m"}', both(None, {"t": r"\(x\) costs \$5 \m"})),
    "unicode escape that is none": (r'{"t": "\underline"}', both(None, {"t": r"\underline"})),
    "good and bad escapes": (r'{"t": "a\"b\\\q\n"}', both(None, {"t": 'a"b\\\\q\n'})),
    "comma at the end of a nested list": ('{"a": [[1,],],}', both(None, {"a": [[1]]})),
    "comment at the top": ('{ // note\n "a": 1}', both(None, {"a": 1})),
    "comment with brackets": ('{"a": 1 /* } ] */, "b": 2}', both(None, {"a": 1, "b": 2})),
    "slashes in a string are text": ('{"u": "http://x/*y*/"}', both({"u": "http://x/*y*/"})),
    "comma after nothing stays wrong": ("[,]", both(None, ...)),
    # other spellings
    "nested Python literals": (
        "{'a': {'b': None, 'c': [True, 'x']}, 'd': \"it's\"}",
        both(None, {"a": {"b": None, "c": [True, "x"]}, "d": "it's"}),
    ),
    "Python with an empty dict": ("{'meta': {}, 'a': True}", both(None, {"meta": {}, "a": True})),
    "Python with a list of double-quoted": ("{'a': [\"it's\", 'x']}", both(None, {"a": ["it's", "x"]})),
    "Python with a double-quoted object": ("{'a': {\"b\": 1}}", both(None, {"a": {"b": 1}})),
    "Python with a brace in a string": ("{'a': 'x } y', 'b': 1}", both(None, {"a": "x } y", "b": 1})),
    "list of Python dicts": ("[{'a': 1}, {'a': 2}]", both(None, ...)),
    "keys without quotes": ('{name: "Ann", tags: ["x"]}', both(None, {"name": "Ann", "tags": ["x"]})),
    "typographic quotes, nested": ("{“a”: {“b”: “c”}}", both(None, {"a": {"b": "c"}})),
    "typographic quotes inside a string are text": ('{"a": "“b”"}', both({"a": "“b”"})),
    "typographic with commas": (
        "{“a”: “x, y”, “b”: [“first, second”], “c”: “she said: “no”, twice”}",
        both(None, {"a": "x, y", "b": ["first, second"], "c": "she said: “no”, twice"}),
    ),
    "typographic single": ("{‘a’: ‘it’s ok’}", both(None, {"a": "it’s ok"})),
    "typographic low and high": ("{„a“: „b“}", both(None, {"a": "b"})),
    "typographic, all closing": ("{”a”: ”b”}", both(None, {"a": "b"})),
    "typographic and standard mixed": ('{“a": “b”}', both(None, {"a": "b"})),
    "typographic around standard quotes": ('{“a”: “say "hi" now”}', both(None, {"a": 'say "hi" now'})),
    "Python with a typographic apostrophe": ("{'a': 'it’s', 'b': ‘c’}", both(None, {"a": "it’s", "b": "c"})),
    "HTML, nested": ("{&quot;a&quot;: {&quot;b&quot;: [1]}}", both(None, {"a": {"b": [1]}})),
    "HTML by number": ("{&#34;a&#34;: 1}", both(None, {"a": 1})),
    "HTML in a fence": ("```json\n{&quot;a&quot;: &quot;x &lt; y&quot;}\n```", both(None, {"a": "x < y"})),
    "HTML in a string stays": ('{"a": "&quot;x&quot;"}', both({"a": "&quot;x&quot;"})),
    "a missing comma": ('{"a": 1 "b": 2}', both(None, {"a": 1, "b": 2})),
    "quotes inside a string": ('{"a": "he said "hi" to me", "b": 1}', both(None, ...)),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_replies(name: str) -> None:
    reply, (strict, repair) = KINDS[name]
    assert json.dumps(extract_json(reply)) == json.dumps(strict)
    if repair is not ...:
        assert json.dumps(extract_json(reply, repair=True)) == json.dumps(repair)


def test_recorded_kinds_of_replies() -> None:
    path = RECORDED / "cases" / "extraction.jsonl"
    if not path.exists():
        pytest.skip("the recorded replies are not on this machine")
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        assert json.dumps(extract_json(case["reply"])) == json.dumps(case["strict"]), case["name"]
        assert json.dumps(extract_json(case["reply"], repair=True)) == json.dumps(case["repair"]), case["name"]


def test_the_standard_parsing_suite() -> None:
    path = RECORDED / "data" / "json_test_suite.jsonl.gz"
    if not path.exists():
        pytest.skip("the JSON parsing suite is not on this machine")
    accepted = 0
    for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines():
        document = json.loads(line)
        try:
            text = base64.b64decode(document["bytes"]).decode("utf-8")
        except UnicodeDecodeError:
            continue
        stripped = text.strip(" \t\n\r")
        candidates = list(read(text, allow_nan=False).candidates)
        as_a_whole = [c for c in candidates if text[c.start : c.end] == stripped]
        if document["expect"] == "accept" and stripped[:1] in ("{", "["):
            assert len(candidates) == 1, document["name"]
            assert as_a_whole == candidates, document["name"]
            assert json.dumps(candidates[0].value) == json.dumps(json.loads(text)), document["name"]
            accepted += 1
        elif document["expect"] == "reject":
            assert not as_a_whole, document["name"]
    assert accepted > 80


def test_candidates_come_in_order_and_once() -> None:
    reply = 'First {"a": 0} ["x"]\n```json\n{"a": 1}\n```\n{"a": 0} {"b": 1, "a": 2} {"a": 2, "b": 1}'
    assert list(iter_json_candidates(reply)) == [{"a": 1}, {"a": 0}, {"b": 1, "a": 2}, ["x"]]


def test_equal_numbers_of_different_types_are_different_candidates() -> None:
    found = list(iter_json_candidates('{"a": 1} {"a": 1.0} {"a": true} {"a": 1}'))
    assert json.dumps(found) == '[{"a": 1}, {"a": 1.0}, {"a": true}]'


def test_the_first_candidate_that_passes() -> None:
    reply = '{"team": "nobody"} {"team": "Billing"}'
    assert extract_json(reply, field_in("team", ["billing"], ignore_case=True)) == {"team": "billing"}
    assert extract_json(reply, field_in("team", ["shipping"])) is None


def test_whether_a_reply_was_cut_off() -> None:
    assert read('{"a": 1, "b').truncated
    assert read('{"a": 1} {"b"').truncated
    assert not read('{"a": x').truncated
    assert not read('{"a": 1}').truncated
    assert read("{'a': 1, 'b': {\"c\": ").truncated


def test_the_limits_hold_for_repair_too() -> None:
    digits = "9" * 5000
    for reply in ("[" * 201 + "]" * 201, f'{{"a": {digits}}}', f'{{"a": 1e{digits}}}', f'{{"a": 1.{digits}, }}'):
        for repair in (True, "truncated"):
            assert extract_json(reply, repair=repair) is None


def test_nan_survives_repair_unless_it_is_refused() -> None:
    assert repr(extract_json("{'a': NaN, 'b': [-Infinity, 'NaN'], }", repair=True)) == (
        "{'a': nan, 'b': [-inf, 'NaN']}"
    )
    assert extract_json("{'a': NaN}", repair=True, allow_nan=False) is None
    assert extract_json('{"a": NaN}', repair=True, allow_nan=False) is None


@pytest.mark.parametrize(
    "bomb",
    [
        "{'a': '" + "{a: " * 4000 + "'}",
        '{"k": "v" ' + '["' * 8000 + '"}',
        '["a", x ' + '"a": b ' * 4000 + "]",
        '["a", x ' + '":' * 12_000 + "]",
        "{'a': 1} " * 20_000,
    ],
)
def test_repair_does_not_get_lost_in_a_hostile_piece(bomb: str) -> None:
    began = time.process_time()
    for value in iter_json_candidates(bomb * 3, repair="truncated"):
        assert isinstance(value, dict | list)
    assert time.process_time() - began < 30  # seconds where it was minutes


def test_many_slips_are_read_in_linear_time() -> None:
    began = time.process_time()
    assert list(iter_json_candidates('{"a":"x\ny"}' * 20_000, repair="lenient")) == [{"a": "x\ny"}]
    assert time.process_time() - began < 10


def test_what_a_validator_does_to_a_candidate_does_no_harm() -> None:
    def spoil(record: Any) -> bool:
        record["self"] = record
        record["day"] = object()
        return False

    reply = "{\"a\": 1} {'b': 2} {'a': 1}"
    assert extract_json(reply, spoil, repair=True) is None
    assert tally([reply], validator=spoil, repair=True).reason == "no_valid"
    for value in iter_json_candidates(reply, repair=True):
        value["self"] = value


def test_the_last_answer_counts_where_it_is_repeated() -> None:
    reply = '{"a": 1} {"a": 2} {"a": 1}'
    assert tally([reply], key="a", prefer="last").value == 1
    assert tally([reply], key="a").value == 1
    assert tally(['{"a": 1} {"a": 2}'], key="a", prefer="last").value == 2
    assert tally([reply], key="a", prefer="last").samples[0].ambiguous


def test_cut_off_replies_are_completed_only_when_asked() -> None:
    reply = '{"a": 1, "b": "unfin'
    assert extract_json(reply, repair=True) is None
    assert extract_json(reply, repair="truncated") == {"a": 1, "b": "unfin"}
    both_kinds = "{'a': 'whole'} and ```json\n{'a': 'hal"
    assert extract_json(both_kinds, repair=True) == {"a": "whole"}
    assert extract_json(both_kinds, repair="truncated") == {"a": "whole"}


def test_what_was_repaired_says_so() -> None:
    def repaired(reply: str) -> list[bool]:
        reading = read(reply, repair=True)
        return [candidate.repaired for candidate in (*reading.candidates, *reading.last_resort())]

    assert repaired('{"a": 1}') == [False]
    assert repaired('{"a": "x\ny"}') == [True]
    assert repaired('{"a": 1,}') == [True]
    assert repaired("{'a': 1}") == [True]
    assert repaired('{"a": 1} {"b": 2,}') == [False, True]


def test_the_level_that_is_asked_for_is_not_exceeded() -> None:
    assert extract_json('{"a": [1,],}') is None
    assert extract_json("{'a': 1}", repair="lenient") is None
    assert extract_json('{"a": "\x01"}', repair="lenient") is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": None}, TypeError, "text must be a str, got NoneType"),
        ({"text": b"{}"}, TypeError, "text must be a str, got bytes"),
        ({"text": "{}", "repair": "all"}, SettingsError, "repair must be .* got 'all'"),
        ({"text": "{}", "repair": 1}, SettingsError, "repair must be .* got 1"),
        ({"text": "{}", "repair": []}, SettingsError, "repair must be"),
        ({"text": "{}", "allow_nan": None}, TypeError, "allow_nan must be a bool"),
        ({"text": "{}", "validator": 3}, TypeError, "validator must be"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        extract_json(**arguments)
    if "validator" not in arguments:
        with pytest.raises(error, match=message):
            iter_json_candidates(**arguments)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_html_escapes_are_undone_exactly(value: dict[str, Any]) -> None:
    reply = html.escape(json.dumps(value))
    assert json.dumps(extract_json(reply, repair=True)) == json.dumps(value)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.data())
def test_a_reply_cut_off_anywhere_gives_nothing(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    for repair in (False, "lenient", True):
        assert list(iter_json_candidates(cut, repair=repair)) == []
    assert read(cut).truncated


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\r")), JSON, max_size=4))
def test_lenient_reading_of_pretty_json_with_slips(value: dict[str, Any]) -> None:
    slipped = json.dumps(value, indent=2, ensure_ascii=False).replace("\n}", ",\n}") if value else "{}"
    slipped = slipped.replace("\n", " // note\n")
    assert json.dumps(extract_json(slipped, repair="lenient")) == json.dumps(value)
