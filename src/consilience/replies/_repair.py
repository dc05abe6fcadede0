"""Repair: the last resort, json-repair on the broken pieces that our own scan found."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from typing import Any, SupportsIndex

from .._errors import MissingExtraError
from ._candidates import Candidate, Piece
from ._containers import MAX_DEPTH, is_deeper_than
from ._lexer import MAX_DIGITS
from ._respelling import respell, restore_constants
from ._scanner import Scan, scan

__all__ = ["load_repairer", "repaired_candidates"]

_READS_PER_CHARACTER = 60
_MOST_READS = 1_500_000
"""What json-repair may spend on one piece, and on one reply: its time is not linear in the worst case."""

_ESCAPED_QUOTE = re.compile(r"&(?:quot|apos|#34|#39|#x22|#x27);", re.IGNORECASE)


def load_repairer(repair: object = True) -> Any:
    """Import json-repair, or say how to install it."""
    try:
        import json_repair
    except ImportError:
        raise MissingExtraError("repair", "json-repair", f"repair={repair!r}") from None
    return json_repair


def repaired_candidates(
    text: str, first: Scan, *, allow_nan: bool, truncated: bool, reasoning: bool = True
) -> Iterator[Candidate]:
    """Yield what can be made of the broken pieces of a reply, fenced ones first, then objects, then arrays.

    Args:
        text: the reply.
        first: the lenient scan of it.
        allow_nan: as in ``scan``.
        truncated: also complete what was cut off.
        reasoning: as in ``scan``.
    """
    if _ESCAPED_QUOTE.search(text) and (truncated or not first.truncated):
        text = html.unescape(text)
        first = scan(text, lenient=True, allow_nan=allow_nan, reasoning=reasoning)
        yield from (candidate._replace(repaired=True) for candidate in first.found.in_order())
    budget = _Budget(_MOST_READS)
    for piece in sorted(first.pieces, key=lambda piece: _rank(piece, text)):
        if piece.closed or truncated:
            value = _repaired(text[piece.start : piece.end], budget, allow_nan)
            if value:
                yield Candidate(value, piece.start, piece.end, piece.fenced, True)


def _rank(piece: Piece, text: str) -> tuple[bool, bool, bool, int]:
    """Whole pieces before completed halves, fenced ones before others, objects before arrays, first things first."""
    return not piece.closed, not piece.fenced, text[piece.start] != "{", piece.start


def _repaired(piece: str, budget: _Budget, allow_nan: bool) -> Any:
    """The object or array that a piece was meant to be, or None; never of another kind than the piece."""
    if _has_long_number(piece):
        return None
    respelled = respell(piece)
    if respelled.has_constants and not allow_nan:
        return None
    value = None if respelled.text is piece else _read_whole(respelled.text)
    if value is None:
        value = _by_json_repair(respelled.text, budget)
    wanted = dict if piece[0] == "{" else list
    if type(value) is not wanted or is_deeper_than(value, MAX_DEPTH):
        return None
    return restore_constants(value) if respelled.has_constants else value


def _read_whole(text: str) -> Any:
    """The value of a text that our own lenient reading takes as a whole, as it may once quotes are respelled."""
    for candidate in scan(text, lenient=True).found.in_order():
        if (candidate.start, candidate.end) == (0, len(text)):
            return candidate.value
    return None


def _by_json_repair(text: str, budget: _Budget) -> Any:
    repair_json = load_repairer().repair_json
    try:
        return repair_json(_CountedText(text, budget), return_objects=True, skip_json_loads=True)
    except Exception:  # a library's accident on a bad reply, or too much work, is a reply that cannot be repaired
        return None


def _has_long_number(piece: str) -> bool:
    """Whether there is a number with more digits than are read; json-repair would make text or infinity of it."""
    limit = min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)
    return len(piece) > limit and re.search(r"(?<![0-9])[0-9]{%d}" % (limit + 1), piece) is not None


class _OverBudgetError(Exception):
    """json-repair has looked at a piece too often."""


class _Budget:
    """How many characters json-repair may still look at in this reply."""

    __slots__ = ("left",)

    def __init__(self, reads: int) -> None:
        self.left = reads


class _CountedText(str):
    """A text that counts how often its characters are looked at, and puts an end to it."""

    __slots__ = ("_budget", "_left")

    _budget: _Budget
    _left: int

    def __new__(cls, text: str, budget: _Budget) -> _CountedText:
        counted = super().__new__(cls, text)
        counted._budget = budget
        counted._left = _READS_PER_CHARACTER * (len(text) + 50)
        return counted

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        self._left -= 1
        self._budget.left -= 1
        if self._left < 0 or self._budget.left < 0:
            raise _OverBudgetError
        return super().__getitem__(index)
