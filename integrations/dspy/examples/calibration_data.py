"""Which threshold? Record every vote of a labelled set once, then judge the same samples by other rules, without calls.

    python integrations/dspy/examples/calibration_data.py

``DummyLM`` plays a model that is right in 7 of 10 samples, more or less.
"""

from __future__ import annotations

import os
import random

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price list from the network

import logging

import dspy
from dspy.utils import DummyLM

from consilience import tally
from dspy_consilience import Vote, record_votes

TEAMS = ("billing", "shipping", "tech", "sales")


def main(examples: int = 60, n: int = 9) -> None:
    """Print coverage and accuracy for several numbers of samples and thresholds."""
    chance = random.Random(4)
    devset = [
        dspy.Example(ticket=f"ticket {i}", team=chance.choice(TEAMS)).with_inputs("ticket") for i in range(examples)
    ]
    skill = [chance.uniform(0.4, 1) for _ in devset]
    answers = [
        {"team": example.team if chance.random() < sure else chance.choice(TEAMS)}
        for example, sure in zip(devset, skill, strict=True)
        for _ in range(n)
    ]
    logging.getLogger("dspy.evaluate.evaluate").setLevel(logging.WARNING)
    with dspy.context(lm=DummyLM(answers)):
        recorded = record_votes(Vote(dspy.Predict("ticket -> team"), key="team"), devset, n=n, num_threads=1)

    print(f"{examples} examples, {len(recorded) * n} samples drawn once")
    print(" n  min_agreement  coverage  accuracy when answered")
    for samples in (1, 5, n):
        for min_agreement in (0.5, 0.7) if samples > 1 else (0.5,):
            results = [
                tally(vote.result.samples[:samples], key="team", min_agreement=min_agreement) for vote in recorded
            ]
            answered = [(result, vote) for result, vote in zip(results, recorded, strict=True) if result.decided]
            right = sum(result.value == vote.gold for result, vote in answered)
            print(f"{samples:2}  {min_agreement:13}  {len(answered) / examples:8.0%}  {right / len(answered):22.0%}")


if __name__ == "__main__":
    main()
