"""Schema and constraints: fields that must fit together."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, model_validator

from consilience._errors import SettingsError
from consilience.merging import (
    Exact,
    Ignore,
    Keyed,
    Similar,
    Tolerance,
    constraint,
    merge,
    prefer_most_common_resolver,
)
from consilience.merging._constraints import is_met
from consilience.merging._model import PydanticModel
from consilience.merging._paths import EACH


class Item(BaseModel):
    sku: str
    qty: int
    price: Decimal = Decimal(0)


class Invoice(BaseModel):
    vendor: Annotated[str, Similar(0.85)]
    total: Annotated[Decimal, Tolerance(0.01)]
    due: Annotated[date, Exact()] | None = None
    note: Annotated[str, Ignore()] = ""
    items: Annotated[list[Item], Keyed("sku")] = Field(default=[], alias="lines")


def test_comparators_come_from_annotations():
    assert PydanticModel(Invoice).rules == {
        ("vendor",): Similar(0.85),
        ("total",): Tolerance(0.01),
        ("due",): Exact(),
        ("note",): Ignore(),
        ("lines",): Keyed("sku"),
    }


def test_an_invoice():
    revisions = [
        {
            "vendor": "Meier GmbH",
            "total": "10.00",
            "due": "2026-01-31",
            "note": "a",
            "lines": [{"sku": "x", "qty": "2"}],
        },
        {"vendor": "Meier GmbH.", "total": 10.0, "due": "2026-01-31", "note": "b", "lines": [{"sku": "x", "qty": 2}]},
        {"vendor": "Schulz", "total": 10.01, "due": "soon", "note": "c", "lines": [{"sku": "x", "qty": "many"}]},
    ]
    result = merge(revisions, schema=Invoice)
    assert result.value == Invoice(
        vendor="Meier GmbH", total=Decimal("10.0"), due=date(2026, 1, 31), note="a", lines=[Item(sku="x", qty=2)]
    )
    assert result.fields_dropped == 2
    assert result.fields["total"].support == 1.0
    assert result.fields["lines[0].qty"].support == pytest.approx(2 / 3)


def test_defaults_do_not_vote():
    revisions = [Item(sku="x", qty=1), Item(sku="x", qty=1), Item(sku="x", qty=1, price=Decimal("2.50"))]
    assert merge(revisions).value == {"sku": "x", "qty": 1}
    assert merge(revisions, schema=Item).value == Item(sku="x", qty=1)


def test_instances_are_flattened_by_alias():
    invoice = Invoice(vendor="v", total=1, lines=[Item(sku="x", qty=1)])
    assert merge([invoice]).value == {"vendor": "v", "total": 1.0, "lines": [{"sku": "x", "qty": 1}]}
    assert merge([invoice, invoice], schema=Invoice).value == invoice


def test_incomplete():
    result = merge([{"sku": "x", "qty": 1}, {"sku": "x", "qty": 2}], schema=Item)
    assert result.value is None
    assert result.reason == "incomplete"
    assert result.partial == {"sku": "x"}
    assert [str(path) for path in result.missing] == ["qty"]
    assert result.detail.startswith("no agreement on a value that fits for qty")


class Node(BaseModel):
    name: str
    child: Node | None = None
    children: list[Node] = []


def test_models_that_hold_themselves():
    record = {"name": "a", "child": {"name": "b"}, "children": [{"name": "c", "children": [{"name": 3}]}]}
    result = merge([record] * 2, schema=Node)
    assert result.fields_dropped == 2
    assert result.reason == "incomplete"


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int | str | None = None


def test_extra_fields_only_where_the_model_allows_them():
    assert merge([{"a": 1, "b": 2}], schema=Loose).partial == {"a": 1, "b": 2}
    assert merge([{"sku": "x", "qty": 1, "b": 2}], schema=Item).partial == {"sku": "x", "qty": 1}


def test_json_schema():
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}},
    }
    result = merge([{"a": 1, "l": ["x", 2]}, {"a": "1", "l": ["x"]}, {"a": 1, "l": ["x"]}], schema=schema)
    assert result.value == {"a": 1, "l": ["x"]}
    assert result.fields_dropped == 2
    missing = merge([{"a": 1}, {"a": 2}], schema=schema)
    assert (missing.reason, [str(path) for path in missing.missing]) == ("incomplete", ["a"])
    with pytest.raises(SettingsError, match="schema must be a valid JSON Schema"):
        merge([], schema={"type": "nonsense"})


class Order(BaseModel):
    items: list[Item]
    total: Decimal

    @model_validator(mode="after")
    def adds_up(self) -> Order:
        if sum(item.qty * item.price for item in self.items) != self.total:
            raise ValueError("does not add up")
        return self


def order(qty, price, total):
    return {"items": [{"sku": "x", "qty": qty, "price": price}], "total": total}


def test_a_model_validator_reconciles():
    revisions = [order(2, 3, 8), order(2, 3, 8), order(2, 3, 6), order(4, 3, 8), order(2, 1, 5)]
    result = merge(revisions, schema=Order, weights=None)
    assert result.value == Order(items=[Item(sku="x", qty=2, price=Decimal(3))], total=Decimal(6))
    assert result.constraints_met is True
    assert result.fields["total"].status == "reconciled"
    assert result.fields["total"].value == 6.0
    assert result.fields["total"].replaced == 8.0
    assert result.fields["items[0].qty"].status == "agreed"


def test_omitted_fields_take_part():
    revisions = [order(2, 3, 7), order(2, 3, 6), order(2, 3, 5)]
    result = merge(revisions, schema=Order, weights=None)
    assert result.value.total == 6
    assert result.fields["total"].status == "reconciled"
    assert result.fields["total"].replaced is None


def test_an_item_too_many_is_dropped_and_one_too_few_is_taken_up():
    mug, lamp = {"sku": "mug", "qty": 1, "price": 2}, {"sku": "lamp", "qty": 1, "price": 9}
    both, one = {"items": [mug, lamp], "total": 2}, {"items": [mug], "total": 2}
    assert merge([both, both, one], schema=Order, weights=None).partial["items"] == [{**mug, "price": 2.0}]
    both, one = {"items": [mug, lamp], "total": 11}, {"items": [mug], "total": 11}
    assert len(merge([both, one, one], schema=Order, weights=None).value.items) == 2


def test_nothing_satisfies():
    revisions = [order(2, 3, 7), order(2, 3, 7)]
    kept = merge(revisions, schema=Order)
    assert kept.constraints_met is False
    assert kept.partial == order(2, 3.0, 7.0)
    assert (kept.value, kept.reason) == (None, "inconsistent")
    unmet = constraint(lambda record: False)
    plain = merge([{"a": 1}, {"a": 1}, {"a": 2}], constraints=[unmet])
    assert (plain.value, plain.constraints_met, plain.repairs_tried) == ({"a": 1}, False, 1)
    strict = merge([{"a": 1}, {"a": 1}, {"a": 2}], constraints=[unmet], on_unmet="abstain")
    assert (strict.value, strict.reason, strict.partial) == (None, "inconsistent", {"a": 1})


def test_the_bound_is_reported():
    rng = random.Random(3)
    revisions = [{str(key): rng.randint(0, 9) for key in range(12)} for _ in range(5)]
    result = merge(revisions, constraints=[constraint(lambda record: False)], max_repairs=50)
    assert (result.repairs_tried, result.repair_limit_hit, result.constraints_met) == (50, True, False)


def test_named_fields_come_first():
    revisions = [{"a": 1, "b": 5}, {"a": 1, "b": 5}, {"a": 2, "b": 6}]
    either = lambda record: record["a"] == 2 or record["b"] == 6  # noqa: E731
    assert merge(revisions, constraints=[constraint(either, fields=["b"])], weights=None).value == {"a": 1, "b": 6}
    assert merge(revisions, constraints=[constraint(either, fields=["a"])], weights=None).value == {"a": 2, "b": 5}
    both = lambda record: record["a"] == 2 and record["b"] == 6  # noqa: E731
    assert merge(revisions, constraints=[constraint(both, fields=["b"])], weights=None).value == {"a": 2, "b": 6}


def test_consistent_revisions_count_more():
    check = constraint(lambda record: record["a"] < record["b"])
    result = merge([{"a": 1, "b": 2}, {"a": 3, "b": 2}, {"a": 1, "b": 2}], constraints=[check])
    assert result.weights[0] == result.weights[2] > result.weights[1] > 0


def test_a_constraint_that_raises_is_not_met():
    assert is_met([constraint(lambda record: record["missing"])], {}) is False
    assert is_met([constraint(lambda record: None)], {}) is True


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.fixed_dictionaries({key: st.integers(0, 2) for key in "abc"}), min_size=3, max_size=5),
    st.integers(0, 6),
)
def test_the_cheapest_combination_by_brute_force(revisions, wanted):
    def adds_up(record):
        return sum(record.get(key, 0) for key in "abc") == wanted

    options = {"weights": None, "conflict_resolver": prefer_most_common_resolver}
    plain = merge(revisions, **options)
    result = merge(revisions, constraints=[constraint(adds_up)], **options)
    votes = {key: [record[key] for record in revisions] for key in "abc"}
    losses = [
        (sum(max(map(votes[key].count, votes[key])) - votes[key].count(value) for key, value in changed.items()))
        for values in product(*(sorted(set(votes[key])) for key in "abc"))
        if adds_up(found := dict(zip("abc", values, strict=True)))
        for changed in [{key: value for key, value in found.items() if value != plain.value[key]}]
    ]
    assert result.constraints_met is bool(losses)
    if losses:
        lost = sum(
            max(map(votes[key].count, votes[key])) - votes[key].count(result.value[key])
            for key in "abc"
            if result.value[key] != plain.value[key]
        )
        assert adds_up(result.value)
        assert lost == min(losses)


def test_patterns_of_constraints():
    assert constraint(len, fields=["items[].qty"]).fields == (("items", EACH, "qty"),)
    with pytest.raises(TypeError, match="fields must be a list of paths"):
        constraint(len, fields="items")
    with pytest.raises(TypeError, match="constraint takes a function"):
        constraint(3)


def test_a_comparison_of_numpy_values_is_a_verdict():
    check = constraint(lambda record: np.float64(record["a"]) < 1)
    assert is_met([check], {"a": 2}) is False
    assert is_met([check], {"a": 0}) is True


def test_an_asynchronous_check_is_refused():
    async def check(record):
        return False

    with pytest.raises(TypeError, match="check must be a plain function, got the asynchronous 'check'"):
        constraint(check)
