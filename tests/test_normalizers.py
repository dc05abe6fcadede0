"""Normalizers: what counts as the same, and above all what does not."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import _errors
from consilience.voting import ballot, tally
from consilience.voting._normalizers import field_normalizer, vote_normalizer


def coarse(rule: Any, value: Any) -> str:
    normalizer = vote_normalizer(rule, None)
    assert normalizer is not None
    return ballot(normalizer(value))


SAME = {
    "text": [
        [
            "billing",
            "Billing",
            " BILLING ",
            "billing.",
            '"Billing"',
            "'billing'!",
            "(billing)",
            "[ billing ]",
            "“Billing”",
            "«billing»",
            "`billing`",
            "billing?!",
            '"(Billing.)"',
            "ｂｉｌｌｉｎｇ",
            "billing\n",
            "¡billing!",
            "„billing“",
        ],
        ["straße", "STRASSE", "Strasse"],
        ["New  York", "new york", "New\u00a0York.", "new\nyork"],
        ["it's", "It's"],
        ["...", "…"],
    ],
    "number": [
        [1, 1.0, "1", "1.0", "01", "+1", Decimal("1.00"), " 1 ", "1,0", "1e0", "１"],
        [
            1180,
            1180.0,
            "1,180.00",
            "1.180,00 €",
            "1180",
            "€1,180.00",
            "$ 1180.00",
            "1 180,00",
            "1'180.00",
            "EUR 1180",
            "1180 USD",
            "1180,0",
            "1.18e3",
            "1_180.00",
        ],
        [1234567, "1,234,567", "1.234.567", "1 234 567", "1,234,567.00", "1.234.567,00"],
        [0.125, "0,125", "0.125", ".125", "1.25e-1"],
        [-5, "-5", "−5", "-5.0", "-$5.00"],
        [0, 0.0, -0.0, "0", "-0", "0.00"],
        [12345.678, "12345.678", "12,345.678", "12345,678"],
        [0.1, "0.1"],
        [10**400, str(10**400)],
    ],
    "date": [
        [
            "2026-11-30",
            "30 November 2026",
            "November 30, 2026",
            "30 Nov 2026",
            "30. November 2026",
            "Nov. 30, 2026",
            "30.11.2026",
            "30/11/2026",
            "11/30/2026",
            "2026/11/30",
            "Monday, 30 November 2026",
            "30th of November 2026",
            "2026-11-30T10:00:00Z",
            date(2026, 11, 30),
            datetime(2026, 11, 30, 8),
            "Mon 30 Nov 2026",
            "30-Nov-2026",
        ],
        ["2026-05-05", "05/05/2026", "5.5.2026", "May 5th, 2026", "5 may 2026"],
        ["2026-03-01", "1 March 2026", "Mar 1, 2026"],
        ["2026-09-02", "Sept. 2, 2026", "2 sep 2026"],
    ],
}


@pytest.mark.parametrize(
    ("rule", "group"), [(rule, group) for rule, groups in SAME.items() for group in groups], ids=str
)
def test_spellings_of_one_answer_agree(rule: str, group: list[Any]) -> None:
    assert {repr(value): coarse(rule, value) for value in group} == {repr(v): coarse(rule, group[0]) for v in group}


DIFFERENT = {
    "text": [
        "C",
        "C#",
        "C++",
        "50",
        "50%",
        "-5",
        "+5",
        "5",
        "#5",
        "ab",
        "a b",
        ".net",
        "net",
        "?",
        "!",
        "",
        "f(x)",
        "f x",
    ],
    "number": [
        1,
        1000,
        1.18,
        1180,
        "1,180",
        "1.180",
        True,
        "one",
        "12,34,567",
        "1.2.3",
        "5 kg",
        "50%",
        "0x10",
        "",
        "-",
        "1,180,0",
        "1 2",
        float("nan"),
        float("inf"),
        "1e9999999999",
        "9" * 2000,
        "1,,180",
        None,
    ],
    "date": [
        "05/06/2026",
        "06/05/2026",
        "2026-05-06",
        "2026-06-05",
        "2026-02-30",
        "31/31/2026",
        "November 2026",
        "5/6/26",
        "30 Foo 2026",
        "2026",
        "today",
        20261130,
        None,
        "2026-13-01",
        "May 2026",
        "0000-01-01",
    ],
}


@pytest.mark.parametrize("rule", DIFFERENT)
def test_different_or_ambiguous_answers_stay_apart(rule: str) -> None:
    for one, other in combinations(DIFFERENT[rule], 2):
        assert coarse(rule, one) != coarse(rule, other), (one, other)


@pytest.mark.parametrize("rule", ["text", "number", "date"])
@given(value=st.text() | st.integers() | st.floats() | st.none() | st.booleans() | st.decimals())
def test_they_never_raise_and_are_settled_after_one_pass(rule: str, value: Any) -> None:
    normalizer = vote_normalizer(rule, None)
    assert normalizer is not None
    once = normalizer(value)
    if rule != "number":  # a canonical number is a text of its own
        assert ballot(normalizer(once)) == ballot(once)


@given(st.integers(-(10**12), 10**12), st.integers(0, 6))
def test_grouped_numbers_agree_in_both_conventions(units: int, places: int) -> None:
    number = Decimal(units).scaleb(-places)
    english = f"{number:,.7f}"  # seven places: never the ambiguous three
    german = english.translate(str.maketrans(",.", ".,"))
    assert coarse("number", english) == coarse("number", german) == coarse("number", number)


@given(st.dates())
def test_dates_agree_with_their_written_forms(day: date) -> None:
    months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    written = f"{months[day.month - 1]} {day.day}, {day.year:04}"
    assert coarse("date", written) == coarse("date", day) == ballot(day.isoformat())


def test_named_normalizers_reach_inside_votes() -> None:
    assert coarse("text", {"a": ["X.", {"b": "Y"}]}) == ballot({"a": ["x", {"b": "y"}]})


def test_a_mapping_normalizes_fields() -> None:
    rules = {"total": "number", "customer": {"city": "text"}, "due": "date"}
    one = {"total": "1,180.00", "customer": {"city": "BONN"}, "due": "30/11/2026", "id": "A"}
    other = {"total": 1180, "customer": {"city": "bonn"}, "due": "2026-11-30", "id": "A"}
    assert coarse(rules, one) == coarse(rules, other)
    assert coarse(rules, one) != coarse(rules, {**other, "id": "a"})
    assert coarse(rules, [one]) == coarse(rules, [other])
    assert coarse(rules, "text") == ballot("text")
    paths = {"total": "number", "customer.city": "text", "due": "date"}
    assert coarse(paths, one) == coarse(paths, other)
    assert coarse({"a.b.c": "text", "x.y": "text"}, {"a": {"b": [{"c": "X"}]}, "x.y": "Z"}) == ballot(
        {"a": {"b": [{"c": "x"}]}, "x.y": "z"}
    )


def test_a_mapping_looks_up_keys() -> None:
    by_name = vote_normalizer({"total": "number"}, "total")
    by_tuple = vote_normalizer({"total": "number"}, ("id", "total"))
    assert by_name is not None
    assert by_tuple is not None
    assert by_name("1,180.00") == by_name(1180)
    assert by_tuple(("A", "1,180.00")) == by_tuple(("A", 1180.0))
    assert by_tuple(("A", 1)) != by_tuple(("a", 1))


def test_fields_get_the_normalizer_of_their_own_vote() -> None:
    assert field_normalizer("text", "team", "team") is not None
    assert field_normalizer("text", None, "team") is not None
    assert field_normalizer("text", ("team", "x"), "team") is not None
    assert field_normalizer("text", "team", "other") is None
    assert field_normalizer({"total": "number"}, "team", "total") is not None
    assert field_normalizer({"total": "number"}, "team", "team") is None
    assert field_normalizer(lambda vote: 0, "team", "team") is None


def test_the_winner_keeps_its_most_common_spelling() -> None:
    replies = [{"t": "billing"}, {"t": "Billing"}, {"t": "BILLING"}, {"t": "Billing"}, {"t": "other"}]
    result = tally(replies, key="t", normalize="text")
    assert (result.value, result.agreement) == ("Billing", 0.8)
    assert result.counts == (("Billing", 4), ("other", 1))
    assert result.field_agreement == {"t": 0.8}
    assert tally(replies[:3], key="t", normalize="text").value == "billing"


def test_a_function_that_raises_makes_the_sample_fail() -> None:
    result = tally([{"t": "a"}, {"t": 5}], key="t", normalize=lambda vote: vote.upper(), min_agreement=0.5)
    assert result.samples[1].error is not None
    assert result.samples[1].error.startswith("invalid: normalize raised AttributeError")
    assert result.value == "a"


@pytest.mark.parametrize("rule", ["words", "", {"a": "words"}, {"a": None}], ids=repr)
def test_unknown_names_are_errors(rule: Any) -> None:
    with pytest.raises(_errors.SettingsError, match="normalize must"):
        vote_normalizer(rule, None)


def test_other_types_are_errors() -> None:
    with pytest.raises(TypeError, match="normalize must"):
        vote_normalizer(5, None)  # type: ignore[arg-type]
