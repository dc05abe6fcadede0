"""The result of a vote: a decision, or a reasoned abstention."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .._errors import AbstainError
from . import _display, _serialization
from ._excerpts import fields_repr
from ._json_form import PydanticForm, to_text
from ._sample import Sample

__all__ = ["VoteResult"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VoteResult(PydanticForm):
    """What a vote came to. Equality is about the outcome: ``id`` and ``elapsed`` do not count.

    Attributes:
        abstained: True if no answer met the rules.
        value: the winner, in its most common original spelling; None when abstained, and when null won.
        reason: None when decided, else a code (see ``Reason``).
        detail: one sentence for a human.
        agreement: the leader's share of the denominator, 0 to 1; filled on abstention too.
        valid_ratio: valid samples over samples drawn.
        confidence: the mean confidence of the winning votes that have one.
        counts: pairs of value and number of votes, most first, then first seen.
        record: the whole object of the first winning sample; None when abstained or when null won.
        field_agreement: for each top-level field of the records, the share of the denominator (unweighted) that agrees
            on its most common value; read-only, without the confidence field.
        samples: every sample, in order of index.
        n_planned: the calls that a full run would have made.
        stopped_early: whether the vote ended before that.
        stopped_by: the name of the stopping rule that ended it, or "deadline".
        distinct_replies: how many different replies came in.
        usage: what ``Reply.usage`` reported, summed; None when nothing was reported.
        sources: the named sources that support the leader; empty in a tie.
        corroboration: the noisy-OR of the winning side, one minus the product over its sources of one minus that
            source's highest confidence; None without confidences.
        probability: the probability that the value is right, where a calibrator was given.
        abandoned: calls that were still running when the vote ended and could not be cancelled; they still cost.
        id: a random name for this result.
        settings_hash: the same for results of the same settings, in every process.
        elapsed: seconds that the vote took.

    Example:
        >>> from consilience.voting import tally
        >>> result = tally(['{"team": "billing"}', '{"team": "billing"}', "Sorry."], key="team")
        >>> result.value, result.detail
        ('billing', "'billing' won with 2 of 3 votes")
    """

    abstained: bool
    value: Any = None
    reason: str | None = None
    detail: str
    agreement: float
    valid_ratio: float
    confidence: float | None = None
    counts: tuple[tuple[Any, int], ...] = ()
    record: Any = None
    field_agreement: Mapping[str, float]
    samples: tuple[Sample, ...] = field(repr=False)
    n_planned: int
    stopped_early: bool = False
    stopped_by: str | None = None
    distinct_replies: int = 0
    usage: Mapping[str, Any] | None = None
    sources: tuple[str, ...] = ()
    corroboration: float | None = None
    probability: float | None = None
    abandoned: int = 0
    id: str = field(default_factory=lambda: os.urandom(16).hex(), compare=False)
    settings_hash: str = ""
    elapsed: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        return fields_repr(self)

    @property
    def decided(self) -> bool:
        """The opposite of ``abstained``."""
        return not self.abstained

    @property
    def num_samples(self) -> int:
        """Samples drawn."""
        return len(self.samples)

    @property
    def num_valid(self) -> int:
        """Samples that count as votes."""
        return sum(sample.ok for sample in self.samples)

    @property
    def num_failed(self) -> int:
        """Samples that failed."""
        return self.num_samples - self.num_valid

    def unwrap(self) -> Any:
        """The value of a decided vote.

        Raises:
            AbstainError: the vote abstained; the error carries the result.

        Example:
            >>> from consilience.voting import tally
            >>> tally(['{"a": 1}'], key="a").unwrap()
            1
        """
        if self.abstained:
            raise AbstainError(self, f"the vote abstained ({self.reason}): {self.detail}")
        return self.value

    def value_or(self, default: T) -> Any | T:
        """The value of a decided vote, else ``default``.

        Example:
            >>> from consilience.voting import tally
            >>> tally(["no idea"], key="a").value_or("ask a human")
            'ask a human'
        """
        return default if self.abstained else self.value

    def explain(self) -> str:
        """A short text for a log: the decision, the counts, and each failure code with its number.

        Example:
            >>> from consilience.voting import tally
            >>> print(tally(['{"a": 1}', '{"a": 1}', "none"], key="a").explain())
            decided: 1 won with 2 of 3 votes
            agreement 0.67, 2 of 3 samples valid
            votes: 1 × 2
            failures: no_json × 1
        """
        return _display.explain(self)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, all samples included."""
        return _serialization.result_to_dict(self)

    def to_json(self) -> str:
        """The result as standard JSON text.

        What JSON cannot hold, or not every reader reads, becomes text: NaN and infinities, integers of thousands of
        digits, and what is nested deeper than 200.

        Example:
            >>> from consilience.voting import tally
            >>> result = tally(['{"a": 1}'], key="a")
            >>> VoteResult.from_json(result.to_json()) == result
            True
        """
        return to_text(self.to_dict())

    @classmethod
    def from_json(cls, text: str, model: Any = None) -> VoteResult:
        """Restore a result from ``to_json``.

        Args:
            text: what ``to_json`` wrote.
            model: a pydantic model class or a dataclass; records become its instances, and so do votes where the whole
                record was voted on. None leaves JSON values.

        Raises:
            SettingsError: the text is not the JSON of a result.
            TypeError: ``text`` is no text.
            Exception: whatever ``model`` raises for a record.
        """
        return _serialization.result_from_text(cls, text, model)

    def _repr_html_(self) -> str:
        """The result with bars for the counts, in a notebook."""
        return _display.html(self)
