"""Respelling: a broken piece with its typographic quotes as JSON's, and its NaNs kept safe from repair."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["Respelled", "respell", "restore_constants"]

_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_MARK = "\ue000"  # a private character: it marks a constant that was written as text

# Typographic quotes open and close in many ways: “a”, „a“, ”a”, “a", ‘a’, ‚a‘.
_DOUBLE = "“”„‟"
_SINGLE = "‘’‚‛"
_WORTH_A_LOOK = re.compile(r"[%s%s]|NaN|Infinity" % (_DOUBLE, _SINGLE))
_STOP = re.compile(r"""["'%s%s]|(?<![\w.-])(?:NaN|-?Infinity)(?![\w.])""" % (_DOUBLE, _SINGLE))
_BEFORE_STRING = re.compile(r"[{\[,:][ \t\r\n]{0,40}\Z")
_AFTER_STRING = re.compile(r"[ \t]{0,20}(?:[,:}\]]|\r?\n|\Z)")
_CLOSINGS = {
    '"': re.compile(r'"|\n|\\[^\n]?'),
    "'": re.compile(r"'|\n|\\[^\n]?"),
    **dict.fromkeys(_DOUBLE, re.compile(r'[%s"]|\n|\\[^\n]?' % _DOUBLE)),
    **dict.fromkeys(_SINGLE, re.compile(r"[%s']|\n|\\[^\n]?" % _SINGLE)),
}
_BARE_QUOTE = re.compile(r'(?<!\\)"')


class Respelled(NamedTuple):
    """A piece as it is handed on, and whether it holds NaN or an infinity."""

    text: str
    has_constants: bool


def respell(piece: str) -> Respelled:
    """Write what stands in typographic quotes as JSON strings, and constants that JSON lacks as marked strings.

    What stands inside strings in other quotes is text. A quote opens a string where JSON's structure leads to one, and
    the first that structure can follow closes it, not counting inner pairs of typographic quotes.
    """
    if not _WORTH_A_LOOK.search(piece):
        return Respelled(piece, False)
    out: list[str] = []
    done = position = 0
    has_constants = False
    unclosed_until = dict.fromkeys(_CLOSINGS, 0)  # a quote that is not closed on its line is not looked for again there
    while stop := _STOP.search(piece, position):
        start, position = stop.span()
        char = stop.group()
        if char not in _CLOSINGS:
            out += [piece[done:start], f'"{_MARK}{char}"']
            done = position
            has_constants = True
        elif start >= unclosed_until[char] and _BEFORE_STRING.search(piece, max(0, start - 41), start):
            end = _closing(piece, position, char)
            if end < 0:
                unclosed_until[char] = -end
                continue
            if char in _DOUBLE + _SINGLE:
                out += [piece[done:start], '"', _BARE_QUOTE.sub(r"\\" + '"', piece[position:end]), '"']
                done = end + 1
            position = end + 1
    return Respelled("".join([*out, piece[done:]]), has_constants)


def _closing(piece: str, position: int, opening: str) -> int:
    """Where the string's closing quote stands, on the same line; minus the end of the line when none closes it."""
    inner = 0
    for stop in _CLOSINGS[opening].finditer(piece, position):
        char = stop.group()
        if char == "\n":
            return -stop.end()
        if char[0] == "\\":
            continue
        can_close = _AFTER_STRING.match(piece, stop.end()) is not None
        if char == opening and char in "“‘" and not can_close:
            inner += 1
        elif inner and char not in "\"'":
            inner -= 1
        elif can_close:
            return stop.start()
    return -len(piece)


def restore_constants(value: Any) -> Any:
    """The value with its marked strings as the floats that they stand for."""
    root = [value]
    pending: list[Any] = [root]
    while pending:
        container = pending.pop()
        for key, item in list(container.items() if isinstance(container, dict) else enumerate(container)):
            if isinstance(item, dict | list):
                pending.append(item)
            elif isinstance(item, str) and item.startswith(_MARK):
                container[key] = _CONSTANTS.get(item[len(_MARK) :], item)
    return root[0]
