"""Reasons: the codes by which an abstention and a failed sample say why."""

from __future__ import annotations

__all__ = ["Failure", "Reason"]


class Reason:
    """Why a vote abstained, as plain strings; a quorum is checked in this order.

    Example:
        >>> Reason.TIE
        'tie'
    """

    NO_VALID = "no_valid"
    """No sample was valid, or none of the valid ones has any weight."""
    TOO_FEW_VALID = "too_few_valid"
    """The share of valid samples is below ``min_valid``."""
    TIE = "tie"
    """Two or more answers share the first place."""
    LOW_AGREEMENT = "low_agreement"
    """The leader's share of the denominator is below ``min_agreement``."""
    TOO_FEW_SOURCES = "too_few_sources"
    """The leader is supported by fewer than ``min_sources`` different sources."""
    QUORUM_UNREACHABLE = "quorum_unreachable"
    """Ended early: no answer could have passed any more, whatever the remaining samples said."""
    DEADLINE = "deadline"
    """Ended by ``deadline=`` before the samples drawn met the rules."""


class Failure:
    """Why a sample failed: the code at the start of ``Sample.error``, as plain strings.

    Example:
        >>> Failure.NO_JSON
        'no_json'
    """

    SAMPLER_ERROR = "sampler_error"
    """The sampler raised an exception."""
    TIMEOUT = "timeout"
    """The call exceeded ``timeout=``."""
    EMPTY_REPLY = "empty_reply"
    """The reply was None or blank."""
    NO_JSON = "no_json"
    """The reply holds no JSON object or array."""
    TRUNCATED = "truncated"
    """The reply was cut off before its JSON was complete."""
    INVALID = "invalid"
    """The validator (or a function given for judging) rejected what the reply holds."""
    MISSING_KEY = "missing_key"
    """The record lacks the key that is voted on."""
