"""Containers: reading one object or array, with the standard library's scanner or with a stack of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, cast

from . import _lexer as lexer
from ._lexer import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    COMMENT,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    read_string,
)

__all__ = ["MAX_DEPTH", "ContainerReader", "End", "Frame", "Read", "is_deeper_than"]

MAX_DEPTH = 200
"""Deepest nesting that is read."""

_FAST_FAILURES = 8  # how often the C scanner may fail in one reply: each failure costs a count of the lines before it

_UNUSUAL_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}

# What an open container expects next.
_ITEM_OR_CLOSE, _ITEM, _COMMA_OR_CLOSE, _KEY_OR_CLOSE, _KEY, _COLON, _VALUE, _COMMA_OR_END = range(8)
_TAKES_VALUE = (_ITEM_OR_CLOSE, _ITEM, _VALUE)
_TAKES_KEY = (_KEY_OR_CLOSE, _KEY)
_MAY_CLOSE = (_ITEM_OR_CLOSE, _COMMA_OR_CLOSE, _KEY_OR_CLOSE, _COMMA_OR_END)
_AFTER_COMMA = (_ITEM, _KEY)
_AFTER_VALUE = (_COMMA_OR_CLOSE, _COMMA_OR_END)


_OPENS = (OPEN_OBJECT, OPEN_ARRAY)
_CLOSES = (CLOSE_OBJECT, CLOSE_ARRAY)


class End(IntEnum):
    """How a walk through open containers ends."""

    CLOSED = 0
    ILLEGAL = 1
    CUT_OFF = 2
    TOO_DEEP = 3


# As plain names: a look-up on the enumeration costs more than the rest of a step.
_CLOSED, _ILLEGAL, _CUT_OFF, _TOO_DEEP = End


class Read(NamedTuple):
    """A container as read: its value, its end, and whether that took leniency."""

    value: Any
    end: int
    slip: bool


class _NanRefusedError(Exception):
    """Raised inside the C scanner to leave it at the first NaN."""


def _refuse_nan(literal: str) -> float:
    raise _NanRefusedError(literal)


def _c_scanner(strict: bool, allow_nan: bool) -> Callable[[str, int], tuple[Any, int]]:
    decoder: Any = json.JSONDecoder(strict=strict, parse_constant=None if allow_nan else _refuse_nan)
    return cast("Callable[[str, int], tuple[Any, int]]", decoder.scan_once)


_C_SCANNERS = {(strict, nan): _c_scanner(strict, nan) for strict in (True, False) for nan in (True, False)}


class Frame:
    """An open container. ``key`` is set once a key was read."""

    __slots__ = ("committed", "is_object", "key", "start", "state", "value")

    key: str

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.is_object = is_object
        self.committed = False
        self.value: Any
        if is_object:
            self.value = {}
            self.state = _KEY_OR_CLOSE
        else:
            self.value = []
            self.state = _ITEM_OR_CLOSE

    @property
    def is_empty(self) -> bool:
        """Nothing was read inside it yet."""
        return self.state in (_KEY_OR_CLOSE, _ITEM_OR_CLOSE)

    def put(self, value: Any) -> None:
        """Add a complete value."""
        if self.is_object:
            self.value[self.key] = value
            self.state = _COMMA_OR_END
        else:
            self.value.append(value)
            self.state = _COMMA_OR_CLOSE


class ContainerReader:
    """Reads containers of one text, wherever it is pointed at.

    Args:
        text: the text.
        lenient: take slips that have one possible meaning.
        allow_nan: take NaN, Infinity and -Infinity.
    """

    def __init__(self, text: str, lenient: bool, allow_nan: bool) -> None:
        self.text = text
        self.lenient = lenient
        self.allow_nan = allow_nan
        self.comments_from = 0
        """No comment begins before this place: what stands there was read once already."""
        self.slip = False
        """Whether the walk under way has met a slip."""
        self.last_string = -1
        """Where the last string of the walk opened."""
        self.only_child: tuple[int, Frame, int] | None = None
        """The container that closed last as first item of an array: the array's start, the item, its end."""
        self._fast_from = 0
        self._fast_failures = 0
        self._comment_close = -2  # end of the "*/" that was found last, -1 for none, -2 before the first search

    def read_again(self, start: int, end: int, leniently: bool) -> Any:
        """The value of the container between two positions, which was read before."""
        if not leniently:  # what only leniency reads would make the C scanner fail, which costs more than reading
            try:
                value, its_end = _C_SCANNERS[True, self.allow_nan](self.text, start)
            except (ValueError, StopIteration, RecursionError, _NanRefusedError):
                its_end = -1
            if its_end == end:
                return value
        stack = [Frame(start, self.text[start] == "{")]
        ContainerReader(self.text, self.lenient, self.allow_nan).walk(stack, start + 1)
        return stack[0].value

    # -- with the standard library's scanner ---------------------------------------------------------------------------

    def read_fast(self, start: int) -> Read | None:
        """Let the C scanner read the container at ``start``; None when it must be read slowly.

        The C scanner is asked only past the place where it last failed, and only a few times in a text: together with
        the slow reading, no character is read more than a fixed number of times.
        """
        if start < self._fast_from or not lexer.JSON_BEGINNING.match(self.text, start):
            return None
        value, end = self._scan_once(True, start)
        slip = False
        if end < 0 and self.lenient and self.text[self._fast_from : self._fast_from + 1] in ("\n", "\r", "\t"):
            failed_at = self._fast_from
            value, end = self._scan_once(False, start)
            slip = True
            if end >= 0 and _UNUSUAL_CONTROL.search(self.text, failed_at, end):
                end = -1
        if end < 0 or (end - start > 2 * MAX_DEPTH and not self._is_within_limits(value, start, end)):
            return None
        return Read(value, end, slip)

    def _scan_once(self, strict: bool, start: int) -> tuple[Any, int]:
        try:
            return _C_SCANNERS[strict, self.allow_nan](self.text, start)
        except json.JSONDecodeError as error:
            failed_at = error.pos
        except StopIteration as error:
            failed_at = error.value
        except (RecursionError, ValueError, _NanRefusedError):  # too deep, an integer too long, or NaN
            failed_at = len(self.text)
        self._fast_failures += 1
        self._fast_from = max(failed_at, start + 1)
        if self._fast_failures >= _FAST_FAILURES:
            self._fast_from = len(self.text) + 1
        return None, -1

    def _is_within_limits(self, value: Any, start: int, end: int) -> bool:
        brackets = self.text.count("{", start, end) + self.text.count("[", start, end)
        too_deep = brackets > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH)
        many_digits = end - start > lexer.MAX_DIGITS and lexer.LONG_NUMBER.search(self.text, start, end)
        if too_deep or many_digits:
            self._fast_from = end
            return False
        return True

    # -- with a stack of our own ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget the walk before: a new one begins."""
        self.slip = False
        self.last_string = -1
        self.only_child = None

    def walk(self, stack: list[Frame], position: int) -> tuple[End, int]:
        """Walk through open containers until the outermost closes, or something is in the way, or the text ends.

        Returns how the walk ended and where; the frames that are open then are on the stack (the closed one included).
        """
        text = self.text
        token_at = lexer.TOKEN.match
        frame = stack[-1]
        while True:
            token = token_at(text, position)
            if token is None:
                return self._no_token(frame, position)
            kind = token.lastindex
            state = frame.state
            if kind == QUOTE:
                opening = token.end() - 1
                if state not in _TAKES_VALUE and state not in _TAKES_KEY:
                    return _ILLEGAL, opening
                self.last_string = opening
                string = read_string(text, opening, self.lenient)
                if string.value is None:
                    return (_CUT_OFF, len(text)) if string.end < 0 else (_ILLEGAL, string.end)
                self.slip |= string.slip
                position = string.end
                if state in _TAKES_KEY:
                    frame.key = string.value
                    frame.state = _COLON
                else:
                    frame.put(string.value)
            elif kind == COLON and state == _COLON:
                frame.committed = True
                frame.state = _VALUE
                position = token.end()
            elif kind == COMMA and state in _AFTER_VALUE:
                frame.committed = True
                frame.state = _KEY if frame.is_object else _ITEM
                position = token.end()
            elif kind in _OPENS and state in _TAKES_VALUE:
                position = token.end()
                if len(stack) >= MAX_DEPTH:
                    return _TOO_DEEP, position - 1
                frame = Frame(position - 1, kind == OPEN_OBJECT)
                stack.append(frame)
            elif kind in _CLOSES:
                if not self._may_close(frame, kind == CLOSE_OBJECT):
                    return _ILLEGAL, token.end() - 1
                position = token.end()
                if len(stack) == 1:
                    return _CLOSED, position
                frame = self._close_into_parent(stack, position)
            elif kind == COMMENT:
                start = token.end() - 2
                position = self._comment_end(start)
                if position < 0:
                    return (_CUT_OFF, len(text)) if position == -1 else (_ILLEGAL, start)
                self.slip = True
            elif state in _TAKES_VALUE and self._put_scalar(frame, token):
                position = token.end()
            else:
                return _ILLEGAL, _token_start(token)

    def _no_token(self, frame: Frame, position: int) -> tuple[End, int]:
        position = lexer.skip_whitespace(self.text, position)
        if position >= len(self.text):
            return _CUT_OFF, position
        if frame.state in _TAKES_VALUE:
            cut_off = lexer.ends_inside_literal(self.text, position)
        else:
            cut_off = frame.state in _AFTER_VALUE and lexer.ends_inside_number(self.text, position)
        return (_CUT_OFF if cut_off else _ILLEGAL), position

    def _may_close(self, frame: Frame, is_object: bool) -> bool:
        if frame.is_object != is_object:
            return False
        if frame.state in _AFTER_COMMA and self.lenient:
            self.slip = True
            return True
        return frame.state in _MAY_CLOSE

    def _close_into_parent(self, stack: list[Frame], end: int) -> Frame:
        child = stack.pop()
        parent = stack[-1]
        parent.put(child.value)
        if not parent.committed:
            self.only_child = parent.start, child, end
        return parent

    def _put_scalar(self, frame: Frame, token: re.Match[str]) -> bool:
        if token.lastindex == lexer.LITERAL:
            literal = token.group(lexer.LITERAL)
            if not self.allow_nan and literal[-1] in "Ny":
                return False
            frame.put(_CONSTANTS[literal])
            return True
        if token.lastindex not in (lexer.INTEGER, lexer.FRACTION, lexer.EXPONENT):
            return False
        digits, fraction, exponent = token.group(lexer.INTEGER, lexer.FRACTION, lexer.EXPONENT)
        if max(len(digits), len(fraction or ""), len(exponent or "")) > lexer.MAX_DIGITS + 1:
            return False
        try:
            frame.put(int(digits) if fraction is exponent else float(digits + (fraction or "") + (exponent or "")))
        except ValueError:  # the interpreter was told to convert fewer digits
            return False
        return True

    def _comment_end(self, start: int) -> int:
        """End of the comment at ``start``; -1 when the text ends inside it, -2 when it is no comment."""
        if not self.lenient or start < self.comments_from:
            return -2
        if self.text[start + 1] == "/":
            return self.text.find("\n", start) + 1 or -1
        if self._comment_close != -1 and self._comment_close < start + 4:
            close = self.text.find("*/", start + 2)
            self._comment_close = -1 if close < 0 else close + 2
        return self._comment_close


def _token_start(token: re.Match[str]) -> int:
    index = token.lastindex or 0
    return token.start(lexer.INTEGER if lexer.INTEGER <= index <= lexer.EXPONENT else index)


def is_deeper_than(value: Any, depth: int) -> bool:
    """True when containers are nested more than ``depth`` deep; level by level, without recursion."""
    level = [value]
    for _ in range(depth):
        level = [
            child
            for container in level
            for child in (container.values() if type(container) is dict else container)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True
