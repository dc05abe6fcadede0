"""The scanner: finds the JSON containers that stand in a reply, in one pass.

A stack holds the open containers. One is *committed* once it has shown structure: ``"key":`` in an object, ``value,``
in an array. At a character that JSON does not allow, containers that are not committed vanish as prose and the scan
goes on inside them; committed ones are broken (with the arrays that open directly before them), and what they hold up
to their matching close is dropped, because a piece of a broken answer is not an answer. Containers that are open and
not broken when the text ends are cut off.

There is no restart from every bracket and no recursion, so a million brackets cost the same per character as anything
else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import _lexer as lexer
from ._broken import BrokenBrackets
from ._candidates import Candidate, Found, Piece
from ._containers import ContainerReader, End, Frame

__all__ = ["Scan", "read_plain", "scan", "scan_with"]


@dataclass(slots=True)
class Scan:
    """What one pass over a reply found; ``reasoning`` are the spans inside reasoning blocks, not scanned."""

    found: Found
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
    return scan_with(ContainerReader(text, lenient, allow_nan), reasoning=reasoning)


def scan_with(reader: ContainerReader, *, reasoning: bool = True) -> Scan:
    """``scan`` with a reader that may have read in the text before."""
    return _Scanner(reader, reasoning).run()


def read_plain(reader: ContainerReader) -> Candidate | None:
    """The only candidate of a reply that holds one JSON value, bare or in one fence, and prose; None for any other.

    Most replies are of this kind, and need no scanner.
    """
    beginning = lexer.PLAIN_BEGINNING.match(reader.text)
    read = reader.read_fast(beginning.end()) if beginning else None
    if not (beginning and read):
        return None
    start, opening = beginning.end(), beginning.group(1)
    end = lexer.PLAIN_END.match(reader.text, read.end)
    if end:
        closing = end.group(1)
        if closing and (not opening or opening[0] != closing[0]):
            return None
    elif lexer.PROSE.search(reader.text, read.end):
        return None
    alone = end and (opening or not reader.text[:start].strip(" \t\r\n\ufeff"))
    if type(read.value) is list and not alone:
        return None  # it may be a citation
    return Candidate(read.value, start, read.end, bool(opening and end), read.slip)


class _Scanner:
    def __init__(self, reader: ContainerReader, reasoning: bool) -> None:
        self.text = reader.text
        self.reader = reader
        self.found = Found(reader.text, reader.read_again)
        self.result = Scan(self.found)
        self.heed_tags = reasoning
        self.fence = ""  # the marker of the fence that is open
        self.body = -1  # where the content of the last fence begins

    def run(self) -> Scan:
        position = 0
        while match := lexer.PROSE.search(self.text, position):
            mark = match.group()
            if mark in "{[":
                position = self._container(match.start())
            elif mark[0] == "<":
                position = self._tag(mark, match.start(), match.end())
            else:
                position = self._fence(mark, match.start(), match.end())
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
        self.found.drop_from(0)
        self.result.pieces.clear()
        self.result.reasoning[:] = [(0, end)]
        self.fence = ""
        return end

    def _fence(self, mark: str, start: int, end: int) -> int:
        closes = self.fence and mark[0] == self.fence[0] and len(mark) >= len(self.fence)
        if closes and lexer.REST_OF_LINE_BLANK.match(self.text, end):
            self.fence = ""
            return end
        info_end = lexer.skip_info(self.text, start, end)
        if info_end < 0:
            return end
        self.fence = mark
        if self.text[info_end : info_end + 1] in ("{", "["):
            self.body = info_end
        elif body := lexer.BODY.match(self.text, info_end):
            self.body = body.end()
            while self.reader.lenient and (comment := lexer.BODY_COMMENT.match(self.text, self.body)):
                self.body = comment.end()
        return info_end

    def _container(self, start: int) -> int:
        fast = self.reader.read_fast(start)
        if fast:
            return self._emit(fast.value, start, fast.end, fast.slip)
        return self._read_slowly(start)

    def _emit(self, value: Any, start: int, end: int, slip: bool) -> int:
        """Keep a container that stands in prose; returns where the scan goes on."""
        after = self._fenced_until(end) if start == self.body else -1
        if after < 0:
            self._emit_bare(value, start, end, slip)
            return end
        self.found.add(value, start, end, True, slip, slip and start < self.reader.comments_from)
        return after

    def _emit_bare(self, value: Any, start: int, end: int, slip: bool) -> None:
        """Keep a container that stands in no fence of its own."""
        if type(value) is dict or not self._is_citation(value, start, end):
            self.found.add(value, start, end, False, slip, slip and start < self.reader.comments_from)

    def _fenced_until(self, end: int) -> int:
        """End of the fence whose content ends with the container that ends here, -1 when more follows in it."""
        match = lexer.FENCE_END.match(self.text, end)
        if match is None or (match.group(1) and match.group(1)[0] != self.fence[:1]):
            return -1
        self.fence = ""
        return match.end()

    def _is_citation(self, value: list[Any], start: int, end: int) -> bool:
        """An array of bare numbers (or of nothing) in a line of prose, as in "see [1]"."""
        if not all(type(item) is int or type(item) is float for item in value):
            return False
        before = start - 1
        while before >= 0 and self.text[before] in " \t\ufeff":
            before -= 1
        begins_line = before < 0 or self.text[before] in "\n\r"
        return not (begins_line and lexer.REST_OF_LINE_BLANK.match(self.text, end))

    # -- containers that need a closer look ----------------------------------------------------------------------------

    def _read_slowly(self, start: int) -> int:
        """Read on from a bracket in prose until no container is open; returns where prose goes on."""
        stack = [Frame(start, self.text[start] == "{")]
        self.reader.begin()
        ended, position = self.reader.walk(stack, start + 1)
        if ended == End.CLOSED:
            return self._emit(stack[0].value, start, position, self.reader.slip)
        if ended == End.CUT_OFF:
            return self._cut_off(start)
        other_spelling = self._commit_other_spelling(stack[-1], position)
        broken_frames = len(stack) if ended == End.TOO_DEEP else _count_broken(stack)
        if not broken_frames:
            return self._vanish(stack[-1], position)
        tag_end = self._close_tag_in_last_string(position)
        if tag_end >= 0:
            return self._forget_before(tag_end)
        quote = lexer.other_quote(self.text, position) if other_spelling else ""
        broken = BrokenBrackets(self.found, start, quote)
        broken.push(stack, broken_frames)
        return self._read_broken(broken, position)

    def _commit_other_spelling(self, top: Frame, position: int) -> bool:
        """A key or an item that lacks only JSON's spelling shows structure, too."""
        if not top.committed and top.is_empty:
            looks_meant = lexer.looks_like_key if top.is_object else lexer.looks_like_item
            top.committed = looks_meant(self.text, position)
            return top.committed
        return False

    def _vanish(self, top: Frame, position: int) -> int:
        """The containers that are open were prose; the innermost may hold one complete item, or one string."""
        child = self._only_child(top)
        if child:
            self._emit(*child)
            return position
        if self.reader.last_string > top.start:
            # The quote was prose, too: what it seemed to enclose is read as prose.
            self.reader.comments_from = max(self.reader.comments_from, position)
            return self.reader.last_string + 1
        return position

    def _only_child(self, top: Frame) -> tuple[Any, int, int, bool] | None:
        only = self.reader.only_child
        if top.committed or only is None or only[0] != top.start:
            return None
        return only[1].value, only[1].start, only[2], self.reader.slip

    def _read_broken(self, broken: BrokenBrackets, position: int) -> int:
        """Read on inside a broken container until its matching close; returns where prose goes on."""
        while True:
            opened, position = self._skip_to_open(broken, position)
            if opened < 0:
                return position
            stack = [Frame(opened, self.text[opened] == "{")]
            self.reader.begin()
            ended, position = self.reader.walk(stack, opened + 1)
            if ended == End.CLOSED:
                self._emit_bare(stack[0].value, opened, position, self.reader.slip)
            elif ended == End.CUT_OFF:
                self.result.truncated = True
                return self._never_closed(broken)
            else:
                self._break_in_broken(stack, broken, position, ended == End.TOO_DEEP)

    def _break_in_broken(self, stack: list[Frame], broken: BrokenBrackets, position: int, too_deep: bool) -> None:
        self._commit_other_spelling(stack[-1], position)
        broken_frames = len(stack) if too_deep else _count_broken(stack)
        child = self._only_child(stack[-1])
        if child and not broken_frames:
            self._emit_bare(*child)
        broken.push(stack, broken_frames)

    def _skip_to_open(self, broken: BrokenBrackets, position: int) -> tuple[int, int]:
        """Go on to the next bracket in a broken container that must be read slowly: its place, and where to go on.

        The place is -1 when prose goes on: after the matching close or the end of reasoning, or at the end of the text.
        """
        text = self.text
        mark_at = lexer.marks_in_broken(broken.quote).search
        while mark := mark_at(text, position):
            char = mark.group()
            start, position = mark.span()
            if char[0] == '"' and len(char) > 1:
                continue  # a whole string
            if char in "}]":
                broken.close(char == "}")
                if not broken:
                    self._add_piece(broken.start, position, True)
                    return -1, position
            elif char in "{[" and not lexer.PROSE.match(text, start):
                broken.push([Frame(start, char == "{")], 0)  # what follows shows that it holds no JSON
            elif char in "{[":
                fast = self.reader.read_fast(start)
                if fast is None:
                    return start, position
                position = fast.end
                self._emit_bare(fast.value, start, fast.end, fast.slip)
            elif char == '"' or char == broken.quote:
                position = broken.skip_string(text, start, char)
            elif self.heed_tags:
                return -1, self._forget_before(position)
        return -1, self._never_closed(broken)

    # -- what never closes ---------------------------------------------------------------------------------------------

    def _cut_off(self, start: int) -> int:
        """The text ends inside containers that are not broken, the outermost at ``start``."""
        tag_end = self._close_tag_in_last_string(len(self.text))
        if tag_end >= 0:
            return self._forget_before(tag_end)
        self._add_piece(start, len(self.text), False)
        self.result.truncated = True
        return len(self.text)

    def _never_closed(self, broken: BrokenBrackets) -> int:
        """Release the complete objects after the break: nothing shows any more that they belong to the broken one."""
        self.found.drop_arrays_from(broken.first_mark)
        self._add_piece(broken.start, len(self.text), False)
        return len(self.text)

    def _close_tag_in_last_string(self, end: int) -> int:
        """End of an unpaired ``</think>`` in the string before the place where a container failed, or -1.

        The string proves nothing: if reasoning ended there, the string's closing quote opened another one.
        """
        start = self.reader.last_string
        if not self.heed_tags or start < 0 or self.text.find("</", start, end) < 0:
            return -1
        depth, last = 0, -1
        for tag in lexer.TAG.finditer(self.text, start, end):
            depth += -1 if tag.group(1) else 1
            last = tag.end() if depth < 0 else last
        return last

    def _add_piece(self, start: int, end: int, closed: bool) -> None:
        self.result.pieces.append(Piece(start, end, closed, start == self.body))


def _count_broken(stack: list[Frame]) -> int:
    """How many of the open containers break: the committed ones and all around them.

    An array around a committed container that was not committed itself opened directly before it (prose between the
    two would have made it vanish), so it is a list whose first item is broken.
    """
    for count in range(len(stack), 0, -1):
        if stack[count - 1].committed:
            return count
    return 0
