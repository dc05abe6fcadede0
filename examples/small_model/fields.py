"""The fields: one reply against the consensus of all replies, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from consilience import ConsensusResult, Path, Reply, ReviewItem, Sample, VoteResult, ballot, consensus, flatten
from consilience.testing import ReplaySampler

from .report import Score
from .tasks import Case, Task

_NAME_WIDTH = 14

Judge = Callable[[Case, ConsensusResult], bool | None]
"""Whether the answer to a text is right; None for no answer."""


@dataclass(frozen=True, slots=True)
class MergedCase:
    """A text with the consensus of its replies, and with each reply alone, read by the same rules."""

    case: Case
    merged: ConsensusResult
    singles: tuple[ConsensusResult, ...]

    @classmethod
    def of(cls, task: Task, case: Case, result: VoteResult) -> MergedCase:
        """Merge the replies of a vote."""
        singles = tuple(merge_replies(task, case.text, [sample]) for sample in result.samples)
        return cls(case, merge_replies(task, case.text, result.samples), singles)


def merge_replies(task: Task, text: str, samples: Sequence[Sample]) -> ConsensusResult:
    """The consensus of replies that are there already: no call is made.

    They are read once more: where one field is bad, a consensus keeps the others, but a vote rejects the whole reply.
    """
    replies = [sample.raw if isinstance(sample.raw, Reply) else RuntimeError(sample.error) for sample in samples]
    return consensus(ReplaySampler(replies), text, settings=task.consensus, n=len(replies))


def show_consensus(task: Task, results: Sequence[VoteResult]) -> str:
    """The merged records, what to check in them by hand, and what merging was worth for each field.

    Args:
        task: a task that says how to merge.
        results: the votes on its texts, whose replies are merged.
    """
    cases = [MergedCase.of(task, case, result) for case, result in zip(task.cases, results, strict=True)]
    lines = ["Consensus: the same replies merged field by field, no further calls"]
    for each in cases:
        lines += ["", each.case.text, *_merged_lines(each)]
    lines.append("")
    for path in _gold_leaves(task.cases[0]):
        lines += _compared(str(path), partial(field_verdict, path=path), cases)
    return "\n".join([*lines, *_compared("whole record", record_verdict, cases)])


def field_verdict(case: Case, result: ConsensusResult, path: Path) -> bool | None:
    """Whether one field is right; None if it was left out."""
    fields = flatten(result.partial)
    return ballot(fields[path]) == ballot(_gold_leaves(case)[path]) if path in fields else None


def record_verdict(case: Case, result: ConsensusResult) -> bool | None:
    """Whether the whole record is right; None if some of it found no agreement."""
    return ballot(result.value) == ballot(case.gold) if result.decided else None


def _merged_lines(each: MergedCase) -> list[str]:
    record, result = json.dumps(each.merged.partial, ensure_ascii=False), each.merged
    if result.abstained:
        lines = [f"  partial    {record}", f"  abstained  {result.reason}: {result.detail}"]
    else:
        lines = [f"  merged     {record}: {'right' if record_verdict(each.case, result) else 'WRONG'}"]
    return lines + [_check_line(item) for item in result.needs_review(below=0.8)]


def _check_line(item: ReviewItem) -> str:
    seen = (f"{'absent' if each.absent else repr(each.value)} {len(each.revisions)}" for each in item.candidates)
    return f"  check      {item.path!s:{_NAME_WIDTH}} {item.status}, agreement {item.agreement:.2f}: {', '.join(seen)}"


def _compared(name: str, judge: Judge, cases: Sequence[MergedCase]) -> list[str]:
    """A field, or the whole record: one reply and the consensus of all."""
    alone = [[judge(each.case, single) for single in each.singles] for each in cases]
    average = sum(verdicts.count(True) / len(verdicts) for verdicts in alone) / len(cases)
    return [
        f"  {name:{_NAME_WIDTH}} an average reply is right {average:.0%} of the time",
        f"    single shot              {Score.of(verdicts[0] for verdicts in alone)}",
        f"    consensus                {Score.of(judge(each.case, each.merged) for each in cases)}",
    ]


def _gold_leaves(case: Case) -> dict[Path, Any]:
    return flatten(case.gold.model_dump(mode="json"))
