"""Lists in which every position has its meaning: they are compared by position, and nothing in them moves."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from consilience.merging import (
    Ignore,
    Ordered,
    Similar,
    Tolerance,
    default_conflict_resolver,
    merge,
    prefer_most_common_resolver,
)

Near = Annotated[float, Tolerance(0.5)]


class Size(BaseModel):
    x: int
    unit: Annotated[str, Similar(0.6)] = "cm"


class Point(NamedTuple):
    lat: float
    lon: float


class Record(BaseModel):
    pair: tuple[int, str] | None = None
    mixed: (
        tuple[Annotated[float, Tolerance(0.5)], Size, Annotated[str, Similar(0.6)], Annotated[str, Ignore()]] | None
    ) = None
    point: Point | None = None
    pairs: list[tuple[str, Near]] = []
    many: tuple[int, ...] = ()


def merged(*values: Any, field: str = "pair", **options: Any) -> Any:
    return merge([{field: value} for value in values], schema=Record, weights=None, **options)


def test_members_are_decided_position_by_position():
    assert merged([1, "a"], [1, "b"], [2, "a"]).value.pair == (1, "a")
    result = merged([1, "2"], [2, "1"], [1, "2"])
    assert result.value.pair == (1, "2")
    assert result.fields["pair[0]"].support == pytest.approx(2 / 3)
    assert merged([1.0, 2.0], [2.0, 1.0], [1.0, 2.0], field="point").value.point == Point(1, 2)
    assert merged([1, 2], [2, 1], [1, 2], field="many").value.many == (1, 2)


def test_each_member_by_its_own_type_and_comparator():
    first = [1.0, {"x": 1, "unit": "inch"}, "USA", "note"]
    second = [1.2, {"x": "1", "unit": "inches"}, "U.S.A.", "other"]
    result = merged(first, second, [9, {"x": 2}, "France", "third"], field="mixed", conflict_resolver=min_of_equals)
    assert result.value.mixed[:2] == (1.0, Size(x=1, unit="inch"))
    assert result.value.mixed[2] in ("USA", "U.S.A.")
    assert result.fields["mixed[0]"].agreement == pytest.approx(2 / 3)
    assert "mixed[3]" not in result.fields
    typed = merged([1, "1"], ["1", "a"], [2, "a"])
    assert (typed.value.pair, typed.fields_dropped) == ((1, "a"), 0)


def min_of_equals(path: Any, values: list[Any], weights: list[float]) -> Any:
    raise AssertionError(f"there is no conflict, not at {path}")


def test_tuples_in_a_list():
    lists = [[["a", 1.0], ["b", 2]], [["b", 2.2], ["a", 1.3]], [["a", 1.0], ["b", 7]]]
    result = merged(*lists, field="pairs")
    assert [(name, round(number)) for name, number in result.value.pairs] == [("a", 1), ("b", 2)]


def test_what_comes_after_an_open_position_does_not_move_up():
    result = merged([1, "x"], [2, "y"], [3, "x"])
    assert (result.value, result.partial) == (Record(), {})
    first, second = result.fields["pair[0]"], result.fields["pair[1]"]
    assert (first.status, first.value, second.status, second.value) == ("omitted", None, "omitted", None)
    assert [each.value for each in second.candidates] == ["x", "y"]
    plain = merge([{"at": [1, n, 3]} for n in (5, 6, 7)], compare={"at": Ordered()})
    assert plain.value == {"at": [1]}
    assert (plain.paths_in_consensus_output, plain.paths_omitted) == (1, 2)
    chosen = merged([1, "x"], [2, "y"], [3, "x"], conflict_resolver=prefer_most_common_resolver)
    assert chosen.value.pair == (1, "x")


def test_an_open_position_that_a_constraint_fills_brings_back_what_comes_after():
    revisions = [{"at": [n, 3]} for n in (5, 6, 7)]
    result = merge(
        revisions, compare={"at": Ordered()}, weights=None, constraints=[lambda record: record["at"][0] == 6]
    )
    assert result.value == {"at": [6, 3]}
    assert [(str(path), field.status, field.value) for path, field in result.fields.items()] == [
        ("at[0]", "reconciled", 6),
        ("at[1]", "unanimous", 3),
    ]


@pytest.mark.parametrize("key", ["prefixItems", "items"])
def test_tuples_of_a_json_schema(key):
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema"
        if key == "prefixItems"
        else "http://json-schema.org/draft-07/schema#",
        "properties": {"p": {"type": "array", key: [{"type": "integer"}, {"type": "integer"}]}},
    }
    result = merge([{"p": [1, 2]}, {"p": [2, 1]}, {"p": [1, 2]}], schema=schema, weights=None)
    assert result.value == {"p": [1, 2]}
    assert result.fields["p[0]"].support == pytest.approx(2 / 3)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=5), st.sampled_from([0.3, 0.5, 0.7]))
def test_positions_against_a_plain_count(lists, threshold):
    expected: list[int] = []
    for position in range(max(map(len, lists))):
        having = [each[position] for each in lists if position < len(each)]
        lacking = len(lists) - len(having)
        votes = Counter(having).most_common()
        (value, most), *others = votes
        is_kept = len(having) > lacking and len(having) / len(lists) >= threshold
        if not is_kept or any(count == most for _, count in others) or most / len(having) < threshold:
            break
        expected.append(value)
    options = {"compare": {"at": Ordered()}, "weights": None, "conflict_resolver": default_conflict_resolver}
    result = merge([{"at": each, "b": 1} for each in lists], min_agreement=threshold, **options)
    assert result.value.get("at", []) == expected
