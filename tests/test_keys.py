"""Keys: names, paths, tuples, functions."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from consilience import _errors
from consilience.voting._keys import MissingKey, key_reader


class City(BaseModel):
    name: str
    model_config = {"extra": "allow"}


@dataclasses.dataclass
class Customer:
    city: City
    nickname: None = None


RECORD = {
    "team": "billing",
    "nothing": None,
    "customer": {"city": "Bonn", "a.b": {"c": 1}},
    "items": [{"sku": "A1"}, {"sku": "B2"}],
    "x.y": "literal",
    "x": {"y": "nested"},
    "p": {"q": {"r": 1}},
    "p.q": {"other": 2},
    "odd[key": 5,
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("team", "billing"),
        ("nothing", None),
        ("customer.city", "Bonn"),
        ("items[0].sku", "A1"),
        ("items[-1].sku", "B2"),
        ("items[1]", {"sku": "B2"}),
        ("x.y", "literal"),
        ("customer.a.b.c", 1),
        ("p.q.r", 1),
        ("p.q.other", 2),
        ("odd[key", 5),
        (("team", "customer.city"), ("billing", "Bonn")),
        (lambda record: record["team"].upper(), "BILLING"),
        (lambda record: None, None),
        (("team", lambda record: 7), ("billing", 7)),
        (None, RECORD),
    ],
    ids=str,
)
def test_what_a_key_reads(key: Any, value: Any) -> None:
    assert key_reader(key)(RECORD) == value
    assert key_reader(key)(MappingProxyType(RECORD)) == value


@pytest.mark.parametrize(
    "key",
    [
        "Team",
        "customer.town",
        "items[2].sku",
        "items.sku",
        "items[a]",
        "team.x",
        "team[0]",
        "nothing.x",
        "a..b",
        ".team",
        "team.",
        "[0]",
        ("team", "town"),
        lambda record: record["town"],
        lambda record: 1 / 0,
    ],
    ids=str,
)
def test_what_is_not_there_is_missing(key: Any) -> None:
    with pytest.raises(MissingKey) as caught:
        key_reader(key)(RECORD)
    assert str(caught.value)


def test_a_list_is_unwrapped_by_an_index() -> None:
    assert key_reader("[0].team")([{"team": "a"}, {"team": "b"}]) == "a"
    with pytest.raises(MissingKey):
        key_reader("team")([{"team": "a"}])


def test_fields_of_models_and_dataclasses_are_read() -> None:
    customer = Customer(City(name="Bonn", size=3))  # type: ignore[call-arg]
    assert key_reader("city.name")(customer) == "Bonn"
    assert key_reader("city.size")(customer) == 3
    assert key_reader("nickname")(customer) is None
    for absent in ("town", "city.model_dump", "_hidden", "__class__", "city.copy"):
        with pytest.raises(MissingKey):
            key_reader(absent)(customer)


@pytest.mark.parametrize("record", ["text", 5, None, b"x", [], object()], ids=repr)
def test_other_records_have_no_fields(record: Any) -> None:
    with pytest.raises(MissingKey):
        key_reader("upper")(record)


@pytest.mark.parametrize("key", ["", (), ("a", None), ("",)], ids=repr)
def test_empty_keys_are_errors(key: Any) -> None:
    with pytest.raises(_errors.SettingsError, match="key must be"):
        key_reader(key)


@pytest.mark.parametrize("key", [5, ["a"], {"a"}, b"a", (1,)], ids=repr)
def test_keys_of_other_types_are_errors(key: Any) -> None:
    with pytest.raises(TypeError, match="key must be"):
        key_reader(key)
