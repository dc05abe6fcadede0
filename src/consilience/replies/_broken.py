"""Broken brackets: what is open around the scan and holds no JSON."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from ._candidates import Found
from ._containers import Frame
from ._lexer import skip_other_quoted, skip_quoted

__all__ = ["BrokenBrackets"]


class BrokenBrackets:
    """The brackets of broken containers that are still open, and those of prose inside them.

    One integer a bracket, so that a million of them stay small: how many candidates had been found when it broke (those
    after it fall with it), whether it is broken or prose, and its kind.

    Args:
        found: the candidates of the scan.
        start: where the outermost broken container begins.
        quote: the quote that stands in for JSON's in it, if any.
    """

    __slots__ = ("_brackets", "_found", "_open", "_unclosed_until", "quote", "start")

    def __init__(self, found: Found, start: int, quote: str) -> None:
        self.start = start
        self.quote = quote
        self._found = found
        self._brackets = array("q")
        self._open = [0, 0]  # arrays, objects
        self._unclosed_until = {'"': -1, quote: -1}

    def __bool__(self) -> bool:
        return bool(self._brackets)

    @property
    def first_mark(self) -> int:
        """How many candidates had been found before the outermost container broke."""
        return self._brackets[0] >> 2

    def push(self, frames: Sequence[Frame], broken: int) -> None:
        """Open the brackets of containers, outermost first, of which the first ``broken`` are and the others prose."""
        mark = len(self._found) << 2
        for index, frame in enumerate(frames):
            self._brackets.append(mark | (index < broken) << 1 | frame.is_object)
            self._open[frame.is_object] += 1

    def close(self, is_object: bool) -> None:
        """Close the nearest bracket of this kind and all inside it; a close that nothing matches is text."""
        if not self._open[is_object]:
            return
        while True:
            bracket = self._brackets.pop()
            self._open[bracket & 1] -= 1
            if bracket & 2:
                self._found.drop_from(bracket >> 2)
            if bracket & 1 == is_object:
                return

    def skip_string(self, text: str, start: int, quote: str) -> int:
        """Where to go on after a quote: past its string if it ends on its line, else past the quote."""
        if start < self._unclosed_until[quote]:
            return start + len(quote)
        end = skip_quoted(text, start) if quote == '"' else skip_other_quoted(text, start, quote)
        if end >= 0:
            return end
        # No later quote before that point closes either: the scan must not look again from each of them.
        self._unclosed_until[quote] = -end - 1
        return start + len(quote)
