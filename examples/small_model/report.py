"""The report: one text with its vote, and what voting was worth over all texts of a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from consilience import Reply, Sample, VoteResult, ballot, tally

from .tasks import Case, Task, as_json

_REPLY_WIDTH = 120
"""Characters of a reply that are shown."""


@dataclass(frozen=True, slots=True)
class Score:
    """How many texts an answerer got right and wrong, and on how many it gave no answer."""

    right: int
    wrong: int
    unanswered: int

    @classmethod
    def of(cls, verdicts: Iterable[bool | None]) -> Score:
        """Count verdicts: right, wrong, or None for no answer."""
        counts = Counter(verdicts)
        return cls(counts[True], counts[False], counts[None])

    @property
    def accuracy(self) -> float | None:
        """The share of right answers among the answers; None if there were none."""
        answered = self.right + self.wrong
        return self.right / answered if answered else None

    def __str__(self) -> str:
        accuracy = "-" if self.accuracy is None else f"{self.accuracy:.0%}"
        return f"{self.right:5} right {self.wrong:5} wrong {self.unanswered:5} no answer   {accuracy:>4} of the answers"


def show_case(case: Case, result: VoteResult) -> str:
    """The replies to one text, the counts, and the decision."""
    lines = [case.text, *_reply_lines(result.samples), f"  counts     {_counts(result)}"]
    if result.field_agreement and isinstance(case.gold, BaseModel):
        shares = (f"{name} {share:.2f}" for name, share in result.field_agreement.items())
        lines.append(f"  per field  {', '.join(shares)}")
    lines.append(f"  {_decision(case, result)}")
    saved = result.n_planned - result.num_samples
    lines.append(f"  calls      {result.num_samples} of {result.n_planned}" + (f", {saved} saved" if saved else ""))
    return "\n".join(lines)


def show_summary(task: Task, results: Sequence[VoteResult]) -> str:
    """One reply against the vote, abstentions by reason, failed replies by code, calls saved."""
    pairs = list(zip(task.cases, results, strict=True))
    single = Score.of(first_verdict(case, result) for case, result in pairs)
    voted = Score.of(verdict(case, result) for case, result in pairs)
    share = sum(right_share(case, result) for case, result in pairs) / len(pairs)
    drawn, planned = sum(r.num_samples for r in results), sum(r.n_planned for r in results)
    reasons = Counter(str(result.reason) for result in results if result.abstained)
    codes = Counter(str(sample.code) for result in results for sample in result.samples if not sample.ok)
    lines = [
        f"Summary of {len(results)} texts",
        f"  single shot (first reply)  {single}",
        f"  voted                      {voted}",
        f"  an average reply is right  {share:.0%} of the time",
        f"  abstentions                {_by_number(reasons)}",
        f"  failed replies             {_by_number(codes)} of {drawn}",
        f"  calls                      {drawn} of {planned}, {planned - drawn} saved by early stop",
    ]
    if task.fields:
        lines += ["", "Field by field: the same replies counted again, no further calls"]
        lines += [_field_line(task, name, pairs) for name in task.fields]
    return "\n".join(lines)


def verdict(case: Case, result: VoteResult) -> bool | None:
    """Whether the decision is right; None for an abstention."""
    return _same(result.value, case.gold) if result.decided else None


def first_verdict(case: Case, result: VoteResult) -> bool | None:
    """What a program without a vote would have got: whether the first reply is right; None if it cannot be read."""
    first = result.samples[0]
    return _same(first.vote, case.gold) if first.ok else None


def right_share(case: Case, result: VoteResult) -> float:
    """The share of right replies among those drawn."""
    return sum(sample.ok and _same(sample.vote, case.gold) for sample in result.samples) / result.num_samples


def _same(value: Any, gold: Any) -> bool:
    return ballot(value) == ballot(gold)


def _reply_lines(samples: Sequence[Sample]) -> list[str]:
    """The replies, equal ones once, with the codes of those that failed."""
    replies = Counter((sample.code or "ok", _shorten(_said(sample))) for sample in samples)
    return [f"  {number} x  {code:9} {text}" for (code, text), number in replies.items()]


def _said(sample: Sample) -> Any:
    """The reply's text, or the error where there was no reply."""
    return sample.raw.content if isinstance(sample.raw, Reply) else sample.error


def _counts(result: VoteResult) -> str:
    if any(isinstance(value, BaseModel) for value, _ in result.counts):
        numbers = " + ".join(str(number) for _, number in result.counts)
        return (
            f"{numbers} for {len(result.counts)} different answers"
            if len(result.counts) > 1
            else f"{numbers} for one answer"
        )
    return ", ".join(f"{value} {number}" for value, number in result.counts) or "no votes"


def _decision(case: Case, result: VoteResult) -> str:
    if result.decided:
        confidence = "" if result.confidence is None else f", confidence {result.confidence:.2f}"
        mark = "right" if verdict(case, result) else "WRONG"
        return f"decision   {_plain(result.value)} (agreement {result.agreement:.2f}{confidence}): {mark}"
    return f"abstained  {result.reason}: {result.detail}"


def _field_line(task: Task, name: str, pairs: Sequence[tuple[Case, VoteResult]]) -> str:
    """Vote on one field alone, with the replies at hand."""
    settings = replace(task.settings, key=name)
    cases = [Case(case.text, getattr(case.gold, name)) for case, _ in pairs]
    recounted = [tally(result.samples, settings=settings) for _, result in pairs]
    agreement = sum(result.field_agreement.get(name, 0.0) for _, result in pairs) / len(pairs)

    def score(judge: Callable[[Case, VoteResult], bool | None]) -> Score:
        return Score.of(map(judge, cases, recounted))

    return (
        f"  {name:9} mean agreement {agreement:.2f}\n"
        f"    single shot              {score(first_verdict)}\n"
        f"    voted                    {score(verdict)}"
    )


def _by_number(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "none"


def _plain(value: Any) -> str:
    if isinstance(value, BaseModel):
        return as_json(value)
    return str(value)


def _shorten(text: Any, width: int = _REPLY_WIDTH) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
