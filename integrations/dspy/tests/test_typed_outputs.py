"""Typed outputs: counted by their values, returned as the objects that they were."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import dspy
import pytest
from dspy.utils import DummyLM
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, computed_field, field_serializer, model_serializer
from scripted import Scripted

from consilience import Tolerance, field_in
from dspy_consilience import Consensus, Vote
from dspy_consilience._outputs import allows_none, as_json, from_json


class Team(enum.Enum):
    BILLING = "billing"
    SHIPPING = "shipping"


class Line(BaseModel):
    sku: str
    quantity: int


class Invoice(BaseModel):
    vendor: str
    total: Annotated[float, Tolerance(abs=0.01)]
    due: date | None = None
    lines: list[Line] = []


@dataclass
class Point:
    x: int
    y: int = 0


class Shy(BaseModel):
    """Cannot be written."""

    secret: int

    @field_serializer("secret")
    def write(self, value: int) -> str:
        raise RuntimeError("never")


class Aliased(BaseModel):
    """Read as ``Total`` and not as ``total``."""

    value: int = Field(alias="Total")


class TwiceAliased(BaseModel):
    value: int = Field(validation_alias=AliasChoices("sum", "total"), serialization_alias="betrag")


class Doubled(BaseModel):
    """Writes what it refuses to read."""

    model_config = ConfigDict(extra="forbid")
    value: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2 * self.value


class Odd(BaseModel):
    value: int = 0

    @model_serializer
    def write(self) -> dict[str, int]:
        return {"something else": self.value}


class Worded(BaseModel):
    value: int

    @model_serializer
    def write(self) -> str:
        return f"the value is {self.value}"


def signature(kind: Any, name: str = "answer") -> Any:
    return dspy.Signature({"question": (str, dspy.InputField()), name: (kind, dspy.OutputField())})


def predictions(kind: Any, values: list[Any]) -> list[Any]:
    declared = signature(kind)
    return [dspy.Prediction.from_completions([{"answer": each}], signature=declared) for each in values]


@pytest.mark.parametrize(
    ("kind", "replies", "winner"),
    [
        (Literal["a", "b"], ["a", "b", "b"], "b"),
        (Team, ["billing", "shipping", "shipping"], Team.SHIPPING),
        (int, ["7", "8", "8"], 8),
        (float, ["0.5", "0.25", "0.25"], 0.25),
        (bool, ["true", "False", "false"], False),
        (list[str], ['["x"]', '["y", "x"]', '["y", "x"]'], ["y", "x"]),
        (Line, ['{"sku": "mug", "quantity": 1}'] * 2 + ["{}"], Line(sku="mug", quantity=1)),
        (list[Line], ['[{"sku": "mug", "quantity": 1}]'] * 2 + ["[]"], [Line(sku="mug", quantity=1)]),
        (dict[str, int], ['{"a": 1}', '{"b": 1}', '{"b": 1}'], {"b": 1}),
        (int | None, ["7", "null", "null"], None),
    ],
)
def test_a_typed_answer_wins_as_its_own_object(kind: Any, replies: list[str], winner: Any) -> None:
    with dspy.context(lm=DummyLM([{"answer": each} for each in replies]), adapter=dspy.ChatAdapter()):
        decision = Vote(dspy.Predict(signature(kind)), n=3)(question="?")
    assert not decision.abstained
    assert decision.answer == winner
    assert type(decision.answer) is type(winner)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Team, [Team.BILLING, Team.SHIPPING]),
        (date, [date(2026, 1, 31), date(2026, 1, 13)]),
        (Decimal, [Decimal("1.50"), Decimal("15.0")]),
        (Invoice, [Invoice(vendor="Hoff", total=1), Invoice(vendor="Hoff", total=2)]),
        (Point, [Point(1), Point(2)]),
        (set[str], [{"a", "b", "c"}, {"a"}]),
        (frozenset[int], [frozenset({1, 2}), frozenset()]),
        (dict[Team, list[Point]], [{Team.BILLING: [Point(1)]}, {Team.SHIPPING: []}]),
        (tuple[int, str], [(1, "a"), (1, "b")]),
        (Shy, [Shy(secret=1), Shy(secret=2)]),
        (Any, [object, print]),
    ],
)
def test_the_original_object_of_the_winner_comes_back(kind: Any, values: list[Any]) -> None:
    kept, other = values
    decision = Vote(Scripted(predictions(kind, [other, kept, kept])), n=3)(question="?")
    assert decision.answer is kept
    assert decision.agreement == pytest.approx(2 / 3)


@given(st.lists(st.text(max_size=3), min_size=2, unique=True))
def test_sets_are_equal_in_any_order(items: list[str]) -> None:
    one, other = dict.fromkeys(items), dict.fromkeys(reversed(items))
    assert as_json(set(one), set[str]) == as_json(set(other), set[str])
    nested = as_json({"a": [frozenset(one)]}, dict[str, list[frozenset[str]]])
    assert nested == as_json({"a": [frozenset(other)]}, dict[str, list[frozenset[str]]])


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_plain_json_is_its_own_json(value: Any) -> None:
    assert as_json(value) == value
    assert from_json(value, Any) == value


@given(st.builds(Invoice, vendor=st.text(), total=st.floats(allow_nan=False, allow_infinity=False)))
def test_a_model_comes_back_from_its_json(invoice: Invoice) -> None:
    assert from_json(as_json(invoice, Invoice), Invoice) == invoice


@pytest.mark.parametrize(
    ("kind", "read"),
    [(Aliased, "Total"), (TwiceAliased, "sum"), (Doubled, "value"), (Odd, "value"), (Worded, "value")],
)
@pytest.mark.parametrize("listed", [False, True])
def test_a_model_that_writes_what_it_does_not_read_is_merged_and_counted(kind: Any, read: str, listed: bool) -> None:
    values = [kind(**{read: number}) for number in (1, 2, 2)]
    if listed:
        kind, values = list[kind], [[value] for value in values]
    for value in values:
        assert from_json(as_json(value, kind), kind) == value
    assert Consensus(Typed(kind, values), n=3)(question="?").answer is values[1]
    assert Vote(Typed(kind, values), n=3)(question="?").answer is values[1]


def test_an_aliased_model_is_rebuilt_where_its_fields_win_apart() -> None:
    class Pair(BaseModel):
        left: int = Field(alias="Left")
        right: int = Field(alias="Right")

    values = [Pair(Left=left, Right=right) for left, right in ((1, 1), (1, 2), (2, 2))]
    merged = Consensus(Typed(Pair, values), n=3)(question="?")
    assert merged.answer == values[1]
    assert merged.votes["answer.Left"] == [(1, 2), (2, 1)]
    raised = Vote(Typed(Pair, values[:1]), n=1, validator=lambda record: {"answer": {"Left": 5, "Right": 6}})
    assert raised(question="?").answer == Pair(Left=5, Right=6)


def test_tool_calls_are_merged() -> None:
    def calls(argument: int) -> Any:
        return dspy.ToolCalls.from_dict_list([{"name": "search", "args": {"page": argument}}])

    values = [calls(1), calls(2), calls(2)]
    merged = Consensus(Typed(dspy.ToolCalls, values), n=3)(question="?")
    assert merged.answer is values[1]
    assert merged.votes["answer.tool_calls[0].args.page"] == [(2, 2), (1, 1)]


def test_a_type_that_pydantic_does_not_know_does_no_harm() -> None:
    class Opaque:
        pass

    thing = Opaque()
    assert as_json(thing, Opaque) is thing
    assert from_json("x", Opaque) == "x"
    assert allows_none(Opaque)
    assert from_json("x", int) == "x"


def test_a_validator_that_replaces_a_value_gives_an_object_of_the_type() -> None:
    def to_shipping(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "answer": "shipping"}

    decision = Vote(Scripted(predictions(Team, [Team.BILLING])), n=2, validator=to_shipping)(question="?")
    assert decision.answer is Team.SHIPPING


def test_a_validator_of_the_core_sees_json() -> None:
    spelled = field_in("answer", ["Billing", "Shipping"], ignore_case=True)
    decision = Vote(Scripted(["billing", " BILLING", "x"]), n=3, validator=spelled)(question="?")
    assert decision.answer == "Billing"
    schema = {"type": "object", "properties": {"answer": {"enum": ["billing"]}}}
    assert Vote(Scripted(predictions(Team, [Team.BILLING])), n=1, validator=schema)(question="?").answer is Team.BILLING


def test_a_key_may_lead_into_a_model() -> None:
    values = [Invoice(vendor=vendor, total=9) for vendor in ("Hoff", "Huff", "Hoff")]
    program = Vote(Scripted(predictions(Invoice, values)), n=3, key="answer.vendor")
    decision = program(question="?")
    assert decision.answer is values[0]
    assert decision.votes == [("Hoff", 2), ("Huff", 1)]


# Consensus.


def test_a_consensus_merges_inside_a_model() -> None:
    values = [
        Invoice(vendor="Hoff", total=9.0, due=date(2026, 1, 31), lines=[Line(sku="mug", quantity=1)]),
        Invoice(vendor="Huff", total=9.004, due=date(2026, 1, 31), lines=[Line(sku="mug", quantity=2)]),
        Invoice(vendor="Hoff", total=8.996, due=date(2026, 1, 13), lines=[Line(sku="mug", quantity=2)]),
    ]
    merged = Consensus(Typed(Invoice, values), n=3)(question="?")
    assert type(merged.answer) is Invoice
    assert (merged.answer.vendor, merged.answer.due) == ("Hoff", date(2026, 1, 31))
    assert merged.answer.total == pytest.approx(9, abs=0.01), "the comparator of the annotation is used"
    assert merged.answer.lines == [Line(sku="mug", quantity=2)]
    assert merged.votes["answer.vendor"] == [("Hoff", 2), ("Huff", 1)]
    assert 0 < merged.agreement < 1


class Typed(Scripted):
    """A program that declares its output."""

    def __init__(self, kind: Any, values: list[Any]) -> None:
        super().__init__(predictions(kind, values))
        self.signature = signature(kind)


def test_a_merged_model_that_equals_a_sample_is_that_sample() -> None:
    values = [Invoice(vendor="Hoff", total=9), Invoice(vendor="Hoff", total=9), Invoice(vendor="Huff", total=9)]
    assert Consensus(Typed(Invoice, values), n=3)(question="?").answer is values[0]


def test_a_field_without_agreement_abstains_as_incomplete() -> None:
    values = [Invoice(vendor=vendor, total=9) for vendor in ("A", "B", "C")]
    merged = Consensus(Typed(Invoice, values), n=3)(question="?")
    assert (merged.abstained, merged.abstain_reason, merged.answer) == (True, "incomplete", None)
    assert merged.consilience.partial["answer"]["total"] == 9
    assert len(merged.completions) == 3
