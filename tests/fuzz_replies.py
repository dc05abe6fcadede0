"""A coverage-guided fuzzer for the reading of replies (``make fuzz``).

Every input is read at every level. What must hold: nothing raises; the fast and the slow reading agree; a candidate
that was not repaired is valid JSON that stands in the text.
"""

from __future__ import annotations

import json
import sys

import atheris

with atheris.instrument_imports(include=["consilience"]):
    from consilience import iter_json_candidates
    from consilience.replies import _containers
    from consilience.replies._scanner import Scan, scan

# Pieces that a byte fuzzer would take long to put together; bytes below 32 stand for them.
PIECES = [
    '{"a":',
    '"b"',
    "[1, 2]",
    "```json\n",
    "```",
    "~~~",
    "<think>",
    "</think>",
    "'k': ",
    "{'k': ",
    "“",
    "”",
    "&quot;",
    "/*",
    "*/",
    "//",
    "\n",
    "\\u00e9",
    "\\(",
    "true",
    "NaN",
    "1e5",
    "{}",
    "[]",
    "}",
    "]",
    "{",
    "[",
    ",",
    ":",
    '"',
    "\\",
]


def text_of(data: bytes) -> str:
    return "".join(PIECES[byte] if byte < len(PIECES) else chr(byte) for byte in data)


def picture(result: Scan) -> tuple[str, bool]:
    found = [(each.start, each.end, json.dumps(each.value), each.repaired) for each in result.found.in_order()]
    return repr((found, result.pieces, result.reasoning)), result.truncated


def check(data: bytes) -> None:
    text = text_of(data)
    for lenient in (False, True):
        result = scan(text, lenient=lenient)
        for candidate in result.found.in_order():
            if not candidate.repaired:
                standing = json.loads(text[candidate.start : candidate.end])
                assert json.dumps(standing) == json.dumps(candidate.value), text
        fast = picture(result)
        read_fast = _containers.ContainerReader.read_fast
        _containers.ContainerReader.read_fast = lambda self, start: None  # type: ignore[method-assign]
        try:
            slow = picture(scan(text, lenient=lenient))
        finally:
            _containers.ContainerReader.read_fast = read_fast  # type: ignore[method-assign]
        assert fast == slow, text
    for candidate in iter_json_candidates(text, repair="truncated"):
        assert isinstance(candidate, dict | list), text


if __name__ == "__main__":
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
