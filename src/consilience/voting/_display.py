"""Display: a result for a log, and for a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Protocol

from ..replies._reply import Reply
from ._excerpts import excerpt, excerpt_value, plural
from ._sample import Sample

if TYPE_CHECKING:
    from ._result import VoteResult

__all__ = [
    "AGREED",
    "FAILED",
    "Outcome",
    "bar",
    "ending_lines",
    "explain",
    "failures",
    "html",
    "result_line",
    "sample_line",
    "table",
    "verdict",
]

AGREED, FAILED = "#4c78a8", "#bbbbbb"
"""The colours of bars."""

_MOST_ANSWERS = 10


class Outcome(Protocol):
    """What the results of all verbs have in common."""

    @property
    def id(self) -> str: ...
    @property
    def abstained(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def detail(self) -> str: ...
    @property
    def samples(self) -> Sequence[Sample]: ...
    @property
    def n_planned(self) -> int: ...
    @property
    def stopped_early(self) -> bool: ...
    @property
    def stopped_by(self) -> str | None: ...
    @property
    def abandoned(self) -> int: ...


def sample_line(sample: Sample, verb: str, said: object) -> str:
    """A sample in one line of a log; ``verb`` and ``said`` are what became of it if it is valid."""
    outcome = f"{verb} {excerpt_value(said)}" if sample.ok else f"failed, {excerpt(sample.error or '')}"
    source = "" if sample.source is None else f" from {excerpt(sample.source)}"
    content = sample.raw.content if isinstance(sample.raw, Reply) else sample.raw
    return f"sample {sample.index}{source} {outcome}; reply {excerpt_value(content, 80)}"


def result_line(verb: str, result: Outcome) -> str:
    """A result in one line of a log."""
    samples = plural(result.n_planned, "sample")
    return f"{verb} {result.id} {verdict(result)}: {result.detail} ({len(result.samples)} of {samples})"


def explain(result: VoteResult) -> str:
    """The decision, the counts, and each failure code with its number, a line each."""
    lines = [
        f"{verdict(result)}: {result.detail}",
        f"agreement {result.agreement:.2f}, {result.num_valid} of {plural(result.num_samples, 'sample')} valid",
    ]
    if result.counts:
        lines.append("votes: " + ", ".join(f"{excerpt_value(value)} × {votes}" for value, votes in _shown(result)))
        lines[-1] += _hidden(result)
    return "\n".join([*lines, *ending_lines(result)])


def verdict(result: Outcome) -> str:
    """Whether there is a decision, in one or two words."""
    return f"abstained ({result.reason})" if result.abstained else "decided"


def ending_lines(result: Outcome) -> list[str]:
    """What went wrong with samples, and how the run came to its end."""
    lines = []
    failed = failures(result.samples)
    if failed:
        lines.append("failures: " + ", ".join(f"{code} × {number}" for code, number in failed))
    if result.stopped_early:
        drawn = f"{len(result.samples)} of {plural(result.n_planned, 'call')}"
        lines.append(f"stopped by {result.stopped_by} after {drawn}")
    if result.abandoned:
        lines.append(f"calls still running: {result.abandoned}")
    return lines


def failures(samples: Iterable[Sample]) -> list[tuple[str, int]]:
    """Each failure code with its number, most first."""
    return Counter(sample.code for sample in samples if sample.code is not None).most_common()


def html(result: VoteResult) -> str:
    """A table with a bar for each answer, longest first."""
    heading = f"abstained: {result.reason}" if result.abstained else f"decided: {excerpt_value(result.value)}"
    most = max((votes for _, votes in result.counts), default=1)
    rows = [bar(excerpt_value(value), str(votes), votes / most, AGREED) for value, votes in _shown(result)]
    rows += [bar(code, str(number), number / max(most, number), FAILED) for code, number in failures(result.samples)]
    return table(heading, result.detail + _hidden(result), rows)


def table(heading: str, detail: str, rows: Iterable[str]) -> str:
    """A heading, a sentence, and rows made by ``bar``, as HTML."""
    return f"<div><b>{escape(heading)}</b><br><span>{escape(detail)}</span><table>{''.join(rows)}</table></div>"


def bar(label: str, number: str, share: float, colour: str) -> str:
    """A row of a table: what it is about, how much of it there is, and a bar of that length (0 to 1)."""
    drawn = f'<div style="background:{colour};height:1em;width:{int(200 * share)}px"></div>'
    return f'<tr><td style="text-align:left">{escape(label)}</td><td>{escape(number)}</td><td>{drawn}</td></tr>'


def _shown(result: VoteResult) -> tuple[tuple[object, int], ...]:
    return result.counts[:_MOST_ANSWERS]


def _hidden(result: VoteResult) -> str:
    hidden = len(result.counts) - _MOST_ANSWERS
    return f" (and {hidden} more answers)" if hidden > 0 else ""
