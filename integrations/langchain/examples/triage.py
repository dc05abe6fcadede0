"""Ticket triage in a chain, offline: a cheap model votes, ties go to a stronger one, and a human gets the rest.

    python integrations/langchain/examples/triage.py

The fakes of LangChain stand in for the models, so this prints the same every time.
"""

from operator import itemgetter
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate

from langchain_consilience import AbstainRouter, VoteRunnable

TICKETS = {
    "I was charged twice for order #1042.": ["billing", "billing", "shipping", "billing", "billing"],
    "My parcel is late and I want my money back.": ["billing", "shipping", "billing", "shipping", "no idea"],
    "hello??": ["Hello! How can I help?"] * 5,
}
PROMPT = ChatPromptTemplate.from_messages(
    [("system", 'Which team handles the ticket? Answer {{"team": ...}}.'), ("human", "{ticket}")]
)


def fake(answers: list[str]) -> FakeListChatModel:
    """A model that gives these answers in turn, those of one word as JSON."""
    return FakeListChatModel(responses=[text if " " in text else f'{{"team": "{text}"}}' for text in answers])


def hand_over(abstention: dict[str, Any]) -> str:
    """What a human is told."""
    return f"ask a human: {abstention['result'].detail}"


def triage(answers: list[str]) -> Any:
    """The chain: from a ticket to a team, or to what a human is told."""
    stronger = VoteRunnable(
        PROMPT | fake(["refunds"]), n=3, key="team", output="value", on_abstain=hand_over, name="stronger"
    )
    router = AbstainRouter({"tie": itemgetter("input") | stronger}, default=hand_over)
    return VoteRunnable(
        PROMPT | fake(answers), n=5, key="team", concurrency=1, output="value", on_abstain=router, name="triage"
    )


def main() -> None:
    for ticket, answers in TICKETS.items():
        print(ticket)
        print("  ->", triage(answers).invoke({"ticket": ticket}))


if __name__ == "__main__":
    main()
