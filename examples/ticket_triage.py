"""Ticket triage: route a ticket when the votes agree, and hand it to a human with the reason when they do not."""

import json

from consilience import VoteResult, VoteSettings, field_in, vote
from consilience.testing import ReplaySampler

TEAMS = ["billing", "shipping", "technical"]

SETTINGS = VoteSettings(
    n=5,
    key="team",
    validator=field_in("team", TEAMS, ignore_case=True),
    confidence_field="confidence",
    min_valid=0.6,
    min_agreement=0.6,
)


def answer(team: str, confidence: float) -> str:
    return json.dumps({"team": team, "confidence": confidence})


# What a model said to each ticket.
REPLIES = {
    "I was charged twice for order #1042.": [
        answer("billing", 0.9),
        f"```json\n{answer('Billing', 0.8)}\n```",
        answer("billing", 0.92),
        answer("technical", 0.55),
        f"The customer paid twice. {answer('billing', 0.82)}",
    ],
    "My parcel says delivered but it is not here.": [
        answer("shipping", 0.95),
        answer("shipping", 0.9),
        answer("shipping", 0.85),
        answer("SHIPPING", 0.87),
        answer("shipping", 0.88),
    ],
    "The app crashes when I open my invoice.": [
        answer("technical", 0.7),
        answer("billing", 0.7),
        answer("billing", 0.6),
        answer("technical", 0.8),
        "It could be either team.",
    ],
    "hello??": [
        "Hello! How can I help you today?",
        answer("sales", 0.4),
        "Could you describe your problem?",
        answer("technical", 0.3),
        "Hi!",
    ],
}


def route(result: VoteResult) -> str:
    if result.abstained:
        return f"ask a human: {result.reason} ({result.detail})"
    return f"{result.value} (agreement {result.agreement:.2f}, confidence {result.confidence:.2f})"


def main() -> None:
    sampler = ReplaySampler(REPLIES)
    for ticket in REPLIES:
        print(ticket)
        print(f"  -> {route(vote(sampler, ticket, settings=SETTINGS))}")


if __name__ == "__main__":
    main()
