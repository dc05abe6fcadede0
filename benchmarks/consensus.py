"""Consensus on recorded orders of two small models, and its speed, beside Extrai and k-llms.

Every row merges the same revisions: n replies drawn from the 16 recorded ones, read with ``extract_json``. Merged
records are compared with gold by leaf (items paired by the best assignment) and as a whole.
"""

from __future__ import annotations

import json
import random
import string
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, model_validator
from scipy.optimize import linear_sum_assignment

from benchmarks import _consensus_peers as peers
from benchmarks._measuring import peak_memory, recorded, seconds, verdict
from consilience import ballot, extract_json
from consilience.merging import default_conflict_resolver, merge

SIZES = (3, 5, 7, 11)
SEEDS = range(5)

Cell = tuple[str, int]


class Customer(BaseModel):
    name: str
    city: str


class Item(BaseModel):
    name: str
    qty: int
    price: float


class Order(BaseModel):
    order: str
    customer: Customer
    items: list[Item]
    total: float
    currency: str


class AddedUpOrder(Order):
    @model_validator(mode="after")
    def adds_up(self) -> AddedUpOrder:
        if abs(self.total - sum(item.qty * item.price for item in self.items)) > 0.005:
            raise ValueError("total must be the sum of quantity times price")
        return self


@dataclass(frozen=True)
class Case:
    """One draw: the gold record, the first reply as read, and the revisions that could be read."""

    cell: Cell
    gold: Any
    first: Any
    revisions: list[Any]


ROWS: dict[str, Callable[[Case], Any]] = {
    "single reply": lambda case: case.first or {},
    "most common record": lambda case: most_common(case.revisions),
    "consilience": lambda case: merged(case),
    "consilience, weights=None": lambda case: merged(case, weights=None),
    "consilience, omitting": lambda case: merged(case, conflict_resolver=default_conflict_resolver),
    "consilience, schema": lambda case: merged(case, schema=Order),
    "consilience, validator": lambda case: merged(case, schema=AddedUpOrder),
}


def merged(case: Case, **options: Any) -> Any:
    return (merge(case.revisions, **options).partial if case.revisions else None) or {}


def most_common(revisions: list[Any]) -> Any:
    if not revisions:
        return {}
    texts = [ballot(revision) for revision in revisions]
    return revisions[max(range(len(texts)), key=lambda index: (texts.count(texts[index]), -index))]


def draws(rows: list[dict[str, Any]], seeds: range) -> Iterator[Case]:
    models = list(rows[0]["replies"])
    read = {(row["id"], model): [record(reply) for reply in row["replies"][model]] for row in rows for model in models}
    for model in models:
        for n in SIZES:
            for seed in seeds:
                rng = random.Random(f"{seed}-{n}")
                for row in rows:
                    drawn = [read[row["id"], model][index] for index in rng.sample(range(16), n)]
                    yield Case((model, n), row["gold"], drawn[0], [each for each in drawn if each is not None])


def record(reply: str) -> Any:
    found = extract_json(reply)
    return found if isinstance(found, dict) else None


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(value, dict | list):
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, (*path, step))
    else:
        yield (
            path,
            json.dumps(float(value)) if isinstance(value, int) and not isinstance(value, bool) else json.dumps(value),
        )


def matches(predicted: Any, gold: Any) -> tuple[int, int, int]:
    """The leaves that agree, those predicted, and those of the gold record."""
    outside = [dict(leaves({k: v for k, v in each.items() if k != "items"})) for each in (predicted, gold)]
    inside = [[dict(leaves(item)) for item in items_of(each)] for each in (predicted, gold)]
    hits = len(outside[0].items() & outside[1].items())
    if inside[0] and inside[1]:
        table = np.array([[len(one.items() & other.items()) for other in inside[1]] for one in inside[0]])
        hits += int(table[linear_sum_assignment(table, maximize=True)].sum())
    sizes = [len(outside[side]) + sum(map(len, inside[side])) for side in (0, 1)]
    return hits, sizes[0], sizes[1]


def items_of(record: Any) -> list[Any]:
    items = record.get("items")
    return items if isinstance(items, list) else []


@dataclass
class Score:
    hits: int = 0
    predicted: int = 0
    gold: int = 0
    exact: int = 0
    cases: int = 0

    def add(self, predicted: Any, gold: Any) -> None:
        found = matches(predicted if isinstance(predicted, dict) else {}, gold)
        self.hits += found[0]
        self.predicted += found[1]
        self.gold += found[2]
        self.exact += found[0] == found[1] == found[2]
        self.cases += 1

    @property
    def precision(self) -> float:
        return self.hits / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        return self.hits / self.gold

    @property
    def f1(self) -> float:
        return 2 * self.hits / (self.predicted + self.gold)

    @property
    def exact_share(self) -> float:
        return self.exact / self.cases


def quality(seeds: range = SEEDS) -> None:
    rows = recorded("orders.jsonl.gz")
    if rows is None:
        return
    cases = list(draws(rows, seeds))
    scores: dict[str, dict[Cell, Score]] = {}
    for name, row in ROWS.items():
        score_row(scores, name, cases, [row(case) for case in cases])
    for peer in peers.REQUIREMENTS:
        for name, (_, records) in (peers.ask(peer, [case.revisions for case in cases]) or {}).items():
            score_row(scores, name, cases, records)
    for model in dict.fromkeys(model for model, _ in scores["consilience"]):
        show(model, scores, len(seeds))
    targets(scores)


def score_row(scores: dict[str, dict[Cell, Score]], name: str, cases: list[Case], records: list[Any]) -> None:
    for case, predicted in zip(cases, records, strict=True):
        scores.setdefault(name, {}).setdefault(case.cell, Score()).add(predicted, case.gold)


def show(model: str, scores: dict[str, dict[Cell, Score]], seeds: int) -> None:
    print(f"\n{model}: precision recall F1 exact, {seeds} draws of each message\n")
    print(f"{'':28}" + "".join(f"n = {n:<23}" for n in SIZES))
    for name in sorted(scores, key=lambda name: name.startswith("consilience")):
        cells = [scores[name][model, n] for n in SIZES]
        print(
            f"{name:28}"
            + "".join(f"{c.precision:.3f} {c.recall:.3f} {c.f1:.3f} {c.exact_share:.3f}    " for c in cells)
        )


def targets(scores: dict[str, dict[Cell, Score]]) -> None:
    others = [name for name in scores if not name.startswith("consilience")]
    peer_rows = [name for name in others if name.startswith(("Extrai", "k-llms"))]
    best = {cell: max(scores[name][cell].f1 for name in others) for cell in scores["consilience"]}
    exact = {cell: max(scores[name][cell].exact_share for name in others) for cell in best}
    peer = {cell: max((scores[name][cell].exact_share for name in peer_rows), default=0.0) for cell in best}
    print(
        "\nconsilience minus the best other row: F1, exact against the best peer; with the validator: F1, exact ratio\n"
    )
    for cell in best:
        plain, checked = scores["consilience"][cell], scores["consilience, validator"][cell]
        margin, checked_margin = plain.f1 - best[cell], checked.f1 - best[cell]
        ratio = checked.exact_share / exact[cell] if exact[cell] else float("inf")
        wanted = 1.5 if cell[0].startswith("gemma") else 1.0
        holds = checked_margin >= 0.015 and ratio >= wanted if cell[1] > 3 else True
        print(
            f"{cell[0][:20]:20} n={cell[1]:<3} {margin:+.3f} {verdict(margin > 0):5}"
            f"{plain.exact_share - peer[cell]:+.3f} {verdict(plain.exact_share >= peer[cell]):8}"
            f"{checked_margin:+.3f} ×{ratio:.2f} {verdict(holds) if cell[1] > 3 else ''}"
        )


def several_models(seeds: range = SEEDS) -> None:
    """Weights on answers of different models: records of 20 questions each, one model a revision."""
    rows = recorded("mmlu_pro_votes.jsonl.gz")
    if rows is None:
        return
    print("\nanswers of n of 12 models to 20 questions a record: share decided, share right\n")
    models = list(rows[0]["votes"])
    for n in SIZES:
        line = f"n = {n:<4}"
        for weights in (None, "trust"):
            decided = right = asked = 0
            for seed in seeds:
                rng = random.Random(f"{seed}-{n}")
                for start in range(0, len(rows) - 19, 20):
                    block = rows[start : start + 20]
                    revisions = [
                        {str(i): row["votes"][model] for i, row in enumerate(block)} for model in rng.sample(models, n)
                    ]
                    value = merge(revisions, weights=weights).value
                    asked += len(block)
                    decided += len(value)
                    right += sum(value.get(str(i)) == row["gold"] for i, row in enumerate(block))
            line += f"  weights={weights!s:6} {decided / asked:.4f} {right / asked:.4f}"
        print(line)


def text(rng: random.Random, length: int) -> str:
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(length))


def sentence(rng: random.Random) -> str:
    """About 40 characters in six words."""
    return " ".join(text(rng, 6) for _ in range(6))


def flat_revisions(fields: int, times: int, noise: float = 0.3, seed: int = 1) -> list[dict[str, str]]:
    rng = random.Random(seed)
    base = {f"field_{index}": sentence(rng) for index in range(fields)}
    return [
        {k: sentence(rng) if rng.random() < noise / 2 else slip(rng, v, noise) for k, v in base.items()}
        for _ in range(times)
    ]


def slip(rng: random.Random, value: str, noise: float) -> str:
    if rng.random() >= noise / 2:
        return value
    at = rng.randrange(len(value))
    return value[:at] + rng.choice(string.ascii_lowercase) + value[at + 1 :]


def item_lists(items: int, times: int = 5, noise: float = 0.05) -> list[dict[str, Any]]:
    """Shuffled lists of 5-field records, each field wrong with the probability ``noise``."""
    rng = random.Random(items)

    def item() -> dict[str, Any]:
        price = rng.randint(100, 99999) / 100
        return {
            "sku": text(rng, 8),
            "name": sentence(rng),
            "qty": rng.randint(1, 50),
            "price": price,
            "note": text(rng, 30),
        }

    base = [item() for _ in range(items)]
    lists = [
        [{k: item()[k] if rng.random() < noise else v for k, v in each.items()} for each in base] for _ in range(times)
    ]
    return [{"items": rng.sample(each, len(each))} for each in lists]


def speed() -> None:
    merge([{"items": [{"a": "x"}]}, {"items": [{"a": "y"}]}])  # imports
    speed_of_records()
    large = [flat_revisions(200, 100), flat_revisions(200, 100, noise=2.0)]
    for revisions, texts in zip(large, ("a third of them noisy", "all different"), strict=True):
        spent = seconds(lambda: merge(revisions), 2)  # noqa: B023 - called at once
        print(f"100 revisions of 200 texts, {texts}: {spent:.2f} s {verdict(spent < 1)}")
    rng = random.Random(1)
    long = [{"text": text(rng, 100_000)} for _ in range(5)]
    print(f"5 different texts of 100 kB: {seconds(lambda: merge(long), 1):.2f} s")
    speed_of_lists()


def speed_of_records() -> None:
    """Different records one after the other: k-llms remembers how alike two texts are, and would only look it up."""
    records = [flat_revisions(50, 5, seed=seed) for seed in range(40)]
    own = milliseconds_each(records, lambda revisions: merge(revisions).fields["field_7"])
    print(f"\n5 revisions of 50 fields with 40-character texts: {own:.2f} ms, the value and one field read")
    print(f"  with every field read {milliseconds_each(records, lambda each: dict(merge(each).fields)):8.2f} ms")
    print(f"  one vote each {milliseconds_each(records, lambda each: merge(each, weights=None)):16.2f} ms")
    for peer in peers.REQUIREMENTS:
        for name, (spent, _) in (peers.ask(peer, records) or {}).items():
            each = spent * 1e3 / len(records)
            print(f"  {name:22}{each:8.2f} ms, ×{each / own:.1f} {verdict(each >= 20 * own)}")


def milliseconds_each(records: list[Any], read: Callable[[Any], Any]) -> float:
    """Processor time of one merge among many, measured as that of the peers is."""
    start = time.process_time()
    for revisions in records:
        read(revisions)
    return (time.process_time() - start) * 1e3 / len(records)


def speed_of_lists() -> None:
    print("5 revisions of a shuffled list of 5-field records, 5% noise:")
    before = None
    for items in (10, 30, 100, 300, 1000, 3000):
        lists = item_lists(items)
        spent = seconds(lambda: merge(lists), 2)  # noqa: B023 - called at once
        growth = "" if before is None else f"  time ×{spent / before[1]:.1f} for items ×{items / before[0]:.1f}"
        print(f"  {items:5} items {spent * 1e3:8.1f} ms {verdict(spent < 2) if items == 1000 else '':5}{growth}")
        before = (items, spent)
    peak = peak_memory(lambda: merge(item_lists(1000)))
    print(f"peak memory with 1,000 items: {peak / 1e6:.0f} MB {verdict(peak < 500e6)}")
    for peer in peers.REQUIREMENTS:
        for items in (30, 100):
            lists = item_lists(items)
            own = seconds(lambda: merge(lists), 3)  # noqa: B023 - called at once
            for name, (spent, _) in (peers.ask(peer, [lists]) or {}).items():
                print(f"  {items:4} items, {name:22}{spent * 1e3:9.1f} ms, ×{spent / own:.1f}")


def main() -> None:
    seeds = range(int(sys.argv[sys.argv.index("--seeds") + 1])) if "--seeds" in sys.argv else SEEDS
    speed()
    several_models(seeds)
    quality(seeds)


if __name__ == "__main__":
    main()
