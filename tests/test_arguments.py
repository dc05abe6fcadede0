"""Checks of arguments, and values in messages."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import SettingsError
from consilience._arguments import check_share, check_threshold
from consilience._errors import received


@given(st.floats())
def test_shares_and_thresholds_differ_in_zero_alone(value: float) -> None:
    for check, allowed in [(check_share, 0 <= value <= 1), (check_threshold, 0 < value <= 1)]:
        if allowed:
            check("limit", value)
        else:
            with pytest.raises(SettingsError, match="limit must be a number"):
                check("limit", value)


@pytest.mark.parametrize("check", [check_share, check_threshold])
@pytest.mark.parametrize("value", [True, "0.5", None, [0.5], Fraction(1, 2)])
def test_other_types_are_refused(check, value) -> None:
    with pytest.raises(TypeError, match="limit must be a number"):
        check("limit", value)


def test_the_message_names_argument_value_and_what_is_allowed() -> None:
    with pytest.raises(SettingsError, match=r"^limit must be a number from 0 to 1, got nan$"):
        check_share("limit", math.nan)
    with pytest.raises(SettingsError, match=r"^limit must be a number above 0 and at most 1, got 0$"):
        check_threshold("limit", 0)
    with pytest.raises(TypeError, match=r"^limit must be a number above 0 and at most 1, got 'x"):
        check_threshold("limit", "x" * 1000)


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_values_in_messages_are_short_and_never_raise() -> None:
    assert received(Hostile()) == "<Hostile>"
    assert received(["a"]) == "['a']"
    assert len(received("x" * 1000)) == 80
