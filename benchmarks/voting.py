"""Cost of a vote beyond reading: an instant sampler, a tally of 100,000 replies, a bare Counter loop beside them."""

from __future__ import annotations

import random
import re
from collections import Counter

from benchmarks._measuring import peak_memory, seconds, verdict
from consilience import extract_json, tally, vote

N = 2_000
REPLIES = 100_000
TEAM = re.compile(r'"team"\s*:\s*"([^"]*)"')


def replies(count: int) -> list[str]:
    chance = random.Random(0)
    teams = ["billing", "billing", "billing", "shipping", "returns"]
    return [f'{{"team": "{chance.choice(teams)}", "confidence": 0.{chance.randint(10, 99)}}}' for _ in range(count)]


def counter_loop(texts: list[str]) -> str | None:
    votes = Counter(match.group(1) for text in texts if (match := TEAM.search(text)))
    answer, count = votes.most_common(1)[0]
    return answer if count / len(texts) >= 0.5 else None


def main() -> None:
    texts = replies(N)
    script = iter(())

    def sampler(_prompt: str) -> str:
        return next(script)

    def run(**options: object) -> int:
        """One vote; returns how many samples it drew."""
        nonlocal script
        script = iter(texts)
        return vote(sampler, "?", n=N, key="team", **options).num_samples  # type: ignore[arg-type]

    reading = seconds(lambda: [extract_json(text) for text in texts], 5) / N * 1e6
    loop = seconds(lambda: counter_loop(texts), 5) / N * 1e6
    print(f"{'reading alone':44} {reading:6.1f} µs a sample")
    print(f"{'a bare Counter loop with a regex':44} {loop:6.1f} µs a sample")
    for name, options in {
        "vote, instant sampler": {},
        "vote with confidence and early stop": {
            "confidence_field": "confidence",
            "early_stop": True,
            "min_agreement": 0.5,
        },
        "vote in 4 threads": {"concurrency": 4},
    }.items():
        whole = seconds(lambda options=options: run(**options), 5) / run(**options) * 1e6
        beyond = whole - reading
        target = (
            f"beyond reading {beyond:6.1f} (at most 30) {verdict(beyond <= 30)}"
            if not options
            else f"beyond reading {beyond:6.1f}"
        )
        print(f"{name:44} {whole:6.1f} µs a sample, {target}, {whole / loop:.1f} times the loop")

    many = replies(REPLIES)
    took = seconds(lambda: tally(many, key="team"), 2)
    half = seconds(lambda: tally(many[: REPLIES // 2], key="team"), 2)
    memory = peak_memory(lambda: tally(many, key="team"))
    half_memory = peak_memory(lambda: tally(many[: REPLIES // 2], key="team"))
    print(
        f"tally of {REPLIES:,} replies: {took:.2f} s (at most 3) {verdict(took <= 3)}, {took / half:.2f} times the half"
    )
    print(f"memory {memory / REPLIES:.0f} bytes a reply, {memory / half_memory:.2f} times the half")


if __name__ == "__main__":
    main()
