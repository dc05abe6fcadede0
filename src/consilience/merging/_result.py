"""The result of a merge: the record, how sure each field is, and what to check by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._errors import AbstainError
from ..voting._sample import Sample
from ._paths import Path, parse_path

__all__ = ["Candidate", "ConsensusResult", "FieldConsensus", "Fields", "ReviewItem"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One answer for a field, with its weight, the revisions behind it and their sources.

    ``absent`` marks the vote of revisions that lack the field (``value`` is None then, as it is for a null).
    ``sources`` are the named sources that support the answer; ``corroboration`` is the noisy-OR over the sources of
    its revisions, each with its highest confidence (see ``consolidate``), None without confidences.

    Example:
        >>> from consilience.merging import merge
        >>> merge([{"a": 1}, {}, {"a": 1}], weights=None).fields["a"].candidates[1]
        Candidate(value=None, weight=1.0, revisions=(1,), absent=True, sources=(), corroboration=None)
    """

    value: Any
    weight: float
    revisions: tuple[int, ...]
    absent: bool = False
    sources: tuple[str, ...] = ()
    corroboration: float | None = None


@dataclass(frozen=True, slots=True)
class FieldConsensus:
    """How one field was decided.

    Attributes:
        value: the value in the merged record; None when the field is not there (see ``status``).
        agreement: the weight of the value over the weight of the revisions that hold the parent, 0 to 1; for a field
            that was left out, of its heaviest candidate.
        support: the same with one vote for each revision (or, with ``one_vote_per_source``, for each source).
        status: unanimous, agreed, resolved, reconciled, omitted or absent (see ``Status``).
        candidates: every answer, heaviest first.
        replaced: with status reconciled, the value that the vote had chosen; None when it had chosen none.
        too_few_sources: whether a value met the threshold but not ``min_sources``, and was left to the resolver.

    Example:
        >>> from consilience.merging import merge
        >>> field = merge([{"a": 1}, {"a": 2}, {"a": 1}], weights=None).fields["a"]
        >>> field.value, field.status, round(field.agreement, 2)
        (1, 'agreed', 0.67)
    """

    value: Any
    agreement: float
    support: float
    status: str
    candidates: tuple[Candidate, ...]
    replaced: Any = None
    too_few_sources: bool = False


class Fields(Mapping[Path, FieldConsensus]):
    """The fields of a result by path; ``fields["items[0].qty"]`` and ``fields[("items", 0, "qty")]`` are the same.

    Example:
        >>> fields = Fields({Path(("specs", "ram")): FieldConsensus(16, 1.0, 1.0, "unanimous", ())})
        >>> fields["specs.ram"].value, [str(path) for path in fields]
        (16, ['specs.ram'])
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[Path, FieldConsensus | Callable[[], FieldConsensus]]) -> None:
        # Most fields of most results are never looked at: what is given as a function is made when it is asked for.
        self._items = dict(items)

    def __getitem__(self, path: str | tuple[str | int, ...]) -> FieldConsensus:
        if isinstance(path, str):
            # A key that holds the dot wins over the path, as in a vote.
            path = Path((path,)) if Path((path,)) in self._items else parse_path(path)
        known = self._items[Path(path)]
        if isinstance(known, FieldConsensus):
            return known
        made = self._items[Path(path)] = known()
        return made

    def __iter__(self) -> Iterator[Path]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, path: object) -> bool:
        try:
            self[path]  # type: ignore[index]
        except (LookupError, ValueError, TypeError):
            return False
        return True

    def __repr__(self) -> str:
        return f"Fields({{{', '.join(f'{str(path)!r}: {found.value!r}' for path, found in self.items())}}})"

    def __reduce__(self) -> tuple[type[Fields], tuple[dict[Path, FieldConsensus]]]:
        return Fields, (dict(self),)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusResult:
    """One record out of several revisions.

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
        elapsed: seconds.

    Example:
        >>> from consilience.merging import merge
        >>> result = merge([{"a": 1}, {"a": 1}, {"a": 2}])
        >>> result.decided, result.value, result.detail
        (True, {'a': 1}, '3 revisions merged: 1 of 1 fields agreed')
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
    stopped_early: bool = False
    stopped_by: str | None = None
    usage: dict[str, Any] | None = None
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
    elapsed: float = field(default=0.0, compare=False)

    @property
    def decided(self) -> bool:
        """Whether there is a record to use."""
        return not self.abstained

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
