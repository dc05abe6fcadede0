"""Normalizers: coarser forms of a vote, so that two spellings of one answer are one ballot.

Each leaves a value alone that it cannot read in one way only: two answers that are kept apart cost agreement, two
different answers taken for one cost correctness.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from .._coroutines import require_plain_function
from .._errors import SettingsError, received
from ._ballots import fields_of

__all__ = ["Normalize", "Normalizer", "field_normalizer", "vote_normalizer"]

Normalizer = Callable[[Any], Any]
Normalize = Literal["text", "number", "date"] | Normalizer | Mapping[str, Any] | None

_OPENERS = {"(": ")", "[": "]", "{": "}", "<": ">", "«": "»", "»": "«", "“": "”", "„": "“”", "‘": "’", "‚": "‘’"}
_QUOTES = "\"'`"
_MARKS = ".,;:!?。、،؟"
_LEADING_MARKS = ",;:!?¿¡"

_CODES = r"EUR|USD|GBP|JPY|CHF|CNY|INR|CAD|AUD"
_SYMBOLS = "€$£¥₹₽₩₺₴₪฿¢"
_AMOUNT = re.compile(
    rf"(?:(?:{_CODES}|[{_SYMBOLS}])\s*)?([+-]?)\s*(?:[{_SYMBOLS}]\s*)?"
    rf"([0-9][0-9.,'’_ ]*)(?:\s*(?:{_CODES}|[{_SYMBOLS}]))?"
)
_SCIENTIFIC = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,4}|[+-]?\.[0-9]+")
_LONGEST_NUMERAL = 1000

_MONTH_NAMES = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTHS = {spelling: number for number, name in enumerate(_MONTH_NAMES, start=1) for spelling in (name, name[:3])}
_MONTHS["sept"] = 9
_ISO = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})(?:[T ][0-9:.,]+(?:Z|[+-][0-9:]+)?)?")
_NUMERIC_DATE = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th|\.)?(?: of)?[ -]([a-z]+)\.?,?[ -]([0-9]{4})")
_MONTH_FIRST = re.compile(r"([a-z]+)\.?[ -]([0-9]{1,2})(?:st|nd|rd|th)?,?[ -]([0-9]{4})")
_WEEKDAY = re.compile(r"(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,? ")


def _text(value: Any) -> Any:
    """Text without differences of form: NFKC, case-folded, space collapsed, outer quotes, brackets and marks off."""
    if not isinstance(value, str):
        return value
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
    collapsed = " ".join(folded.split())
    return _unwrapped(collapsed) or collapsed


def _unwrapped(text: str) -> str:
    while text:
        inner = text.rstrip(_MARKS + " ").lstrip(_LEADING_MARKS + " ")
        if inner.startswith(".") and not inner[1:2].isalnum():  # the dot of ".net" and ".5" belongs to the word
            inner = inner[1:]
        if len(inner) > 1 and _encloses(inner[0], inner[-1], inner[1:-1]):
            inner = inner[1:-1].strip()
        if inner == text:
            return text
        text = inner
    return text


def _encloses(first: str, last: str, inside: str) -> bool:
    if first in _QUOTES:
        return first == last
    return last in _OPENERS.get(first, "") and first not in inside and last not in inside


def _number(value: Any) -> Any:
    """A number, or text that can be read as one number only, in one canonical form."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, Decimal)):
        return _canonical_decimal(Decimal(value))
    if isinstance(value, float):
        return _canonical_decimal(Decimal(repr(float(value)))) if value - value == 0 else value
    if not isinstance(value, str) or len(value) > _LONGEST_NUMERAL:
        return value
    numeral = _numeral(unicodedata.normalize("NFKC", value).replace("\u2212", "-").strip())
    try:
        return value if numeral is None else _canonical_decimal(Decimal(numeral))
    except InvalidOperation:
        return value


def _canonical_decimal(number: Decimal) -> Any:
    """``number`` without its trailing zeros, as text that no other number shares (and no rounding to a context)."""
    if not number.is_finite():
        return str(number)
    sign, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    stripped = significant.rstrip("0")
    if not stripped:
        return "0"
    return f"{'-' if sign else ''}{stripped}e{int(exponent) + len(significant) - len(stripped)}"


def _numeral(text: str) -> str | None:
    """The text as Python would write the number; None when it is none, or could be two."""
    if _SCIENTIFIC.fullmatch(text):
        return text
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    digits = _without_separators(match[2].strip())
    return None if digits is None else match[1] + digits


def _without_separators(text: str) -> str | None:
    grouped = re.sub(r"(?<=[0-9])[ '’_](?=[0-9])", "_", text)
    whole, point, fraction = grouped, "", ""
    last = max(grouped.rfind(","), grouped.rfind("."))
    if last >= 0 and grouped.count(grouped[last]) == 1:
        whole, point, fraction = grouped[:last], grouped[last], grouped[last + 1 :]
    if point and not fraction.isdigit():
        return None
    separators = set(whole) - set("0123456789")
    if len(separators) > 1 or (separators and not re.fullmatch(r"[0-9]{1,3}(?:[,._][0-9]{3})+", whole)):
        return None
    if point and not separators and len(fraction) == 3 and re.fullmatch(r"[1-9][0-9]{0,2}", whole):
        return None  # "1,180" is 1180 to one reader and 1.18 to another
    plain_whole = re.sub(r"[,._]", "", whole)
    return f"{plain_whole}.{fraction}" if point else plain_whole


def _date(value: Any) -> Any:
    """A date, or text that names one calendar day and cannot mean another, in ISO form; times of day are dropped."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if not isinstance(value, str) or len(value) > _LONGEST_NUMERAL:
        return value
    text = " ".join(unicodedata.normalize("NFKC", value).split())
    day = _year_month_day(text, " ".join(text.lower().split()))
    try:
        return value if day is None else date(*day).isoformat()
    except ValueError:
        return value


def _year_month_day(text: str, lowered: str) -> tuple[int, int, int] | None:
    if match := _ISO.fullmatch(text):
        return int(match[1]), int(match[3]), int(match[4])
    if match := _NUMERIC_DATE.fullmatch(text):
        first, second = int(match[1]), int(match[3])
        if first > 12 or first == second:
            return int(match[4]), second, first
        return (int(match[4]), first, second) if second > 12 else None
    written = _WEEKDAY.sub("", lowered, count=1) if _WEEKDAY.match(lowered) else lowered
    if (match := _DAY_FIRST.fullmatch(written)) and match[2] in _MONTHS:
        return int(match[3]), _MONTHS[match[2]], int(match[1])
    if (match := _MONTH_FIRST.fullmatch(written)) and match[1] in _MONTHS:
        return int(match[3]), _MONTHS[match[1]], int(match[2])
    return None


_BY_NAME: Mapping[str, Normalizer] = {"text": _text, "number": _number, "date": _date}


def vote_normalizer(normalize: Normalize, key: object) -> Normalizer | None:
    """The function that makes a vote coarser; None when votes stay as they are.

    Args:
        normalize: "text", "number" or "date" (applied to every scalar inside a vote), a function of the vote, or a
            mapping from field, or path, to one of these.
        key: what is voted on; a mapping looks up the key's own name, or the names in a tuple of keys.

    Raises:
        TypeError, SettingsError: for anything else.

    Example:
        >>> vote_normalizer("text", None)(' "Billing". ')
        'billing'
        >>> vote_normalizer({"total": "number"}, "total")("1,180.00") == vote_normalizer("number", None)(1180)
        True
    """
    if normalize is None:
        return None
    if isinstance(normalize, Mapping):
        fields = {name: _field_rule(rule) for name, rule in normalize.items()}
        if isinstance(key, str) and key in fields:
            return fields[key]
        if isinstance(key, tuple):
            return lambda vote: [
                fields[name](part) if isinstance(name, str) and name in fields else part
                for name, part in zip(key, vote, strict=True)
            ]
        return _fields_normalizer(fields)
    if isinstance(normalize, str):
        if normalize not in _BY_NAME:
            raise SettingsError(
                f'normalize must be "text", "number", "date", a function or a mapping, got {received(normalize)}'
            )
        rule = _BY_NAME[normalize]
        return lambda vote: _everywhere(rule, vote)
    if callable(normalize):
        require_plain_function("normalize", normalize)
        return normalize
    raise TypeError(f"normalize must be a str, a function, a mapping or None, got {type(normalize).__name__}")


def _field_rule(rule: Any) -> Normalizer:
    normalizer = vote_normalizer(rule, None)
    if normalizer is None:
        raise SettingsError("normalize must map each field to a normalizer, got None")
    return normalizer


def field_normalizer(normalize: Normalize, key: object, name: str) -> Normalizer | None:
    """The normalizer of one top-level field: the one that its vote would get if it were voted on alone."""
    if isinstance(normalize, Mapping):
        return vote_normalizer(normalize[name], None) if name in normalize else None
    voted_on = key == name if isinstance(key, str) else key is None or (isinstance(key, tuple) and name in key)
    return vote_normalizer(normalize, name) if voted_on and isinstance(normalize, str) else None


def _fields_normalizer(fields: Mapping[str, Normalizer]) -> Normalizer:
    """Normalize the fields of a record; a path ("customer.city") reaches into its first field."""
    paths: dict[str, dict[str, Normalizer]] = {}
    for name, rule in fields.items():
        head, _, rest = name.partition(".")
        if head and rest and head not in fields:
            paths.setdefault(head, {})[rest] = rule
    reached = {**fields, **{head: _fields_normalizer(inner) for head, inner in paths.items()}}
    return lambda vote: _with_fields(reached, vote)


def _with_fields(fields: Mapping[str, Normalizer], vote: Any) -> Any:
    items = fields_of(vote)
    if items is None:
        return [_with_fields(fields, item) for item in vote] if isinstance(vote, (list, tuple)) else vote
    return {name: fields[name](value) if name in fields else value for name, value in items.items()}


def _everywhere(rule: Normalizer, vote: Any) -> Any:
    if isinstance(vote, (list, tuple)):
        return [_everywhere(rule, item) for item in vote]
    items = fields_of(vote)
    return rule(vote) if items is None else {name: _everywhere(rule, value) for name, value in items.items()}
