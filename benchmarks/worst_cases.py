"""Hostile replies of one megabyte: time must grow linearly and stay under a second, memory under 20 times the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from benchmarks._measuring import peak_memory, seconds, verdict
from consilience import iter_json_candidates

MEGABYTE = 1_000_000

# Those that are named first are the ones with a target; the others are kinds that once were, or could be, quadratic.
NAMED: dict[str, Callable[[int], str]] = {
    "[": lambda n: "[" * n,
    "{": lambda n: "{" * n,
    "[x": lambda n: "[x" * (n // 2),
    '{"a":': lambda n: '{"a":' * (n // 5),
    '"\\"': lambda n: '"\\"' * (n // 3),
    '{"\\"': lambda n: '{"' + '\\"' * (n // 2),
    "```": lambda n: "```" * (n // 3),
    "alternating fences": lambda n: "```\n~~~\n" * (n // 8),
    "alternating fences on one line": lambda n: "``` ~~~ " * (n // 8),
    "one string": lambda n: '{"a": "' + "x" * n + '"}',
    "100,000 small objects": lambda n: " ".join('{"a":%5d}' % i for i in range(n // 10)),
}
OTHERS: dict[str, Callable[[int], str]] = {
    "half objects": lambda n: '{"a": ' * (n // 6),
    "broken objects": lambda n: '{"a": x ' * (n // 8),
    "objects in a broken one": lambda n: '{"a": x ' + '{"b": 1} ' * (n // 9),
    "array of small objects": lambda n: "[" + ",".join(['{"a": 1}'] * (n // 9)) + "]",
    "the same with a comma too many": lambda n: "[" + ",".join(['{"a": 1}'] * (n // 9)) + ",]",
    "citations on one line": lambda n: "[1] " * (n // 4),
    '["x': lambda n: '["x' * (n // 3),
    "[/*": lambda n: "[/*" * (n // 3) + '*/ "' + "y" * n + '" x',
    "<think>": lambda n: "<think>" * (n // 7),
    "end of reasoning in strings": lambda n: '{"a":"</think>' * (n // 14),
    "{'a':": lambda n: "{'a': " * (n // 6),
    "apostrophes in a broken object": lambda n: "{'a': 'x" + "'" * n,
    "quotes in a broken object": lambda n: '{"a": x' + '"\\"' * (n // 3),
    "digits": lambda n: "[1" + "1" * n + "]",
    "runs of digits": lambda n: "[1," + ("1" * 4200 + ",") * (n // 4201) + "1]",
    "space": lambda n: "[" + " " * n + "x",
    "{&quot;": lambda n: "{&quot;a" * (n // 8),
    "line breaks in strings": lambda n: '{"a": "\n' * (n // 9),
    "stray backslashes": lambda n: '{"a": "\\(' * (n // 9),
}


def drain(text: str, repair: bool | str) -> None:
    deque(iter_json_candidates(text, repair=repair), maxlen=0)  # type: ignore[arg-type]


def main() -> None:
    print(f"{'reply':32} {'level':8} {'1 MB':>9} {'2 MB / 1 MB':>12} {'memory / input':>15}")
    for group, cases in (("named", NAMED), ("others", OTHERS)):
        for name, make in cases.items():
            for level in (False, "lenient"):
                text, double = make(MEGABYTE), make(2 * MEGABYTE)
                one = seconds(lambda text=text, level=level: drain(text, level))
                growth = seconds(lambda double=double, level=level: drain(double, level)) / one
                memory = peak_memory(lambda text=text, level=level: drain(text, level)) / len(text)
                holds = one < 1 and memory < 20 and (growth < 2.3 or one < 0.005)
                shown = verdict(holds) if group == "named" else ""
                print(f"{name:32} {level or 'strict':8} {one * 1e3:6.0f} ms {growth:12.2f} {memory:15.1f} {shown}")


if __name__ == "__main__":
    main()
