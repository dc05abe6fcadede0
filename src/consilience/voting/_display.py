"""Display: a result for a log, and for a notebook."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from ._excerpts import excerpt_value, plural

if TYPE_CHECKING:
    from ._result import VoteResult

__all__ = ["explain", "html"]

_MOST_ANSWERS = 10


def explain(result: VoteResult) -> str:
    """The decision, the counts, and each failure code with its number, a line each."""
    verdict = f"abstained ({result.reason})" if result.abstained else "decided"
    lines = [
        f"{verdict}: {result.detail}",
        f"agreement {result.agreement:.2f}, {result.num_valid} of {plural(result.num_samples, 'sample')} valid",
    ]
    if result.counts:
        lines.append("votes: " + ", ".join(f"{excerpt_value(value)} × {votes}" for value, votes in _shown(result)))
        lines[-1] += _hidden(result)
    failures = _failures(result)
    if failures:
        lines.append("failures: " + ", ".join(f"{code} × {number}" for code, number in failures))
    if result.stopped_early:
        lines.append(f"stopped by {result.stopped_by} after {result.num_samples} of {plural(result.n_planned, 'call')}")
    if result.abandoned:
        lines.append(f"calls still running: {result.abandoned}")
    return "\n".join(lines)


def html(result: VoteResult) -> str:
    """A table with a bar for each answer, longest first."""
    heading = f"abstained: {result.reason}" if result.abstained else f"decided: {excerpt_value(result.value)}"
    most = max((votes for _, votes in result.counts), default=1)
    rows = [_row(excerpt_value(value), votes, most, "#4c78a8") for value, votes in _shown(result)]
    rows += [_row(code, number, max(most, number), "#bbbbbb") for code, number in _failures(result)]
    return (
        f"<div><b>{escape(heading)}</b><br><span>{escape(result.detail)}{escape(_hidden(result))}</span>"
        f"<table>{''.join(rows)}</table></div>"
    )


def _row(label: str, number: int, most: int, colour: str) -> str:
    bar = f'<div style="background:{colour};height:1em;width:{200 * number // most}px"></div>'
    return f'<tr><td style="text-align:left">{escape(label)}</td><td>{number}</td><td>{bar}</td></tr>'


def _shown(result: VoteResult) -> tuple[tuple[object, int], ...]:
    return result.counts[:_MOST_ANSWERS]


def _hidden(result: VoteResult) -> str:
    hidden = len(result.counts) - _MOST_ANSWERS
    return f" (and {hidden} more answers)" if hidden > 0 else ""


def _failures(result: VoteResult) -> list[tuple[str, int]]:
    return Counter(sample.code for sample in result.samples if sample.code is not None).most_common()
