"""A LangGraph graph that acts where samples agree and asks a human where they do not.

Reviews are sorted by a vote, orders are read by a consensus. What has no clear answer waits at an interrupt, with the
proposal and what to check, until someone resumes the thread.

    pip install "langchain-consilience[agents]" langchain-openai
    python review_graph.py

With OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL set it asks that endpoint, else the small model of this
repository's demo.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from consilience import ConsensusResult, VoteResult, field_in
from langchain_consilience import ConsensusRunnable, VoteRunnable

LABELS = ["positive", "negative"]


class Order(BaseModel):
    name: str
    city: str
    item: str
    quantity: int
    price: int


class Mail(TypedDict, total=False):
    """The state of a thread. Plain JSON values only, so that any checkpointer can hold it."""

    kind: Literal["review", "order"]
    text: str
    answer: Any
    check: list[str]
    """What a human should look at; empty when the answer can be used as it is."""


def few_shot(*examples: tuple[str, str]) -> ChatPromptTemplate:
    """Examples for the model to imitate, then the text of the mail."""
    shown = [message for text, reply in examples for message in (HumanMessage(text), AIMessage(reply))]
    return ChatPromptTemplate.from_messages([*shown, ("human", "{text}")])


REVIEWS = few_shot(
    ("The battery died after two days.", '{"sentiment": "negative"}'),
    ("Love this kettle, it boils so fast.", '{"sentiment": "positive"}'),
    ("It leaks everywhere. I want a refund.", '{"sentiment": "negative"}'),
    ("Great sound and easy to set up.", '{"sentiment": "positive"}'),
    ("Cheap plastic, broke within a week.", '{"sentiment": "negative"}'),
    ("My kids adore it. Best gift ever.", '{"sentiment": "positive"}'),
    ("Sturdy, light and worth every cent.", '{"sentiment": "positive"}'),
    ("Too loud and it smells of rubber.", '{"sentiment": "negative"}'),
)

ORDERS = few_shot(
    (
        "Please send me 3 desk lamps at 40 EUR each. Ana Ruiz, Madrid.",
        '{"name": "Ana Ruiz", "city": "Madrid", "item": "desk lamps", "quantity": 3, "price": 40}',
    ),
    (
        "We need 12 notebooks, 5 EUR apiece. Deliver to Tom Baker in Boston.",
        '{"name": "Tom Baker", "city": "Boston", "item": "notebooks", "quantity": 12, "price": 5}',
    ),
    (
        "For Mei Lin, Manchester: 1 office chair, 180 EUR.",
        '{"name": "Mei Lin", "city": "Manchester", "item": "office chair", "quantity": 1, "price": 180}',
    ),
)


def judged(result: VoteResult) -> Mail:
    return {"answer": result.value, "check": [result.detail] if result.abstained else []}


def read(result: ConsensusResult) -> Mail:
    doubts = [f"{item.path}: {item.value!r}, agreement {item.agreement:.2f}" for item in result.needs_review(below=0.6)]
    return {"answer": result.partial, "check": doubts or ([result.detail] if result.abstained else [])}


def ask_human(mail: Mail) -> Mail:
    answer = interrupt({"text": mail["text"], "proposal": mail["answer"], "check": mail["check"]})
    return {"answer": answer, "check": []}


def build_graph(model: BaseChatModel, *, n: int = 5) -> Any:
    """The graph around a chat model that knows ``seed`` (each sample gets a seed of its own)."""
    vote = VoteRunnable(model, n=n, key="sentiment", validator=field_in("sentiment", LABELS), vary="seed")
    consensus = ConsensusRunnable(model, n=n, schema=Order, repair="lenient", vary="seed")

    graph = StateGraph(Mail)
    graph.add_node("judge", REVIEWS | vote | judged)
    graph.add_node("read", ORDERS | consensus | read)
    graph.add_node("human", ask_human)
    graph.add_conditional_edges(START, lambda mail: "judge" if mail["kind"] == "review" else "read", ["judge", "read"])
    for node in ("judge", "read"):
        graph.add_conditional_edges(node, lambda mail: "human" if mail["check"] else END, ["human", END])
    graph.add_edge("human", END)
    return graph.compile(checkpointer=InMemorySaver())


MAILS: list[Mail] = [
    {"kind": "review", "text": "The zipper broke on the first day."},
    {"kind": "review", "text": "Soft, warm and a perfect fit."},
    {"kind": "order", "text": "10 coffee mugs at 7 EUR each for Sarah Klein, Chicago."},
    {"kind": "order", "text": "Something nice for my sister, please."},
]


def main() -> None:
    with local_model() as model:
        graph = build_graph(model)
        for number, mail in enumerate(MAILS):
            thread: Any = {"configurable": {"thread_id": str(number)}}
            state = graph.invoke(mail, thread)
            print(mail["text"])
            for question in state.get("__interrupt__", ()):
                print(f"  a human is asked: {question.value['check']}")
                state = graph.invoke(Command(resume="answered by hand"), thread)
            print(f"  -> {state['answer']}")


@contextlib.contextmanager
def local_model() -> Iterator[ChatOpenAI]:
    """The endpoint that the environment names, or the small model on loopback."""
    options: dict[str, Any] = {"temperature": 0.8, "max_tokens": 64, "timeout": 120}
    if "OPENAI_BASE_URL" in os.environ:
        yield ChatOpenAI(model=os.environ["OPENAI_MODEL"], **options)
        return
    sys.path.append(str(Path(__file__).parents[3] / "examples"))
    from small_model import serve

    with serve() as endpoint:
        yield ChatOpenAI(model=endpoint.model, base_url=endpoint.base_url, api_key=endpoint.api_key, **options)


if __name__ == "__main__":
    main()
