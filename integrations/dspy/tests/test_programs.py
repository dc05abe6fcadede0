"""Votes inside programs: saving, copying, nesting, and optimizers."""

from __future__ import annotations

import copy
import json
import logging
import threading
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM
from loopback import Loopback, chat
from scripted import Scripted, run

from consilience import ConsensusSettings, SettingsError, VoteSettings
from dspy_consilience import Consensus, Vote, abstain_aware

WAYS = pytest.mark.parametrize("way", ["sync", "async"])


class Triage(dspy.Module):
    """A program with a vote in the middle."""

    def __init__(self, vote: bool = True, **options: Any) -> None:
        super().__init__()
        self.summarize = dspy.Predict("ticket -> summary")
        route = dspy.ChainOfThought("summary -> team")
        self.route = Vote(route, **{"n": 3, **options}) if vote else route

    def forward(self, ticket: str) -> Any:
        return self.route(summary=self.summarize(ticket=ticket).summary)

    async def aforward(self, ticket: str) -> Any:
        return await self.route.acall(summary=(await self.summarize.acall(ticket=ticket)).summary)


def triage_lm(*teams: str) -> DummyLM:
    answers: list[dict[str, Any]] = []
    for at in range(0, len(teams), 3):
        answers.append({"summary": f"summary {at // 3}"})
        answers += [
            {"reasoning": f"thought {at + place}", "team": team} for place, team in enumerate(teams[at : at + 3])
        ]
    return DummyLM(answers)


# What DSPy finds in a program.


def test_predictors_are_found_by_name() -> None:
    assert [name for name, _ in Triage().named_predictors()] == ["summarize", "route.module.predict"]
    assert [name for name, _ in Vote(dspy.Predict("a -> b")).named_predictors()] == ["module"]
    nested = Vote(Vote(dspy.Predict("a -> b")), on_abstain=dspy.ChainOfThought("a -> b"))
    assert [name for name, _ in nested.named_predictors()] == ["module.module", "on_abstain.predict"]
    assert {name for name, _ in nested.named_parameters()} == {
        "module.module",
        "module.rules",
        "rules",
        "on_abstain.predict",
    }


@pytest.mark.parametrize("kind", [Vote, Consensus])
def test_set_lm_and_get_lm(kind: Any) -> None:
    mine, other = DummyLM([{"team": "mine"}] * 3), DummyLM([{"team": "other"}] * 3)
    program = kind(dspy.Predict("ticket -> team"), n=3)
    program.set_lm(mine)
    assert program.get_lm() is mine
    with dspy.context(lm=other):
        assert program(ticket="?").team == "mine"


def test_a_predictor_can_be_replaced() -> None:
    program = Triage()
    program.map_named_predictors(lambda predictor: dspy.Predict(predictor.signature.with_instructions("Be brief.")))
    assert all(predictor.signature.instructions == "Be brief." for predictor in program.predictors())


@WAYS
def test_a_program_with_a_vote_in_it(way: str) -> None:
    with dspy.context(lm=triage_lm("billing", "shipping", "billing")):
        decision = run(Triage(), way, ticket="I was charged twice.")
    assert (decision.team, decision.reasoning) == ("billing", "thought 0")


@WAYS
def test_a_vote_with_a_program_in_it(way: str) -> None:
    program = Vote(Triage(n=2), n=2, key="team")
    answers = [{"summary": "s"}, {"reasoning": "r", "team": "billing"}, {"reasoning": "r", "team": "billing"}]
    with dspy.context(lm=DummyLM(answers * 2)):
        decision = run(program, way, ticket="?")
    assert decision.team == "billing"
    assert decision.votes == [("billing", 2)]
    assert "abstained" not in decision.completions


# Saving.


def changed(program: Triage) -> Triage:
    """The program after training, so to speak."""
    program.route.settings = program.route.settings.with_options(n=9, min_agreement=0.7)
    program.summarize.demos = [dspy.Example(ticket="t", summary="s")]
    program.route.module.predict.demos = [dspy.Example(summary="s", reasoning="r", team="billing")]
    return program


def state_of(program: Triage) -> tuple[Any, ...]:
    demos = [[dict(demo) for demo in predictor.demos] for predictor in program.predictors()]
    return program.route.settings, program.route.rules.temperature, demos


@pytest.mark.parametrize("suffix", [".json", ".pkl"])
def test_state_is_saved_and_loaded(tmp_path: Path, suffix: str) -> None:
    saved = changed(Triage(key=("team", "reasoning"), timeout=2.5, weights={"a": 0.5}))
    saved.route.rules.temperature = 0.8
    saved.save(tmp_path / f"program{suffix}")
    loaded = Triage()
    loaded.load(tmp_path / f"program{suffix}", **({"allow_pickle": True} if takes_allow_pickle() else {}))
    assert state_of(loaded) == state_of(saved)
    assert loaded.route.settings.key == ("team", "reasoning")


def takes_allow_pickle() -> bool:
    return "allow_pickle" in dspy.Module.load.__code__.co_varnames


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_whole_program_is_saved_and_loaded(tmp_path: Path) -> None:
    saved = changed(Triage(key=lambda record: record["team"]))
    saved.save(tmp_path / "whole", save_program=True, modules_to_serialize=[])
    load_options = {"allow_pickle": True} if "allow_pickle" in dspy.load.__code__.co_varnames else {}
    loaded = dspy.load(str(tmp_path / "whole"), **load_options)
    assert loaded.route.settings.n == 9
    assert loaded.route.settings.key({"team": "billing"}) == "billing"
    with dspy.context(lm=DummyLM([{"summary": "s"}] + [{"reasoning": "r", "team": "billing"}] * 9)):
        assert loaded(ticket="?").team == "billing"


def test_a_consensus_is_saved_too(tmp_path: Path) -> None:
    module = dspy.Predict("order -> city, items: list[dict[str, str]]")
    saved = Consensus(module, n=7, required=["city", "items[].sku"], min_support=0.3, weights=[1] * 7)
    saved.save(tmp_path / "program.json")
    loaded = Consensus(module)
    loaded.load(tmp_path / "program.json")
    assert loaded.settings == ConsensusSettings(n=7, required=["city", "items[].sku"], min_support=0.3, weights=[1] * 7)


def test_code_is_named_in_the_file_and_missed_when_it_is_not_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "program.json"
    module, validator = dspy.Predict("ticket -> team"), lambda record: True
    Vote(module, n=7, validator=validator, raise_on=KeyError).save(path)
    assert json.loads(path.read_text())["rules"]["code"] == ["raise_on", "validator"]
    same = Vote(module, validator=validator, raise_on=KeyError)
    same.load(path)
    assert (same.settings.n, same.settings.validator) == (7, validator)
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "consilience"):
        Vote(module).load(path)
    assert "raise_on, validator" in caplog.records[-1].getMessage()


def test_a_state_that_is_no_good_is_refused() -> None:
    vote = Vote(dspy.Predict("ticket -> team"))
    state = vote.dump_state()
    state["rules"] = {**state["rules"], "options": {"n": 0}}
    with pytest.raises(SettingsError, match="n must be an int of at least 1, got 0"):
        vote.load_state(state)
    state["rules"] = {**state["rules"], "options": {"m": 5}}
    with pytest.raises(TypeError, match="'m'"):
        vote.load_state(state)
    assert vote.settings == VoteSettings()


@pytest.mark.parametrize(
    ("spoiled", "error", "message"),
    [
        ({"temperature": -3}, SettingsError, "temperature must be a number above 0 or None, got -3"),
        ({"temperature": "hot"}, TypeError, "temperature must be a number or None, got 'hot'"),
        ({"code": None}, SettingsError, "the saved state must be one of a vote or a consensus, got {"),
        (None, SettingsError, "the saved state must be one of a vote or a consensus, got 'something else'"),
    ],
)
def test_a_spoiled_state_changes_nothing(spoiled: Any, error: type[Exception], message: str) -> None:
    rules = Vote(dspy.Predict("ticket -> team"), n=3, temperature=0.5).rules
    state: Any = Vote(dspy.Predict("ticket -> team"), n=9).rules.dump_state()
    if spoiled is None:
        state = "something else"
    elif spoiled == {"code": None}:
        del state["code"]
    else:
        state.update(spoiled)
    with pytest.raises(error, match=message):
        rules.load_state(state)
    assert (rules.settings.n, rules.temperature) == (3, 0.5)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda program: program.deepcopy()])
def test_a_copy_keeps_what_was_learned_and_goes_its_own_way(copied: Any) -> None:
    limiter = threading.Semaphore(2)
    program = changed(Triage(limiter=limiter))
    again = copied(program)
    assert state_of(again) == state_of(program)
    assert again.route.settings.limiter is limiter
    again.route.settings = again.route.settings.with_options(n=2)
    assert program.route.settings.n == 9
    assert again.route.module is not program.route.module
    with dspy.context(lm=triage_lm("a", "a")):
        assert again(ticket="?").team == "a"


def test_a_reset_goes_back_to_how_the_vote_was_made() -> None:
    program = changed(Triage(n=5))
    again = program.reset_copy()
    assert again.route.settings == VoteSettings(n=5)
    assert all(predictor.demos == [] for predictor in again.predictors())
    assert program.route.settings.n == 9


# Optimizers.


TRAINSET = [
    dspy.Example(ticket=f"ticket {number}", team="billing" if number % 2 else "shipping").with_inputs("ticket")
    for number in range(8)
]


def right_team(example: Any, prediction: Any, trace: Any = None) -> bool:
    return bool(example.team == prediction.team)


def one_wrong_in_three(number: int, body: dict[str, Any]) -> str:
    """Summaries hand on the ticket's number; of the answers about it every third is wrong, in any order of asking."""
    prompt = body["messages"][-1]["content"]
    if "[[ ## ticket ## ]]" in prompt:
        return chat(summary=prompt.split("ticket ## ]]\n")[1].split("\n")[0])
    of_ticket = int(prompt.split("ticket ")[1].split("\n")[0])
    right, wrong = ("billing", "shipping") if of_ticket % 2 else ("shipping", "billing")
    return chat(reasoning=f"thought {number}", team=wrong if number % 4 == 3 else right)


def demos_of(program: Any) -> dict[str, list[Any]]:
    return {
        name.replace(".module", ""): [demo for demo in predictor.demos if demo.get("augmented")]
        for name, predictor in program.named_predictors()
    }


def always_right(number: int, body: dict[str, Any]) -> str:
    return one_wrong_in_three(0, body)


def test_bootstrapping_finds_as_many_demos_as_without_a_vote(endpoint: Any) -> None:
    found = {}
    for vote in (False, True):
        with dspy.context(lm=endpoint(always_right).lm()):
            optimizer = dspy.BootstrapFewShot(right_team, max_bootstrapped_demos=3, max_labeled_demos=0)
            found[vote] = demos_of(optimizer.compile(Triage(vote=vote), trainset=TRAINSET))
    assert {name: len(demos) for name, demos in found[True].items()} == {"summarize": 3, "route.predict": 3}
    assert {name: len(demos) for name, demos in found[False].items()} == {"summarize": 3, "route.predict": 3}


@pytest.mark.parametrize("concurrency", [1, 3])
def test_every_demo_is_a_winner(endpoint: Any, concurrency: int) -> None:
    """One sample in four is wrong; the votes are right, and so must be what they show as examples."""
    with dspy.context(lm=endpoint(one_wrong_in_three).lm()):
        optimizer = dspy.BootstrapFewShot(right_team, max_bootstrapped_demos=8, max_labeled_demos=0, max_rounds=3)
        compiled = optimizer.compile(Triage(n=5, concurrency=concurrency), trainset=TRAINSET)
    demos = demos_of(compiled)["route.predict"]
    assert len(demos) == 8
    assert [demo.team for demo in demos] == [
        "billing" if int(demo.summary.removeprefix("ticket ")) % 2 else "shipping" for demo in demos
    ]


def test_random_search_finds_as_many_demos_as_without_a_vote(endpoint: Any) -> None:
    found = {}
    for vote in (False, True):
        optimizer = dspy.BootstrapFewShotWithRandomSearch(
            abstain_aware(right_team), max_bootstrapped_demos=2, num_candidate_programs=2, num_threads=2
        )
        with dspy.context(lm=endpoint(always_right).lm()):
            compiled = optimizer.compile(
                Triage(vote=vote, **({"concurrency": 2} if vote else {})), trainset=TRAINSET[:4], valset=TRAINSET[4:]
            )
        candidates = [candidate["program"] for candidate in compiled.candidate_programs]
        found[vote] = sorted([len(demos) for demos in demos_of(each).values()] for each in candidates)
    assert found[True] == found[False]
    assert [2, 2] in found[True]


def test_labels_for_a_vote_that_is_the_whole_program() -> None:
    compiled = dspy.LabeledFewShot(k=3).compile(Vote(dspy.Predict("ticket -> team"), n=3), trainset=TRAINSET)
    assert len(compiled.module.demos) == 3


def test_copro_rewrites_the_instructions_under_a_vote(endpoint: Any) -> None:
    def reply(number: int, body: dict[str, Any]) -> str:
        if "proposed_instruction" in body["messages"][0]["content"]:
            return chat(proposed_instruction=f"Read carefully, {number}.", proposed_prefix_for_output_field="Team:")
        asked = body["messages"][-1]["content"]
        right = "billing" if int(asked.split("ticket ")[1].split("\n")[0]) % 2 else "shipping"
        return chat(team=right if "carefully" in body["messages"][0]["content"] else "nobody")

    lm = endpoint(reply).lm()
    optimizer = dspy.COPRO(metric=abstain_aware(right_team), breadth=2, depth=1, track_stats=False, prompt_model=lm)
    options = {"num_threads": 1, "display_progress": False, "display_table": 0}
    with dspy.context(lm=lm):
        compiled = optimizer.compile(
            Vote(dspy.Predict("ticket -> team"), n=3), trainset=TRAINSET[:4], eval_kwargs=options
        )
    assert "carefully" in compiled.module.signature.instructions


def test_a_consensus_gives_demos_of_what_was_decided() -> None:
    replies = [{"city": "Bern", "size": "S"}, {"city": "Rome", "size": "M"}, {"city": "Bern", "size": "L"}]
    replies += [{"city": "Oslo", "size": "M"}]
    trainset = [dspy.Example(order="One M to Bern.", city="Bern", size="M").with_inputs("order")]

    def right(example: Any, prediction: Any, trace: Any = None) -> bool:
        return bool((example.city, example.size) == (prediction.city, prediction.size))

    program = Consensus(dspy.Predict("order -> city, size"), n=4, weights=None)
    with dspy.context(lm=DummyLM(replies)):
        compiled = dspy.BootstrapFewShot(right, max_labeled_demos=0).compile(program, trainset=trainset)
    (demo,) = compiled.module.demos
    assert (demo.city, demo.size) == ("Bern", "M")


def test_a_vote_keeps_nothing_that_cannot_be_saved() -> None:
    vote = Vote(Scripted(["yes"]), n=2, concurrency=2)
    vote(question="?")
    assert set(vars(vote)) == {"module", "rules", "on_abstain", "callbacks", "history", "_compiled"}


def test_the_stub_is_asked(endpoint: Any) -> None:
    server: Loopback = endpoint(one_wrong_in_three)
    with dspy.context(lm=server.lm()):
        Triage(n=4)(ticket="ticket 1")
    assert server.calls == 5
