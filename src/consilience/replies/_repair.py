"""Repair: the last resort, json-repair on the broken pieces that our own scan found."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from .._errors import MissingExtraError
from ._candidates import Candidate, Piece
from ._scanner import Scan, scan

__all__ = ["load_repairer", "repaired_candidates"]

MAX_PIECE = 50_000
"""Longest piece, in characters, that is handed to json-repair: its time is not linear in the worst case."""

_ESCAPED_QUOTE = re.compile(r"&(?:quot|apos|#34|#39|#x22|#x27);", re.IGNORECASE)


def load_repairer() -> Any:
    """Import json-repair, or say how to install it."""
    try:
        import json_repair
    except ImportError:
        raise MissingExtraError("repair", "json-repair", "repair=True") from None
    return json_repair


def repaired_candidates(text: str, first: Scan, *, allow_nan: bool, truncated: bool) -> Iterator[Candidate]:
    """Yield what can be made of the broken pieces of a reply, fenced ones first, then objects, then arrays.

    Args:
        text: the reply.
        first: the lenient scan of it.
        allow_nan: as in ``scan``.
        truncated: also complete what was cut off.
    """
    if _ESCAPED_QUOTE.search(text):
        text = html.unescape(text)
        first = scan(text, lenient=True, allow_nan=allow_nan)
        yield from (candidate._replace(repaired=True) for candidate in first.found.in_order())
    for piece in sorted(first.pieces, key=lambda piece: (not piece.fenced, text[piece.start] != "{", piece.start)):
        if (piece.closed or truncated) and piece.end - piece.start <= MAX_PIECE:
            value = _repair(text, piece)
            if value:
                yield Candidate(value, piece.start, piece.end, piece.fenced, True)


def _repair(text: str, piece: Piece) -> Any:
    """The object or array that json-repair makes of a piece, or None; never of another kind than the piece."""
    wanted = dict if text[piece.start] == "{" else list
    try:
        value = load_repairer().repair_json(text[piece.start : piece.end], return_objects=True, skip_json_loads=True)
    except MissingExtraError:
        raise
    except Exception:  # a library's accident on a bad reply is a reply that cannot be repaired
        return None
    return value if type(value) is wanted else None
