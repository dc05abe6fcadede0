"""What the benchmarks share: timing, memory, recorded data, rows with targets."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[2] / "shared" / "data"


def recorded(name: str) -> list[dict[str, Any]] | None:
    """Rows of a recorded data set; None, with a message, where it is not on this machine."""
    path = RECORDED / name
    if not path.exists():
        print(f"skipped: the recorded replies {name} are not on this machine")
        return None
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()]


def seconds(call: Callable[[], Any], repeat: int = 3) -> float:
    """Least processor time of several runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def peak_memory(call: Callable[[], Any]) -> int:
    """Most bytes allocated at once during a call, beyond what there was before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def verdict(holds: bool) -> str:
    return "ok" if holds else "MISS"
