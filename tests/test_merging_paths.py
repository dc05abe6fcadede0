"""Paths: flatten and unflatten, and the text of a path."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._errors import SettingsError
from consilience.merging import Path, flatten, unflatten
from consilience.merging._paths import EACH, parse_path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=25,
)
STEPS = st.lists(st.text(max_size=5) | st.integers(0, 20) | st.just(EACH), max_size=5)


@settings(deadline=None)
@given(JSON)
def test_unflatten_is_the_inverse_of_flatten(value):
    assert json.dumps(unflatten(flatten(value))) == json.dumps(value)


@settings(deadline=None)
@given(STEPS)
def test_the_text_of_a_path_reads_back(steps):
    assert parse_path(str(Path(steps))) == Path(steps)


def test_the_worked_record():
    record = {"name": "SuperWidget", "specs": {"ram_gb": 16}, "tags": ["A", "B"]}
    assert list(flatten(record)) == [("name",), ("specs", "ram_gb"), ("tags", 0), ("tags", 1)]


def test_any_depth():
    value: list = []
    for _ in range(20_000):
        value = [value]
    (path,) = flatten(value)
    assert len(path) == 20_000
    rebuilt, depth = unflatten({path: []}), 0
    while rebuilt:
        rebuilt, depth = rebuilt[0], depth + 1
    assert depth == 20_000


@pytest.mark.parametrize("text", ["a..b", "a[", "a[x]", "a]b", "", 'a["b'])
def test_what_is_not_a_path(text):
    with pytest.raises(SettingsError, match="a path looks like"):
        parse_path(text)


@pytest.mark.parametrize(
    "leaves",
    [
        {},
        {("a", 1): "hole"},
        {("a",): 1, ("a", "b"): 2},
        {("a", "b"): 2, ("a",): 1},
        {("a", 0): 1, ("a", "b"): 2},
        {("a", EACH): 1},
    ],
)
def test_leaves_that_do_not_fit_together(leaves):
    with pytest.raises(SettingsError):
        unflatten(leaves)
