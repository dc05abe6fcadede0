"""The ledger against a plain implementation, and early stopping against every completion of short runs."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from consilience.drawing._calls import Call, Drawing, Outcome
from consilience.replies._reply import Reply
from consilience.voting import Reason, VoteResult, VoteSettings
from consilience.voting._ledger import VoteLedger
from consilience.voting._outlook import Outlook
from consilience.voting._turns import Turns

FAILED = None


@dataclass(frozen=True)
class Said:
    """What one call comes to in these tests: a vote (None: no JSON), its source and its confidence."""

    vote: str | None
    source: str | None = None
    confidence: float = 1.0

    @property
    def reply(self) -> Reply:
        content = "nothing to say" if self.vote is None else {"v": self.vote, "w": self.confidence}
        return Reply(content, source=self.source, confidence=self.confidence)


# --- the plain implementation: a loop with Counters; weights are whole quarters, so that sums are exact --------------


def plain_decision(said: list[tuple[int, Said]], settings: VoteSettings) -> tuple[str | None, str | None]:
    """The reason and the winner by the rules of the manual; ``said`` pairs index and outcome."""
    valid = [(index, each) for index, each in said if each.vote is not None]
    if not valid or not any(plain_weight(each, settings) for _, each in valid):
        return "no_valid", None
    if len(valid) / len(said) < settings.min_valid:
        return "too_few_valid", None
    totals: Counter[str] = Counter()
    supporters: dict[str, set[str | None]] = {}
    denominator = 0
    if settings.one_vote_per_source:
        for source in {each.source for _, each in said}:
            of_source = [each for _, each in said if each.source == source]
            choice, weight = plain_plurality(of_source, settings)
            if choice is not None:
                totals[choice] += weight
                denominator += weight
                supporters.setdefault(choice, set()).add(source)
            elif settings.count_failures:
                denominator += plain_source_weight(source, settings)
    else:
        for _, each in valid:
            assert each.vote is not None
            totals[each.vote] += plain_weight(each, settings)
            supporters.setdefault(each.vote, set()).add(each.source)
        denominator = sum(totals.values())
        if settings.count_failures:
            denominator += sum(plain_source_weight(each.source, settings) for _, each in said if each.vote is None)
    if not any(totals.values()):
        return "tie", None
    top = max(totals.values())
    leaders = [vote for vote, total in totals.items() if total == top]
    if len(leaders) > 1 and settings.abstain_on_tie:
        return "tie", None
    winner = next(each.vote for _, each in sorted(valid, key=lambda pair: pair[0]) if each.vote in leaders)
    assert winner is not None
    if top / denominator < settings.min_agreement:
        return "low_agreement", None
    named = supporters[winner] - {None}
    if (len(named) or 1) < settings.min_sources:
        return "too_few_sources", None
    return None, winner


def plain_weight(said: Said, settings: VoteSettings) -> int:
    if settings.weights is None:
        return 4
    if isinstance(settings.weights, dict):
        return plain_source_weight(said.source, settings)
    return int(4 * said.confidence)


def plain_source_weight(source: str | None, settings: VoteSettings) -> int:
    return int(4 * settings.weights.get(source, 1)) if isinstance(settings.weights, dict) else 4


def plain_plurality(said: list[Said], settings: VoteSettings) -> tuple[str | None, int]:
    totals: Counter[str] = Counter()
    for each in said:
        if each.vote is not None:
            totals[each.vote] += plain_weight(each, settings)
    top = [vote for vote, total in totals.items() if total == max(totals.values())]
    if len(top) != 1:
        return None, 0
    return top[0], max(plain_weight(each, settings) for each in said if each.vote == top[0])


# --- driving the ledger by hand -------------------------------------------------------------------------------------


def sampler(prompt: Any) -> Any:
    raise AssertionError("the ledger must not call samplers")


def new_ledger(settings: VoteSettings, sources: tuple[str, ...] | None = None) -> VoteLedger:
    return VoteLedger(settings, Turns(sampler if sources is None else dict.fromkeys(sources, sampler), "?"))


def start_all(ledger: VoteLedger) -> list[Call]:
    calls = list(iter(ledger.next_call, None))
    return [call for call in calls if call is not None]


def finish(ledger: VoteLedger) -> VoteResult:
    return ledger.result(Drawing(abandoned=0, hit_deadline=False, elapsed=0.0))


def run(said: list[Said], settings: VoteSettings, order: Iterable[int], sources: Any = None) -> VoteResult:
    """A run with every call in flight at once (as far as the ledger wants it), outcomes arriving in ``order``."""
    ledger = new_ledger(settings, sources)
    waiting: dict[int, Call] = {}
    for index in order:
        while not ledger.finished and index not in waiting:
            call = ledger.next_call()
            if call is None:
                break
            waiting[call.index] = call
        if ledger.finished:
            break
        if index in waiting:
            ledger.receive(Outcome(waiting.pop(index), said[index].reply))
    while not ledger.finished:
        call = ledger.next_call()
        if call is not None:
            waiting[call.index] = call
        index, chosen = waiting.popitem()
        ledger.receive(Outcome(chosen, said[index].reply))
    return finish(ledger)


def winner_of(result: VoteResult) -> str | None:
    return None if result.abstained else result.value


# --- the full run ----------------------------------------------------------------------------------------------------


def some_settings(rng: random.Random, **fixed: Any) -> VoteSettings:
    options: dict[str, Any] = {
        "key": "v",
        "min_valid": rng.choice([0, 0.2, 0.5, 0.6, 5 / 6, 1]),
        "min_agreement": rng.choice([0, 0.3, 0.5, 0.6, 2 / 3, 0.75, 1]),
        "count_failures": rng.random() < 0.5,
        "abstain_on_tie": rng.random() < 0.5,
        "min_sources": rng.choice([1, 1, 2, 3]),
        "one_vote_per_source": rng.random() < 0.5,
        "weights": rng.choice([None, None, "confidence", {"x": 0.5, "y": 0.25}, lambda sample: sample.record["w"]]),
    }
    return VoteSettings(**{**options, **fixed})


@pytest.mark.parametrize("seed", range(20))
def test_full_runs_decide_as_a_counter_loop_does(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        n = rng.randint(1, 12)
        settings = some_settings(rng, n=n)
        said = [
            Said(
                rng.choice(["a", "a", "b", "c", FAILED]),
                rng.choice(["x", "y", "z", None]),
                rng.choice([0, 0.5, 0.75, 1]),
            )
            for _ in range(n)
        ]
        order = rng.sample(range(n), n)
        result = run(said, settings, order)
        assert (result.reason, winner_of(result)) == plain_decision(list(enumerate(said)), settings)
        assert result.num_samples == n
        assert not result.stopped_early


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_arrival_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    n = 9
    settings = some_settings(rng, n=n, confidence_field="w")
    said = [Said(rng.choice("abc"), rng.choice(["x", "y", None]), rng.choice([0.1, 0.2, 0.3, 0.7])) for _ in range(n)]
    results = [run(said, settings, rng.sample(range(n), n)) for _ in range(5)]
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("seed", range(40))
def test_early_runs_decide_as_full_runs_do(seed: int) -> None:
    rng = random.Random(seed)
    stopped = 0
    for _ in range(40):
        n = rng.randint(2, 12)
        sources = rng.choice([None, ("x",), ("x", "y"), ("x", "y", "z")])
        settings = some_settings(rng, n=n, early_stop=True, eager=rng.random() < 0.3)
        votes = rng.choice(["aaab", "aaaa", "abc"])
        said = []
        for index in range(n):
            source = sources[index % len(sources)] if sources else rng.choice(["x", "y", None])
            said.append(Said(rng.choice([*votes, FAILED]), source, rng.choice([0.5, 1])))
        result = run(said, settings, rng.sample(range(n), n), sources)
        assert winner_of(result) == plain_decision(list(enumerate(said)), settings)[1], (said, settings)
        assert result.stopped_early == (result.num_samples < n)
        assert result.reason == Reason.QUORUM_UNREACHABLE or result.decided or not result.stopped_early
        stopped += result.stopped_early
    assert stopped > 5


# --- early stopping ---------------------------------------------------------------------------------------------------


def completions(missing: list[int], choices: dict[int, list[Said]]) -> Iterator[list[tuple[int, Said]]]:
    for outcome in itertools.product(*(choices[index] for index in missing)):
        yield list(zip(missing, outcome, strict=True))


def outcomes_of_completions(
    seen: list[tuple[int, Said]], missing: list[int], choices: dict[int, list[Said]], settings: VoteSettings
) -> set[str | None]:
    """The winners (None: abstained) over every completion."""
    return {plain_decision([*seen, *rest], settings)[1] for rest in completions(missing, choices)}


def check_outlook(
    said: list[Said],
    order: list[int],
    settings: VoteSettings,
    choices: dict[int, list[Said]],
    sources: Any,
    exact: bool,
) -> int:
    """Compare the outlook after every arrival with what every completion comes to; how often it was settled early."""
    ledger = new_ledger(settings, sources)
    calls = {call.index: call for call in start_all(ledger)}
    seen: list[tuple[int, Said]] = []
    settled = 0
    for position, index in enumerate(order[:-1]):
        ledger.receive(Outcome(calls[index], said[index].reply))
        seen.append((index, said[index]))
        missing = sorted(order[position + 1 :])
        if len(missing) > 3 or not choices.keys() >= set(missing):
            continue
        winners = outcomes_of_completions(seen, missing, choices, settings)
        outlook = ledger._outlook()
        context = (seen, missing, settings, winners)
        if outlook is Outlook.WON:
            assert winners == {plain_decision(seen, settings)[1]}, context
            assert winners != {None}, context
        elif outlook is Outlook.LOST:
            assert winners == {None}, context
        elif exact:
            assert len(winners) > 1, context
        settled += outlook is not Outlook.OPEN
    return settled


EXACT_GRID = [
    {"min_valid": v, "min_agreement": a, "count_failures": c, "abstain_on_tie": t}
    for v in (0, 0.6, 1)
    for a in (0, 0.5, 0.6, 0.8)
    for c in (True, False)
    for t in (True, False)
]


@pytest.mark.parametrize("options", EXACT_GRID, ids=str)
def test_plain_votes_settle_at_the_first_moment_at_which_all_completions_agree(options: dict[str, Any]) -> None:
    settings = VoteSettings(n=5, key="v", **options)
    choices = {index: [Said("a"), Said("b"), Said("z"), Said(FAILED)] for index in range(5)}
    rng = random.Random(str(options))
    settled = 0
    for outcome in itertools.product(["a", "b", FAILED], repeat=4):
        said = [*map(Said, outcome), Said("a")]
        order = rng.choice([list(range(5)), rng.sample(range(5), 5)])
        settled += check_outlook(said, order, settings, choices, None, exact=True)
    assert settled or options["min_agreement"] == options["min_valid"] == 0


@pytest.mark.parametrize("seed", range(15))
def test_plain_votes_with_sources_are_exact_too(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        n = rng.randint(2, 6)
        known = rng.random() < 0.5
        sources = ("x", "y", "z")[: rng.randint(1, 3)] if known else None
        settings = some_settings(rng, n=n, weights=None, one_vote_per_source=False, min_sources=rng.choice([2, 2, 3]))
        choices = {index: source_choices(index, sources, [1.0]) for index in range(n)}
        said = [rng.choice(choices[index]) for index in range(n)]
        check_outlook(said, rng.sample(range(n), n), settings, choices, sources, exact=True)


def source_choices(index: int, sources: tuple[str, ...] | None, confidences: list[float]) -> list[Said]:
    names = (sources[index % len(sources)],) if sources else ("x", "y", f"new{index}")
    votes = [Said(v, s, c) for v in ("a", "b", "z") for s in names for c in confidences]
    return votes + [Said(FAILED, s) for s in names]


@pytest.mark.parametrize("weights", [None, "confidence", {"x": 0.5, "y": 0.25}, "function"], ids=str)
@pytest.mark.parametrize("per_source", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_early_stop_is_sound_with_weights_and_sources(weights: Any, per_source: bool, known: bool, seed: int) -> None:
    rng = random.Random(seed)
    function = {"weights": lambda sample: sample.record["w"], "max_weight": 2.0}
    confidences = [0.25, 1.0] if weights == "confidence" else [0.5, 2.0] if weights == "function" else [1.0]
    for _ in range(3):
        n = rng.randint(2, 7 if known else 5)
        sources = ("x", "y", "z")[: rng.randint(1, 3)] if known else None
        fixed = function if weights == "function" else {"weights": weights}
        settings = some_settings(rng, n=n, one_vote_per_source=per_source, **fixed)
        choices = {index: source_choices(index, sources, confidences) for index in range(n)}
        said = [rng.choice([s for s in choices[index] if s.vote != "z"]) for index in range(n)]
        if rng.random() < 0.6:  # agreement makes for early settlements
            said = [Said("a", each.source, each.confidence) for each in said]
        check_outlook(said, rng.sample(range(n), n), settings, choices, sources, exact=False)


@pytest.mark.parametrize(("abstain_on_tie", "min_agreement"), [(True, 0), (False, 0), (True, 0.6)])
@pytest.mark.parametrize("weights", [None, "confidence"])
@pytest.mark.parametrize("sources", [None, ("x", "y")], ids=["unknown", "known"])
def test_every_short_run_with_a_voice_per_source_is_sound(
    sources: Any, weights: Any, abstain_on_tie: bool, min_agreement: float
) -> None:
    n = 4
    settings = VoteSettings(
        n=n,
        key="v",
        min_valid=0,
        min_agreement=min_agreement,
        one_vote_per_source=True,
        weights=weights,
        abstain_on_tie=abstain_on_tie,
    )
    choices = {index: source_choices(index, sources, [0.25, 1.0] if weights else [1.0]) for index in range(n)}
    seen = [[said for said in choices[index] if said.vote in ("a", "b")] for index in range(n - 1)]
    settled = sum(
        check_outlook(
            [*said, choices[n - 1][0]], list(range(n)), settings, {n - 1: choices[n - 1]}, sources, exact=False
        )
        for said in itertools.product(*seen)
    )
    assert settled


def test_a_pending_call_with_a_lower_index_can_win_a_tie_for_an_answer_with_more_sources() -> None:
    settings = VoteSettings(
        n=10,
        key="v",
        min_valid=0,
        min_agreement=0,
        abstain_on_tie=False,
        min_sources=3,
        early_stop=True,
        eager=True,  # every call is in flight before the first outcome arrives
    )
    sources = ("x", "y", "z", "w")
    teams = {1: "a", 5: "a", 9: "a", 2: "b", 3: "b", 0: "b"}  # a has three votes of one source, b lacks call 0
    said = [Said(teams.get(index), sources[index % 4]) for index in range(10)]
    result = run(said, settings, [1, 2, 3, 5, 9, 4, 6, 7, 8, 0], sources)
    assert (result.value, result.num_samples) == ("b", 10)


def fewest_calls(n: int, sources: int, known: bool, settings: VoteSettings) -> int:
    """After how many agreeing replies every completion comes to the same, by trying them all."""
    for drawn in range(1, n):
        said = [(index, Said("x", str(index % sources))) for index in range(drawn)]
        choices = {}
        for index in range(drawn, n):
            names = [str(index % sources)] if known else [*{each.source for _, each in said}, f"new {index}"]
            choices[index] = [Said(vote, name) for vote in ("x", "y", FAILED) for name in names]
        winners = (plain_decision([*said, *rest], settings)[1] for rest in completions(list(range(drawn, n)), choices))
        if len(set(itertools.islice(unique(winners), 2))) == 1:
            return drawn
    return n


def unique(values: Iterable[Any]) -> Iterator[Any]:
    seen = set()
    for value in values:
        if value not in seen:
            seen.add(value)
            yield value


@pytest.mark.parametrize("count_failures", [True, False])
@pytest.mark.parametrize("abstain_on_tie", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_agreeing_sources_cost_exactly_the_fewest_calls(
    known: bool, abstain_on_tie: bool, count_failures: bool
) -> None:
    for n, sources, min_agreement in itertools.product((3, 5, 7 if known else 4), (2, 3, 4), (0.5, 0.6, 2 / 3, 1)):
        settings = VoteSettings(
            n=n,
            key="v",
            early_stop=True,
            one_vote_per_source=True,
            min_agreement=min_agreement,
            abstain_on_tie=abstain_on_tie,
            count_failures=count_failures,
        )
        fewest = fewest_calls(n, sources, known, settings)
        names = tuple(str(number) for number in range(sources))
        for concurrency in (1, 3, n):
            made = calls_of_agreeing(settings, names, known, concurrency)
            assert made == fewest, (n, sources, min_agreement, concurrency)


def calls_of_agreeing(settings: VoteSettings, names: tuple[str, ...], known: bool, concurrency: int) -> int:
    ledger = new_ledger(settings, names if known else None)
    flying: list[Call] = []
    while not ledger.finished:
        while len(flying) < concurrency and (call := ledger.next_call()) is not None:
            flying.append(call)
        call = flying.pop(0)
        ledger.receive(Outcome(call, Said("x", names[call.index % len(names)]).reply))
    assert not flying
    return finish(ledger).num_samples
