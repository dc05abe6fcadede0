"""The scanner: finds the JSON containers that stand in a reply, in one pass.

A stack holds the open containers. One is *committed* once it has shown structure: ``"key":`` in an object, ``value,``
in an array. At a character that JSON does not allow, containers that are not committed vanish as prose and the scan
goes on inside them; committed ones are broken, and what they hold up to their matching close is dropped, because a
piece of a broken answer is not an answer. Containers that are open and not broken when the text ends are cut off.

There is no restart from every bracket and no recursion, so a million brackets cost the same per character as anything
else. The standard library's scanner in C reads what is plain JSON; it is asked again only past the place where it last
failed, and only a few times.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from . import _lexer as lexer

__all__ = ["MAX_DEPTH", "Candidate", "Piece", "Scan", "scan"]

MAX_DEPTH = 200
"""Deepest nesting that is read."""

_FAST_FAILURES = 8  # how often the C scanner may fail in one reply: each failure costs a count of the lines before it


class Candidate(NamedTuple):
    """A container that was found: its value, where it stands in the text, and how it was read."""

    value: Any
    start: int
    end: int
    fenced: bool
    repaired: bool


class Piece(NamedTuple):
    """A broken or cut-off container, for repair: its place, and whether its matching close was found."""

    start: int
    end: int
    closed: bool
    fenced: bool


@dataclass(slots=True)
class Scan:
    """What one pass over a reply found; ``reasoning`` are the spans inside reasoning blocks, not scanned."""

    found: list[Candidate] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    reasoning: list[tuple[int, int]] = field(default_factory=list)
    truncated: bool = False


def scan(text: str, *, lenient: bool = False, allow_nan: bool = True, reasoning: bool = True) -> Scan:
    """Scan a reply for JSON objects and arrays.

    Args:
        text: the reply.
        lenient: also take slips that have one possible meaning (see ``extract_json``).
        allow_nan: take NaN, Infinity and -Infinity.
        reasoning: leave out what stands inside reasoning blocks; False reads the tags as any other text.
    """
    return _Scanner(text, lenient, allow_nan, reasoning).run()


class _NanRefusedError(Exception):
    """Raised inside the C scanner to leave it at the first NaN."""


def _refuse_nan(literal: str) -> float:
    raise _NanRefusedError(literal)


def _c_scanner(strict: bool, parse_constant: Callable[[str], float] | None) -> Callable[[str, int], tuple[Any, int]]:
    decoder: Any = json.JSONDecoder(strict=strict, parse_constant=parse_constant)
    return cast("Callable[[str, int], tuple[Any, int]]", decoder.scan_once)


_FAST = {
    (strict, allow_nan): _c_scanner(strict, None if allow_nan else _refuse_nan)
    for strict in (True, False)
    for allow_nan in (True, False)
}
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

# How a walk through open containers ends.
_CLOSED, _ILLEGAL, _CUT_OFF, _TOO_DEEP = range(4)


class _Frame:
    """An open container."""

    __slots__ = ("child", "committed", "is_object", "key", "last_string", "slip", "start", "state", "value")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.is_object = is_object
        self.value: Any = {} if is_object else []
        self.state = _KEY_OR_CLOSE if is_object else _ITEM_OR_CLOSE
        self.key = ""
        self.committed = False
        self.slip = False
        self.child: Candidate | None = None  # the first item of an uncommitted array, if it is a container
        self.last_string = -1

    def put(self, value: Any) -> None:
        if self.is_object:
            self.value[self.key] = value
            self.state = _COMMA_OR_END
        else:
            self.value.append(value)
            self.state = _COMMA_OR_CLOSE


class _Scanner:
    def __init__(self, text: str, lenient: bool, allow_nan: bool, reasoning: bool) -> None:
        self.text = text
        self.lenient = lenient
        self.allow_nan = allow_nan
        self.heed_tags = reasoning
        self.result = Scan()
        self.found = self.result.found
        self.fast_from = 0
        self.fast_failures = 0
        self.fence = ""  # the marker of the fence that is open
        self.body = -1  # where the content of the last fence begins
        self.comments_from = 0
        self.comment_end = -2  # the last "*/" that was looked for: its end, -1 for none

    def run(self) -> Scan:
        position = 0
        while match := lexer.PROSE.search(self.text, position):
            mark = match.group()
            if mark in "{[":
                position = self._container(match.start())
            elif mark[0] == "<":
                position = self._tag(mark, match.start(), match.end())
            else:
                position = self._fence(mark, match.end())
        return self.result

    # -- prose ---------------------------------------------------------------------------------------------------------

    def _tag(self, mark: str, start: int, end: int) -> int:
        if not self.heed_tags:
            return end
        if mark[1] == "/":
            return self._forget_before(end)
        depth, last = 1, -1
        for tag in lexer.TAG.finditer(self.text, end):
            depth += -1 if tag.group(1) else 1
            if tag.group(1):
                last = tag.end()
            if depth == 0:
                break
        block_end = last if last >= 0 else len(self.text)
        self.result.reasoning.append((start, block_end))
        return block_end

    def _forget_before(self, end: int) -> int:
        """An end of reasoning without a beginning: everything before it was reasoning."""
        self.found.clear()
        self.result.pieces.clear()
        self.result.reasoning[:] = [(0, end)]
        self.fence = ""
        return end

    def _fence(self, mark: str, end: int) -> int:
        closes = self.fence and mark[0] == self.fence[0] and len(mark) >= len(self.fence)
        if closes and lexer.REST_OF_LINE_BLANK.match(self.text, end):
            self.fence = ""
            return end
        self.fence = mark
        info_end = lexer.INFO.match(self.text, end).end()  # type: ignore[union-attr]
        if self.text[info_end : info_end + 1] in ("{", "["):
            self.body = info_end
        elif body := lexer.BODY.match(self.text, info_end):
            self.body = body.end()
        return info_end

    def _emit(self, value: Any, start: int, end: int, repaired: bool, in_broken: bool = False) -> int:
        """Keep a container that was read; returns where the scan goes on."""
        fenced = False
        if start == self.body and not in_broken and (match := lexer.FENCE_END.match(self.text, end)):
            mark = match.group(1)
            if mark is None or mark[0] == self.fence[0]:
                fenced = True
                self.fence = ""
        if fenced or not self._is_citation(value, start, end):
            self.found.append(Candidate(value, start, end, fenced, repaired))
        return match.end() if fenced and match else end

    def _is_citation(self, value: Any, start: int, end: int) -> bool:
        """An array of bare numbers (or of nothing) in a line of prose, as in "see [1]"."""
        if type(value) is not list or not all(type(item) is int or type(item) is float for item in value):
            return False
        before = start - 1
        while before >= 0 and self.text[before] in " \t\ufeff":
            before -= 1
        begins_line = before < 0 or self.text[before] in "\n\r"
        return not (begins_line and lexer.REST_OF_LINE_BLANK.match(self.text, end))

    # -- containers ----------------------------------------------------------------------------------------------------

    def _container(self, start: int) -> int:
        fast = self._read_fast(start)
        if fast:
            return self._emit(fast[0], start, fast[1], fast[2])
        return self._read_slowly(start)

    def _read_fast(self, start: int) -> tuple[Any, int, bool] | None:
        """Let the C scanner read the container at ``start``: (value, end, whether leniently), or None."""
        if start < self.fast_from:
            return None
        value, end = self._scan_once(True, start)
        repaired = False
        if end < 0 and self.lenient and self.text[self.fast_from : self.fast_from + 1] in ("\n", "\r", "\t"):
            failed_at = self.fast_from
            value, end = self._scan_once(False, start)
            repaired = True
            if end >= 0 and _UNUSUAL_CONTROL.search(self.text, failed_at, end):
                end = -1
        if end < 0 or (end - start > 2 * MAX_DEPTH and not self._is_readable(value, start, end)):
            return None
        return value, end, repaired

    def _scan_once(self, strict: bool, start: int) -> tuple[Any, int]:
        try:
            value, end = _FAST[strict, self.allow_nan](self.text, start)
        except json.JSONDecodeError as error:
            failed_at = error.pos
        except StopIteration as error:
            failed_at = error.value
        except (RecursionError, ValueError, _NanRefusedError):  # too deep, an integer too long, or NaN
            failed_at = len(self.text)
        else:
            return value, end
        self.fast_failures += 1
        self.fast_from = max(failed_at, start + 1)
        if self.fast_failures >= _FAST_FAILURES:
            self.fast_from = len(self.text) + 1
        return None, -1

    def _is_readable(self, value: Any, start: int, end: int) -> bool:
        """False when a value that the C scanner took must be read again slowly: too deep, or too many digits."""
        brackets = self.text.count("{", start, end) + self.text.count("[", start, end)
        too_deep = brackets > MAX_DEPTH and _is_deeper_than(value, MAX_DEPTH)
        many_digits = end - start > lexer.MAX_DIGITS and lexer.LONG_NUMBER.search(self.text, start, end)
        if too_deep or many_digits:
            self.fast_from = end
            return False
        return True

    def _read_slowly(self, start: int) -> int:
        """Read on from a bracket in prose until no container is open; returns where prose goes on."""
        broken = _Broken(self.found)
        stack = [_Frame(start, self.text[start] == "{")]
        position = start + 1
        while True:
            end, position = self._walk(stack, position)
            if end == _CLOSED:
                frame = stack.pop()
                position = self._emit(frame.value, frame.start, position, frame.slip, bool(broken))
            elif end == _CUT_OFF:
                return self._cut_off(stack, broken)
            else:
                position = self._break(stack, broken, position, end == _TOO_DEEP)
                if position < 0:
                    return -position
            if not broken:
                return position
            opened = self._skip_broken(broken, position)
            if opened < 0:
                return -opened - 1
            stack = [_Frame(opened, self.text[opened] == "{")]
            position = opened + 1

    def _walk(self, stack: list[_Frame], position: int) -> tuple[int, int]:
        """Walk through open containers until the outermost closes, or something is in the way, or the text ends.

        Returns how the walk ended and where; the frames that are open then are on the stack (the closed one included).
        """
        text = self.text
        token_at = lexer.TOKEN.match
        frame = stack[-1]
        while True:
            token = token_at(text, position)
            if token is None:
                position = lexer.WHITESPACE.match(text, position).end()  # type: ignore[union-attr]
                cut_off = position >= len(text) or (
                    frame.state in (*_TAKES_VALUE, _COMMA_OR_CLOSE, _COMMA_OR_END)
                    and lexer.ends_inside_scalar(text, position)
                )
                return (_CUT_OFF if cut_off else _ILLEGAL), position
            kind = token.lastindex
            state = frame.state
            if kind == lexer.QUOTE:
                opening = token.end() - 1
                if state not in _TAKES_VALUE and state not in _TAKES_KEY:
                    return _ILLEGAL, opening
                string = lexer.read_string(text, opening, self.lenient)
                frame.last_string = opening
                if string.value is None:
                    return (_CUT_OFF, len(text)) if string.end < 0 else (_ILLEGAL, string.end)
                frame.slip |= string.slip
                position = string.end
                if state in _TAKES_KEY:
                    frame.key = string.value
                    frame.state = _COLON
                else:
                    frame.put(string.value)
            elif kind == lexer.COLON and state == _COLON:
                frame.committed = True
                frame.state = _VALUE
                position = token.end()
            elif kind == lexer.COMMA and state in (_COMMA_OR_CLOSE, _COMMA_OR_END):
                frame.committed = True
                frame.state = _KEY if frame.is_object else _ITEM
                position = token.end()
            elif kind in (lexer.OPEN_OBJECT, lexer.OPEN_ARRAY) and state in _TAKES_VALUE:
                if len(stack) >= MAX_DEPTH:
                    return _TOO_DEEP, token.end() - 1
                frame = _Frame(token.end() - 1, kind == lexer.OPEN_OBJECT)
                stack.append(frame)
                position = token.end()
            elif kind in (lexer.CLOSE_OBJECT, lexer.CLOSE_ARRAY):
                if not self._may_close(frame, kind == lexer.CLOSE_OBJECT):
                    return _ILLEGAL, token.end() - 1
                position = token.end()
                if len(stack) == 1:
                    return _CLOSED, position
                frame = self._close_into_parent(stack, position)
            elif kind == lexer.COMMENT:
                position = self._comment_end(token.end() - 2)
                if position < 0:
                    return (_CUT_OFF, len(text)) if position == -1 else (_ILLEGAL, token.end() - 2)
                frame.slip = True
            elif state in _TAKES_VALUE and self._put_scalar(frame, token):
                position = token.end()
            else:
                return _ILLEGAL, _token_start(token)

    def _may_close(self, frame: _Frame, is_object: bool) -> bool:
        if frame.is_object != is_object:
            return False
        if frame.state in (_ITEM, _KEY) and self.lenient:  # a comma before the closing bracket
            frame.slip = True
            return True
        return frame.state in (_ITEM_OR_CLOSE, _COMMA_OR_CLOSE, _KEY_OR_CLOSE, _COMMA_OR_END)

    @staticmethod
    def _close_into_parent(stack: list[_Frame], end: int) -> _Frame:
        child = stack.pop()
        parent = stack[-1]
        parent.put(child.value)
        parent.slip |= child.slip
        if not parent.committed:
            parent.child = Candidate(child.value, child.start, end, False, child.slip)
        return parent

    def _put_scalar(self, frame: _Frame, token: re.Match[str]) -> bool:
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
        if self.comment_end != -1 and self.comment_end < start + 4:
            self.comment_end = self.text.find("*/", start + 2) + 2
            if self.comment_end == 1:
                self.comment_end = -1
        return self.comment_end

    # -- broken containers ---------------------------------------------------------------------------------------------

    def _break(self, stack: list[_Frame], broken: _Broken, position: int, too_deep: bool) -> int:
        """Something is in the way at ``position``: tell prose from broken JSON.

        Returns where the scan goes on; minus that when reasoning turned out to end inside the container.
        """
        text = self.text
        top = stack[-1]
        if not top.committed:
            if top.state == _KEY_OR_CLOSE:
                top.committed = lexer.looks_like_key(text, position)
            elif top.state == _ITEM_OR_CLOSE:
                top.committed = lexer.looks_like_item(text, position)
            if top.committed and text[position] == "'":
                broken.single_quoted = True
        first = 0 if too_deep else next((i for i, frame in enumerate(stack) if frame.committed), len(stack))
        if first < len(stack) and not broken:
            tag_end = self._tag_inside(stack[first].start, position)
            if tag_end >= 0:
                return -self._forget_before(tag_end)
            broken.start = stack[first].start
        if first == len(stack) and top.child:
            child = top.child
            self._emit(child.value, child.start, child.end, child.repaired, bool(broken))
        elif first == len(stack) and top.last_string > top.start and not broken:
            self.comments_from = max(self.comments_from, position)
            position = top.last_string + 1  # the quote was prose, too: what it seemed to enclose is read as prose
        for index in range(first if not broken else 0, len(stack)):
            frame = stack[index]
            broken.push(frame.is_object, too_deep or frame.committed)
        return position

    def _cut_off(self, stack: list[_Frame], broken: _Broken) -> int:
        """The text ends inside containers that are not broken."""
        if not broken:
            tag_end = self._tag_inside(stack[0].start, len(self.text))
            if tag_end >= 0:
                return self._forget_before(tag_end)
            self._add_piece(stack[0].start, len(self.text), False)
        else:
            self._never_closed(broken)
        self.result.truncated = True
        return len(self.text)

    def _tag_inside(self, start: int, end: int) -> int:
        """End of the last ``</think>`` in a container that does not hold together, or -1: its strings prove nothing."""
        last = -1
        if self.heed_tags and self.text.find("</", start, end) >= 0:
            for match in lexer.CLOSE_TAG.finditer(self.text, start, end):
                last = match.end()
        return last

    def _skip_broken(self, broken: _Broken, position: int) -> int:
        """Go on inside a broken container up to the next bracket that opens; returns its position.

        Returns minus (position + 1) when prose goes on: after the matching close, after the end of reasoning, or at the
        end of the text.
        """
        text = self.text
        mark_at = (lexer.BROKEN_SINGLE_QUOTED if broken.single_quoted else lexer.BROKEN).search
        while mark := mark_at(text, position):
            char = mark.group()
            position = mark.end()
            if char in "}]":
                broken.close(char == "}")
                if not broken:
                    self._add_piece(broken.start, position, True)
                    return -position - 1
            elif char in "{[":
                fast = self._read_fast(mark.start())
                if fast is None:
                    return mark.start()
                position = self._emit(fast[0], mark.start(), fast[1], fast[2], True)
            elif char in "\"'":
                position = broken.skip_string(text, mark.start())
            elif self.heed_tags:
                return -self._forget_before(position) - 1
        self._never_closed(broken)
        return -len(text) - 1

    def _never_closed(self, broken: _Broken) -> None:
        """Release the complete objects after the break: nothing shows any more that they belong to the broken one."""
        mark = broken.first_mark()
        self.found[mark:] = [candidate for candidate in self.found[mark:] if type(candidate.value) is dict]
        closing = "}" if self.text[broken.start] == "{" else "]"
        end = len(self.text.rstrip().rstrip("`~").rstrip())
        self._add_piece(broken.start, end, self.text[end - 1] == closing)

    def _add_piece(self, start: int, end: int, closed: bool) -> None:
        self.result.pieces.append(Piece(start, end, closed, start == self.body))


class _Broken:
    """The brackets that are open around the scan and do not hold JSON: broken containers, and prose inside them.

    One integer a bracket, so that a million of them stay small: how many candidates had been found when it broke
    (those after it fall with it), whether it is broken or prose, and its kind.
    """

    __slots__ = ("_brackets", "_found", "_open", "_unquoted_until", "single_quoted", "start")

    def __init__(self, found: list[Candidate]) -> None:
        self._found = found
        self._brackets = array("q")
        self._open = [0, 0]  # arrays, objects
        self._unquoted_until = {'"': -1, "'": -1}
        self.single_quoted = False
        self.start = -1

    def __bool__(self) -> bool:
        return bool(self._brackets)

    def push(self, is_object: bool, is_broken: bool) -> None:
        self._brackets.append(len(self._found) << 2 | is_broken << 1 | is_object)
        self._open[is_object] += 1

    def first_mark(self) -> int:
        return self._brackets[0] >> 2

    def close(self, is_object: bool) -> None:
        """Close the nearest bracket of this kind and all inside it; a close that nothing matches is text."""
        if not self._open[is_object]:
            return
        while True:
            bracket = self._brackets.pop()
            self._open[bracket & 1] -= 1
            if bracket & 2:
                del self._found[bracket >> 2 :]
            if bracket & 1 == is_object:
                return

    def skip_string(self, text: str, start: int) -> int:
        """Where to go on after a quote: past its string if it ends on its line, else past the quote."""
        quote = text[start]
        if start < self._unquoted_until[quote]:
            return start + 1
        end = lexer.skip_quoted(text, start) if quote == '"' else lexer.skip_single_quoted(text, start)
        if end >= 0:
            return end
        # No later quote before that point closes either: the scan must not look again from each of them.
        self._unquoted_until[quote] = -end - 1
        return start + 1


def _token_start(token: re.Match[str]) -> int:
    index = token.lastindex or 0
    return token.start(lexer.INTEGER if lexer.INTEGER <= index <= lexer.EXPONENT else index)


def _is_deeper_than(value: Any, depth: int) -> bool:
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
