"""Analytics: what many runs add up to."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..voting._result import VoteResult
from ._result import ConsensusResult

__all__ = ["WorkflowAnalyticsCollector"]

_METRICS = (
    "revisions_processed",
    "unique_paths_considered",
    "paths_in_consensus_output",
    "paths_agreed_by_threshold",
    "paths_resolved_by_conflict_resolver",
    "paths_omitted",
    "consensus_confidence_score",
    "average_string_similarity",
)


class WorkflowAnalyticsCollector:
    """Gathers calls, errors, tokens and consensus metrics over many runs, from any thread.

    Example:
        >>> from consilience.merging import merge
        >>> collector = WorkflowAnalyticsCollector()
        >>> collector.record(merge([{"ram": 16}, {"ram": 16}, {"ram": 32}]))
        >>> collector.record_event("retrieval", documents=3)
        >>> summary = collector.summary()
        >>> summary["runs"], summary["calls"], summary["events"], summary["means"]["unique_paths_considered"]
        (1, 3, {'retrieval': 1}, 1.0)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def record(self, result: ConsensusResult | VoteResult) -> None:
        """Add a result: its samples, its tokens, and of a consensus its analytics.

        Raises:
            TypeError: it is not a result.
        """
        if not isinstance(result, ConsensusResult | VoteResult):
            raise TypeError(f"record takes a ConsensusResult or a VoteResult, got {type(result).__name__}")
        errors = Counter(sample.code for sample in result.samples if sample.code is not None)
        run: dict[str, Any] = {
            "calls": len(result.samples),
            "failed": sum(errors.values()),
            "errors": dict(errors),
            "usage": dict(result.usage or {}),
            "abstained": result.abstained,
            "reason": result.reason,
            "stopped_early": result.stopped_early,
            "elapsed": result.elapsed,
        }
        if isinstance(result, ConsensusResult):
            run["consensus"] = {name: getattr(result, name) for name in _METRICS}
        with self._lock:
            self._runs.append(run)

    def record_event(self, name: str, **data: Any) -> None:
        """Add an event of your own, with any data.

        Raises:
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {type(name).__name__}")
        with self._lock:
            self._events.append({"name": name, **data})

    def summary(self) -> dict[str, Any]:
        """Totals and means over all runs.

        Returns:
            ``runs``, ``calls``, ``calls_failed``, ``errors`` by code, ``tokens`` by name, ``abstained`` by reason,
            ``events`` by name, and the ``means`` of the consensus metrics (of the runs that have them).
        """
        runs, events = self._snapshot()
        metrics = [run["consensus"] for run in runs if "consensus" in run]
        return {
            "runs": len(runs),
            "calls": sum(run["calls"] for run in runs),
            "calls_failed": sum(run["failed"] for run in runs),
            "errors": dict(sum((Counter(run["errors"]) for run in runs), Counter())),
            "tokens": _totals([run["usage"] for run in runs]),
            "abstained": dict(Counter(run["reason"] for run in runs if run["abstained"])),
            "stopped_early": sum(run["stopped_early"] for run in runs),
            "elapsed": sum(run["elapsed"] for run in runs),
            "events": dict(Counter(event["name"] for event in events)),
            "means": {name: mean for name in _METRICS if (mean := _mean(metrics, name)) is not None},
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything: the summary, every run and every event, in the order in which they were recorded."""
        runs, events = self._snapshot()
        return {"summary": self.summary(), "runs": runs, "events": events}

    def _snapshot(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        with self._lock:
            return [dict(run) for run in self._runs], [dict(event) for event in self._events]


def _totals(usages: list[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for usage in usages:
        for name, number in usage.items():
            if isinstance(number, int | float):
                total[name] = total.get(name, 0) + number
    return total


def _mean(metrics: list[Mapping[str, Any]], name: str) -> float | None:
    numbers = [entry[name] for entry in metrics if entry[name] is not None]
    return sum(numbers) / len(numbers) if numbers else None
