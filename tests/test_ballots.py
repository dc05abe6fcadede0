"""Ballots: equal votes, equal texts; and never an exception."""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import json
import math
import uuid
from collections import OrderedDict, deque, namedtuple
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from consilience.voting import ballot
from consilience.voting._ballots import fields_of, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Team(str, enum.Enum):
    BILLING = "billing"


class Level(enum.IntEnum):
    HIGH = 3


class Pair(enum.Enum):
    BOTH = (1, 2)


class Invoice(BaseModel):
    number: str
    total: Decimal
    due: date
    tags: set[str] = set()


@dataclasses.dataclass
class Address:
    city: str
    lines: tuple[str, ...] = ()


Point = namedtuple("Point", "x y")


class Loud:
    """Raises whatever is asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attribute")


class LoudText(str):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = str.__hash__


@given(JSON)
def test_a_ballot_is_the_canonical_text_of_json(value: Any) -> None:
    text = ballot(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert ballot(json.loads(json.dumps(value))) == text


@given(st.dictionaries(st.text(), JSON, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(record: dict[str, Any], rng: Any) -> None:
    items = list(record.items())
    rng.shuffle(items)
    assert ballot(dict(items)) == ballot(record)


def test_what_differs_differs() -> None:
    values = [1, 1.0, True, "1", None, "none", "None", "null", "Billing", "billing", [1], {"1": 1}, [], {}, "", 0, -0.0]
    assert len({ballot(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (Team.BILLING, "billing"),
        (Level.HIGH, 3),
        (Pair.BOTH, [1, 2]),
        (LoudText("x"), "x"),
        (Decimal("1.10"), "1.10"),
        (date(2026, 11, 30), "2026-11-30"),
        (datetime(2026, 11, 30, 10, 5, tzinfo=timezone.utc), "2026-11-30T10:05:00Z"),
        (timedelta(hours=1), "PT1H"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ipaddress.ip_address("::1"), "::1"),
        (b"text", "text"),
        ((1, "a"), [1, "a"]),
        (Point(1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1: "a", None: "b", False: "c", 2.5: "d"}, {"1": "a", "null": "b", "false": "c", "2.5": "d"}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (Address("Bonn", ("a",)), {"city": "Bonn", "lines": ["a"]}),
        (
            Invoice(number="1", total=Decimal("2.50"), due=date(2026, 1, 2), tags={"y", "x"}),
            {"number": "1", "total": "2.50", "due": "2026-01-02", "tags": ["x", "y"]},
        ),
        (RootModel[list[int]]([1, 2]), {"root": [1, 2]}),
        (deque([1, (2,)]), [1, [2]]),
        (np.float64(0.5), 0.5),
        (np.int64(7), 7),
        (np.datetime64("2026-11-30T10:05:00"), "2026-11-30T10:05:00"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ([{"a": {Team.BILLING}}, (Address("x"),)], [{"a": ["billing"]}, [{"city": "x", "lines": []}]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_compare_by_their_json_form(value: Any, same: Any) -> None:
    assert ballot(value) == ballot(same)


def test_sets_of_sets_have_no_order_either() -> None:
    inner = [frozenset(range(k, k + 5)) for k in range(6)]
    assert ballot(set(inner)) == ballot(set(inner))
    assert ballot({frozenset({"a", frozenset({"b", "c"})})}) == ballot({frozenset({frozenset({"c", "b"}), "a"})})


def test_keys_that_share_a_json_form_are_kept_apart() -> None:
    assert ballot({1: "a", "1": "b"}) != ballot({1: "b", "1": "a"})
    assert ballot({1: "a", "1": "b"}) != ballot({"1": "b"})


def test_it_never_raises_for_hostile_values() -> None:
    cycle: list[Any] = [1]
    cycle.append({"again": cycle})
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]

    class Endless:
        def tolist(self) -> Any:
            return self

    for value in (
        Endless(),
        Loud(),
        [Loud()],
        {"a": Loud()},
        cycle,
        deep,
        math.nan,
        -math.inf,
        "\ud800",
        10**5000,
        object,
        len,
    ):
        assert isinstance(ballot(value), str)
    assert ballot(deep) == ballot(plain(deep))


def test_objects_without_a_json_form_are_equal_only_to_themselves() -> None:
    one, other = Loud(), Loud()
    assert ballot(one) == ballot(one)
    assert ballot(one) != ballot(other)


def test_values_made_on_the_way_are_no_cycles_either() -> None:
    class Fresh(dict[str, Any]):
        def items(self) -> Any:
            return {"rows": [[number] for number in range(3)], "more": {"a": [1]}}.items()

    text = ballot({"rows": [[0], [1], [2]], "more": {"a": [1]}})
    assert ballot([Fresh() for _ in range(200)]) == "[" + ",".join([text] * 200) + "]"


def test_iterators_are_not_used_up() -> None:
    numbers = iter([1, 2])
    assert ballot(numbers) == ballot(numbers)
    assert list(numbers) == [1, 2]


def test_shared_values_are_no_cycles() -> None:
    shared = {"a": 1}
    assert ballot([shared, shared]) == ballot([{"a": 1}, {"a": 1}])


@settings(max_examples=50)
@given(st.lists(st.integers() | st.text(), max_size=6))
def test_the_value_itself_is_left_alone(items: list[Any]) -> None:
    value = {"a": items, "b": tuple(items), "c": [items]}
    ballot(value)
    assert value == {"a": items, "b": tuple(items), "c": [items]}
    assert value["a"] is items


def test_fields_are_those_of_records_only() -> None:
    assert fields_of({"a": 1}) == {"a": 1}
    assert fields_of(Address("x")) == {"city": "x", "lines": ()}
    assert fields_of([1]) is None
    assert fields_of("text") is None
    assert fields_of(Address) is None
    assert fields_of(Invoice) is None
