"""The reply: what a sampler hands back when it knows more than the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with what the client knew about it.

    A sampler may return plain text or an already-parsed object instead; this class is for clients that also report
    tokens, a confidence, the model's name or why generation ended.

    Args:
        content: the text, or an already-parsed object (dict, list, pydantic model, dataclass).
        usage: numbers to sum over the vote, such as ``{"input_tokens": 12, "output_tokens": 5}``.
        confidence: the client's own confidence in this reply, 0 to 1 (for example from log-probabilities); it is
            used where the record itself names none.
        source: who answered; each vote with the same source is one witness (see ``min_sources``).
        finish_reason: why generation ended; ``"length"`` and ``"max_tokens"`` mark the sample as truncated.
        error: why the client itself could make nothing of the reply (its parser refused it, say), in one sentence,
            that may begin with a code of ``Failure`` and a colon. The sample has failed then (``truncated`` if the
            reply was cut off, else with that code, else ``invalid``); what was said stays to be read in ``content``.

    Example:
        >>> Reply('{"team": "billing"}', usage={"output_tokens": 7}).content
        '{"team": "billing"}'
        >>> from consilience import tally
        >>> tally([Reply("Bill!", error="OutputParserException: no such team")]).samples[0].error
        'invalid: OutputParserException: no such team'
    """

    content: Any
    usage: Mapping[str, Any] | None = None
    confidence: float | None = None
    source: str | None = None
    finish_reason: str | None = None
    error: str | None = None
