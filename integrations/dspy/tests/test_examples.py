"""The examples run by themselves, offline, and print what the README shows; a vote costs little beyond its calls."""

from __future__ import annotations

import logging
import re
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from dspy_consilience import Vote

HOME = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["ticket_triage", "calibration_data"])
def test_an_example_prints_what_the_readme_says(
    name: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    # In this process: to import the oldest DSPy takes longer than all the rest.
    with caplog.at_level(logging.WARNING, "dspy.evaluate.evaluate"):
        runpy.run_path(str(HOME / "examples" / f"{name}.py"), run_name="__main__")
    call = re.escape(f"```console\n$ python integrations/dspy/examples/{name}.py\n```\n")
    readme = (HOME / "README.md").read_text(encoding="utf-8")
    shown = re.findall(f"{call}\n```text\n(.*?)```", readme, re.DOTALL)
    assert [capsys.readouterr().out] == shown


def test_a_vote_costs_less_than_a_tenth_of_five_calls_of_50_ms() -> None:
    """In processor time, which other programs on the machine do not change; a call that waits takes next to none."""
    module = dspy.Predict("question -> answer")
    vote = Vote(module, n=5)

    def plain() -> None:
        for _ in range(5):
            module(question="?")

    def seconds(call: Callable[[], Any]) -> float:
        started = time.process_time()
        call()
        return time.process_time() - started

    with dspy.context(lm=DummyLM([{"answer": "yes"}] * 10_000)):
        rounds = [(seconds(plain), seconds(lambda: vote(question="?"))) for _ in range(10)]
    added = min(voted for _, voted in rounds) - min(called for called, _ in rounds)
    assert added < 0.1 * 5 * 0.05
