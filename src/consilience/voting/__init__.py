"""Voting: several replies in, one decision or a reasoned abstention out."""

from ._ballots import ballot
from ._confidence import coerce_confidence
from ._reasons import Failure, Reason
from ._result import VoteResult
from ._sample import Sample
from ._settings import VoteSettings
from ._settling import settle
from ._stopping import StoppingRule, TallyState, when_settled
from ._turns import Paraphrases
from ._vote import avote, tally, vote

__all__ = [
    "Failure",
    "Paraphrases",
    "Reason",
    "Sample",
    "StoppingRule",
    "TallyState",
    "VoteResult",
    "VoteSettings",
    "avote",
    "ballot",
    "coerce_confidence",
    "settle",
    "tally",
    "vote",
    "when_settled",
]
