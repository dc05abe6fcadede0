"""Evaluate, metrics that know of abstentions, and recorded votes."""

from __future__ import annotations

import functools
import json
import logging
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, chat
from scripted import Scripted

from consilience import SettingsError, VoteResult, sample_index, tally
from dspy_consilience import RecordedVote, Vote, abstain_aware, record_votes

exact = dspy.evaluate.answer_exact_match


def example(question: str, answer: Any, **more: Any) -> Any:
    return dspy.Example(question=question, answer=answer, **more).with_inputs("question")


class Fickle(dspy.Module):
    """Sample ``i`` on "yes no yes" gives its word ``i``."""

    def forward(self, question: str) -> Any:
        words = question.split()
        word = words[(sample_index() or 0) % len(words)]
        if word == "fail":
            raise ValueError("as asked")
        return dspy.Prediction(answer=word)


DEVSET = [
    example("yes yes no", "yes"),
    example("yes no", "yes"),
    example("no no no", "yes"),
    example("yes fail yes", "yes"),
    example("a b c", "yes"),
]


@pytest.mark.parametrize("threads", [1, 4])
def test_evaluate_runs_through_abstentions(threads: int) -> None:
    program = Vote(Fickle(), n=3, min_agreement=0.6, concurrency=2)
    evaluate = dspy.Evaluate(devset=DEVSET * 3, metric=abstain_aware(exact), num_threads=threads)
    evaluated = evaluate(program)
    assert [bool(score) for _, _, score in evaluated.results] == [True, True, False, True, False] * 3
    assert [prediction.abstained for _, prediction, _ in evaluated.results] == ([False] * 4 + [True]) * 3


def test_without_it_the_metric_raises_on_an_abstention() -> None:
    abstained = Vote(Fickle(), n=3, min_agreement=0.6)(question="a b c")
    with pytest.raises(Exception, match=r"None|normalize|attribute|expected|argument"):
        exact(DEVSET[0], abstained)
    assert abstain_aware(exact)(DEVSET[0], abstained) == 0.0


def test_an_abstention_has_a_score_of_its_own() -> None:
    metric = abstain_aware(exact, abstain_score=0.3)
    unsure = dspy.Prediction(answer=None, abstained=True)
    assert metric(DEVSET[0], unsure) == 0.3
    assert metric(DEVSET[0], unsure, None) == 0.3
    assert metric(DEVSET[0], unsure, trace=None) == 0.3
    assert metric(DEVSET[0], unsure, []) is False, "no example for a prompt"
    assert metric(DEVSET[0], unsure, trace=[]) is False
    assert metric(DEVSET[0], dspy.Prediction(answer="yes", abstained=False), []) is True
    assert metric(DEVSET[0], dspy.Prediction(answer="no", abstained=False)) is False


def test_fields_that_are_all_none_are_an_abstention_where_nothing_says_otherwise() -> None:
    metric = abstain_aware(lambda example, prediction: 1.0, abstain_score=-1)
    assert metric(DEVSET[0], dspy.Prediction(a=None, b=None)) == -1
    assert metric(DEVSET[0], dspy.Prediction(a=None, b=1)) == 1
    assert metric(DEVSET[0], dspy.Prediction(a=None, abstained=False)) == 1
    assert metric(DEVSET[0], dspy.Prediction()) == 1


def test_a_metric_may_be_called_by_the_names_of_its_arguments() -> None:
    def right(gold: Any, pred: Any, trace: Any = None) -> float:
        return float(gold.answer == pred.answer)

    aware, gold = abstain_aware(right, abstain_score=0.5), example("?", "yes")
    abstained = dspy.Prediction(answer=None, abstained=True)
    assert aware(gold=gold, pred=dspy.Prediction(answer="yes", abstained=False)) == 1
    assert aware(gold, pred=abstained) == 0.5
    assert aware(pred=abstained, gold=gold, trace=[]) is False
    with pytest.raises(TypeError, match="pred"):
        aware(gold)


def test_a_metric_keeps_its_name_and_its_arguments() -> None:
    def feedback(gold: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        """How good it is."""
        return gold, prediction, trace, pred_name, pred_trace

    aware = abstain_aware(feedback)
    assert (aware.__name__, aware.__doc__) == ("feedback", "How good it is.")
    prediction = dspy.Prediction(answer="x")
    assert aware(1, prediction, 3, 4, pred_trace=5) == (1, prediction, 3, 4, 5)
    assert abstain_aware(functools.partial(feedback))(1, prediction)[0] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None,), TypeError),
        ((exact, "0"), TypeError),
        ((exact, True), TypeError),
        ((exact, float("nan")), SettingsError),
    ],
)
def test_bad_arguments_of_abstain_aware(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"metric must be|abstain_score must be"):
        abstain_aware(*arguments)


def test_batches_and_parallel_programs() -> None:
    program = Vote(Fickle(), n=3, concurrency=3, min_agreement=0.6)
    examples = DEVSET * 4
    expected = [program(**each.inputs()).answer for each in examples]
    batched = program.batch(examples, num_threads=4, disable_progress_bar=True)
    assert [prediction.answer for prediction in batched] == expected
    parallel = dspy.Parallel(num_threads=4, disable_progress_bar=True)
    assert [prediction.answer for prediction in parallel([(program, each) for each in examples])] == expected


def test_evaluate_writes_decisions_to_files(tmp_path: Path) -> None:
    program = Vote(Fickle(), n=3, min_agreement=0.6)
    path = tmp_path / "rows.json"
    dspy.Evaluate(devset=DEVSET, metric=abstain_aware(exact), num_threads=1, save_as_json=str(path))(program)
    rows = json.loads(path.read_text())
    assert [row["abstained"] for row in rows] == [False, False, False, False, True]
    assert rows[0]["votes"] == [["yes", 2], ["no", 1]]


# Recorded votes.


@pytest.mark.parametrize("threads", [1, 4])
def test_every_sample_is_recorded_with_the_right_answer(threads: int) -> None:
    program = Vote(Fickle(), n=3, early_stop=True, on_abstain=Scripted([AssertionError("must not be asked")]))
    recorded = record_votes(program, DEVSET, n=6, gold="answer", num_threads=threads)
    assert [each.example for each in recorded] == DEVSET
    assert all(isinstance(each, RecordedVote) for each in recorded)
    for each in recorded:
        words = each.example.question.split() * 6
        assert [sample.vote for sample in each.result.samples] == [
            None if word == "fail" else word for word in words[:6]
        ]
        assert each.gold == "yes"
        assert not each.result.stopped_early
    assert program.settings.n == 3
    assert program(question="yes yes yes").consilience.num_samples == 2, "early stop as before"


@given(st.integers(1, 6), st.sampled_from([0.0, 0.5, 0.8]))
def test_recorded_samples_answer_for_fewer_of_them_and_other_rules(n: int, min_agreement: float) -> None:
    devset = DEVSET[:3]
    recorded = record_votes(Vote(Fickle(), n=6, key="answer"), devset)
    for each in recorded:
        voted = Vote(Fickle(), n=n, key="answer", min_agreement=min_agreement)(**each.example.inputs())
        judged = tally(each.result.samples[:n], key="answer", min_agreement=min_agreement)
        assert (judged.value, judged.reason) == (voted.consilience.value, voted.consilience.reason)


class Around(dspy.Module):
    """A vote with something before and after it."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.vote = Vote(Fickle(), n=3, **options)

    def forward(self, question: str) -> Any:
        if question.startswith("never"):
            raise RuntimeError("before the vote")
        answer = self.vote(question=question).answer
        return dspy.Prediction(length=len(answer))


def test_a_vote_inside_a_program_is_recorded(caplog: pytest.LogCaptureFixture) -> None:
    devset = [*DEVSET[:2], DEVSET[4], example("never", "yes")]
    with caplog.at_level(logging.WARNING, "consilience"):
        recorded = record_votes(Around(), devset, gold=lambda each: each.answer.upper(), max_errors=5)
    assert [each.example.question for each in recorded] == ["yes yes no", "yes no", "a b c"]
    assert {each.gold for each in recorded} == {"YES"}
    logged = [record.getMessage() for record in caplog.records]
    assert any("the program failed after its vote: TypeError" in line for line in logged), "len(None)"
    assert "1 of 4 examples gave no vote to record" in logged


def test_an_abstention_that_raises_is_recorded_too() -> None:
    program = Around(on_abstain="raise", min_agreement=0.6)
    recorded = record_votes(program, [DEVSET[4]], gold="answer")
    assert [each.result.reason for each in recorded] == ["tie"]


def test_an_evaluation_that_writes_files_loses_no_recorded_vote(tmp_path: Path) -> None:
    """It writes them when all calls have been made."""
    saved, table = tmp_path / "rows.json", tmp_path / "rows.csv"
    devset = [*DEVSET, example("never", "yes")]
    recorded = record_votes(
        Around(min_agreement=0.6), devset, gold="answer", max_errors=5, save_as_json=str(saved), save_as_csv=str(table)
    )
    assert len(recorded) == len(DEVSET)
    rows = json.loads(saved.read_text())
    assert [[VoteResult.from_json(json.dumps(each)) for each in row.get("recorded", [])] for row in rows] == [
        *([each.result] for each in recorded),
        [],
    ]
    assert len(table.read_text().splitlines()) >= len(devset)


def test_too_many_failures_end_the_recording() -> None:
    with pytest.raises(Exception, match=r"before the vote|cancelled|error"):
        record_votes(Around(), [example("never", "yes")] * 5, gold="answer", max_errors=1, num_threads=1)


def test_the_gold_label_is_that_of_the_voted_field(endpoint: Any) -> None:
    server: Loopback = endpoint(lambda number, body: chat(reasoning="r", team="billing"))
    devset = [dspy.Example(ticket="?", team="billing", note="x").with_inputs("ticket")]
    with dspy.context(lm=server.lm()):
        (recorded,) = record_votes(Vote(dspy.ChainOfThought("ticket -> team"), n=4), devset)
    assert recorded.gold == "billing"
    assert server.calls == 4


def test_bad_arguments_raise_before_the_first_call() -> None:
    calls: list[int] = []

    class Counts(dspy.Module):
        def forward(self, question: str) -> Any:
            calls.append(1)
            return dspy.Prediction(answer="x")

    vote = Vote(Counts(), n=2, key="answer")
    two = dspy.Module()
    two.one, two.other = Vote(Counts(), key="answer"), Vote(Counts(), key="answer")
    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (lambda **_: None, {}, TypeError, "program must be a dspy.Module, got function"),
        (vote, {"n": 0}, SettingsError, "n must be an int of at least 1, got 0"),
        (vote, {"gold": "label"}, SettingsError, "got 'label': the example has answer"),
        (vote, {"gold": 3}, TypeError, "gold must be"),
        (vote, {"vote": Vote(Counts())}, SettingsError, "vote must be a Vote inside the program"),
        (two, {}, SettingsError, "which has 2: self.one, self.other"),
        (Counts(), {}, SettingsError, "which has 0: none"),
        (Vote(Counts()), {}, SettingsError, "gold must name the label"),
        (vote, {"metric": exact}, TypeError, "unexpected keyword argument 'metric'"),
        (vote, {"displayprogress": True}, TypeError, "'displayprogress'; those of dspy.Evaluate are display_progress"),
        (vote, {"kwargs": 1}, TypeError, "unexpected keyword argument 'kwargs'"),
        (vote, {"devset": []}, SettingsError, "devset must have at least one example"),
        (vote, {"devset": [{"question": "?"}]}, TypeError, r"devset must hold dspy\.Example objects, got dict"),
    ]
    for program, options, error, message in cases:
        with pytest.raises(error, match=message):
            record_votes(program, **{"devset": DEVSET, **options})
    assert not calls
