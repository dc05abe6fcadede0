"""The scanner, against a plain second implementation and against properties that must hold for any text."""

from __future__ import annotations

import json
import re
import sys
import threading
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consilience import iter_json_candidates
from consilience.replies import _containers
from consilience.replies._scanner import read_plain, scan

# -- a plain second implementation: character by character, restarting from every bracket ------------------------------

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|NaN|-?Infinity")
_UNTIL_CUT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z')


class _Stop(Exception):  # noqa: N818 - a signal of the reference, not an error
    def __init__(self, how: str, at: int, open_frames: list[list[Any]]) -> None:
        super().__init__(how)
        self.how, self.at, self.open_frames = how, at, open_frames


def _parse(text: str, start: int) -> int:
    """End of the JSON container at ``start``; _Stop with the frames [start, committed] that were open."""
    frames: list[list[Any]] = []

    def blank(i: int) -> int:
        while i < len(text) and text[i] in " \t\n\r":
            i += 1
        return i

    def stop(i: int) -> None:
        rest = text[i:]
        words = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
        if frames[-1][2] == "value":
            begun = any(word.startswith(rest) for word in words)
        else:
            begun = frames[-1][2] == "end" and rest in ("e", ".", "e+", "e-", "E") and text[i - 1].isdigit()
        raise _Stop("cut" if i >= len(text) or begun else "illegal", i, frames)

    def string(i: int) -> int:
        match = _STRING.match(text, i)
        if match:
            return match.end()
        if _UNTIL_CUT.match(text, i):
            raise _Stop("cut", len(text), frames)
        i += 1
        while text[i] not in '\\"' and text[i] >= " ":
            i += 1
            if text[i] == "\\" and _STRING.match('"' + text[i : i + 2] + '"'):
                i += 2
            elif text[i] == "\\" and re.match(r"\\u[0-9a-fA-F]{4}", text[i:]):
                i += 6
        raise _Stop("illegal", i, frames)

    def value(i: int) -> int:
        if text[i : i + 1] == '"':
            return string(i)
        if text[i : i + 1] in ("{", "["):
            return container(i)
        match = _SCALAR.match(text, i)
        if not match:
            stop(i)
        return match.end() if match else i

    def container(i: int) -> int:
        is_object = text[i] == "{"
        frames.append([i, False, "key" if is_object else "value"])
        i = blank(i + 1)
        first = True
        while True:
            if text[i : i + 1] == ("}" if is_object else "]") and first:
                break
            if is_object:
                frames[-1][2] = "key"
                if text[i : i + 1] != '"':
                    stop(i)
                i = blank(string(i))
                if text[i : i + 1] != ":":
                    stop(i)
                frames[-1][1] = True
                frames[-1][2] = "value"
                i = blank(i + 1)
            i = value(i)
            frames[-1][2] = "end"
            i = blank(i)
            first = False
            if text[i : i + 1] == ",":
                frames[-1][1] = True
                frames[-1][2] = "value"
                i = blank(i + 1)
                continue
            if text[i : i + 1] != ("}" if is_object else "]"):
                stop(i)
            break
        frames.pop()
        return i + 1

    return container(start)


def _end_of_complete(text: str, start: int) -> int:
    try:
        return _parse(text, start) if text[start : start + 1] in ("{", "[") else -1
    except _Stop:
        return -1


def _is_citation(text: str, start: int, end: int) -> bool:
    value = json.loads(text[start:end])
    if not isinstance(value, list) or any(type(item) not in (int, float) for item in value):
        return False
    line = text[text.rfind("\n", 0, start) + 1 : start] + text[end : (text + "\n").index("\n", end)]
    return bool(line.strip(" \t\r"))


def _reference(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Spans of the candidates in order of place, and whether the text was cut off inside JSON."""
    found: list[tuple[int, int]] = []
    broken: list[tuple[str, bool, int]] = []  # bracket, broken or prose, candidates before it
    i = 0
    while i < len(text):
        char = text[i]
        if char in "{[":
            try:
                end = _parse(text, i)
            except _Stop as stop:
                if stop.how == "cut":
                    if broken:
                        found[broken[0][2] :] = [each for each in found[broken[0][2] :] if text[each[0]] == "{"]
                    return found, True
                last = stop.open_frames[-1]
                if text[last[0]] == "{" and not text[last[0] + 1 : stop.at].strip(" \t\n\r"):
                    last[1] = bool(
                        re.match(r'[a-z][a-z0-9]*\s*:\s*(["{[1]|true)', text[stop.at :])
                    )  # a key without quotes shows structure
                committed = [index for index, frame in enumerate(stop.open_frames) if frame[1]]
                if not broken and not committed:
                    i += 1  # prose: the scan goes on inside
                    continue
                if broken and not committed:
                    # The brackets count for the matching close; a complete item in the innermost one is released.
                    inner = stop.open_frames[-1][0] + 1
                    while text[inner] in " \t\n\r":
                        inner += 1
                    child = inner, _end_of_complete(text, inner)
                    if 0 < child[1] <= stop.at and not _is_citation(text, *child):
                        found.append(child)
                # All containers around a committed one break with it, those inside it are prose.
                last_broken = max(committed, default=-1)
                broken += [
                    (text[frame[0]], index <= last_broken, len(found)) for index, frame in enumerate(stop.open_frames)
                ]
                i = stop.at
                continue
            if not _is_citation(text, i, end):
                found.append((i, end))
            i = end
        elif broken and char in "}]":
            opening = "{" if char == "}" else "["
            if any(bracket == opening for bracket, _, _ in broken):
                while True:
                    bracket, is_broken, mark = broken.pop()
                    if is_broken:
                        del found[mark:]
                    if bracket == opening:
                        break
            i += 1
        elif broken and char == '"':
            match = re.compile(r'"(?:[^"\\\n\r]|\\[^\n\r])*"').match(text, i)
            i = match.end() if match else i + 1
        else:
            i += 1
    if broken:
        found[broken[0][2] :] = [each for each in found[broken[0][2] :] if text[each[0]] == "{"]
    return found, False


def _spans(text: str) -> tuple[list[tuple[int, int]], bool]:
    scanned = scan(text)
    return sorted((each.start, each.end) for each in scanned.found.in_order()), scanned.truncated


SCRAPS = st.sampled_from(
    ["{", "}", "[", "]", '"', ",", ":", "1", "tru", "true", " ", "\n", "\\", "x", '"a":', '{"a":1}', "[1]", '["b"]']
)


@settings(max_examples=1500, deadline=None)
@given(st.lists(SCRAPS, max_size=14).map("".join))
@example('{"a": [see below], "b": {"c": 1}} {"d": 2}')
@example('[{"a":1} and {"b":2}]')
@example('{"} to quote. Then {"a": 1}')
@example('{"a": x {"b": 1} [2]\n')
@example('{"a": x [ {"b": 1} y ] {"c": [')
@example('[[{"a": x}, {"b": 1}], {"c": 1}] {"d": 1}')
def test_agrees_with_a_plain_second_implementation(text: str) -> None:
    assert _spans(text) == _reference(text)


@settings(max_examples=500, deadline=None)
@given(st.lists(SCRAPS, max_size=30).map("".join), st.booleans())
def test_the_fast_reading_changes_nothing(text: str, lenient: bool) -> None:
    fast = scan(text, lenient=lenient)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_containers.ContainerReader, "read_fast", lambda self, start: None)
        slow = scan(text, lenient=lenient)
    assert list(fast.found.in_order()) == list(slow.found.in_order())
    assert (fast.truncated, fast.pieces) == (slow.truncated, slow.pieces)


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(
        SCRAPS | st.sampled_from(["```", "```json\n", "~~~", "\n```", "<think>", "prose\n", "'a':"]), max_size=8
    ).map("".join),
    st.booleans(),
)
@example('Here it is:\n```json\n{"a":1}\n```\nDone.', False)
@example("see [1]", False)
@example("```[1]\n~~~", False)
def test_a_plain_reply_is_read_as_the_scanner_reads_it(text: str, lenient: bool) -> None:
    only = read_plain(_containers.ContainerReader(text, lenient, True))
    if only is not None:
        scanned = scan(text, lenient=lenient)
        (found,) = scanned.found.in_order()
        assert (found.start, found.end, found.repaired) == (only.start, only.end, only.repaired)
        assert json.dumps(found.value) == json.dumps(only.value)
        assert (scanned.truncated, scanned.pieces, scanned.reasoning) == (False, [], [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)
PROSE = st.text(st.characters(exclude_characters="{}[]<`~", exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=300, deadline=None)
@given(OBJECTS, PROSE, PROSE, st.sampled_from([None, 1, 4]), st.booleans(), st.sampled_from(["", "```", "~~~json\n"]))
def test_an_object_in_prose_is_found_again_exactly(
    value: dict[str, Any], before: str, after: str, indent: int | None, ascii_only: bool, fence: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    if fence:
        text = f"\n{fence}\n{text}\n{fence[:3]}\n"
    if before.strip().startswith('"') and after.strip().endswith('"'):
        before = "It says: " + before  # else the reply may be one JSON string, which is another case
    assert json.dumps(list(iter_json_candidates(before + text + after))) == json.dumps([value])


@settings(max_examples=500, deadline=None)
@given(st.text() | st.lists(SCRAPS | st.sampled_from(["```", "<think>", "</think>", "'", "/*", "//"])).map("".join))
def test_every_candidate_is_valid_json_that_stands_in_the_reply(text: str) -> None:
    for lenient in (False, True):
        for candidate in scan(text, lenient=lenient).found.in_order():
            piece = text[candidate.start : candidate.end]
            assert piece[0] + piece[-1] in ("{}", "[]")
            if not candidate.repaired:
                assert json.dumps(json.loads(piece)) == json.dumps(candidate.value)


@settings(max_examples=500, deadline=None)
@given(
    st.text() | st.lists(SCRAPS | st.sampled_from(["```", "<think>", "</think>", "'a':", "/*", "&quot;"])).map("".join)
)
def test_no_text_raises_at_any_level(text: str) -> None:
    for repair in (False, "lenient", True, "truncated"):
        for candidate in iter_json_candidates(text, repair=repair):
            assert isinstance(candidate, dict | list)


def test_reads_what_it_did_not_keep_again() -> None:
    objects = [{"n": n, "deep": [[n]]} for n in range(500)]
    text = " and ".join(map(json.dumps, objects))
    assert list(iter_json_candidates(text)) == objects


def test_depth() -> None:
    deepest = "[" * 200 + '"x"' + "]" * 200
    assert list(iter_json_candidates(deepest)) == [json.loads(deepest)]
    for deeper in ("[" * 201 + "1" + "]" * 201, '{"a":' * 201 + "1" + "}" * 201, "[" * 5000 + "]" * 5000):
        assert list(iter_json_candidates('{"first": 1} ' + deeper)) == [{"first": 1}]
        assert list(iter_json_candidates(deeper + ' {"last": 1}')) == [{"last": 1}]


def test_long_numbers_give_no_candidate() -> None:
    for number in ("1" * 5000, "-" + "1" * 5000, "1." + "1" * 5000, "1e" + "1" * 5000):
        assert list(iter_json_candidates('{"first": 1} [%s, "x"] {"last": 1}' % number)) == [{"first": 1}, {"last": 1}]
    assert list(iter_json_candidates('{"id": %s}' % ("1" * 4000))) == [{"id": int("1" * 4000)}]
    digits_in_text = {"hex": "1" * 5000}
    assert list(iter_json_candidates(json.dumps(digits_in_text))) == [digits_in_text]


def test_the_callers_stack_depth_does_not_matter() -> None:
    text = "[" * 199 + '{"a": 1}' + "]" * 199
    results = []

    def descend(frames: int) -> None:
        if frames:
            descend(frames - 1)
        else:
            results.append(len(list(iter_json_candidates(f"Two: {text} [{text[1:]}"))))

    def run() -> None:
        depth = 0
        frame = sys._getframe()
        while frame:
            depth += 1
            frame = frame.f_back  # type: ignore[assignment]
        descend(sys.getrecursionlimit() - depth - 60)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert results == [1]


def test_nan() -> None:
    text = '{"a": NaN} {"b": -Infinity} {"c": 1}'
    assert [list(value) for value in iter_json_candidates(text)] == [["a"], ["b"], ["c"]]
    assert list(iter_json_candidates(text, allow_nan=False)) == [{"c": 1}]
