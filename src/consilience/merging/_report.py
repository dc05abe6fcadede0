"""The report on a decision: every field with its candidates, and what the numbers add up to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from .._canonical import canonical_text
from ..evidence._corroboration import corroborated
from ._decision import UNIT
from ._electorate import Electorate
from ._fields import Candidate, FieldConsensus, Fields
from ._options import ABSENT, Branch, Decision, Option, Status, assemble_value, is_kept, taken
from ._paths import Path
from ._resolvers import OMIT

__all__ = ["Report", "Witnesses", "report"]


@dataclass(frozen=True, slots=True)
class Report:
    """The fields of a merged record, and the analytics over them."""

    fields: Fields
    considered: int
    in_output: int
    agreed: int
    resolved: int
    omitted: int
    lacking_sources: int
    confidence: float
    string_similarity: float | None


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who is behind the revisions, and how sure each was: the sources and the confidences that were named."""

    electorate: Electorate
    named: Mapping[int, str]
    confidences: Mapping[int, float]

    def sources(self, option: Option) -> tuple[str, ...]:
        """The named sources that support an option."""
        if not self.named:
            return ()
        return tuple(sorted({self.named[r] for r in option.speakers if r in self.named}))

    def corroboration(self, option: Option) -> float | None:
        """What those who gave this answer are worth together; None without confidences."""
        if not self.confidences:
            return None
        return corroborated((self.named.get(r), self.confidences.get(r)) for r in option.revisions)


def report(root: Decision, choices: Mapping[int, int], witnesses: Witnesses) -> Report:
    """Describe how every field was decided.

    Args:
        root: the decision on the whole record.
        choices: ``id`` of a decision -> the option that the constraints made it take.
        witnesses: who is behind the revisions.
    """
    places = list(_walk(root, Path(), choices))
    counted = [place for place in places if place.is_leaf]
    decisions = [place.decision for place in counted]
    statuses = Counter(place.status for place in counted)
    return Report(
        fields=Fields({place.path: partial(_field, place, choices, witnesses) for place in places}),
        considered=len(counted),
        in_output=sum(place.status != Status.OMITTED and is_kept(place.decision, choices) for place in counted),
        agreed=statuses[Status.UNANIMOUS] + statuses[Status.AGREED],
        resolved=statuses[Status.RESOLVED],
        omitted=statuses[Status.OMITTED],
        lacking_sources=sum(place.lacks_sources for place in counted),
        confidence=_mean_agreement(decisions),
        string_similarity=_mean([each.likeness for each in decisions if each.likeness is not None]),
    )


class _Place(NamedTuple):
    """A field of the report: a leaf, or a container that not all revisions have."""

    path: Path
    decision: Decision
    status: str
    is_leaf: bool

    @property
    def lacks_sources(self) -> bool:
        """Whether it was left to the conflict resolver because too few sources support its value."""
        return self.decision.lacks_sources and self.status in (Status.OMITTED, Status.RESOLVED)


def _walk(decision: Decision, path: tuple[str | int, ...], choices: Mapping[int, int]) -> Iterator[_Place]:
    """Every place that the report lists, in the order of the record."""
    if decision.status == Status.IGNORED:
        return
    status = decision.status if taken(decision, choices) is decision.chosen else Status.RECONCILED
    branch = taken(decision, choices).value
    if not isinstance(branch, Branch):
        yield _Place(Path(path), decision, status, is_leaf=True)
        return
    kept, left_out = branch.parted(choices)
    is_leaf = not kept and branch.written_empty
    if is_leaf or len(decision.options) > 1:
        yield _Place(Path(path), decision, _of_container(status, branch, bool(kept), not path), is_leaf)
    # Items that are kept have the position that they have in the record; those left out come after them.
    for place, (key, child) in enumerate(kept + left_out):
        step = place if key is None else key
        if place >= len(kept) and is_kept(child, choices):
            yield _Place(Path((*path, step)), child, Status.OMITTED, is_leaf=True)
        else:
            yield from _walk(child, (*path, step), choices)


def _of_container(status: str, branch: Branch, has_children: bool, is_record: bool) -> str:
    """The status of a container, which the outcome of its children can change."""
    if not (has_children or branch.written_empty or is_record):
        return Status.OMITTED
    if status == Status.UNANIMOUS and branch.children and not has_children:
        return Status.AGREED  # all have a container here, but not all of them an empty one
    return status


def _field(place: _Place, choices: Mapping[int, int], witnesses: Witnesses) -> FieldConsensus:
    decision, option = place.decision, taken(place.decision, choices)
    measured = decision.best if place.status == Status.OMITTED else option
    return FieldConsensus(
        value=None if place.status == Status.OMITTED else _shown(option.value, choices),
        agreement=measured.weight / decision.total if decision.total else 0.0,
        support=witnesses.electorate.voices(measured.speakers) / decision.voices if decision.voices else 0.0,
        status=place.status,
        candidates=_candidates(decision, choices, witnesses),
        replaced=_shown(decision.chosen.value, {}) if place.status == Status.RECONCILED else None,
        too_few_sources=place.lacks_sources,
    )


def _shown(value: Any, choices: Mapping[int, int]) -> Any:
    if value is ABSENT:
        return None
    if isinstance(value, Branch):
        whole = assemble_value(value, choices)
        return whole if whole is not OMIT else {} if value.kind == "object" else []
    return value


def _candidates(decision: Decision, choices: Mapping[int, int], witnesses: Witnesses) -> tuple[Candidate, ...]:
    """The answers heaviest first, then in canonical order, absence last; every spelling on its own."""
    spelled = [each for option in decision.options for each in (option.spellings or (option,)) if each.revisions]
    candidates = [
        Candidate(
            value=_shown(each.value, choices),
            weight=each.weight / UNIT,
            revisions=each.revisions,
            absent=each.value is ABSENT,
            sources=witnesses.sources(each),
            corroboration=witnesses.corroboration(each),
        )
        for each in spelled
    ]
    if len(candidates) > 1:
        candidates.sort(key=lambda each: (-each.weight, each.absent, canonical_text(each.value)))
    return tuple(candidates)


def _mean_agreement(decisions: Sequence[Decision]) -> float:
    """The mean share of the best answers; 0 without any.

    Weights over the same total are added up as whole numbers: three shares of 0.6 are 0.6 on average, not a hair less.
    """
    weights: dict[int, int] = {}
    number = 0
    for each in decisions:
        if each.total:
            weights[each.total] = weights.get(each.total, 0) + each.best_weight
            number += 1
    return math.fsum(weight / (total * number) for total, weight in weights.items())


def _mean(numbers: list[float]) -> float | None:
    return sum(sorted(numbers)) / len(numbers) if numbers else None
