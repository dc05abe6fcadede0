"""The sample: one reply, judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._excerpts import fields_repr

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sample:
    """One reply and what became of it.

    Attributes:
        index: the number of the call, from 0.
        prompt_index: which paraphrase it answered, from 0.
        source: who answered, when known.
        ok: whether it counts as a vote. A null vote is a vote, so test this and not ``vote``.
        vote: the value voted for; None when failed.
        record: the whole object that the vote was read from, as the validator left it; None when failed.
        confidence: the model's own confidence, 0 to 1; None when it named none.
        weight: what the sample weighs, 1 without ``weights=``.
        error: None when ok; else a code (see ``Failure``), a colon and a message.
        raw: the reply exactly as the sampler returned it; None when there was none.
        repaired: the record was read only after repair (lenient reading included).
        truncated: the reply was cut off.
        ambiguous: the reply holds several valid answers that differ.
        attempts: how many tries ``retrying`` made.
        elapsed: seconds.

    Example:
        >>> Sample(index=0, ok=False, error="no_json: the reply holds no JSON object or array").code
        'no_json'
    """

    index: int
    prompt_index: int = 0
    source: str | None = None
    ok: bool
    vote: Any = None
    record: Any = None
    confidence: float | None = None
    weight: float = 1.0
    error: str | None = None
    raw: Any = field(default=None, repr=False)
    repaired: bool = False
    truncated: bool = False
    ambiguous: bool = False
    attempts: int = 1
    elapsed: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        return fields_repr(self)

    @property
    def code(self) -> str | None:
        """The code at the start of ``error``; None when ok."""
        return None if self.error is None else self.error.partition(":")[0]
