"""Display: the result of a consensus for a log, and for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..voting._display import AGREED, FAILED, bar, ending_lines, failures, table, verdict
from ..voting._excerpts import excerpt, excerpt_value, plural

if TYPE_CHECKING:
    from ._fields import Candidate
    from ._result import ConsensusResult, ReviewItem

__all__ = ["explain", "html"]

_MOST_FIELDS = 10
_MOST_CANDIDATES = 5


def explain(result: ConsensusResult) -> str:
    """The decision, the fields to check with their candidates, and what went wrong, a line each."""
    review = result.needs_review()
    lines = [
        f"{verdict(result)}: {result.detail}",
        f"confidence {result.consensus_confidence_score:.2f}, "
        f"{result.num_valid} of {plural(result.num_samples, 'sample')} valid",
        *(f"check {_place(item)}: {_candidates(item)}" for item in review[:_MOST_FIELDS]),
    ]
    if len(review) > _MOST_FIELDS:
        lines.append(f"check {plural(len(review) - _MOST_FIELDS, 'more field')}")
    return "\n".join([*lines, *_notes(result), *ending_lines(result)])


def _notes(result: ConsensusResult) -> list[str]:
    notes = []
    if result.constraints_met is False:
        limit = ", the limit" if result.repair_limit_hit else ""
        notes.append(f"constraints not met: {plural(result.repairs_tried, 'combination')} tried{limit}")
    if result.fields_dropped:
        notes.append(f"dropped because they do not fit the schema: {plural(result.fields_dropped, 'value')}")
    if result.unmatched:
        notes.append(f"matched no field: {', '.join(map(excerpt, result.unmatched))}")
    return notes


def _place(item: ReviewItem) -> str:
    return f"{excerpt(str(item.path))} ({item.status}, {item.agreement:.2f})"


def _candidates(item: ReviewItem) -> str:
    shown = ", ".join(map(_candidate, item.candidates[:_MOST_CANDIDATES]))
    hidden = len(item.candidates) - _MOST_CANDIDATES
    return f"{shown} (and {hidden} more)" if hidden > 0 else shown


def _candidate(candidate: Candidate) -> str:
    value = "absent" if candidate.absent else excerpt_value(candidate.value)
    return f"{value} × {len(candidate.revisions)}"


def html(result: ConsensusResult) -> str:
    """A table with a bar for the agreement on each field to check, worst first."""
    heading = f"abstained: {result.reason}" if result.abstained else f"decided: {excerpt_value(result.partial)}"
    review = result.needs_review()
    rows = [_row(item) for item in review[:_MOST_FIELDS]]
    failed = failures(result.samples)
    rows += [bar(code, str(number), number / result.num_samples, FAILED) for code, number in failed]
    hidden = len(review) - _MOST_FIELDS
    return table(heading, result.detail + (f" (and {hidden} more to check)" if hidden > 0 else ""), rows)


def _row(item: ReviewItem) -> str:
    return bar(f"{_place(item)}: {_candidates(item)}", f"{item.agreement:.2f}", item.agreement, AGREED)
