"""A vote in a DSPy program: act when the samples agree, ask a stronger module or a human when they do not.

    python integrations/dspy/examples/ticket_triage.py

``DummyLM`` plays the model, so the program runs without a key or a network and prints the same every time.
"""

from __future__ import annotations

import os
from typing import Any, Literal

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price list from the network

import dspy
from dspy.utils import DummyLM

from dspy_consilience import Vote


class Route(dspy.Signature):
    """Which team handles this ticket?"""

    ticket: str = dspy.InputField()
    team: Literal["billing", "shipping", "tech"] = dspy.OutputField()


TICKETS = {
    "I was charged twice for order #1042.": "billing shipping billing billing billing",
    "My parcel says delivered but it is not here.": "shipping shipping shipping shipping billing",
    "The app crashes when I open my invoice.": "tech billing tech billing shipping",
}
STRONG = {"The app crashes when I open my invoice.": {"reasoning": "It is the app that crashes.", "team": "tech"}}


class Weak(DummyLM):  # type: ignore[misc]  # dspy has no types
    """Says one word of a ticket's script after another."""

    def __init__(self) -> None:
        super().__init__([{"team": team} for script in TICKETS.values() for team in script.split()])


def main() -> None:
    """Route every ticket, first with a human behind the vote, then with a stronger module."""
    strong = dspy.ChainOfThought(Route)
    strong.set_lm(DummyLM(STRONG))
    for behind, on_abstain in (("a human", "return"), ("a stronger module", strong)):
        program: Any = Vote(dspy.Predict(Route), n=5, min_agreement=0.6, on_abstain=on_abstain)
        print(f"with {behind} behind it")
        with dspy.context(lm=Weak()):
            for ticket in TICKETS:
                decision = program(ticket=ticket)
                answer = "ask a human" if decision.abstained else decision.team
                why = f" ({decision.abstain_reason})" if decision.abstain_reason else ""
                print(f"  {ticket:46} {answer}{why}")


if __name__ == "__main__":
    main()
