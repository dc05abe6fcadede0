"""The result of a merge: the record, how sure each field is, and what to check by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._errors import AbstainError
from ..voting._excerpts import fields_repr
from ..voting._json_form import PydanticForm, to_text
from ..voting._sample import Sample
from . import _display, _serialization
from ._fields import Candidate, FieldConsensus, Fields
from ._paths import Path

__all__ = ["ConsensusReason", "ConsensusResult", "ReviewItem"]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A field for a human to look at: the value proposed, the candidates, and the replies behind each candidate.

    Example:
        >>> from consilience.merging import merge
        >>> [item] = merge([{"a": 1, "b": 5}, {"a": 2, "b": 5}]).needs_review()
        >>> str(item.path), item.value, item.replies
        ('a', 1, (({'a': 1, 'b': 5},), ({'a': 2, 'b': 5},)))
    """

    path: Path
    value: Any
    agreement: float
    status: str
    candidates: tuple[Candidate, ...]
    replies: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConsensusResult(PydanticForm):
    """One record out of several revisions. Equality is about the outcome: ``id`` and ``elapsed`` do not count.

    Attributes:
        value: the merged record: plain JSON, or an instance of the pydantic model; None when abstained.
        partial: what was agreed, as plain JSON, also when abstained.
        missing: the paths where the merged record does not satisfy the schema or ``required=``.
        abstained: whether there is no record to use.
        reason: why it abstained (see ``ConsensusReason``); None when it did not.
        detail: one sentence for a human.
        fields: path -> ``FieldConsensus``, in the order of the record; fields that were left out come last in
            their container.
        weights: the weight of each revision, by trust at a mean of 1; 0 for a failed one.
        samples: every sample, failed ones included, in order of index.
        n_planned: the calls that a full run would have made; for ``merge``, the number of revisions.
        stopped_early: whether drawing stopped before all calls were made.
        stopped_by: what ended it early; None after a full run.
        usage: the tokens reported, summed; None when none were.
        revisions_processed: the number of revisions that were merged.
        unique_paths_considered: the number of different paths decided.
        paths_in_consensus_output: the number of leaves of the merged record that were decided.
        paths_agreed_by_threshold: of these, decided by the threshold.
        paths_resolved_by_conflict_resolver: of these, chosen by the conflict resolver.
        paths_omitted: paths left out because nothing was agreed.
        revision_weights: the same as ``weights``.
        consensus_confidence_score: the mean over all paths considered of the best value's agreement, 0 to 1.
        average_string_similarity: the mean pairwise similarity over the text paths with at least two values, 0 to 1;
            None without any.
        fields_dropped: values that were dropped from a revision because they do not fit the schema.
        constraints_met: whether the record satisfies the constraints; None when there are none.
        repairs_tried: combinations tried to satisfy the constraints.
        repair_limit_hit: whether that search ended at ``max_repairs``.
        unmatched: options that name a path at which no revision has anything, such as ``compare['itms[].qty']``.
        abandoned: calls that were still running at the end and could not be cancelled; they still cost.
        id: a random name for this result.
        settings_hash: the same for results of the same settings, in every process.
        elapsed: seconds.

    Example:
        >>> from consilience.merging import merge
        >>> result = merge([{"a": 1}, {"a": 1}, {"a": 2}])
        >>> result.decided, result.value, result.detail
        (True, {'a': 1}, '3 revisions merged: 1 of 1 field agreed')
    """

    value: Any
    partial: Any
    missing: tuple[Path, ...] = ()
    abstained: bool
    reason: str | None
    detail: str
    fields: Fields = field(repr=False)
    weights: tuple[float, ...] = ()
    samples: tuple[Sample, ...] = field(default=(), repr=False)
    n_planned: int = 0
    stopped_early: bool = False
    stopped_by: str | None = None
    usage: Mapping[str, Any] | None = None
    revisions_processed: int = 0
    unique_paths_considered: int = 0
    paths_in_consensus_output: int = 0
    paths_agreed_by_threshold: int = 0
    paths_resolved_by_conflict_resolver: int = 0
    paths_omitted: int = 0
    consensus_confidence_score: float = 0.0
    average_string_similarity: float | None = None
    fields_dropped: int = 0
    constraints_met: bool | None = None
    repairs_tried: int = 0
    repair_limit_hit: bool = False
    unmatched: tuple[str, ...] = ()
    abandoned: int = 0
    id: str = field(default_factory=lambda: os.urandom(16).hex(), compare=False)
    settings_hash: str = ""
    elapsed: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        return fields_repr(self)

    @property
    def decided(self) -> bool:
        """Whether there is a record to use."""
        return not self.abstained

    @property
    def num_samples(self) -> int:
        """Samples drawn."""
        return len(self.samples)

    @property
    def num_valid(self) -> int:
        """Samples that were merged."""
        return sum(sample.ok for sample in self.samples)

    @property
    def num_failed(self) -> int:
        """Samples that failed."""
        return self.num_samples - self.num_valid

    @property
    def revision_weights(self) -> tuple[float, ...]:
        """The same as ``weights``."""
        return self.weights

    @property
    def conflicts(self) -> Iterator[tuple[Path, FieldConsensus]]:
        """The fields that are not unanimous, those to look at first: worst agreement first."""
        split = [item for item in self.fields.items() if item[1].status != "unanimous"]
        return iter(sorted(split, key=lambda item: (item[1].agreement, str(item[0]))))

    def needs_review(self, below: float = 0.8) -> list[ReviewItem]:
        """The fields to check by hand, worst agreement first, ready for a review queue.

        They are those whose agreement is lower than ``below`` (0 to 1), or whose value has too few sources.

        The value proposed is that of the record, or the heaviest candidate where the field was left out.
        """
        raw = {sample.index: sample.raw if sample.raw is not None else sample.record for sample in self.samples}
        return [
            ReviewItem(
                path=path,
                value=found.candidates[0].value if found.status == "omitted" and found.candidates else found.value,
                agreement=found.agreement,
                status=found.status,
                candidates=found.candidates,
                replies=tuple(tuple(raw.get(r) for r in each.revisions) for each in found.candidates),
            )
            for path, found in self.conflicts
            if found.agreement < below or found.too_few_sources
        ]

    def unwrap(self) -> Any:
        """The merged record.

        Raises:
            AbstainError: there is none; the error carries the result.
        """
        if self.abstained:
            raise AbstainError(self, f"abstained: {self.reason}: {self.detail}")
        return self.value

    def value_or(self, default: Any) -> Any:
        """The merged record, or ``default`` when it abstained."""
        return default if self.abstained else self.value

    def explain(self) -> str:
        """A short text for a log: the decision, the fields to check with their candidates, and each failure code.

        Example:
            >>> from consilience.merging import merge
            >>> print(merge([{"ram": 16, "id": 7}, {"ram": 32, "id": 7}, {"ram": 16, "id": 7}], weights=None).explain())
            decided: 3 revisions merged: 2 of 2 fields agreed
            confidence 0.83, 3 of 3 samples valid
            check ram (agreed, 0.67): 16 × 2, 32 × 1
        """
        return _display.explain(self)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, all samples included; ``fields`` by the text of their paths."""
        return _serialization.result_to_dict(self)

    def to_json(self) -> str:
        """The result as standard JSON text.

        What JSON cannot hold, or not every reader reads, becomes text, as in ``VoteResult.to_json``; records as deep
        as ``merge`` takes them are kept.

        Example:
            >>> from consilience.merging import merge
            >>> result = merge([{"a": 1}, {"a": 1}, {"a": 2}])
            >>> ConsensusResult.from_json(result.to_json()) == result
            True
        """
        return to_text(self.to_dict())

    @classmethod
    def from_json(cls, text: str, model: Any = None) -> ConsensusResult:
        """Restore a result from ``to_json``.

        Args:
            text: what ``to_json`` wrote.
            model: a pydantic model class or a dataclass; the value becomes its instance, made of ``partial`` as it was
                by the merge. None leaves JSON values. The records of samples are JSON values in any case.

        Raises:
            SettingsError: the text is not the JSON of a result.
            TypeError: ``text`` is no text.
            Exception: whatever ``model`` raises for the record.
        """
        return _serialization.result_from_text(cls, text, model)

    def _repr_html_(self) -> str:
        """The result with bars for the fields to check, in a notebook."""
        return _display.html(self)


class ConsensusReason:
    """Why a consensus abstained, as plain strings; checked in this order.

    Example:
        >>> ConsensusReason.INCOMPLETE
        'incomplete'
    """

    NO_VALID = "no_valid"
    """No revision was valid."""
    TOO_FEW_VALID = "too_few_valid"
    """The share of valid revisions is below ``min_valid``."""
    LOW_AGREEMENT = "low_agreement"
    """The revisions do not even agree on what kind of value the record is."""
    TOO_FEW_SOURCES = "too_few_sources"
    """The record as a whole is supported by fewer different sources than ``min_sources``."""
    INCOMPLETE = "incomplete"
    """A field that the schema or ``required=`` asks for found no agreement."""
    INCONSISTENT = "inconsistent"
    """No combination of candidates satisfies the constraints (of a pydantic model: there is no instance then)."""
    LOW_CONFIDENCE = "low_confidence"
    """``consensus_confidence_score`` is below ``min_confidence``."""
    DEADLINE = "deadline"
    """Ended by ``deadline=`` before enough revisions were in."""
