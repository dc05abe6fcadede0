"""Settling: replies that come in from elsewhere, against a vote that draws them itself."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import SettingsError, VoteResult, VoteSettings, settle, tally, vote
from consilience.testing import ReplaySampler

REPLIES = st.lists(
    st.sampled_from(['{"team": "a"}', '{"team": "b"}', '{"team": "c"}', "no idea", RuntimeError("down")]),
    min_size=1,
    max_size=9,
)


def settings_for(n: int, **options: Any) -> VoteSettings:
    return VoteSettings(n=n, key="team", **options)


@given(REPLIES, st.booleans(), st.sampled_from([0.0, 0.3, 0.5, 0.8]))
def test_one_by_one_it_ends_where_a_vote_ends(replies: list[Any], early_stop: bool, least: float) -> None:
    settings = settings_for(len(replies), early_stop=early_stop, min_valid=least, min_agreement=least)
    drawn = vote(ReplaySampler(replies), "?", settings=settings)
    come: dict[int, Any] = {}
    for index, reply in enumerate(replies):
        come[index] = reply
        result = settle(come, settings=settings)
        if result is not None:
            break
    assert result is not None
    assert len(come) == drawn.num_samples
    assert_same_outcome(result, drawn)


@given(REPLIES, st.randoms())
def test_without_a_stopping_rule_the_order_of_arrival_does_not_matter(replies: list[Any], random: Any) -> None:
    order = list(enumerate(replies))
    random.shuffle(order)
    result = settle(dict(order), settings=settings_for(len(replies)))
    assert result is not None
    assert_same_outcome(result, tally(replies, key="team"))


@given(REPLIES, st.randoms())
def test_stopped_early_the_decision_is_that_of_all_replies(replies: list[Any], random: Any) -> None:
    order = list(enumerate(replies))
    random.shuffle(order)
    settings = settings_for(len(replies), early_stop=True)
    came = 0
    while (result := settle(dict(order[:came]), settings=settings)) is None:
        came += 1
    full = tally(replies, key="team")
    assert (result.decided, result.value) == (full.decided, full.value)


def assert_same_outcome(one: VoteResult, other: VoteResult) -> None:
    assert (one.decided, one.value, one.counts, one.num_samples) == (
        other.decided,
        other.value,
        other.counts,
        other.num_samples,
    )
    assert [sample.error for sample in one.samples] == [sample.error for sample in other.samples]


def test_what_comes_after_the_end_is_left_out() -> None:
    same = '{"team": "a"}'
    result = settle({0: same, 2: same, 1: '{"team": "b"}'}, settings=settings_for(3, early_stop=True))
    assert result is not None
    assert [sample.index for sample in result.samples] == [0, 2]
    assert (result.n_planned, result.stopped_early, result.stopped_by) == (3, True, "when_settled")


def test_on_sample_is_left_to_those_who_draw() -> None:
    seen: list[Any] = []
    settle({0: "{}"}, n=2, on_sample=seen.append)
    assert seen == []


@pytest.mark.parametrize("index", [3, -1, "0", True, 1.0])
def test_a_number_that_no_sample_has_is_an_error(index: Any) -> None:
    with pytest.raises(SettingsError, match=r"from 0 to 2 \(n=3\)"):
        settle({index: "{}"}, n=3)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="a mapping from the number"):
        settle(["{}"], n=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="timeout"):
        settle({}, n=1, timeout=3)


def test_asked_after_each_reply_it_logs_each_sample_once(caplog: pytest.LogCaptureFixture) -> None:
    come: dict[int, Any] = {}
    with caplog.at_level(logging.DEBUG, logger="consilience"):
        for index in range(3):
            come[index] = '{"team": "a"}'
            settle(come, n=3, key="team")
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.DEBUG] * 3 + [logging.INFO]
