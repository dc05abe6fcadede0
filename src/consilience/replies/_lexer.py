"""The lexer: the regular expressions of the scan, and the reading of one JSON string.

Every expression either consumes what it looks at or is bounded, so that no input costs more than linear time.
"""

from __future__ import annotations

import re
from json import decoder
from typing import Any, NamedTuple, cast

MAX_DIGITS = 4300
"""Longest run of digits in a number (the interpreter's default limit for integers; the same on every machine)."""

_WHITESPACE = re.compile(r"[ \t\n\r]*")

# What can follow inside a container. The index of the group that matched tells which token it is.
TOKEN = re.compile(
    r"""[ \t\n\r]*(?:
        (") | (\{) | (\[) | (\}) | (\]) | (,) | (:)
      | (-?(?:0|[1-9][0-9]*)) (\.[0-9]+)? ([eE][-+]?[0-9]+)?
      | (true|false|null|NaN|-?Infinity)
      | (//|/\*)
    )""",
    re.VERBOSE,
)
QUOTE, OPEN_OBJECT, OPEN_ARRAY, CLOSE_OBJECT, CLOSE_ARRAY, COMMA, COLON = range(1, 8)
INTEGER, FRACTION, EXPONENT, LITERAL, COMMENT = range(8, 13)

LONG_NUMBER = re.compile(r"(?<![0-9])[0-9]{%d}" % (MAX_DIGITS + 1))

# Where prose can turn into something else: a bracket, a fence, a reasoning tag.
_TAG_NAME = r"(?:[tT][hH][iI][nN][kK](?:[iI][nN][gG])?|[rR][eE][aA][sS][oO][nN][iI][nN][gG])"
_BEGINS_OBJECT = r"""\{(?=[ \t\n\r]*(?:["}'“”„‟‘’`&/A-Za-z_$]|\Z))"""
_BEGINS_ARRAY = r"""\[(?=[ \t\n\r]*(?:[\]\["{\-0-9tfnNI'“”„‟‘’`&/TF]|\Z))"""
JSON_BEGINNING = re.compile(r"\{[ \t\n\r]*[\"}]|\[[ \t\n\r]*[\"\[{\]\-0-9tfnNI]")
PROSE = re.compile(
    "%s|%s" % (_BEGINS_OBJECT, _BEGINS_ARRAY)
    + r"|```+|~~~+|<%s(?:[ \t][^<>\n]{0,80})?>|</%s[ \t]*>" % (_TAG_NAME, _TAG_NAME)
)
TAG = re.compile(r"<(/?)%s(?:[ \t][^<>\n]{0,80})?>" % _TAG_NAME)
CLOSE_TAG = re.compile(r"</%s[ \t]*>" % _TAG_NAME)

# What counts inside a broken container: brackets, strings (a bracket in a string is text), the end of reasoning.
_BROKEN = r'\{|\[|\}|\]|"[^"\\\n\r]*"|"|</%s[ \t]*>' % _TAG_NAME
BROKEN = re.compile(_BROKEN)

# Quotes that stand in for JSON's, with what closes them.
_OTHER_QUOTES = {
    "'": "'",
    "“": "”",
    "&quot;": "&quot;",
    "&#34;": "&#34;",
    "&#39;": "&#39;",
    "&apos;": "&apos;",
    "&#x27;": "&#x27;",
    "&#x22;": "&#x22;",
}
_BROKEN_QUOTED = {quote: re.compile("%s|%s" % (_BROKEN, quote)) for quote in _OTHER_QUOTES}
_CLOSING_STOPS = {quote: re.compile(r"%s|\n|\\[^\n]?" % closing) for quote, closing in _OTHER_QUOTES.items()}
_AFTER_STRING = re.compile(r"[ \t]{0,20}(?:[,:}\]]|\r?\n|\Z)")

_INFO = re.compile(r"[ \t]*(?:\{[.=]?[A-Za-z][A-Za-z0-9_.+-]{0,20}\}|[^\s{\[`~]*)[ \t]*")
_INFO_WITHIN_LINE = re.compile(r"[A-Za-z0-9_+#-]{0,20}[ \t]*(?=[\r\n{\[])")
BODY = re.compile(r"[^\n]{0,200}\n[\s\ufeff]*")
BODY_COMMENT = re.compile(r"(?://[^\n]{0,200}\n|/\*[^*]{0,200}\*/)[\s\ufeff]*")
# A reply of one JSON value, bare or in one fence, after prose that holds nothing else.
PLAIN_BEGINNING = re.compile(
    r"[^{\[`~<]*(?:(?<![^\n\ufeff])(```+|~~~+)[ \t]*[A-Za-z0-9_+#.-]*[ \t]*\r?\n?[ \t\r\n\ufeff]*)?(?=[{\[])"
)
PLAIN_END = re.compile(r"[ \t\r\n]*(?:(```+|~~~+)[ \t\r\n]*)?\Z")
FENCE_END = re.compile(r"\s*(?:(```+|~~~+)|\Z)")
REST_OF_LINE_BLANK = re.compile(r"[ \t]*(?:\r|\n|\Z)")
_LONGEST_INDENT = 40
_LINE_BEGINNING = re.compile(r"[ \t>*+\ufeff-]*(?:[0-9]{1,3}[.)][ \t]*)?\Z")

# An opening that is not JSON but plainly meant as an object (a key and its colon in other quotes or none) or as a list.
_OTHER_QUOTED = r"""(?:'[^'\n]{0,200}'|[“”„‟][^“”„‟"\n]{0,200}["“”‟]|[‘’‚][^‘’'\n]{0,200}['‘’]|`[^`\n]{0,200}`)"""
_ESCAPED_QUOTE = r"&(?:quot|apos|\#34|\#39|\#x22|\#x27);"
_KEY_LIKE = re.compile(
    r"""%s\s*: | %s | [A-Za-z_$][A-Za-z0-9_$]{0,80}\s*:\s*(?:["'“‘`\[{0-9-]|true|false|null|True|False|None)"""
    % (_OTHER_QUOTED, _ESCAPED_QUOTE),
    re.VERBOSE,
)
_ITEM_LIKE = re.compile(r"(?:%s|True|False|None)\s*, | %s" % (_OTHER_QUOTED, _ESCAPED_QUOTE), re.VERBOSE)

_SIMPLE_STRING = re.compile(r'"[^"\\\x00-\x1f]*"')
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_PLAIN_LINE = re.compile(r'[^"\\\n\r]*')
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER_TAILS = (".", "e", "E", "e+", "e-", "E+", "E-")


class String(NamedTuple):
    """A string as read: its value and end, or (``value`` None) the position of what is wrong with it.

    ``end`` is -1 when the text ends inside the string; ``slip`` is true when it was read leniently.
    """

    value: str | None
    end: int
    slip: bool


def skip_whitespace(text: str, position: int) -> int:
    """Past the whitespace at ``position``."""
    return _end(_WHITESPACE, text, position)


def skip_info(text: str, fence: int, position: int) -> int:
    """Past the label, at ``position``, of the fence that begins at ``fence``; -1 when it is no fence after all.

    Within a line of prose only a single word may stand between the fence and the end of the line, or JSON: "wrap it in
    ``` marks" opens nothing.
    """
    line_start = text.rfind("\n", max(fence - _LONGEST_INDENT, 0), fence) + 1
    if (line_start or fence < _LONGEST_INDENT) and _LINE_BEGINNING.match(text, line_start, fence):
        return _end(_INFO, text, position)
    label = _INFO_WITHIN_LINE.match(text, position)
    return label.end() if label else -1


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def read_string(text: str, start: int, lenient: bool) -> String:
    """Read the JSON string that opens at ``start``.

    Lenient reading also takes raw line breaks and tabs, and keeps a backslash that escapes nothing.
    """
    simple = _SIMPLE_STRING.match(text, start)
    if simple:
        return String(text[start + 1 : simple.end() - 1], simple.end(), False)
    position = start + 1
    stray: list[int] = []  # backslashes that escape nothing
    slip = False
    while True:
        position = _end(_PLAIN, text, position)
        char = text[position : position + 1]
        if char == '"':
            break
        if char == "\\":
            length = _escape_length(text, position)
            if length < 0:
                return String(None, -1, slip)
            if length == 0:
                if not lenient:
                    return String(None, position, slip)
                stray.append(position)
                length = 1
            position += length
        elif not char:
            return String(None, -1, slip)
        elif lenient and char in "\n\r\t":
            slip = True
            position += 1
        else:
            return String(None, position, slip)
    value = _decode(text, start + 1, position, stray)
    return String(value, position + 1, slip or bool(stray))


def _escape_length(text: str, position: int) -> int:
    """Characters of the escape at ``position``; 0 when JSON has no such escape, -1 when the text ends inside it."""
    escaped = text[position + 1 : position + 2]
    if not escaped:
        return -1
    if escaped in '"\\/bfnrt':
        return 2
    if escaped != "u":
        return 0
    if _HEX4.match(text, position + 2):
        return 6
    cut_off = len(text) < position + 6 and all(c in "0123456789abcdefABCDEF" for c in text[position + 2 :])
    return -1 if cut_off else 0


def _decode(text: str, start: int, end: int, stray: list[int]) -> str:
    if not stray:
        return _scanstring(text, start)
    pieces = []
    for backslash in stray:
        pieces.append(text[start:backslash])
        start = backslash
    pieces.append(text[start : end + 1])
    return _scanstring("\\".join(pieces), 0)


def _scanstring(text: str, start: int) -> str:
    """Decode the string whose content begins at ``start``, with the standard library's scanner in C."""
    scanstring = cast(Any, decoder).scanstring
    return cast(str, scanstring(text, start, False)[0])


def skip_quoted(text: str, start: int) -> int:
    """End of the double-quoted string at ``start`` if it ends on its line; else minus the end of that line, minus 1.

    For broken JSON, where a missing quote would otherwise turn the rest of the text inside out.
    """
    position = start + 1
    while True:
        position = _end(_PLAIN_LINE, text, position)
        char = text[position : position + 1]
        if char == '"':
            return position + 1
        if char != "\\" or text[position + 1 : position + 2] in ("", "\n", "\r"):
            return -position - 1
        position += 2


def skip_other_quoted(text: str, start: int, quote: str) -> int:
    """Like ``skip_quoted`` for other quotes: the closing one is the first that JSON's structure can follow."""
    stop_at = _CLOSING_STOPS[quote].search
    closing = _OTHER_QUOTES[quote]
    position = start + len(quote)
    while match := stop_at(text, position):
        position = match.end()
        if match.group() == "\n":
            return -match.start() - 1
        if match.group() == closing and _AFTER_STRING.match(text, position):
            return position
    return -len(text) - 1


def other_quote(text: str, position: int) -> str:
    """The quote other than JSON's that stands at ``position``, or ""."""
    return next((quote for quote in _OTHER_QUOTES if text.startswith(quote, position)), "")


def marks_in_broken(quote: str) -> re.Pattern[str]:
    """What counts inside a broken container whose strings stand in this other quote ("" for none)."""
    return _BROKEN_QUOTED[quote] if quote else BROKEN


def looks_like_key(text: str, position: int) -> bool:
    """True when the text at ``position`` is a key and a colon in all but JSON's quotes: ``'a':``, ``“a”:``, ``a:``."""
    return _KEY_LIKE.match(text, position) is not None


def looks_like_item(text: str, position: int) -> bool:
    """True when the text at ``position`` is an item and a comma in all but JSON's spelling: ``'a',``, ``None,``."""
    return _ITEM_LIKE.match(text, position) is not None


def ends_inside_literal(text: str, position: int) -> bool:
    """True when the text ends inside a literal or a negative number that began at ``position`` (``tru``, ``-``)."""
    rest = text[position : position + 10]
    return position + len(rest) == len(text) and any(literal.startswith(rest) for literal in _LITERALS)


def ends_inside_number(text: str, position: int) -> bool:
    """True when the text ends inside the number that the digits before ``position`` belong to (``1.``, ``2e+``)."""
    return text[position : position + 3] in _NUMBER_TAILS and text[position - 1 : position].isdigit()
