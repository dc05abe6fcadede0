"""Stopping early: the worked values, frugal launching, rules of one's own."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from consilience.drawing._calls import Call, Drawing, Outcome
from consilience.replies._reply import Reply
from consilience.voting import Reason, TallyState, VoteResult, VoteSettings, vote, when_settled
from consilience.voting._ledger import VoteLedger
from consilience.voting._turns import Turns


def reply(team: str | None) -> str:
    return "no idea" if team is None else f'{{"team": "{team}"}}'


def in_order(teams: str, **options: Any) -> VoteResult:
    """A vote whose samples come one by one; "-" is a failure."""
    script = iter(teams)
    settings = {"n": len(teams), "key": "team", "early_stop": True, **options}
    return vote(lambda prompt: reply(None if (team := next(script)) == "-" else team), "?", **settings)


def rounds_of(concurrency: int, answer: Callable[[int], str | None] = lambda index: "a", **options: Any) -> list[int]:
    """How many calls are in flight in each round when all calls of a round take equally long."""
    settings = VoteSettings(**{"key": "team", "early_stop": True, "concurrency": concurrency, **options})
    ledger = VoteLedger(settings, Turns(reply, "?"))
    sizes = []
    while not ledger.finished:
        flight: list[Call] = []
        while len(flight) < concurrency and (call := ledger.next_call()) is not None:
            flight.append(call)
        sizes.append(len(flight))
        for call in flight:
            ledger.receive(Outcome(call, reply(answer(call.index))))
    return sizes


def test_agreement_of_six_of_nine_settles_it() -> None:
    result = in_order("a" * 9, min_agreement=0.6)
    assert (result.num_samples, result.value, result.stopped_by) == (6, "a", "when_settled")
    assert (result.n_planned, result.stopped_early, result.agreement) == (9, True, 1.0)


def test_refunds_against_cancels() -> None:
    result = in_order("rrcrrcrrr", min_agreement=0.6)
    assert (result.num_samples, result.value, result.counts) == (8, "r", (("r", 6), ("c", 2)))


def test_four_against_four_cannot_be_decided_by_the_ninth() -> None:
    result = in_order("abababab" + "a", min_agreement=0.6)
    assert (result.num_samples, result.reason) == (8, Reason.QUORUM_UNREACHABLE)
    assert result.detail.startswith(
        "after 8 of 9 samples no answer can meet the quorum any more: 'a' leads with 4 of 8"
    )
    assert result.agreement == 0.5


def test_majority_of_five_settles_after_three() -> None:
    assert in_order("a" * 5, min_agreement=0.5).num_samples == 3


def test_failures_can_make_the_quorum_unreachable() -> None:
    result = in_order("---aa", min_valid=0.5)
    assert (result.num_samples, result.reason) == (3, Reason.QUORUM_UNREACHABLE)
    assert "most often: no_json" in result.detail


def test_a_run_that_is_settled_by_its_last_call_was_not_stopped_early() -> None:
    result = in_order("aabba")
    assert (result.num_samples, result.stopped_early, result.stopped_by) == (5, False, None)


# --- frugal launching -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "least", "min_agreement"), [(5, 3, 0.5), (9, 5, 0.5), (9, 6, 0.6), (7, 7, 1.0), (1, 1, 0.5)]
)
@pytest.mark.parametrize("concurrency", range(1, 11))
def test_agreeing_replies_cost_the_minimum_in_the_fewest_rounds(
    n: int, least: int, min_agreement: float, concurrency: int
) -> None:
    sizes = rounds_of(concurrency, n=n, min_agreement=min_agreement)
    assert sum(sizes) == least
    assert len(sizes) == -(-least // concurrency)


def test_worked_rounds() -> None:
    assert rounds_of(5, n=5) == [3]
    assert rounds_of(3, n=9) == [3, 2]
    assert rounds_of(5, n=5, eager=True) == [5]
    assert rounds_of(3, n=9, eager=True) == [3, 3]


def test_disagreement_costs_further_rounds_but_no_call_that_cannot_matter() -> None:
    assert rounds_of(5, lambda index: "ab"[index % 2], n=5) == [3, 1, 1]
    assert sum(rounds_of(9, lambda index: None, n=9, min_valid=0.5)) == 5


@pytest.mark.parametrize("concurrency", [1, 2, 4])
@pytest.mark.parametrize("seed", range(10))
def test_no_call_is_started_that_agreement_in_flight_would_make_needless(concurrency: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        n = rng.randint(1, 9)
        options: dict[str, Any] = {
            "min_agreement": rng.choice([0.3, 0.5, 0.8]),
            "one_vote_per_source": rng.random() < 0.5,
            "min_sources": rng.choice([1, 2]),
            "weights": rng.choice([None, "confidence"]),
        }
        settings = VoteSettings(n=n, key="team", early_stop=True, concurrency=concurrency, **options)
        turns = Turns(dict.fromkeys(["x", "y"][: rng.randint(1, 2)], reply), "?")
        ledger = VoteLedger(settings, turns)
        flight: list[Call] = []
        while not ledger.finished:
            while len(flight) < concurrency and (call := ledger.next_call()) is not None:
                flight.append(call)
            assert flight, "a run that is not over must have a call in flight"
            done = flight.pop(rng.randrange(len(flight)))
            ledger.receive(Outcome(done, Reply(reply(rng.choice("aab")), confidence=rng.choice([0.5, 1.0]))))
        assert ledger.next_call() is None


def test_late_outcomes_are_ignored() -> None:
    ledger = VoteLedger(VoteSettings(n=5, key="team", early_stop=True, eager=True), Turns(reply, "?"))
    calls = [ledger.next_call() for _ in range(5)]
    for call in calls:
        assert call is not None
        ledger.receive(Outcome(call, reply("a")))
    assert ledger.finished
    assert ledger.next_call() is None
    assert ledger.result(Drawing(2, False, 1.5)).num_samples == 3


# --- rules of one's own -----------------------------------------------------------------------------------------------


def test_a_function_is_a_rule() -> None:
    def two_ahead(state: TallyState) -> bool:
        return state.leader_votes - state.runner_up_votes >= 2

    result = in_order("abaaaaa", early_stop=False, stop=two_ahead)
    assert (result.num_samples, result.stopped_by, result.value) == (4, "two_ahead", "a")


def test_the_first_rule_that_says_so_is_named() -> None:
    def never(state: TallyState) -> bool:
        return False

    assert in_order("a" * 5, early_stop=False, stop=[never, when_settled()]).stopped_by == "when_settled"
    assert in_order("a" * 5, stop=never).stopped_by == "when_settled"
    assert in_order("a" * 5, early_stop=False, stop=never).num_samples == 5


def test_a_rule_that_stops_too_soon_leaves_the_usual_reasons() -> None:
    result = in_order("ab" + "a" * 7, early_stop=False, stop=lambda state: state.drawn == 2)
    assert (result.reason, result.stopped_by, result.num_samples) == (Reason.TIE, "<lambda>", 2)


def test_what_a_rule_sees() -> None:
    seen: list[tuple[Any, ...]] = []

    def watch(state: TallyState) -> bool:
        seen.append(
            (state.drawn, state.valid, state.failed, state.planned, state.leader, dict(state.counts), state.ballots)
        )
        assert state.weights == {ballot: float(votes) for ballot, votes in state.counts.items()}
        assert not state.supposed
        return False

    in_order("a-bb", early_stop=False, stop=watch)
    a, b = '"a"', '"b"'
    assert seen == [
        (1, 1, 0, 4, a, {a: 1}, (a,)),
        (2, 1, 1, 4, a, {a: 1}, (a, None)),
        (3, 2, 1, 4, a, {a: 1, b: 1}, (a, None, b)),
    ]


def test_a_rule_is_asked_what_calls_in_flight_could_make_of_it() -> None:
    supposed: list[tuple[Any, ...]] = []

    def watch(state: TallyState) -> bool:
        if state.supposed:
            supposed.append((state.supposed, state.drawn, state.leader_votes, state.counts, len(state.ballots)))
        return state.drawn >= 3

    assert rounds_of(5, n=9, early_stop=False, stop=watch) == [3]
    assert [entry[:3] + entry[4:] for entry in supposed] == [(1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)]
    assert all(list(entry[3].values()) == [entry[0]] for entry in supposed)


def test_the_error_of_a_rule_is_the_callers() -> None:
    def broken(state: TallyState) -> bool:
        raise RuntimeError("broken rule")

    with pytest.raises(RuntimeError, match="broken rule"):
        in_order("aaa", stop=broken)
