"""The decision: the prediction that a vote or a consensus gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dspy
from dspy.primitives.prediction import Completions

from consilience import ConsensusResult, SettingsError, VoteResult

__all__ = ["Decision", "check_names", "handed_over", "is_abstained", "new_decision", "own_fields"]

_BOOKKEEPING = ("abstained", "abstain_reason", "agreement", "votes", "failed")
"""The fields of a decision beside the module's own."""


class Decision(dspy.Prediction):  # type: ignore[misc] # dspy has no types
    """What a ``Vote`` or a ``Consensus`` came to: a ``dspy.Prediction`` that is never empty, and so never falsy.

    It has every output field of the module (None where it abstained), and:

    - ``abstained``: True if there is no answer.
    - ``abstain_reason``: None when decided, else a code (``Reason``, ``ConsensusReason``). Where ``on_abstain`` names
      a module that did answer, the fields are that module's, ``abstained`` is False, and the reason says why it was
      asked.
    - ``agreement``: 0 to 1, filled on abstention too.
    - ``votes``: pairs of value and number of votes, most first; of a consensus, path -> such pairs.
    - ``failed``: the errors of the failed samples, each a code, a colon and a sentence.
    - ``completions``: the successful samples, for what works on DSPy's completions.

    Example:
        >>> import dspy
        >>> from dspy.utils import DummyLM
        >>> from dspy_consilience import Vote
        >>> lm = DummyLM([{"team": "billing"}, {"team": "billing"}, {"team": "shipping"}])
        >>> with dspy.context(lm=lm):
        ...     decision = Vote(dspy.Predict("ticket -> team"), n=3)(ticket="I was charged twice.")
        >>> decision.team, decision.abstained, decision.votes
        ('billing', False, [('billing', 2), ('shipping', 1)])
        >>> decision.consilience.detail
        "'billing' won with 2 of 3 votes"
    """

    _consilience: VoteResult | ConsensusResult | None = None

    @property
    def consilience(self) -> VoteResult | ConsensusResult | None:
        """The core's result with every sample, under a name that no output field is likely to have."""
        return self._consilience

    def __repr__(self) -> str:
        fields = ",\n    ".join(f"{name}={value!r}" for name, value in self.items())
        return f"Decision(\n    {fields}\n)"

    def copy(self, **changes: Any) -> Decision:
        """A copy with other values for some fields."""
        copied: Decision = super().copy(**changes)
        copied._consilience = self._consilience
        copied._completions = self._completions
        copied._lm_usage = self._lm_usage
        return copied


def own_fields(prediction: Any) -> dict[str, Any]:
    """The fields of a prediction without those in which a decision keeps its books (a program may hand them on)."""
    hidden = _BOOKKEEPING if "abstained" in prediction else ()
    return {name: value for name, value in prediction.items() if name not in hidden}


def check_names(names: Iterable[str]) -> None:
    """Refuse output fields that a decision needs for itself.

    Raises:
        SettingsError: the module has such a field.
    """
    for name in names:
        if name in _BOOKKEEPING or name == "consilience":
            raise SettingsError(
                f"the module has an output field {name!r}, which a decision needs for itself: rename the field "
                f"(taken are {', '.join(_BOOKKEEPING)} and consilience)"
            )


def new_decision(
    result: VoteResult | ConsensusResult,
    fields: Mapping[str, Any],
    completions: Sequence[Mapping[str, Any]],
    signature: Any,
) -> Decision:
    """The prediction for a result.

    Args:
        result: the core's result.
        fields: the values of the output fields.
        completions: the output fields of every successful sample.
        signature: the module's signature, if known.

    Raises:
        SettingsError: a program, of which nobody knew, has output fields with names that a decision needs.
    """
    check_names(fields)
    if isinstance(result, VoteResult):
        agreement: float = result.agreement
        votes: Any = list(result.counts)
    else:
        agreement, votes = result.consensus_confidence_score, _votes_by_path(result)
    decision = Decision(
        **fields,
        abstained=result.abstained,
        abstain_reason=result.reason,
        agreement=agreement,
        votes=votes,
        failed=[sample.error for sample in result.samples if not sample.ok],
    )
    decision._consilience = result
    columns = {name: [each.get(name) for each in completions] for name in fields}
    decision._completions = Completions(columns, signature=signature) if columns else None
    return decision


def _votes_by_path(result: Any) -> dict[str, list[tuple[Any, int]]]:
    return {
        str(path): [(candidate.value, len(candidate.revisions)) for candidate in found.candidates]
        for path, found in result.fields.items()
    }


def handed_over(decision: Decision, answer: Any) -> Decision:
    """A decision that abstained, with the answer of the module that was asked instead.

    Raises:
        TypeError: that module gave no prediction.
        SettingsError: it has output fields with names that a decision needs.
    """
    if not isinstance(answer, dspy.Prediction):
        raise TypeError(f"the module in on_abstain must give a dspy.Prediction, got {type(answer).__name__}")
    fields = own_fields(answer)
    check_names(fields)
    abstained = is_abstained(answer)
    asked = Decision(
        **fields,
        abstained=abstained,
        abstain_reason=answer.get("abstain_reason") if abstained else decision.abstain_reason,
        agreement=decision.agreement,
        votes=decision.votes,
        failed=decision.failed,
    )
    asked._consilience = decision.consilience
    asked._completions = answer.completions
    return asked


def is_abstained(prediction: Any) -> bool:
    """Whether a prediction says of itself that it is no answer."""
    return isinstance(prediction, dspy.Prediction) and prediction.get("abstained") is True
