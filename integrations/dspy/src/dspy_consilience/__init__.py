"""Votes and consensus as modules of a DSPy program.

    import dspy
    from dspy_consilience import Vote

    program = Vote(dspy.ChainOfThought("ticket -> team: Literal['billing', 'shipping']"), n=5)
    prediction = program(ticket="I was charged twice.")
    prediction.team if not prediction.abstained else prediction.abstain_reason

Importing this package does not import dspy, which takes seconds; using one of its names does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._consensus import Consensus
    from ._decisions import Decision
    from ._metrics import abstain_aware
    from ._recording import RecordedVote, record_votes
    from ._vote import Vote

__all__ = ["Consensus", "Decision", "RecordedVote", "Vote", "abstain_aware", "record_votes"]

_HOMES = {
    "Consensus": "._consensus",
    "Decision": "._decisions",
    "RecordedVote": "._recording",
    "Vote": "._vote",
    "abstain_aware": "._metrics",
    "record_votes": "._recording",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
