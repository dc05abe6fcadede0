"""Weights: what votes and failures weigh, and that sums are exact."""

from __future__ import annotations

import random
from typing import Any

import pytest

from consilience.replies._reply import Reply
from consilience.voting import Reason, Sample, VoteResult, tally


def said(vote: str | None, source: str | None = None, confidence: float | None = None) -> Reply:
    return Reply("no" if vote is None else {"v": vote}, source=source, confidence=confidence)


def test_confidence_weights_let_sure_votes_win() -> None:
    result = tally(
        [said("a", confidence=0.9), said("b", confidence=0.4), said("b", confidence=0.4)], key="v", weights="confidence"
    )
    assert result.value == "a"
    assert result.agreement == pytest.approx(0.9 / 1.7)
    assert result.counts == (("b", 2), ("a", 1))
    assert result.detail == "'a' won with 1 of 3 votes, 0.53 of the weight"
    assert [sample.weight for sample in result.samples] == [0.9, 0.4, 0.4]


def test_a_missing_confidence_weighs_nothing_and_a_failure_one() -> None:
    result = tally([said("a", confidence=0.5), said("b"), said(None)], key="v", weights="confidence", min_agreement=0.3)
    assert result.agreement == 0.5 / 1.5
    assert [sample.weight for sample in result.samples] == [0.5, 0.0, 1.0]


def test_weights_of_sources() -> None:
    replies = [said("a", "x"), said("b", "y"), said("b", "y"), said(None, "y"), said("a", "z")]
    result = tally(replies, key="v", weights={"x": 1, "y": 0.25})
    assert (result.value, result.agreement) == ("a", 2 / 2.75)
    assert tally(replies, key="v", weights={"x": 1, "y": 0.25}, count_failures=False).agreement == 2 / 2.5


def test_a_function_of_the_sample() -> None:
    def by_length(sample: Sample) -> float:
        return len(sample.record["why"])

    replies = [{"v": "a", "why": "xxx"}, {"v": "b", "why": "x"}, {"v": "b", "why": "x"}]
    assert tally(replies, key="v", weights=by_length, max_weight=5).value == "a"


@pytest.mark.parametrize(
    "weights", [lambda s: 2, lambda s: -1, lambda s: float("nan"), lambda s: "1", lambda s: None, lambda s: 1 / 0]
)
def test_a_function_that_gives_no_weight_makes_the_sample_fail(weights: Any) -> None:
    result = tally([{"v": "a"}], key="v", weights=weights)
    assert result.reason == Reason.NO_VALID
    assert result.samples[0].error is not None
    assert result.samples[0].error.startswith("invalid: weights ")


def test_a_total_of_nothing_is_no_valid() -> None:
    result = tally([said("a", "x"), said("b", "x")], key="v", weights={"x": 0})
    assert (result.reason, result.detail) == (Reason.NO_VALID, "no valid sample has any weight")
    assert (result.agreement, result.valid_ratio) == (0.0, 1.0)


def test_sums_and_ties_do_not_depend_on_order() -> None:
    replies = [said("a", confidence=c) for c in (0.1, 0.2, 0.3)] + [said("b", confidence=0.6)]
    results: set[tuple[Any, ...]] = set()
    for seed in range(20):
        shuffled = random.Random(seed).sample(replies, len(replies))
        result: VoteResult = tally(shuffled, key="v", weights="confidence")
        results.add((result.reason, result.detail, result.agreement))
    assert results == {(Reason.TIE, "tie: 2 answers have a weight of 0.6 each", 0.5)}  # 0.1 + 0.2 + 0.3 > 0.6 in floats


def test_min_valid_stays_unweighted() -> None:
    replies = [said("a", "x"), said(None, "y"), said(None, "y"), said(None, "y")]
    assert tally(replies, key="v", weights={"y": 0}, min_valid=0.5).reason == Reason.TOO_FEW_VALID
    assert tally(replies, key="v", weights={"y": 0}, min_valid=0.25).value == "a"
