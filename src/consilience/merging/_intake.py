"""The intake: what is given to be merged, as samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..replies._reply import Reply
from ..voting._confidence import coerce_confidence
from ..voting._judging import Judge, Origin
from ..voting._keys import MissingKey, key_reader
from ..voting._result import VoteResult
from ..voting._sample import Sample
from ..voting._settings import VoteSettings
from ._result import ConsensusResult

__all__ = ["as_samples", "holds_only_finite"]


def as_samples(revisions: Any, confidence_field: str | None) -> list[Sample]:
    """Revisions as samples, every one with its own number."""
    if isinstance(revisions, VoteResult | ConsensusResult):
        revisions = revisions.samples
    if isinstance(revisions, str | bytes | Mapping) or not isinstance(revisions, Iterable):
        raise TypeError(f"revisions must be a list of revisions, got {type(revisions).__name__}")
    return [_sample(index, revision, confidence_field) for index, revision in enumerate(revisions)]


def _sample(index: int, revision: Any, confidence_field: str | None) -> Sample:
    if isinstance(revision, Sample):
        return replace(revision, index=index, confidence=coerce_confidence(revision.confidence))
    about: dict[str, Any] = {}
    if isinstance(revision, Reply):
        about = {"confidence": coerce_confidence(revision.confidence), "source": revision.source}
        if revision.error is not None:
            return Judge(VoteSettings()).reply(Origin(index), revision).sample
        revision = revision.content
    if confidence_field is not None and (told := _told(revision, confidence_field)) is not None:
        about["confidence"] = told
    return Sample(index=index, ok=True, record=revision, **about)


def _told(record: Any, confidence_field: str) -> float | None:
    """The confidence that a record reports of itself, if it does."""
    try:
        return coerce_confidence(key_reader(confidence_field)(record))
    except MissingKey:
        return None


def holds_only_finite(record: Any) -> bool:
    """Whether a record has neither NaN nor infinity in it."""
    pending = [record]
    while pending:
        value = pending.pop()
        if type(value) is dict:
            pending.extend(value.values())
        elif type(value) is list:
            pending.extend(value)
        elif type(value) is float and not math.isfinite(value):
            return False
    return True
