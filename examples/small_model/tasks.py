"""Two jobs for the small model: a label for a product review, and the fields of a short order as nested JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, StringConstraints

from consilience import ConsensusSettings, VoteSettings, field_in


@dataclass(frozen=True, slots=True)
class Case:
    """A text and the value that a vote on it should come to."""

    text: str
    gold: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to ask, how to vote on it, and texts whose right answer is known.

    Args:
        title: a headline.
        question: what a text is called in the prompt.
        examples: texts with the records that are wanted, for the model to imitate.
        cases: the texts to vote on, with their right answers.
        settings: how to vote.
        temperature: how freely the model samples; above 0, or all replies to a text would be the same.
        max_tokens: where a reply is cut off.
        fields: the fields to look at one by one, if any.
        consensus: how to merge the same replies field by field; None for records of one field.
    """

    title: str
    question: str
    examples: tuple[tuple[str, BaseModel], ...]
    cases: tuple[Case, ...]
    settings: VoteSettings
    temperature: float
    max_tokens: int
    fields: tuple[str, ...] = ()
    consensus: ConsensusSettings | None = None

    def few_shot(self, text: str) -> str:
        """Examples with their answers, then ``text``, whose answer is to be written on the rest of the line."""
        shown = [f"{self.question}: {example}\nJSON: {as_json(record)}" for example, record in self.examples]
        return "\n\n".join([*shown, f"{self.question}: {text}\nJSON:"])


def as_json(record: BaseModel) -> str:
    """A record in one line, spaced as models write it."""
    return json.dumps(record.model_dump(mode="json"), ensure_ascii=False)


class Review(BaseModel):
    """What a review comes to."""

    sentiment: str


POSITIVE, NEGATIVE = Review(sentiment="positive"), Review(sentiment="negative")


REVIEWS = Task(
    title="Product reviews: is the customer pleased?",
    question="Review",
    examples=(
        ("The battery died after two days.", NEGATIVE),
        ("Love this kettle, it boils so fast.", POSITIVE),
        ("It leaks everywhere. I want a refund.", NEGATIVE),
        ("Great sound and easy to set up.", POSITIVE),
        ("Cheap plastic, broke within a week.", NEGATIVE),
        ("My kids adore it. Best gift ever.", POSITIVE),
        ("Sturdy, light and worth every cent.", POSITIVE),
        ("Too loud and it smells of rubber.", NEGATIVE),
    ),
    cases=(
        Case("The zipper broke on the first day.", "negative"),
        Case("Soft, warm and a perfect fit.", "positive"),
        Case("It stopped working after one wash.", "negative"),
        Case("I use this pan every day and it still looks new.", "positive"),
        Case("Do not waste your money on these headphones.", "negative"),
        Case("Arrived early and works like a charm.", "positive"),
        Case("The colour faded and the seams came apart.", "negative"),
        Case("Finally a vacuum cleaner that is quiet.", "positive"),
        Case("I expected more for this price.", "negative"),
        Case("Not bad at all, I would buy it again.", "positive"),
        Case("The manual is useless and support never answered.", "negative"),
        Case("No complaints after a year of daily use.", "positive"),
    ),
    settings=VoteSettings(
        n=7,
        key="sentiment",
        validator=field_in("sentiment", ["positive", "negative"], ignore_case=True),
        min_agreement=0.6,
        early_stop=True,
        concurrency=2,
    ),
    temperature=0.8,
    max_tokens=24,
)


Text = Annotated[str, StringConstraints(strip_whitespace=True)]


class Customer(BaseModel):
    name: Text
    city: Text


class Item(BaseModel):
    name: Text
    quantity: int


class Order(BaseModel):
    """The record that is read from an order; a reply that does not fit is an invalid sample."""

    customer: Customer
    item: Item
    price: int


def order(customer: str, city: str, quantity: int, item: str, price: int) -> Order:
    return Order(customer=Customer(name=customer, city=city), item=Item(name=item, quantity=quantity), price=price)


ORDERS = Task(
    title="Orders: who wants how much of what?",
    question="Order",
    examples=(
        (
            "Hi, this is Ana Ruiz from Madrid. Please send me 3 desk lamps at 40 EUR each.",
            order("Ana Ruiz", "Madrid", 3, "desk lamps", 40),
        ),
        (
            "We need 12 notebooks, 5 EUR apiece. Deliver to Tom Baker in Boston.",
            order("Tom Baker", "Boston", 12, "notebooks", 5),
        ),
        ("For Mei Lin, Manchester: 1 office chair, 180 EUR.", order("Mei Lin", "Manchester", 1, "office chair", 180)),
        (
            "Paul Weber from Vienna wants 6 water bottles, 9 EUR each.",
            order("Paul Weber", "Vienna", 6, "water bottles", 9),
        ),
        ("25 postcards at 1 EUR each for Hugo Ortiz, Miami.", order("Hugo Ortiz", "Miami", 25, "postcards", 1)),
        (
            "Please deliver 14 pillows to Ivan Petrov in Sofia. Price: 28 EUR each.",
            order("Ivan Petrov", "Sofia", 14, "pillows", 28),
        ),
    ),
    cases=(
        Case(
            "Please ship 4 umbrellas to Lena Hoff in Berlin. We agreed on 15 EUR each.",
            order("Lena Hoff", "Berlin", 4, "umbrellas", 15),
        ),
        Case(
            "Hello, Carlos Mendes here, Lisbon. I would like 2 bookshelves at 95 EUR each.",
            order("Carlos Mendes", "Lisbon", 2, "bookshelves", 95),
        ),
        Case(
            "10 coffee mugs at 7 EUR each for Sarah Klein, Chicago.",
            order("Sarah Klein", "Chicago", 10, "coffee mugs", 7),
        ),
        Case(
            "Could you send 1 backpack to Yuki Sato in Osaka? The price was 60 EUR.",
            order("Yuki Sato", "Osaka", 1, "backpack", 60),
        ),
        Case("Emma Clark from London wants 8 candles, 12 EUR each.", order("Emma Clark", "London", 8, "candles", 12)),
        Case(
            "I need 5 keyboards at 35 EUR each. My name is David Stone and I live in Denver.",
            order("David Stone", "Denver", 5, "keyboards", 35),
        ),
        Case("Nina Rossi from Rome wants 20 towels, 11 EUR apiece.", order("Nina Rossi", "Rome", 20, "towels", 11)),
        Case(
            "For Omar Haddad, Dubai: 2 wall clocks, 75 EUR each.", order("Omar Haddad", "Dubai", 2, "wall clocks", 75)
        ),
        Case(
            "We need 7 flower pots, 14 EUR apiece. Deliver to Julia Novak in Prague.",
            order("Julia Novak", "Prague", 7, "flower pots", 14),
        ),
        Case(
            "This is Peter Olsen. Send 3 rain jackets to Oslo, 120 EUR each.",
            order("Peter Olsen", "Oslo", 3, "rain jackets", 120),
        ),
    ),
    settings=VoteSettings(n=5, validator=Order, repair="lenient", min_agreement=0.6, early_stop=True, concurrency=2),
    temperature=0.8,
    max_tokens=64,
    fields=("customer", "item", "price"),
    consensus=ConsensusSettings(schema=Order, repair="lenient"),
)

TASKS = (REVIEWS, ORDERS)
