"""Identity: which components are the same, and the order of those that are not."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.evidence._identity import identity_of, sort_key, spelled
from consilience.evidence._values import UnusableClaim


class Place(str, Enum):
    LONDON = "London"


class Textless:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def identity(*parts: Any) -> tuple[Any, ...]:
    return identity_of(spelled(parts))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (" Paris ", "paris"),
        ("STRASSE", "straße"),
        ("\tİzmir\n", "i̇zmir"),
        (Place.LONDON, "london"),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        (Decimal("1.5"), Decimal("1.5")),
        (date(1815, 12, 10), date(1815, 12, 10)),
        (float("nan"), float("nan")),
    ],
)
def test_the_same(one: Any, other: Any) -> None:
    assert identity("Ada", one) == identity("ada ", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("New York", "NewYork"),
        ("1", 1),
        (1, 1.0),
        (1, True),
        ("true", True),
        ("null", None),
        (["a"], "a"),
        ({"a": "X"}, {"a": "x"}),
        (Decimal("1.5"), 1.5),
        (date(1815, 12, 10), "1815-12-10"),
    ],
)
def test_not_the_same(one: Any, other: Any) -> None:
    assert identity("Ada", one) != identity("Ada", other)


def test_an_object_without_any_text_cannot_be_claimed() -> None:
    with pytest.raises(UnusableClaim, match="Textless cannot be written as text"):
        identity("Ada", Textless())


def test_only_text_loses_its_outer_space() -> None:
    number = Decimal(3)
    assert spelled([" a b ", "c"]) == ("a b", "c")
    assert spelled([" a b ", number, [" x "]]) == ("a b", number, [" x "])


parts = (
    st.text(max_size=4) | st.integers() | st.none() | st.booleans() | st.floats() | st.lists(st.integers(), max_size=2)
)


@given(st.lists(st.tuples(parts, parts), max_size=6))
def test_identities_of_any_kind_can_be_hashed_and_sorted(claims: list[tuple[Any, Any]]) -> None:
    identities = {identity(*claim) for claim in claims}
    keys = [sort_key(each) for each in identities]
    assert len(set(keys)) == len(identities)
    assert sorted(keys)[::-1] == sorted(keys, reverse=True)
