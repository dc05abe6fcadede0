"""Canonical text: equal values share it, different ones never do, at any depth and size."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._canonical import _write, canonical_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_is_what_the_standard_library_writes(value: Any) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert canonical_text(value) == expected
    assert _write(value) == expected


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical_text(dict(reversed(value.items()))) == canonical_text(value)


def test_types_differ() -> None:
    values: list[Any] = [1, 1.0, True, "1", None, "null", [], {}, "", [None], 0, -0.0, 0.0, False]
    assert len({canonical_text(value) for value in values}) == len(values)


def test_lone_surrogates_are_written() -> None:
    assert canonical_text({"\ud800": "\udfff"}) == '{"\\ud800":"\\udfff"}'


def test_any_depth() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert canonical_text(deep) == "[" * 100_000 + '"x"' + "]" * 100_000
    while isinstance(deep, list):  # taken apart here, not by the interpreter's own recursion
        deep = deep[0]


def test_integers_of_any_length() -> None:
    huge = 10**20_000
    assert canonical_text({"a": huge}) == '{"a":1%s}' % ("0" * 20_000)
    assert canonical_text(-huge) == "-1" + "0" * 20_000
    assert canonical_text({"a": huge}) != canonical_text({"a": huge + 1})


def test_a_value_that_holds_itself() -> None:
    loop: list[Any] = []
    loop.append({"a": loop})
    with pytest.raises(ValueError, match="contains itself"):
        canonical_text(loop)
    shared = [1]
    assert canonical_text([shared, shared]) == "[[1],[1]]"


def test_near_the_end_of_the_callers_stack() -> None:
    value: Any = 1
    for _ in range(150):
        value = {"a": value}
    texts = []

    def descend(frames: int) -> None:
        if frames:
            descend(frames - 1)
        else:
            texts.append(canonical_text(value))

    thread = threading.Thread(target=descend, args=(sys.getrecursionlimit() - 60,))
    thread.start()
    thread.join()
    assert texts == [canonical_text(value)]
