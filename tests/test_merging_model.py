"""The pydantic model as a schema: it reads every revision itself, once, with everything that it declares."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    PrivateAttr,
    RootModel,
    SecretStr,
    create_model,
    field_validator,
    model_validator,
)

from consilience.merging import Ignore, Keyed, constraint, merge
from consilience.merging._model import PydanticModel


def model(annotation: Any, **config: Any) -> type[BaseModel]:
    """A model with one required field ``a``."""
    return create_model("Made", __config__=ConfigDict(**config), a=(annotation, ...))


def cleaned(schema: Any, record: Any) -> Any:
    """What is left of a record, and the paths of what was dropped."""
    result = PydanticModel(schema).clean(record)
    return result.record, [str(path) for path in result.dropped]


class Stripped(BaseModel):
    a: float

    @field_validator("a", mode="before")
    @classmethod
    def without_separators(cls, value: Any) -> Any:
        return value.replace(",", "") if isinstance(value, str) else value


class Renamed(BaseModel):
    q: int

    @model_validator(mode="before")
    @classmethod
    def rename(cls, data: Any) -> Any:
        return {"q": data["quantity"]} if isinstance(data, dict) and "quantity" in data else data


class Choices(BaseModel):
    qty: int = Field(validation_alias=AliasChoices("qty", "quantity", AliasPath("amounts", 0)))
    city: str | None = Field(None, validation_alias=AliasPath("address", "city"))


class Numbers(RootModel[dict[str, int]]):
    pass


class Lines(RootModel[list[int]]):
    pass


@dataclass
class Point:
    x: int
    y: int = 0
    z: int = 0


class Nested(BaseModel):
    numbers: Numbers
    lines: Lines


@pytest.mark.parametrize(
    ("schema", "record", "form"),
    [
        (Stripped, {"a": "1,234"}, {"a": 1234.0}),
        (Renamed, {"quantity": 2}, {"q": 2}),
        (Choices, {"quantity": 2}, {"qty": 2}),
        (Choices, {"amounts": [2], "address": {"city": "X"}}, {"amounts": [2], "address": {"city": "X"}}),
        (Numbers, {"b": 1, "a": "2"}, {"b": 1, "a": 2}),
        (Lines, ["1", 2], [1, 2]),
        (Nested, {"lines": [1], "numbers": {"a": 1}}, {"lines": [1], "numbers": {"a": 1}}),
        (model(str, coerce_numbers_to_str=True), {"a": 80331}, {"a": "80331"}),
        (model(str, str_strip_whitespace=True), {"a": " x "}, {"a": "x"}),
        (model(Annotated[int, AfterValidator(lambda value: value * 100)]), {"a": "2"}, {"a": "2"}),
        (model(Annotated[list[str], BeforeValidator(lambda text: text.split(","))]), {"a": "x,y"}, {"a": "x,y"}),
        (model(SecretStr), {"a": "hidden"}, {"a": "hidden"}),
        (model(Json), {"a": '{"x": 1}'}, {"a": '{"x": 1}'}),
        (model(dict[str, Decimal]), {"a": {"x": "1.50", "y": 2}}, {"a": {"x": 1.5, "y": 2.0}}),
        (model(frozenset[str]), {"a": ["b", "a"]}, {"a": ["a", "b"]}),
        (model(int), {"a": 1, "more": 2}, {"a": 1}),
        (model(Point), {"a": {"y": "1", "x": 2}}, {"a": {"y": 1, "x": 2}}),
    ],
)
def test_a_record_is_written_so_that_the_model_reads_the_same(schema, record, form):
    assert cleaned(schema, record) == (form, [])
    assert schema.model_validate(form) == schema.model_validate(record)
    assert merge([record] * 3, schema=schema).value == schema.model_validate(record)


def test_equal_answers_in_different_spellings_agree():
    result = merge([{"quantity": "2"}, {"qty": 2}, {"qty": 2.0}], schema=Choices)
    assert (result.value, result.fields["qty"].support) == (Choices(qty=2), 1.0)


def test_a_validator_that_is_safe_to_repeat_only_for_some_values():
    percent = model(Annotated[float, AfterValidator(lambda share: share / 100 if share > 1 else share)])
    assert cleaned(percent, {"a": 80}) == ({"a": 0.8}, [])
    assert cleaned(percent, {"a": 8000}) == ({"a": 8000}, [])


class Stamped(BaseModel):
    total: Decimal
    shown: str | None = None
    id: UUID = Field(default_factory=uuid4)
    _seen: UUID = PrivateAttr(default_factory=uuid4)

    @model_validator(mode="after")
    def show(self) -> Stamped:
        self.shown = self.shown or f"{self.total:.2f} EUR"
        return self


def test_what_the_model_sets_by_itself_does_not_vote():
    assert cleaned(Stamped, {"total": "10.00"}) == ({"total": 10.0}, [])
    assert cleaned(Stamped, {"total": "10.00", "shown": "ten"}) == ({"total": 10.0, "shown": "ten"}, [])
    result = merge([{"total": "10.00"}, {"total": 10}, {"total": 11}], schema=Stamped)
    assert result.value.shown == "10.00 EUR"
    assert list(map(str, result.fields)) == ["total"]


class Item(BaseModel):
    sku: str
    qty: int = Field(gt=0)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    bark: str


@pytest.mark.parametrize(
    ("schema", "record", "form", "dropped"),
    [
        (model(Annotated[int, Field(ge=0)]), {"a": -1}, {}, ["a"]),
        (model(dict[str, int]), {"a": {"x": 1, "y": "bad"}}, {"a": {"x": 1}}, ["a.y"]),
        (model(dict[str, Item]), {"a": {"k": {"sku": "x", "qty": 0}}}, {"a": {"k": {"sku": "x"}}}, ["a.k.qty"]),
        (model(list[Item]), {"a": [{"sku": "x", "qty": "2"}, 5]}, {"a": [{"sku": "x", "qty": 2}]}, ["a[1]"]),
        (model(list[Item]), {"a": [{"sku": "x", "qty": 0}, {"sku": 1}]}, {"a": [{"sku": "x"}, {}]}, None),
        (model(tuple[float, float]), {"a": [1.0, "x"]}, {}, ["a"]),
        (model(int | list[int]), {"a": "x"}, {}, ["a"]),
        (model(Item | None), {"a": {"sku": "x", "qty": "many"}}, {"a": {"sku": "x"}}, ["a.qty"]),
        (
            model(Annotated[Cat | Dog, Field(discriminator="kind")]),
            {"a": {"kind": "cat", "lives": "x"}},
            {"a": {"kind": "cat"}},
            ["a.lives"],
        ),
        (model(Cat | Dog), {"a": {"kind": "cat", "lives": "x"}}, {}, ["a"]),
        (model(int, extra="forbid"), {"a": 1, "b": 2}, {"a": 1}, ["b"]),
        (model(Annotated[str, BeforeValidator(lambda text: text.strip())]), {"a": 5}, {}, ["a"]),
        (model(list[Annotated[str, BeforeValidator(lambda t: t.strip())]]), {"a": ["x", 5]}, {"a": ["x"]}, ["a[1]"]),
        (Lines, [1, "x"], [1], ["[1]"]),
        (Choices, {"quantity": "x", "address": {"city": 5}}, {}, ["address.city", "quantity"]),
    ],
)
def test_only_what_the_model_rejects_is_dropped(schema, record, form, dropped):
    record_left, paths = cleaned(schema, record)
    assert record_left == form
    assert dropped is None or paths == dropped


def test_a_record_of_another_kind_is_no_revision():
    result = merge([{"a": 1}, {"a": 1}, [1]], schema=model(int))
    assert [sample.ok for sample in result.samples] == [True, True, False]


def test_fields_of_incomplete_records_are_read_as_those_of_complete_ones():
    revisions = [{"a": "1.50", "b": "x", "items": [{"sku": "x", "qty": "1"}]}, {"a": 1.5, "items": [{"sku": "x"}]}]
    schema = create_model("Made", a=(Decimal, ...), b=(str, ...), items=(list[Item], ...))
    assert cleaned(schema, revisions[0])[0]["a"] == cleaned(schema, revisions[1])[0]["a"]
    assert cleaned(schema, {"items": [{"qty": "1"}]}) == ({"items": [{"qty": 1}]}, [])


class Late(BaseModel):
    a: int
    child: Late | None = None

    @model_validator(mode="after")
    def known(self) -> Late:
        _ = {1: "one", 2: "two"}[self.a]
        return self


def test_a_whole_model_that_raises_anything_is_inconsistent_and_costs_no_field():
    result = merge([{"a": 7}] * 3, schema=Late)
    assert (result.reason, result.partial, result.fields_dropped) == ("inconsistent", {"a": 7}, 0)
    assert result.constraints_met is False
    reconciled = merge([{"a": 7}, {"a": 7}, {"a": "1"}], schema=Late)
    assert (reconciled.value, reconciled.fields["a"].status) == (Late(a=1), "reconciled")
    assert cleaned(Late, {"a": 1, "child": {"a": 9}}) == ({"a": 1, "child": {"a": 9}}, [])


class Fussy(BaseModel):
    a: int
    t: int

    @model_validator(mode="before")
    @classmethod
    def unpack(cls, data: dict[str, Any]) -> Any:
        data["a"] = data.pop("wrapped")["a"]
        return data


def test_a_validator_may_change_what_it_is_given():
    record = {"wrapped": {"a": 1}, "t": 2}
    result = merge([record] * 3, schema=Fussy)
    assert (result.value, record) == (Fussy(wrapped={"a": 1}, t=2), {"wrapped": {"a": 1}, "t": 2})
    assert result.fields["t"].status == "unanimous"


def test_a_constraint_may_change_what_it_is_given():
    def empties(record: dict[str, Any]) -> bool:
        return [record.pop("a"), record["l"].clear()] == [1, None]

    result = merge([{"a": 1, "l": [1]}] * 3, constraints=[constraint(empties), constraint(empties)])
    assert (result.value, result.constraints_met) == ({"a": 1, "l": [1]}, True)


def test_a_default_that_the_model_itself_rejects():
    schema = create_model("Made", __config__=ConfigDict(validate_default=True), a=(int, "bad"), b=(int, ...))
    result = merge([{"b": 1}] * 2, schema=schema)
    assert (result.reason, [str(path) for path in result.missing], result.partial) == ("incomplete", ["a"], {"b": 1})


class Noted(BaseModel):
    items: Annotated[list[Item], Keyed("sku")] = Field([], validation_alias=AliasChoices("lines", "items"))
    note: Annotated[str, Ignore()] = Field("", alias="remark")


def test_comparators_stand_where_the_values_are_written():
    record = {"items": [{"sku": "x", "qty": 1}], "remark": "r"}
    assert set(PydanticModel(Noted).rules) == {("lines",), ("remark",)}
    assert cleaned(Noted, record)[0] == {"lines": [{"sku": "x", "qty": 1}], "remark": "r"}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "1", "1.0", "cat", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "sku", "qty", "kind", "lives"]), inner, max_size=3)
    ),
    max_leaves=8,
)


class Anything(BaseModel):
    a: int
    sku: dict[str, Item] | None = None
    qty: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []
    kind: str | list[int] = ""
    lives: tuple[int, str] | None = None


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "sku", "qty", "kind", "lives"]), JSON_VALUES))
def test_any_record(record):
    result = PydanticModel(Anything).clean(record)
    form, dropped = result.record, result.dropped
    again = PydanticModel(Anything).clean(form)
    assert (again.record, again.dropped) == (form, ())
    try:
        expected = Anything.model_validate(record)
    except ValueError:
        return
    assert (Anything.model_validate(form), dropped) == (expected, ())
