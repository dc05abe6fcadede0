"""Paths in the settings: one that the schema has no room for is an error, one that matches nothing is told."""

from __future__ import annotations

import logging
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    Json,
    RootModel,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from consilience import SettingsError
from consilience.merging import (
    ConsensusSettings,
    Constraint,
    Keyed,
    Similar,
    by_path,
    by_type,
    constraint,
    merge,
    prefer_most_common_resolver,
)
from consilience.merging._layout import JsonSchemaLayout, ModelLayout, Room
from consilience.merging._paths import parse_path


class Kind(Enum):
    NEW = "new"


class Line(BaseModel):
    sku: str
    qty: int = 1
    price: Decimal | None = None


class Address(BaseModel, extra="allow"):
    city: str


class Tags(RootModel[list[str]]):
    pass


class Pair(NamedTuple):
    one: int


class Extra(TypedDict, total=False):
    note: str


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Order(BaseModel):
    number: str = Field(alias="Nr.")
    old: str | None = Field(None, validation_alias=AliasChoices("now", "then"))
    deep: str | None = Field(None, validation_alias=AliasPath("outer", "inner"))
    lines: Annotated[list[Line], Keyed("sku")] = []
    to: Address | None = None
    kind: Kind | None = None
    state: Literal["open"] | None = None
    due: date | None = None
    tags: Tags | None = None
    sizes: dict[str, Line] = {}
    point: tuple[int, Line] | None = None
    many: tuple[Line, ...] = ()
    either: Line | list[Address] | None = None
    anything: Any = None
    pair: Pair | None = None
    extra: Extra | None = None
    packed: Json[Line] | None = None
    split: Annotated[Line | None, BeforeValidator(lambda value: value)] = None
    checked: Line | None = None
    tree: Tree | None = None

    @field_validator("checked", mode="before")
    @classmethod
    def read(cls, value: Any) -> Any:
        return value


ROOMS = {
    "Nr.": Room.DECLARED,
    "number": Room.NONE,
    "now": Room.DECLARED,
    "then": Room.NONE,
    "outer.inner": Room.OPEN,
    "lines": Room.DECLARED,
    "lines[].sku": Room.DECLARED,
    "lines[3].sku": Room.DECLARED,
    "lines.sku": Room.NONE,
    "lines[].sku.x": Room.NONE,
    "lines[][]": Room.NONE,
    "lines[].price.x": Room.NONE,
    "to.city": Room.DECLARED,
    "to.zip": Room.OPEN,
    "to[]": Room.NONE,
    "kind.value": Room.NONE,
    "state[]": Room.NONE,
    "due.year": Room.NONE,
    "tags[]": Room.DECLARED,
    "tags.root": Room.NONE,
    "sizes.xl.qty": Room.OPEN,
    "sizes.xl.quantity": Room.NONE,
    "sizes[]": Room.NONE,
    "point[].sku": Room.DECLARED,
    "point[].skuu": Room.NONE,
    "many[].sku": Room.DECLARED,
    "either.sku": Room.DECLARED,
    "either[].city": Room.DECLARED,
    "either[].zip": Room.OPEN,
    "either.city": Room.NONE,
    "anything.at[].all": Room.OPEN,
    "pair[]": Room.OPEN,
    "extra.note": Room.OPEN,
    "packed.x": Room.OPEN,
    "split.x": Room.OPEN,
    "checked.x": Room.OPEN,
    "tree.children[].children[].name": Room.DECLARED,
    "tree.children[].children[].nme": Room.NONE,
    "$": Room.DECLARED,
}


def strict(text: str) -> Any:
    """The path of a text; `Nr.` is one key."""
    return ("Nr.",) if text == "Nr." else parse_path(text)


@pytest.mark.parametrize(("path", "room"), ROOMS.items())
def test_the_room_in_a_model(path, room):
    assert ModelLayout(Order).room_for(strict(path)) is room


def test_every_path_that_a_layout_names_has_room():
    layout = ModelLayout(Order)
    assert {("lines", -1, "qty"), ("tree", "children", -1), ("Nr.",), ("tags", -1)} <= set(layout.paths())
    rooms = {layout.room_for(path) for path in layout.paths()}
    assert Room.NONE not in rooms


def test_a_model_that_changes_its_records_first_has_room_for_anything():
    class Renaming(BaseModel):
        a: int = 0

        @model_validator(mode="before")
        @classmethod
        def rename(cls, data: Any) -> Any:
            return {"a": data["b"]} if isinstance(data, dict) and "b" in data else data

    assert ModelLayout(Renaming).room_for(parse_path("b")) is Room.OPEN
    assert merge([{"b": 1}] * 2, schema=Renaming, compare={"b": "number"}).value == Renaming(a=1)


# JSON Schemas

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "free": {"type": "object"},
        "map": {"additionalProperties": {"type": "integer"}},
        "never": False,
        "any": True,
        "either": {"anyOf": [{"$ref": "#/$defs/line"}, {"type": "null"}]},
        "pair": {"prefixItems": [{"type": "integer"}, {"$ref": "#/$defs/line"}], "items": False},
        "self": {"$ref": "#"},
        "far": {"$ref": "#/nowhere"},
        "all": {"allOf": [{"properties": {"a": {}}}, {"additionalProperties": False, "properties": {"a": {}}}]},
    },
    "patternProperties": {"^x-": {"type": "object"}},
    "additionalProperties": False,
    "$defs": {
        "line": {"type": "object", "properties": {"sku": {"type": ["string", "null"]}}, "additionalProperties": False}
    },
}
JSON_ROOMS = {
    "id": Room.DECLARED,
    "idd": Room.NONE,
    "id.x": Room.NONE,
    "lines[].sku": Room.DECLARED,
    "lines[].skuu": Room.NONE,
    "lines.sku": Room.NONE,
    "free.x": Room.OPEN,
    "free[]": Room.NONE,
    "map.k": Room.OPEN,
    "map.k.x": Room.NONE,
    "never": Room.NONE,
    "any.x[]": Room.OPEN,
    "either.sku": Room.DECLARED,
    "either.x": Room.NONE,
    "pair[].sku": Room.DECLARED,
    "pair[].x": Room.NONE,
    "self.self.lines[].sku": Room.DECLARED,
    "self.x": Room.NONE,
    "far.x": Room.OPEN,
    "all.a": Room.DECLARED,
    "all.b": Room.NONE,
    "x-more.y": Room.OPEN,
}


@pytest.mark.parametrize(("path", "room"), JSON_ROOMS.items())
def test_the_room_in_a_json_schema(path, room):
    assert JsonSchemaLayout(SCHEMA).room_for(parse_path(path)) is room


def test_what_stands_beside_a_reference_may_not_count():
    schema = {"$ref": "#/$defs/a", "additionalProperties": False, "$defs": {"a": {"properties": {"x": {}}}}}
    assert JsonSchemaLayout(schema).room_for(parse_path("y")) is Room.OPEN
    for reference in ("other.json#/a", "#anchor", "#"):
        assert JsonSchemaLayout({"$ref": reference}).room_for(parse_path("y")) is Room.OPEN


VALUES = st.recursive(
    st.sampled_from([0, "a", None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
SCHEMAS = st.recursive(
    st.sampled_from([True, False, {}, {"type": "string"}, {"$ref": "#"}, {"$ref": "#/$defs/d"}]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", ["object", "null"], ["array", "integer"]]),
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$", ""]), inner, max_size=1),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=6,
)


def patterns_in(value: Any, path: tuple = ()) -> set[tuple]:
    steps = (
        value.items() if isinstance(value, dict) else ((-1, item) for item in value) if isinstance(value, list) else ()
    )
    return {path}.union(*(patterns_in(child, (*path, step)) for step, child in steps))


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=1, max_size=8))
def test_no_path_of_a_valid_record_is_without_room(schema, definition, values):
    """The real validator decides what is valid; whatever it accepts has room."""
    schema = {**schema, "$defs": {"d": definition}} if isinstance(schema, dict) else schema
    try:
        validator = jsonschema_rs.validator_for(schema)
    except Exception:  # references in a circle
        return
    layout = JsonSchemaLayout(schema)
    for value in values:
        if validator.is_valid(value):
            for path in patterns_in(value):
                assert layout.room_for(path) is not Room.NONE, (value, path)


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compare": {"lines[].skuu": "text"}}, r"compare\['lines\[\].skuu'\].* did you mean 'lines\[\].sku'\?"),
        ({"compare": {"lines.sku": "text"}}, r"did you mean 'lines\[\].sku'\?"),
        ({"compare": {"lines": Keyed("skuu")}}, r"Keyed\('skuu'\) of compare\['lines'\].*'lines\[\].sku'\?"),
        ({"conflict_resolver": by_path({"linez[].qty": min})}, r"by_path\['linez\[\].qty'\].*'lines\[\].qty'\?"),
        (
            {"conflict_resolver": by_type(str=by_path({}, otherwise=by_path({"line[0].qty": min})))},
            r"by_path\['line\[0\].qty'\].*'lines\[\].qty'\?",
        ),
        ({"constraints": [constraint(len, fields=["Lines[].qty"])]}, r"constraint\(fields=.*'lines\[\].qty'\?"),
        ({"required": ["lines[].prize"]}, r"required=\['lines\[\].prize'\].*'lines\[\].price'\?"),
        ({"required": ["number"]}, r"no room for 'number'; it has '\[\"Nr.\"\]', 'now'"),
    ],
    ids=str,
)
def test_a_path_without_room_is_an_error_that_names_the_one_meant(options, message):
    with pytest.raises(SettingsError, match=message):
        ConsensusSettings(schema=Order, **options)


def test_so_is_one_without_room_in_a_json_schema():
    properties = {**SCHEMA["properties"], "far": {}}
    with pytest.raises(SettingsError, match=r"did you mean 'lines\[\].sku'\?"):
        ConsensusSettings(schema={**SCHEMA, "properties": properties}, compare={"lines[].skuu": "text"})


def test_a_key_in_an_annotation_must_be_one_of_the_items():
    class Wrong(BaseModel):
        lines: Annotated[list[Line], Keyed("SKU")]

    with pytest.raises(SettingsError, match=r"Keyed\('SKU'\) of the schema's lines.*'lines\[\].sku'\?"):
        merge([{"lines": []}], schema=Wrong)


@pytest.mark.parametrize("path", [("a", 1.5), ("a", -2), ("a", True), ("a", None), 5, None], ids=str)
def test_a_path_is_made_of_keys_and_positions(path):
    with pytest.raises(SettingsError, match="a path is a text"):
        ConsensusSettings(required=[path])


def test_a_constraint_made_by_hand_is_checked_too():
    assert Constraint(len, ["items[].qty"]).fields == constraint(len, fields=["items[].qty"]).fields
    with pytest.raises(TypeError, match="fields must be a list"):
        Constraint(len, "total")
    with pytest.raises(TypeError, match="constraint takes a function"):
        Constraint(5)


# What matches nothing


def test_what_matches_nothing_is_told(caplog):
    options = {
        "compare": {"itms[].name": "text", "items": Keyed("id", "skuu"), "items[].name": Similar(0.9), "a.b": "text"},
        "conflict_resolver": by_path({"items[7].name": prefer_most_common_resolver, "name": min, "a.b": min}),
        "constraints": [constraint(lambda record: True, fields=["items[].qty", "total"])],
    }
    with caplog.at_level(logging.WARNING, logger="consilience"):
        result = merge(
            [{"items": [{"name": "x", "id": 1}], "a": {"b": 1}}, {"items": [{"name": "y"}], "a": {"b": 1}}], **options
        )
    assert result.unmatched == (
        "compare['itms[].name']",
        "Keyed('skuu') of compare['items']",
        "by_path['name']",
        "constraint(fields=['items[].qty'])",
        "constraint(fields=['total'])",
    )
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert all(each in record.getMessage() for each in (result.id, *result.unmatched))
    assert f"matched no field: {', '.join(result.unmatched)}" in result.explain()


def test_what_the_schema_names_may_be_missing_everywhere(caplog):
    with caplog.at_level(logging.WARNING, logger="consilience"):
        result = merge(
            [{"Nr.": "1", "to": {"city": "Rome"}}], schema=Order, compare={"lines[].sku": "text", "to.zp": "text"}
        )
        assert merge([], compare={"a": "text"}).unmatched == ()
        assert merge([{"a": 1}], compare={"a": "text", "$": "text"}).unmatched == ()
    assert result.unmatched == ("compare['to.zp']",)
    assert len(caplog.records) == 1


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4), st.lists(st.sampled_from(["a", "b", -1]), max_size=3))
def test_a_path_is_unmatched_only_if_no_revision_has_it(values, path):
    is_there = any(tuple(path) in patterns_in(value) for value in values)
    is_unmatched = bool(merge(values, compare={tuple(path): "text"}).unmatched)
    assert not (is_there and is_unmatched)
    if -1 not in path:
        assert is_there is not is_unmatched


def test_nobody_knows_what_the_items_of_empty_lists_have():
    assert merge([{"a": []}, {"a": []}], compare={"a[].b": "text", "a": Keyed("id")}).unmatched == ()
    assert merge([{"a": []}, {"a": [{}]}], compare={"a[].b": "text"}).unmatched == ("compare['a[].b']",)
    assert merge([{"a": None}], compare={"a[].b": "text"}).unmatched == ("compare['a[].b']",)
