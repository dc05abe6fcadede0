"""Extraction: the candidates of one reply, in the order in which they count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from .._canonical import canonical_text
from .._errors import SettingsError, received
from ._candidates import Candidate
from ._containers import ContainerReader
from ._lexer import read_string
from ._repair import load_repairer, repaired_candidates
from ._scanner import Scan, read_plain, scan_with
from ._validation import Rejected, as_validator, validate

__all__ = ["Reading", "Repair", "check_repair", "extract_json", "iter_json_candidates", "read"]

Repair = bool | Literal["lenient", "truncated"]
"""How far reading may go: False (standard), "lenient", True (json-repair last), "truncated" (also cut-off replies)."""


_BEGINS_STRING = re.compile(r'[ \t\r\n\ufeff]*"')


class Reading:
    """What reading one reply gave: its candidates, and whether it was cut off inside JSON (``truncated``).

    Args:
        sections: scans of the reply, or of parts of it with the place where each begins.
        only: the only candidate, if the reply is nothing but that.
    """

    __slots__ = ("_allow_nan", "_completes", "_only", "_repairs", "_sections", "_texts")

    def __init__(
        self, sections: Sequence[_Section], repair: Repair, allow_nan: bool, only: Candidate | None = None
    ) -> None:
        self._sections = sections
        self._only = only
        self._repairs = repair is True or repair == "truncated"
        self._completes = repair == "truncated"
        self._allow_nan = allow_nan
        self._texts: set[str] = set()  # of the candidates handed out: what a validator does to them comes too late

    @property
    def truncated(self) -> bool:
        """Whether the reply was cut off inside JSON."""
        return any(section.scanned.truncated for section in self._sections)

    @property
    def candidates(self) -> Iterable[Candidate]:
        """The candidates of our own scan, read as they are asked for.

        Fenced blocks first, then objects, then arrays, each in order of place and none twice.
        """
        if self._only:
            return (self._only,)
        found = sum(len(section.scanned.found) for section in self._sections)
        if found < 2 and not self._repairs:
            return self.occurrences
        self._texts = set()
        return _without_duplicates(self.occurrences, self._texts)

    @property
    def occurrences(self) -> Iterable[Candidate]:
        """The same with duplicates, each in its own place."""
        if self._only:
            return (self._only,)
        if len(self._sections) == 1:
            return self._sections[0].candidates()
        return (candidate for section in self._sections for candidate in section.candidates())

    def last_resort(self) -> Iterator[Candidate]:
        """Yield what json-repair makes of broken pieces; nothing unless ``repair`` is True or "truncated".

        To be asked after the candidates, of which it repeats none.
        """
        if self._repairs:
            yield from _without_duplicates(self._repaired(), self._texts)

    def _repaired(self) -> Iterator[Candidate]:
        for section in self._sections:
            repaired = repaired_candidates(
                section.text,
                section.scanned,
                allow_nan=self._allow_nan,
                truncated=self._completes,
                reasoning=section.reasoning,
            )
            yield from map(section.place, repaired)


class _Section(NamedTuple):
    """A part of the reply that was scanned by itself."""

    text: str
    scanned: Scan
    offset: int
    reasoning: bool

    def candidates(self) -> Iterable[Candidate]:
        found = self.scanned.found.in_order()
        return map(self.place, found) if self.offset else found

    def place(self, candidate: Candidate) -> Candidate:
        return candidate._replace(start=candidate.start + self.offset, end=candidate.end + self.offset)


def read(text: str, *, repair: Repair = False, allow_nan: bool = True) -> Reading:
    """Read one reply: find its candidates and whether it was cut off. Arguments as in ``extract_json``; not checked."""
    lenient = repair is not False
    if _BEGINS_STRING.match(text):
        return _read_string(text, repair, allow_nan)
    reader = ContainerReader(text, lenient, allow_nan)
    only = read_plain(reader)
    if only:
        return Reading((), repair, allow_nan, only)
    return Reading(_sections(reader), repair, allow_nan)


def _read_string(text: str, repair: Repair, allow_nan: bool) -> Reading:
    """Read a reply that begins with a quote: what it says if it is one JSON string that holds JSON, else what it is."""
    lenient = repair is not False
    inner = _text_of_string(text, lenient)
    if inner is not None:
        sections = _sections(ContainerReader(inner, lenient, allow_nan))
        if any(section.scanned.found or section.scanned.pieces for section in sections):
            return Reading(sections, repair, allow_nan)
    return Reading(_sections(ContainerReader(text, lenient, allow_nan)), repair, allow_nan)


def _sections(reader: ContainerReader) -> Sequence[_Section]:
    text = reader.text
    scanned = scan_with(reader)
    if not scanned.reasoning or scanned.found or scanned.pieces:
        return (_Section(text, scanned, 0, True),)
    # Nothing outside the reasoning holds JSON, not even broken JSON: read inside.
    sections = []
    for start, end in scanned.reasoning:
        block = ContainerReader(text[start:end], reader.lenient, reader.allow_nan)
        sections.append(_Section(block.text, scan_with(block, reasoning=False), start, False))
    return sections


def _text_of_string(text: str, lenient: bool) -> str | None:
    """The text inside a reply that is one JSON string."""
    stripped = text.strip(" \t\r\n\ufeff")
    if len(stripped) < 4 or stripped[-1] != '"':
        return None
    string = read_string(stripped, 0, lenient)
    return string.value if string.end == len(stripped) else None


def _without_duplicates(candidates: Iterable[Candidate], seen: set[str]) -> Iterator[Candidate]:
    for candidate in candidates:
        text = canonical_text(candidate.value)
        if text not in seen:
            seen.add(text)
            yield candidate


def check_repair(repair: object) -> None:
    """Raise for a level of reading that does not exist, or whose library is not installed."""
    if isinstance(repair, bool) or (isinstance(repair, str) and repair in ("lenient", "truncated")):
        if repair is True or repair == "truncated":
            load_repairer(repair)
        return
    raise SettingsError(f'repair must be False, "lenient", True or "truncated", got {received(repair)}')


def _check_arguments(text: object, repair: object, allow_nan: object) -> None:
    if type(text) is str and repair is False and allow_nan is True:  # the usual call
        return
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    if not isinstance(allow_nan, bool):
        raise TypeError(f"allow_nan must be a bool, got {type(allow_nan).__name__}")
    check_repair(repair)


def iter_json_candidates(text: str, *, repair: Repair = False, allow_nan: bool = True) -> Iterator[Any]:
    """Yield the JSON objects and arrays of a reply, without duplicates, in the order in which they count.

    A reply that is JSON as a whole is the only candidate. Else: fenced code blocks that hold JSON, then objects found
    in the rest, then arrays. Scalars are never candidates, nor are the parts of a value already found, nor numbers in
    square brackets in a line of prose (``see [1]``), nor what stands in a reasoning block (``<think>…</think>``) unless
    nothing outside it holds JSON. Takes linear time for every input; see ``extract_json`` for the levels of ``repair``.

    Args:
        text: the reply.
        repair: False, "lenient", True or "truncated".
        allow_nan: take NaN, Infinity and -Infinity, which are not JSON but which Python writes.

    Returns:
        An iterator; broken pieces are repaired only when it gets that far.

    Raises:
        TypeError, SettingsError: an argument is wrong (at once, not at the first step).
        MissingExtraError: ``repair`` needs json-repair and it is not installed.

    Example:
        >>> list(iter_json_candidates('First {"a": 0}, then {"a": 1}, see [2].'))
        [{'a': 0}, {'a': 1}]
    """
    _check_arguments(text, repair, allow_nan)
    return _values(text, repair, allow_nan)


def _values(text: str, repair: Repair, allow_nan: bool) -> Iterator[Any]:
    reading = read(text, repair=repair, allow_nan=allow_nan)
    for candidates in (reading.candidates, reading.last_resort()):
        for candidate in candidates:
            yield candidate.value


def extract_json(text: str, validator: Any = None, *, repair: Repair = False, allow_nan: bool = True) -> Any:
    """Return the first JSON object or array of a reply that passes, or None.

    Args:
        text: the reply.
        validator: what a candidate must pass: a callable, a pydantic model class or a JSON Schema dict; None takes any.
        repair: how far reading may go. False takes standard JSON only. "lenient" also takes slips with one possible
            meaning: raw line breaks and tabs in strings, a backslash before a character that JSON does not escape,
            a comma before a closing bracket, comments. True adds json-repair as the last resort, on pieces that were
            not cut off (extra ``repair``). "truncated" also completes what was cut off.
        allow_nan: take NaN, Infinity and -Infinity.

    Returns:
        The candidate as the validator left it, or None when none passes.

    Raises:
        TypeError, SettingsError: an argument is wrong.
        MissingExtraError: ``repair`` needs json-repair and it is not installed.

    Example:
        >>> extract_json('Sure! {"team": "billing", "confidence": 0.8}')
        {'team': 'billing', 'confidence': 0.8}
        >>> extract_json('{"a": [1, 2,],}') is None
        True
        >>> extract_json('{"a": [1, 2,],}', repair="lenient")
        {'a': [1, 2]}
    """
    _check_arguments(text, repair, allow_nan)
    check = as_validator(validator)
    reading = read(text, repair=repair, allow_nan=allow_nan)
    for candidates in (reading.candidates, reading.last_resort()):
        for candidate in candidates:
            if check is None:
                return candidate.value
            try:
                return validate(check, candidate.value)
            except Rejected:
                continue
    return None
