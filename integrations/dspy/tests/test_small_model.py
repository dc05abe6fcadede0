"""A real model on loopback, through ``dspy.LM``."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

from dspy_consilience import Consensus, Vote


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The example as a module, with two demos: most of the time the model reads, and it reads them again every time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "examples")
        import local_model

        for name in ("REVIEWS", "ORDERS"):
            task = getattr(local_model, name)
            patch.setattr(local_model, name, replace(task, examples=task.examples[:2]))
        yield local_model
        sys.modules.pop("local_model")


@pytest.fixture(scope="module")
def model() -> Iterator[Any]:
    from small_model import serve

    with serve() as endpoint:
        yield endpoint


def test_the_example_compares_with_and_without_a_vote(
    example: Any, model: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(example, "serve", lambda: nullcontext(model))  # the model is loaded once for all tests
    example.main(cases=1, n=2)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    found = [re.fullmatch(r"  (.+?) +accuracy +(\d+)%  coverage +(\d+)%  +(\d+) calls", line) for line in lines]
    rows = {(at, match[1]): int(match[4]) for at, match in enumerate(found) if match}
    assert rows == {
        (0, "one answer"): 1,
        (1, "Vote(n=2)"): 2,
        (2, "one answer"): 1,
        (3, "Vote(n=2)"): 2,
        (4, "Consensus(n=2)"): 2,
    }


def test_a_label(example: Any, model: Any) -> None:
    lm = example.small_lm(model, example.ReadReview, max_tokens=16)
    module = example.predictor(example.ReadReview, example.REVIEWS, lambda record: record.sentiment)
    with dspy.context(lm=lm, adapter=example.ExamplesOnly(), track_usage=True):
        decision = Vote(module, n=4, concurrency=2, min_agreement=0, abstain_on_tie=False)(
            review="It stopped working after one wash."
        )
    assert decision.sentiment in {"positive", "negative"}
    assert decision.failed == []
    usage = decision.consilience.usage
    assert usage["prompt_tokens"] > 4 * 50
    assert 4 <= usage["completion_tokens"] <= 4 * 16
    (tracked,) = decision.get_lm_usage().values()
    assert tracked["completion_tokens"] == usage["completion_tokens"]
    assert decision.consilience.sources == (f"openai/{model.model}",)


def test_a_record_asynchronously(example: Any, model: Any) -> None:
    lm = example.small_lm(model, example.ReadOrder, max_tokens=80)
    module = example.predictor(example.ReadOrder, example.ORDERS, lambda record: record)
    with dspy.context(lm=lm, adapter=example.ExamplesOnly()):
        merged = asyncio.run(
            Consensus(module, n=3, concurrency=3, min_agreement=0.3).acall(
                text="10 coffee mugs at 7 EUR each for Sarah Klein, Chicago."
            )
        )
    assert merged.abstained or isinstance(merged.order, example.Order)
    assert len(merged.completions) + len(merged.failed) == 3
    assert "order.customer.city" in merged.votes


def test_a_reply_cut_off(example: Any, model: Any) -> None:
    lm = example.small_lm(model, example.ReadOrder, max_tokens=5)
    module = example.predictor(example.ReadOrder, example.ORDERS, lambda record: record)
    with dspy.context(lm=lm, adapter=example.ExamplesOnly()):
        decision = Vote(module, n=2)(text="1 lamp for Ana Ruiz, Madrid.")
    assert [sample.code for sample in decision.consilience.samples] == ["truncated", "truncated"]


def test_an_address_where_nobody_listens() -> None:
    lm = dspy.LM("openai/local", api_base="http://127.0.0.1:9/v1", api_key="none", num_retries=0)
    with dspy.context(lm=lm):
        decision = Vote(dspy.Predict("question -> answer"), n=2)(question="?")
    assert decision.abstain_reason == "no_valid"
    assert all(error.startswith("sampler_error: ") for error in decision.failed)
