"""Consensus: fields of several outputs, abstentions, and what the core would say."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM
from hypothesis import given
from hypothesis import strategies as st
from scripted import Scripted, run

from consilience import AbstainError, ConsensusSettings, SettingsError, merge, prefer_most_common_resolver
from dspy_consilience import Consensus, Decision

WAYS = pytest.mark.parametrize("way", ["sync", "async"])
ORDERS = [("Bern", "2"), ("Bern", "3"), ("Berne", "2")]


def order_lm(orders: list[tuple[str, str]] = ORDERS) -> DummyLM:
    return DummyLM([{"reasoning": f"thought {at}", "city": city, "quantity": n} for at, (city, n) in enumerate(orders)])


@WAYS
def test_every_field_is_decided_on_its_own(way: str) -> None:
    program = Consensus(dspy.ChainOfThought("order -> city, quantity: int"), n=3)
    with dspy.context(lm=order_lm()):
        merged = run(program, way, order="Two mugs to Bern.")
    assert isinstance(merged, Decision)
    assert (merged.city, merged.quantity, merged.reasoning) == ("Bern", 2, "thought 0")
    assert merged.votes == {"city": [("Bern", 2), ("Berne", 1)], "quantity": [(2, 2), (3, 1)]}
    assert not merged.abstained
    assert "reasoning" not in merged.consilience.fields


@WAYS
def test_options_of_the_core(way: str) -> None:
    program = Consensus(
        dspy.Predict("order -> city, quantity: int"),
        settings=ConsensusSettings(n=3, weights=None),
        min_agreement=0.9,
        conflict_resolver=prefer_most_common_resolver,
    )
    with dspy.context(lm=order_lm()):
        merged = run(program, way, order="?")
    assert (merged.city, merged.quantity) == ("Bern", 2)
    assert merged.consilience.paths_resolved_by_conflict_resolver == 2


@WAYS
def test_abstentions(way: str) -> None:
    module = dspy.Predict("order -> city, quantity: int")
    split = [("Bern", "1"), ("Basel", "2")]
    with dspy.context(lm=order_lm(split * 3)):
        merged = run(Consensus(module, n=2), way, order="?")
        assert (merged.abstained, merged.abstain_reason) == (True, "incomplete")
        assert (merged.city, merged.quantity) == (None, None)
        with pytest.raises(AbstainError, match="the consensus abstained"):
            run(Consensus(module, n=2, on_abstain="raise"), way, order="?")
        strong = Scripted([dspy.Prediction(city="Bern", quantity=7)])
        handed = run(Consensus(module, n=2, on_abstain=strong), way, order="?")
    assert (handed.city, handed.quantity, handed.abstained, handed.abstain_reason) == ("Bern", 7, False, "incomplete")


@WAYS
def test_failed_samples_are_left_out(way: str) -> None:
    good = dspy.Prediction(city="Bern")
    merged = run(Consensus(Scripted([good, ValueError("broken"), good]), n=3), way, order="?")
    assert merged.city == "Bern"
    assert merged.failed == ["sampler_error: ValueError: broken"]
    assert merged.agreement == 1
    nothing = run(Consensus(Scripted([ValueError("broken")]), n=2), way, order="?")
    assert nothing.abstain_reason == "no_valid"


RECORDS = st.fixed_dictionaries(
    {}, optional={"a": st.sampled_from([1, 2, "x"]), "b": st.lists(st.integers(0, 2), max_size=2), "c": st.booleans()}
)


@given(st.lists(RECORDS.filter(bool), min_size=1, max_size=5), st.sampled_from([0.4, 0.5, 1.0]))
def test_a_consensus_is_the_cores_merge(records: list[dict[str, Any]], min_agreement: float) -> None:
    expected = merge(records, min_agreement=min_agreement)
    program = Consensus(
        Scripted([dspy.Prediction(**each) for each in records]), n=len(records), min_agreement=min_agreement
    )
    merged = program(question="?")
    assert merged.consilience.value == expected.value
    assert merged.consilience.fields == expected.fields
    assert merged.abstained == expected.abstained
    if expected.decided:
        assert {name: merged[name] for name in expected.value} == expected.value


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_agrement": 0.5}, TypeError, "did you mean 'min_agreement'"),
        ({"key": "city"}, TypeError, "'key'"),
        ({"min_agreement": 0}, SettingsError, "min_agreement"),
        ({"required": ["citty"]}, SettingsError, "did you mean 'city'"),
        ({"settings": 3}, TypeError, "settings must be a ConsensusSettings or None, got int"),
        ({"on_abstain": "shrug"}, SettingsError, "on_abstain"),
    ],
)
def test_bad_arguments_raise_at_construction(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Consensus(dspy.Predict("order -> city"), **options)


def test_threshold_is_another_name_of_min_agreement() -> None:
    program = Consensus(dspy.Predict("order -> city, quantity: int"), n=5, threshold=0.6)
    assert program.settings == ConsensusSettings(n=5, min_agreement=0.6)
    with pytest.raises(SettingsError, match=r"min_agreement must be .* got 1.5"):
        Consensus(dspy.Predict("order -> city"), threshold=1.5)
    with pytest.raises(TypeError, match="give one of them"):
        Consensus(dspy.Predict("order -> city"), threshold=0.6, min_agreement=0.6)
