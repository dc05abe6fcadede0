"""Reading recorded replies of twelve models, beside json_repair, LangChain's parser and json.loads.

A reply counts for the yield when an object with ``answer`` comes out, and is correct when its number equals the gold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from benchmarks._measuring import recorded, seconds, verdict
from consilience import extract_json


def has_answer(record: Any) -> bool:
    return isinstance(record, dict) and "answer" in record


def number(value: Any) -> float | None:
    """The last number in an answer, as the recorded figures were taken."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    found = re.findall(r"-?\d[\d,]*\.?\d*", str(value))
    return float(found[-1].replace(",", "").rstrip(".")) if found else None


def readers() -> dict[str, Callable[[str], Any]]:
    import json_repair
    from langchain_core.utils.json import parse_json_markdown

    return {
        "json.loads": json.loads,
        "langchain-core parse_json_markdown": parse_json_markdown,
        "json_repair": json_repair.loads,
        "consilience": extract_json,
        'consilience repair="lenient"': lambda reply: extract_json(reply, has_answer, repair="lenient"),
        "consilience repair=True": lambda reply: extract_json(reply, has_answer, repair=True),
    }


def read_all(reader: Callable[[str], Any], rows: list[dict[str, Any]]) -> list[Any]:
    return [read_one(reader, row["reply"]) for row in rows]


def read_one(reader: Callable[[str], Any], reply: str) -> Any:
    try:
        return reader(reply)
    except Exception:  # peers raise on replies that they cannot read
        return None


def main() -> None:
    rows = recorded("gsm_json_replies.jsonl.gz")
    if rows is None:
        return
    figures = {}
    print(f"{'reader':36} {'yield':>7} {'correct':>8} {'µs a reply':>11}")
    for name, reader in readers().items():
        results = read_all(reader, rows)
        answers = [
            (number(each["answer"]), number(row["gold"]))
            for each, row in zip(results, rows, strict=True)
            if has_answer(each)
        ]
        found = len(answers) / len(rows)
        correct = sum(answer is not None and answer == gold for answer, gold in answers) / len(rows)
        micros = seconds(lambda reader=reader: read_all(reader, rows), repeat=5) / len(rows) * 1e6
        figures[name] = found, correct, micros
        print(f"{name:36} {found:7.4f} {correct:8.4f} {micros:11.1f}")
    strict = figures["consilience"][2]
    to_repair = strict / figures["json_repair"][2]
    to_langchain = strict / figures["langchain-core parse_json_markdown"][2]
    lenient, repaired = figures['consilience repair="lenient"'], figures["consilience repair=True"]
    print(f"strict / json_repair: {to_repair:.3f} (at most 0.100) {verdict(to_repair <= 0.1)}")
    print(f"strict / langchain-core: {to_langchain:.3f} (at most 0.167) {verdict(to_langchain <= 1 / 6)}")
    print(f"lenient yield: {lenient[0]:.4f} (at least 0.985) {verdict(lenient[0] >= 0.985)}")
    print(f"repair yield: {repaired[0]:.4f} (at least 0.990) {verdict(repaired[0] >= 0.99)}")
    peer = figures["json_repair"][1]
    print(f"repair correct: {repaired[1]:.4f} (json_repair {peer:.4f}) {verdict(repaired[1] >= peer)}")


if __name__ == "__main__":
    main()
