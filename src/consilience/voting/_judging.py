"""Judging: one reply becomes one sample, valid with a vote or failed with a code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from .._coroutines import close_awaitable
from ..replies._extraction import Reading, read
from ..replies._reply import Reply
from ..replies._validation import Rejected, as_validator, validate
from ._ballots import ballot, fields_of
from ._confidence import coerce_confidence
from ._copies import private_copy
from ._excerpts import excerpt, excerpt_error, excerpt_value
from ._keys import MissingKey, key_reader
from ._normalizers import vote_normalizer
from ._reasons import Failure
from ._sample import Sample
from ._settings import VoteSettings, weigher_of
from ._weights import UNIT, UnusableWeight

__all__ = ["Judge", "Judged", "Origin"]

_CODES = frozenset(code for name, code in vars(Failure).items() if name.isupper())
_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})


class Origin(NamedTuple):
    """Where a reply comes from, as far as its call knows."""

    number: int
    prompt_index: int = 0
    source: str | None = None
    attempts: int = 1
    elapsed: float = 0.0


class Judged(NamedTuple):
    """A sample with what the count needs: its ballot, the ballot of its own spelling, and its weight in 1e-9.

    ``ballot`` is None for a failure. Without ``normalize=`` ballot and spelling are the same.
    """

    sample: Sample
    ballot: str | None
    spelling: str | None
    weight: int


class _Accepted(NamedTuple):
    """A candidate that passed the validator and has the key."""

    candidate: Any
    record: Any
    vote: Any
    ballot: str
    spelling: str
    repaired: bool
    start: int


class _Refusal(NamedTuple):
    """Why no candidate was accepted: the error of the one that came furthest."""

    code: str
    message: str


_NO_JSON = _Refusal(Failure.NO_JSON, "the reply holds no JSON object or array")
_TRUNCATED = _Refusal(Failure.TRUNCATED, "the reply was cut off before its JSON was complete")
_EMPTY = _Refusal(Failure.EMPTY_REPLY, "the reply is empty")


class Judge:
    """Judges replies by one set of settings; the same reply always gets the same verdict."""

    def __init__(self, settings: VoteSettings) -> None:
        self._settings = settings
        self._validator = as_validator(settings.validator)
        self._read_key = key_reader(settings.key)
        self._normalize = vote_normalizer(settings.normalize, settings.key)
        self._read_confidence = None if settings.confidence_field is None else key_reader(settings.confidence_field)
        # Two records that differ in nothing but the model's own confidence are one answer.
        self._without = settings.confidence_field if settings.key is None else None
        self._weigher = weigher_of(settings)
        # What the sampler returned is kept as it was, for ``Sample.raw`` and for every later judgement.
        self._may_edit = self._validator is not None or _calls_functions(settings)

    def blank_weight(self, source: str | None) -> int:
        """What a source weighs that supports nobody, in 1e-9."""
        return self._weigher.of_failure(source)

    def failure(self, origin: Origin, code: str, message: str, raw: Any = None, truncated: bool = False) -> Judged:
        """A failed sample."""
        weight = self._weigher.of_failure(origin.source)
        sample = Sample(
            index=origin.number,
            prompt_index=origin.prompt_index,
            source=origin.source,
            ok=False,
            weight=weight / UNIT,
            error=f"{code}: {message}",
            raw=raw,
            truncated=truncated,
            attempts=origin.attempts,
            elapsed=origin.elapsed,
        )
        return Judged(sample, None, None, weight)

    def reply(self, origin: Origin, raw: Any) -> Judged:
        """Judge what a sampler returned."""
        content, confidence, cut_off = raw, None, False
        if isinstance(raw, Reply):
            content, confidence, cut_off = raw.content, raw.confidence, _is_cut_off(raw)
            if origin.source is None:
                origin = origin._replace(source=_source_name(raw.source))
            if raw.error is not None:
                return self.failure(origin, *_refusal_of(raw.error, cut_off), raw, cut_off)
        if isinstance(content, (bytes, bytearray)):
            content = bytes(content).decode("utf-8", errors="replace")
        if isinstance(content, str):
            content = str.__str__(content)  # a subclass may have overridden anything
            verdict, ambiguous, truncated = self._text(content, cut_off)
        else:
            verdict, ambiguous, truncated = self._object(content), False, False
        truncated = truncated or cut_off
        if isinstance(verdict, _Refusal):
            return self.failure(origin, *verdict, raw, truncated)
        return self._vote(origin, verdict, self._confidence(verdict, confidence), raw, truncated, ambiguous)

    def error(self, origin: Origin, error: BaseException) -> Judged:
        """The failed sample of a call that raised."""
        return self.failure(origin, Failure.SAMPLER_ERROR, excerpt_error(error))

    def again(self, sample: Sample) -> Judged:
        """Judge a sample once more, by these settings, from its reply; without one, what it says stands."""
        source = _source_name(sample.source)
        origin = Origin(sample.index, sample.prompt_index, source, sample.attempts, sample.elapsed)
        if sample.raw is not None:
            return self.reply(origin, sample.raw)
        if not sample.ok:
            code, _, message = (sample.error or Failure.EMPTY_REPLY).partition(": ")
            return self.failure(origin, code, message or "the reply is empty")
        verdict = self._accept(sample.record, sample.record, sample.vote)
        if isinstance(verdict, _Refusal):
            return self.failure(origin, *verdict)
        return self._vote(origin, verdict, sample.confidence, None, sample.truncated, sample.ambiguous)

    def _vote(
        self, origin: Origin, accepted: _Accepted, confidence: float | None, raw: Any, truncated: bool, ambiguous: bool
    ) -> Judged:
        sample = Sample(
            index=origin.number,
            prompt_index=origin.prompt_index,
            source=origin.source,
            ok=True,
            vote=accepted.vote,
            record=accepted.record,
            confidence=confidence,
            raw=raw,
            repaired=accepted.repaired,
            truncated=truncated,
            ambiguous=ambiguous,
            attempts=origin.attempts,
            elapsed=origin.elapsed,
        )
        try:
            weight = self._weigher.of_vote(sample)
        except UnusableWeight as error:
            return self.failure(origin, Failure.INVALID, str(error), raw, truncated)
        if weight != UNIT:
            sample = replace(sample, weight=weight / UNIT)
        return Judged(sample, accepted.ballot, accepted.spelling, weight)

    def _text(self, text: str, cut_off: bool) -> tuple[_Accepted | _Refusal, bool, bool]:
        """The verdict on a text, whether it is ambiguous, and whether its JSON was cut off."""
        if not text or text.isspace():
            return _EMPTY, False, False
        reading = read(text, repair=self._settings.repair, allow_nan=self._settings.allow_nan)
        verdict, ambiguous = self._first_accepted(reading)
        if isinstance(verdict, _Refusal) and (reading.truncated or (cut_off and verdict is _NO_JSON)):
            verdict = _TRUNCATED
        return verdict, ambiguous, reading.truncated

    def _first_accepted(self, reading: Reading) -> tuple[_Accepted | _Refusal, bool]:
        verdict: _Accepted | _Refusal = _NO_JSON
        ambiguous = False
        # Furthest down counts the place of a repetition, too.
        candidates = reading.occurrences if self._settings.prefer == "last" else reading.candidates
        for candidate in candidates:
            tried = self._try(candidate.value, candidate.repaired, candidate.start)
            if isinstance(tried, _Refusal):
                verdict = _further(verdict, tried)
            elif isinstance(verdict, _Refusal):
                verdict = tried
            else:
                ambiguous = ambiguous or tried.ballot != verdict.ballot
                if self._settings.prefer == "last":
                    verdict = tried if tried.start > verdict.start else verdict
                elif ambiguous:
                    break
        if isinstance(verdict, _Refusal):
            verdict = self._last_resort(reading, verdict)
        return verdict, ambiguous

    def _last_resort(self, reading: Reading, verdict: _Refusal) -> _Accepted | _Refusal:
        accepted: _Accepted | None = None
        for candidate in reading.last_resort():
            tried = self._try(candidate.value, candidate.repaired, candidate.start)
            if isinstance(tried, _Refusal):
                verdict = _further(verdict, tried)
                continue
            if self._settings.prefer == "first":
                return tried
            if accepted is None or tried.start > accepted.start:
                accepted = tried
        return accepted or verdict

    def _object(self, content: Any) -> _Accepted | _Refusal:
        """The verdict on what the sampler returned instead of text."""
        if content is None:
            return _EMPTY
        if isinstance(content, Reply):
            return _Refusal(Failure.NO_JSON, "the sampler returned a Reply inside a Reply")
        if not isinstance(content, (list, tuple)) and _fields_guarded(content) is None:
            close_awaitable(content)
            return _Refusal(
                Failure.NO_JSON, f"the sampler returned a {type(content).__name__}, neither text nor a record"
            )
        return self._try(private_copy(content) if self._may_edit else content, repaired=False, start=0)

    def _try(self, candidate: Any, repaired: bool, start: int) -> _Accepted | _Refusal:
        """Validate one candidate and read the vote from it."""
        record = candidate
        try:
            if self._validator is not None:
                record = validate(self._validator, candidate)
            vote = self._read_key(record)
        except Rejected as error:
            return _Refusal(Failure.INVALID, excerpt(str(error), 300))
        except MissingKey as error:
            return _Refusal(Failure.MISSING_KEY, str(error))
        return self._accept(candidate, record, vote, repaired, start)

    def _accept(
        self, candidate: Any, record: Any, vote: Any, repaired: bool = False, start: int = 0
    ) -> _Accepted | _Refusal:
        compared = self._compared(vote)
        spelling = ballot(compared)
        if self._normalize is None:
            return _Accepted(candidate, record, vote, spelling, spelling, repaired, start)
        try:
            coarse = ballot(self._normalize(compared))
        except Exception as error:
            return _Refusal(Failure.INVALID, f"normalize raised {excerpt_error(error)}")
        return _Accepted(candidate, record, vote, coarse, spelling, repaired, start)

    def _compared(self, vote: Any) -> Any:
        """The vote without the model's own confidence, where the vote is the whole record."""
        if self._without is None:
            return vote
        fields = _fields_guarded(vote)
        if fields is None:
            return vote
        return {name: value for name, value in fields.items() if not (type(name) is str and name == self._without)}

    def _confidence(self, accepted: _Accepted, reported: Any) -> float | None:
        """What the record says of itself, else what the validator dropped from it, else what the client said."""
        if self._read_confidence is not None:
            for holder in (accepted.record, accepted.candidate):
                try:
                    confidence = coerce_confidence(self._read_confidence(holder))
                except MissingKey:
                    continue
                if confidence is not None:
                    return confidence
        return None if reported is None else coerce_confidence(reported)


def _further(one: Any, other: _Refusal) -> Any:
    """Of two refusals that which came further: a missing key over an invalid record over none."""
    if isinstance(one, _Accepted):
        return one
    order = (Failure.NO_JSON, Failure.INVALID, Failure.MISSING_KEY)
    return other if order.index(other.code) > order.index(one.code) else one


def _calls_functions(settings: VoteSettings) -> bool:
    """Whether a function of the user's gets to see the record or the vote."""
    keys = settings.key if isinstance(settings.key, tuple) else (settings.key,)
    return any(map(callable, keys)) or not isinstance(settings.normalize, (str, type(None)))


def _is_cut_off(reply: Reply) -> bool:
    return isinstance(reply.finish_reason, str) and str.__str__(reply.finish_reason) in _CUT_OFF


def _refusal_of(error: Any, cut_off: bool) -> _Refusal:
    """What the client says of a reply that it could make nothing of."""
    if isinstance(error, BaseException):
        return _Refusal(Failure.TRUNCATED if cut_off else Failure.INVALID, excerpt_error(error))
    text = excerpt(error if isinstance(error, str) else excerpt_value(error), 300)
    code, colon, message = text.partition(": ")
    if code not in _CODES or not colon:
        code, message = Failure.INVALID, text
    return _Refusal(Failure.TRUNCATED if cut_off else code, message)


def _source_name(source: Any) -> str | None:
    """The source as plain text, by which it can be counted: a subclass may have overridden anything."""
    if source is None:
        return None
    return str.__str__(source) if isinstance(source, str) else excerpt_value(source)


def _fields_guarded(content: Any) -> Mapping[Any, Any] | None:
    try:
        return fields_of(content)
    except Exception:
        return None
