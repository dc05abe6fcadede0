"""Counting and deciding: one test a rule, and the worked values of the manual."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from consilience.replies._reply import Reply
from consilience.voting import Reason, VoteResult, VoteSettings, tally

FIVE_REPLIES = [
    '```json\n{"team":"billing","confidence":0.9}\n```',
    'Sure! {"team":"billing","confidence":0.8}',
    '{"team":"shipping","confidence":0.6}',
    "Sorry, I cannot help with that.",
    '{"team":"billing","confidence":0.7}',
]


def votes(*teams: str | None) -> list[str]:
    return ["no idea" if team is None else f'{{"team": "{team}"}}' for team in teams]


def count(*teams: str | None, **options: Any) -> VoteResult:
    return tally(votes(*teams), **{"key": "team", **options})


def said(team: str | None, source: str | None, confidence: float | None = None) -> Reply:
    return Reply(votes(team)[0], source=source, confidence=confidence)


def test_the_worked_example() -> None:
    result = tally(FIVE_REPLIES, key="team", min_valid=0.6, min_agreement=0.5, confidence_field="confidence")
    assert result.value == "billing"
    assert result.agreement == 0.6
    assert result.confidence == 0.8
    assert result.detail == "'billing' won with 3 of 5 votes"
    assert result.counts == (("billing", 3), ("shipping", 1))
    assert result.valid_ratio == 0.8
    assert result.record == {"team": "billing", "confidence": 0.9}
    assert result.field_agreement == {"team": 0.6}
    assert (result.num_samples, result.num_valid, result.num_failed, result.distinct_replies) == (5, 4, 1, 5)
    assert (result.n_planned, result.stopped_early, result.stopped_by, result.reason) == (5, False, None, None)


def test_one_valid_answer_of_three_cannot_win_when_failures_count() -> None:
    assert count("a", None, None, min_valid=0).reason == Reason.LOW_AGREEMENT
    assert count("a", None, None, min_valid=0, count_failures=False).value == "a"
    assert count("a", None, None, count_failures=False).reason == Reason.TOO_FEW_VALID


def test_pooled_votes_can_differ_from_a_vote_of_votes() -> None:
    groups = [["a", "a", "b"], ["a", "a", "b"], ["b", "b", "b"]]  # a wins two of the three groups
    winners = Counter(Counter(group).most_common(1)[0][0] for group in groups)
    assert winners.most_common(1)[0][0] == "a"
    assert count(*[team for group in groups for team in group]).value == "b"


def test_a_tie_abstains() -> None:
    result = count("a", "b", "a", "b", "c", min_agreement=0)
    assert (result.abstained, result.reason, result.value, result.record) == (True, Reason.TIE, None, None)
    assert result.detail == "tie: 2 answers have 2 votes each"
    assert (result.agreement, result.counts) == (0.4, (("a", 2), ("b", 2), ("c", 1)))
    assert result.confidence is None
    assert result.corroboration is None


def test_a_tie_goes_to_the_answer_seen_first_if_asked() -> None:
    assert count("b", "a", "a", "b", abstain_on_tie=False).value == "b"
    assert count("c", "a", "b", "b", "a", abstain_on_tie=False, min_agreement=0.4).value == "a"


def test_too_few_valid() -> None:
    result = count("a", None, None, None, None, min_valid=0.6)
    assert result.reason == Reason.TOO_FEW_VALID
    assert result.detail == (
        "only 1 of 5 samples were valid (0.20 is below min_valid 0.6); "
        "most often: no_json: the reply holds no JSON object or array"
    )


def test_no_valid_names_the_commonest_error() -> None:
    class AuthenticationError(Exception):
        pass

    errors: list[Any] = ["none", *(AuthenticationError(f"wrong key, request {i}\n" + "x" * 500) for i in range(3))]
    result = tally(errors, key="team")
    assert result.reason == Reason.NO_VALID
    assert result.detail.startswith(
        "none of 4 samples was valid; most often: sampler_error: AuthenticationError: wrong key"
    )
    assert len(result.detail) < 200
    assert result.detail.isprintable()


def test_no_samples_at_all() -> None:
    result = tally([], key="team")
    assert (result.reason, result.detail) == (Reason.NO_VALID, "there are no samples")
    assert (result.agreement, result.valid_ratio, result.counts, result.n_planned) == (0.0, 0.0, (), 0)
    assert result.explain()
    assert result._repr_html_()


@pytest.mark.parametrize(
    ("teams", "min_agreement", "wins"),
    [("aaabc", 0.6, True), ("aaaaab", 5 / 6, True), ("aaab", 0.76, False), ("aab", 2 / 3, True), ("aabc", 0.5, True)],
)
def test_ratios_are_one_division_compared_with_the_threshold(teams: str, min_agreement: float, wins: bool) -> None:
    assert count(*teams, min_agreement=min_agreement).decided == wins


def test_low_agreement() -> None:
    result = count("a", "a", "b", "c", "d", min_agreement=0.5)
    assert (result.reason, result.agreement) == (Reason.LOW_AGREEMENT, 0.4)
    assert result.detail == "'a' has only 2 of 5 votes (0.40 is below min_agreement 0.5)"


def test_reasons_are_checked_in_the_documented_order() -> None:
    strict: dict[str, Any] = {"min_valid": 1, "min_agreement": 1, "min_sources": 2}
    assert count(None, None, **strict).reason == Reason.NO_VALID
    assert count("a", "b", None, **strict).reason == Reason.TOO_FEW_VALID
    assert count("a", "b", **strict).reason == Reason.TIE
    assert count("a", "a", "b", **strict).reason == Reason.LOW_AGREEMENT
    assert count("a", "a", **strict).reason == Reason.TOO_FEW_SOURCES


INVOICE = {"invoice_number": "INV-2041", "total": 1180.0, "currency": "EUR"}


def read_total(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "total": float(str(record["total"]).replace(",", ""))}


def test_one_invoice_extracted_five_times() -> None:
    totals = [1180, 1180.0, "1,180.00", 1180, 1180]
    dues = ["2026-11-30", "2026-12-01", "2026-11-30", "2026-11-03", "2026-10-30"]
    replies = [{**INVOICE, "total": total, "due_date": due} for total, due in zip(totals, dues, strict=True)]
    whole = tally(replies, validator=read_total)
    assert (whole.reason, whole.agreement) == (Reason.LOW_AGREEMENT, 0.4)
    by_number = tally(replies, validator=read_total, key="invoice_number")
    assert (by_number.value, by_number.agreement) == ("INV-2041", 1.0)
    for result in (whole, by_number):
        assert result.field_agreement == {"invoice_number": 1.0, "total": 1.0, "currency": 1.0, "due_date": 0.4}
    assert by_number.record == {**INVOICE, "due_date": "2026-11-30"}


def test_field_agreement_is_unweighted_and_read_only() -> None:
    result = tally([said("a", None, 1.0), said("b", None, 0.1), "no"], key="team", weights="confidence")
    assert result.field_agreement == {"team": 1 / 3}
    with pytest.raises(TypeError):
        result.field_agreement["team"] = 1.0  # type: ignore[index]
    assert tally([{"team": "a"}, "no"], key="team", count_failures=False).field_agreement == {"team": 1.0}
    assert tally(["[[1, 2], [3, 4]]"]).field_agreement == {}


# --- sources ----------------------------------------------------------------------------------------------------------


def test_the_winner_needs_enough_sources() -> None:
    replies = [said("a", "x"), said("a", "x"), said("b", "y")]
    result = tally(replies, key="team", min_sources=2)
    assert (result.reason, result.sources) == (Reason.TOO_FEW_SOURCES, ("x",))
    assert result.detail == "'a' is supported by 1 source only, min_sources is 2"
    assert tally([*replies, said("a", "y")], key="team", min_sources=2).sources == ("x", "y")


def test_unnamed_votes_are_no_further_source() -> None:
    assert tally([said("a", "x"), said("a", None)], key="team", min_sources=2).reason == Reason.TOO_FEW_SOURCES
    assert tally([said("a", None), said("a", None)], key="team", min_sources=2).reason == Reason.TOO_FEW_SOURCES


def test_one_vote_per_source_keeps_a_chatty_model_down() -> None:
    replies = [said("a", "chatty")] * 5 + [said("b", "x"), said("b", "y"), said("b", "z")]
    assert tally(replies, key="team").value == "a"
    result = tally(replies, key="team", one_vote_per_source=True)
    assert (result.value, result.agreement, result.sources) == ("b", 0.75, ("x", "y", "z"))
    assert result.detail == "'b' won with 3 of 4 sources"
    assert result.counts == (("a", 5), ("b", 3))


def test_sources_without_a_choice_support_nobody() -> None:
    replies = [said("a", "x"), said("a", "tied"), said("b", "tied"), said(None, "failed"), said("a", "y")]
    assert tally(replies, key="team", one_vote_per_source=True).agreement == 0.5
    result = tally(replies, key="team", one_vote_per_source=True, count_failures=False)
    assert (result.agreement, result.sources) == (1.0, ("x", "y"))
    alone = tally(replies[1:3], key="team", one_vote_per_source=True)
    assert (alone.reason, alone.detail) == (Reason.TIE, "tie: every source is tied within itself")


def test_corroboration_is_the_noisy_or_over_sources() -> None:
    replies = [said("a", "x", 0.5), said("a", "x", 0.8), said("a", "y", 0.5), said("b", "z", 0.99), said("a", "w")]
    assert tally(replies, key="team").corroboration == pytest.approx(0.9)
    assert count("a", "a").corroboration is None


# --- properties -------------------------------------------------------------------------------------------------------

TEAMS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9)
SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.6, 2 / 3, 1.0])


@given(TEAMS, SHARES, SHARES, st.booleans(), st.booleans())
def test_every_decision_satisfies_the_rules_it_was_given(
    teams: list[str | None], min_valid: float, min_agreement: float, count_failures: bool, abstain_on_tie: bool
) -> None:
    settings = VoteSettings(
        key="team",
        min_valid=min_valid,
        min_agreement=min_agreement,
        count_failures=count_failures,
        abstain_on_tie=abstain_on_tie,
    )
    result = tally(votes(*teams), settings=settings)
    valid = Counter(team for team in teams if team is not None)
    assert dict(result.counts) == valid
    assert result.valid_ratio == valid.total() / len(teams)
    if result.abstained:
        assert result.reason is not None
        return
    assert valid[result.value] == max(valid.values())
    assert not abstain_on_tie or list(valid.values()).count(valid[result.value]) == 1
    assert valid.total() / len(teams) >= min_valid
    assert valid[result.value] / (len(teams) if count_failures else valid.total()) >= min_agreement
    assert result.agreement >= min_agreement


@given(TEAMS, SHARES, SHARES)
def test_counting_failures_is_never_more_lenient(
    teams: list[str | None], min_valid: float, min_agreement: float
) -> None:
    options = {"min_valid": min_valid, "min_agreement": min_agreement}
    strict = count(*teams, **options, count_failures=True)
    lenient = count(*teams, **options, count_failures=False)
    assert strict.agreement <= lenient.agreement
    assert strict.abstained or strict.value == lenient.value


@given(TEAMS, SHARES, SHARES, st.integers(0, 1000))
def test_the_order_of_samples_does_not_matter_when_ties_abstain(
    teams: list[str | None], min_valid: float, min_agreement: float, seed: int
) -> None:
    shuffled = random.Random(seed).sample(teams, len(teams))
    one = count(*teams, min_valid=min_valid, min_agreement=min_agreement)
    other = count(*shuffled, min_valid=min_valid, min_agreement=min_agreement)
    assert (one.reason, one.value, one.agreement) == (other.reason, other.value, other.agreement)


@given(TEAMS, SHARES)
def test_one_more_vote_for_the_winner_never_unseats_it(teams: list[str | None], min_agreement: float) -> None:
    result = count(*teams, min_agreement=min_agreement)
    assume(result.decided)
    assert count(*teams, result.value, min_agreement=min_agreement).value == result.value
