"""Votes: what they decide, what fails, what they do when they abstain."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any, Literal

import dspy
import pytest
from dspy.utils import DummyLM
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, chat
from scripted import Scripted, run

from consilience import AbstainError, SettingsError, VoteSettings, tally, when_settled
from dspy_consilience import Consensus, Decision, Vote

WAYS = pytest.mark.parametrize("way", ["sync", "async"])


def dummy(*answers: Any, field: str = "answer") -> DummyLM:
    return DummyLM([each if isinstance(each, dict) else {field: str(each)} for each in answers])


def errors(decision: Any) -> list[str | None]:
    return [sample.error for sample in decision.consilience.samples]


@WAYS
@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_answer_of_the_most_samples_wins(way: str, concurrency: int) -> None:
    program = Vote(dspy.Predict("ticket -> team"), n=5, concurrency=concurrency)
    with dspy.context(lm=dummy("billing", "shipping", "billing", "billing", "tech", field="team")):
        decision = run(program, way, ticket="I was charged twice.")
    assert isinstance(decision, Decision)
    assert decision.team == "billing"
    assert not decision.abstained
    assert decision.abstain_reason is None
    assert decision.agreement == 0.6
    assert dict(decision.votes) == {"billing": 3, "shipping": 1, "tech": 1}
    assert decision.failed == []
    assert sorted(decision.completions.team) == ["billing", "billing", "billing", "shipping", "tech"]
    assert dspy.majority(decision).team == "billing"


@WAYS
def test_an_abstention_has_its_fields_and_is_not_falsy(way: str) -> None:
    with dspy.context(lm=dummy({"reasoning": "r", "team": "a"}, {"reasoning": "s", "team": "b"})):
        decision = run(Vote(dspy.ChainOfThought("ticket -> team"), n=2), way, ticket="?")
    assert decision
    assert decision.abstained
    assert decision.abstain_reason == "tie"
    assert decision.agreement == 0.5
    assert decision.team is None
    assert decision.reasoning is None
    assert len(decision.completions) == 2


def test_the_other_fields_are_those_of_the_first_winning_sample() -> None:
    answers = [{"reasoning": each, "answer": answer} for each, answer in (("r0", "no"), ("r1", "yes"), ("r2", "yes"))]
    with dspy.context(lm=dummy(*answers)):
        decision = Vote(dspy.ChainOfThought("question -> answer"), n=3)(question="?")
    assert (decision.reasoning, decision.answer) == ("r1", "yes")


def test_the_winner_is_in_its_most_common_spelling() -> None:
    with dspy.context(lm=dummy("yes", "Yes", "no", "Yes")):
        decision = Vote(dspy.Predict("question -> answer"), n=4, normalize="text")(question="?")
    assert decision.answer == "Yes"
    assert decision.agreement == 0.75


@pytest.mark.parametrize("signature", ["question -> reasoning, answer", "question -> answer, reasoning"])
def test_reasoning_is_no_part_of_the_default_key(signature: str) -> None:
    answers = [{"reasoning": f"thought {number}", "answer": "yes"} for number in range(3)]
    with dspy.context(lm=dummy(*answers)):
        assert Vote(dspy.Predict(signature), n=3)(question="?").votes == [("yes", 3)]


def test_the_default_key_does_not_depend_on_the_order_in_a_reply(endpoint: Callable[..., Loopback]) -> None:
    def reply(number: int, body: dict[str, Any]) -> str:
        return chat(second="same", first=number) if number % 2 else chat(first=number, second="same")

    with dspy.context(lm=endpoint(reply).lm()):
        assert Vote(dspy.Predict("question -> first, second"), n=4)(question="?").votes == [("same", 4)]


def test_any_key_and_option_of_the_core() -> None:
    answers = [{"city": "Bern", "team": team, "sure": sure} for team, sure in (("a", 0.2), ("b", 0.9), ("a", 0.3))]
    program = Vote(
        dspy.Predict("ticket -> city, team, sure: float"),
        n=3,
        key=("city", "team"),
        confidence_field="sure",
        weights="confidence",
        validator=lambda record: record["city"] == "Bern",
    )
    with dspy.context(lm=dummy(*answers)):
        decision = program(ticket="?")
    assert decision.team == "b"
    assert decision.consilience.confidence == 0.9
    assert decision.consilience.sources in ((), ("dummy",))


def test_a_function_may_be_the_key() -> None:
    with dspy.context(lm=dummy("yes!", "yes.", "no")):
        decision = Vote(dspy.Predict("question -> answer"), n=3, key=lambda record: record["answer"][:2])(question="?")
    assert decision.answer == "yes!"
    assert decision.votes == [("ye", 2), ("no", 1)]


# What dspy.majority gets wrong.


@pytest.mark.parametrize(
    ("kind", "answers", "right"),
    [
        ("str", ["A", "A", "B"], "A"),
        ("str", ["the", "the", "B"], "the"),
        ("int", ["-5", "5", "5"], 5),
        ("int", ["-5", "-5", "5"], -5),
        ("float", ["1.5", "15", "1.5"], 1.5),
        ("str", ["1.5", "15", "15"], "15"),
        ("bool", ["True", "False", "False"], False),
        ("list[int]", ["[1, 2]", "[2, 1]", "[2, 1]"], [2, 1]),
        ("dict[str, int]", ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 2}'], {"a": 1, "b": 2}),
    ],
)
def test_what_majority_gets_wrong(kind: str, answers: list[str], right: Any) -> None:
    with dspy.context(lm=dummy(*answers)):
        assert Vote(dspy.Predict(f"question -> answer: {kind}"), n=3)(question="?").answer == right


def test_majority_does_get_it_wrong() -> None:
    signature = dspy.Signature("question -> answer")

    def most_common(*answers: Any) -> Any:
        completions = dspy.Prediction.from_completions([{"answer": each} for each in answers], signature=signature)
        return dspy.majority(completions).answer

    assert most_common("A", "A", "B") == "B"
    assert most_common("-5", "5", "5") == "-5"
    assert most_common("1.5", "15", "15") == "1.5"
    with pytest.raises(Exception, match=r"int|normalize|expected"):
        most_common(1, 1, 2)


VALUES = st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from(["A", "a", "the", "", "-5", "1.5"]), st.none())


@given(
    st.lists(VALUES, min_size=1, max_size=9),
    st.sampled_from([0.0, 0.4, 0.5, 0.75, 1.0]),
    st.booleans(),
)
def test_a_vote_is_the_cores_tally(answers: list[Any], min_agreement: float, abstain_on_tie: bool) -> None:
    options: dict[str, Any] = {"min_agreement": min_agreement, "abstain_on_tie": abstain_on_tie, "key": "answer"}
    expected = tally([{"answer": each} for each in answers], **options)
    decision = Vote(Scripted(answers), n=len(answers), **options)(question="?")
    result = decision.consilience
    assert [(sample.vote, sample.error) for sample in result.samples] == [
        (each.vote, each.error) for each in expected.samples
    ]
    assert (result.detail, result.agreement, result.counts) == (expected.detail, expected.agreement, expected.counts)
    assert decision.answer == expected.value
    assert type(decision.answer) is type(expected.value)
    assert (decision.abstained, decision.abstain_reason) == (expected.abstained, expected.reason)
    assert decision.votes == list(expected.counts)


# Failures.


@WAYS
def test_a_sample_that_raises_is_a_failed_sample(way: str) -> None:
    program = Vote(Scripted(["yes", ConnectionError("busy"), "yes"]), n=3)
    decision = run(program, way, question="?")
    assert decision.answer == "yes"
    assert decision.failed == ["sampler_error: ConnectionError: busy"]
    assert decision.agreement == pytest.approx(2 / 3)


@WAYS
def test_exceptions_named_in_raise_on_reach_the_caller(way: str) -> None:
    program = Vote(Scripted(["yes", PermissionError("wrong key")]), n=3, raise_on=PermissionError)
    with pytest.raises(PermissionError, match="wrong key"):
        run(program, way, question="?")


@WAYS
def test_an_interrupt_reaches_the_caller(way: str) -> None:
    class Interrupt(BaseException):
        pass

    with pytest.raises(Interrupt):
        run(Vote(Scripted(["yes", Interrupt()]), n=3), way, question="?")


@WAYS
def test_a_reply_that_the_adapter_cannot_read_is_kept_with_the_reason(
    endpoint: Callable[..., Loopback], way: str
) -> None:
    def reply(number: int, body: dict[str, Any]) -> str:
        return "I do not know." if number < 2 else chat(team="billing")

    server = endpoint(reply)
    with dspy.context(lm=server.lm()):
        decision = run(Vote(dspy.Predict("ticket -> team"), n=3), way, ticket="?")
    assert decision.team == "billing"
    failed = decision.consilience.samples[0]
    assert failed.code == "invalid"
    assert "AdapterParseError: Adapter ChatAdapter failed to parse" in failed.error
    assert "expected: team" in failed.error
    assert failed.raw.content == "I do not know."
    requests = 3 if dspy.__version__ == "3.0.3" else 2
    assert failed.raw.usage["completion_tokens"] == requests * 3, "DSPy asks once more, in another format; 3.0.3 twice"
    assert decision.consilience.usage["completion_tokens"] == server.calls * 3


def test_a_reply_that_was_cut_off_is_truncated(endpoint: Callable[..., Loopback]) -> None:
    server = endpoint(lambda number, body: "[[ ## te", finish_reason="length")
    with dspy.context(lm=server.lm(max_tokens=3)):
        decision = Vote(dspy.Predict("ticket -> team"), n=2)(ticket="?")
    assert {sample.code for sample in decision.consilience.samples} == {"truncated"}
    assert all(sample.truncated for sample in decision.consilience.samples)


@WAYS
def test_a_literal_outside_its_values_is_a_failed_sample(way: str) -> None:
    team = Literal["billing", "shipping"]
    signature = dspy.Signature({"ticket": (str, dspy.InputField()), "team": (team, dspy.OutputField())})
    adapter = dspy.ChatAdapter()
    answers = [{"team": "billing"}, {"team": "sales"}, {"team": "still sales"}, {"team": "billing"}]
    with dspy.context(lm=DummyLM(answers), adapter=adapter):
        decision = run(Vote(dspy.Predict(signature), n=3), way, ticket="?")
    assert decision.team == "billing"
    assert decision.votes == [("billing", 2)]
    assert len(decision.failed) == 1
    assert "sales" in decision.failed[0]


@WAYS
@pytest.mark.parametrize("reply", ["", "null"])
def test_an_empty_reply_is_a_failed_sample(endpoint: Callable[..., Loopback], way: str, reply: str) -> None:
    server = endpoint(lambda number, body: reply)
    with dspy.context(lm=server.lm()):
        decision = run(Vote(dspy.Predict("ticket -> team"), n=2), way, ticket="?")
    assert decision.abstain_reason == "no_valid"
    assert decision.team is None
    assert len(decision.failed) == 2


def test_none_is_an_answer_where_the_type_allows_it() -> None:
    empty = dspy.Prediction.from_completions([{"answer": None}], signature=dspy.Signature("question -> answer"))
    optional = dspy.Signature({"question": (str, dspy.InputField()), "answer": (str | None, dspy.OutputField())})
    nothing = dspy.Prediction.from_completions([{"answer": None}], signature=optional)
    assert Vote(Scripted([empty]), n=2)(question="?").failed == ["empty_reply: no output field has a value"] * 2
    decision = Vote(Scripted([nothing]), n=2)(question="?")
    assert (decision.answer, decision.abstained, decision.votes) == (None, False, [(None, 2)])


def test_a_missing_answer_is_not_replaced_by_another_field() -> None:
    signature = dspy.Signature("question -> note, answer")
    half = dspy.Prediction.from_completions([{"note": "hm", "answer": None}], signature=signature)
    assert Vote(Scripted([half]), n=2)(question="?").failed == ["missing_key: 'answer' has no value"] * 2


@pytest.mark.parametrize("odd", [None, "text", 7, {"answer": 1}])
def test_what_is_no_prediction_is_a_failed_sample(odd: Any) -> None:
    class Odd(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            return odd

    decision = Vote(Odd(), n=2, key="answer")(question="?")
    assert decision.abstain_reason == "no_valid"
    assert decision.answer is None
    assert all("not a dspy.Prediction" in error for error in decision.failed)


def test_a_sample_that_abstains_is_a_failed_sample() -> None:
    unsure = dspy.Prediction(answer=None, abstained=True, abstain_reason="tie")
    decision = Vote(Scripted(["yes", unsure, "yes"]), n=3, key="answer")(question="?")
    assert decision.answer == "yes"
    assert decision.failed == ["invalid: the module abstained (tie)"]


# Abstentions.


@WAYS
def test_raise_raises_the_cores_error_with_the_result(way: str) -> None:
    program = Vote(Scripted(["a", "b"]), n=2, on_abstain="raise")
    with pytest.raises(AbstainError, match=r"the vote abstained \(tie\): tie: 2 answers") as caught:
        run(program, way, question="?")
    assert caught.value.result.num_samples == 2
    assert run(Vote(Scripted(["a"]), n=2, on_abstain="raise"), way, question="?").answer == "a"


@WAYS
def test_a_stronger_module_is_asked_the_same(way: str) -> None:
    strong = dspy.Predict("question -> answer")
    strong.lm = dummy("certainly")
    program = Vote(dspy.Predict("question -> answer"), n=2, on_abstain=strong)
    with dspy.context(lm=dummy("a", "b", "c", "c")):
        handed = run(program, way, question="?")
        decided = run(program, way, question="?")
    assert (handed.answer, handed.abstained, handed.abstain_reason) == ("certainly", False, "tie")
    assert handed.votes == [("a", 1), ("b", 1)]
    assert handed.consilience.reason == "tie"
    assert (decided.answer, decided.abstain_reason) == ("c", None)
    assert len(strong.lm.history) == 1


def test_a_stronger_module_may_abstain_too() -> None:
    strong = Vote(Scripted(["x", ValueError("broken"), TypeError("broken")]), n=3)
    decision = Vote(Scripted(["a", "b"]), n=2, on_abstain=strong)(question="?")
    assert decision.abstained
    assert decision.answer is None
    assert decision.abstain_reason == "too_few_valid"
    assert decision.consilience.reason == "tie"


def test_a_stronger_module_without_aforward_runs_in_a_thread_in_the_context_of_the_vote() -> None:
    class Plain(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = dspy.Predict("question -> answer")

        def forward(self, **inputs: Any) -> Any:
            assert threading.current_thread() is not threading.main_thread()
            return self.step(**inputs)

    with dspy.context(lm=dummy("a", "b", "c"), trace=[]):
        decision = asyncio.run(Vote(dspy.Predict("question -> answer"), n=2, on_abstain=Plain()).acall(question="?"))
        assert [step[2].answer for step in dspy.settings.trace] == ["c"]
    assert (decision.answer, decision.abstained, decision.abstain_reason) == ("c", False, "tie")


def test_the_error_of_a_stronger_module_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="broken"):
        Vote(Scripted(["a", "b"]), n=2, on_abstain=Scripted([ValueError("broken")]))(question="?")


# Arguments.


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda module: Vote(module, N=3), TypeError, "did you mean 'n'"),
        (lambda module: Vote(module, threshold=0.6), TypeError, "threshold"),
        (lambda module: Vote(module, n=0), SettingsError, "n must be an int of at least 1, got 0"),
        (
            lambda module: Vote(module, settings={"n": 3}),
            TypeError,
            "settings must be a VoteSettings or None, got dict",
        ),
        (lambda module: Vote(module, temperature=0), SettingsError, "temperature must be a number above 0"),
        (lambda module: Vote(module, temperature=True), TypeError, "temperature must be a number or None, got True"),
        (lambda module: Vote(module, temperature="hot"), TypeError, "temperature"),
        (lambda module: Vote(module, temperature=float("nan")), SettingsError, "temperature"),
        (lambda module: Vote(module, on_abstain="ask"), SettingsError, 'on_abstain must be "return", "raise" or a'),
        (lambda module: Vote(module, on_abstain=None), TypeError, "on_abstain must be .* got NoneType"),
        (lambda module: Vote(module, on_abstain=dspy.Predict), TypeError, "got the class Predict"),
        (lambda module: Vote(lambda **_: None), TypeError, "module must be a dspy.Module, got function"),
        (lambda module: Vote(dspy.Predict), TypeError, "module must be a dspy.Module, got the class Predict"),
        (lambda module: Vote(dspy.Predict("a -> votes")), SettingsError, "output field 'votes'"),
        (lambda module: Vote(dspy.ChainOfThought("a -> agreement")), SettingsError, "rename the field"),
    ],
)
def test_bad_arguments_raise_at_construction(make: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(dspy.Predict("question -> answer"))


@pytest.mark.parametrize(
    "options", [{"key": "tem"}, {"key": ("team", ("x.y",))}, {"key": "x[0]"}, {"confidence_field": "sure"}]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_field_that_the_module_does_not_give_is_refused_before_any_call(
    options: dict[str, Any], wrapped: bool
) -> None:
    module: Any = dspy.ChainOfThought("ticket -> team")
    if wrapped:
        module = dspy.BestOfN(module, N=2, reward_fn=lambda *_: 1.0, threshold=1.0)
    message = rf"{next(iter(options))} must begin with an output field \(reasoning, team\), got '"
    with pytest.raises(SettingsError, match=message):
        Vote(module, **options)
    vote = Vote(module)
    with pytest.raises(SettingsError, match=message):
        vote.settings = vote.settings.with_options(**options)
    vote.load_state({**vote.dump_state(), "rules": Vote(Scripted(["a"]), **options).rules.dump_state()})
    lm = dummy("yes")
    with dspy.context(lm=lm), pytest.raises(SettingsError, match=message):
        vote(ticket="?")
    assert lm.history == []


def test_a_key_is_not_refused_where_only_a_run_can_tell() -> None:
    def normed(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "norm": record["answer"].lower()}

    module = dspy.Predict("question -> answer")
    with dspy.context(lm=dummy("Yes", "yes", "no")):
        assert Vote(module, n=3, key="norm", validator=normed)(question="?").votes == [("yes", 2), ("no", 1)]
    with dspy.context(lm=dummy("Yes", "yes", "no")):
        assert Vote(module, n=3, key=lambda record: len(record["answer"]))(question="?").votes == [(3, 2), (2, 1)]
    assert Vote(Scripted([dspy.Prediction(x=1, answer="a")]), n=2, key="x")(question="?").votes == [(1, 2)]
    assert Vote(dspy.ReAct("question -> answer", tools=[]), key="trajectory").settings.key == "trajectory"


@pytest.mark.skipif(not hasattr(dspy, "Reasoning"), reason="this DSPy knows no type for reasoning")
def test_a_field_typed_as_reasoning_is_no_answer_whatever_its_name() -> None:
    class Think(dspy.Signature):
        question: str = dspy.InputField()
        answer: str = dspy.OutputField()
        thoughts: dspy.Reasoning = dspy.OutputField()

    replies = [{"answer": answer, "thoughts": f"thought {i}"} for i, answer in enumerate("aab")]
    for kind in (Vote, Consensus):
        with dspy.context(lm=DummyLM(replies)):
            decision = kind(dspy.Predict(Think), n=3)(question="?")
        assert (decision.answer, str(decision.thoughts)) == ("a", "thought 0")
    assert list(decision.votes) == ["answer"]


def test_settings_and_key_words_are_the_same() -> None:
    module = dspy.Predict("question -> answer")
    settings = VoteSettings(n=7, min_agreement=0.8)
    assert Vote(module, settings=settings, n=9).settings == Vote(module, n=9, min_agreement=0.8).settings
    vote = Vote(module, settings=settings)
    vote.settings = vote.settings.with_options(n=3)
    assert vote.settings.n == 3
    with pytest.raises(TypeError, match="settings must be a VoteSettings, got dict"):
        vote.settings = {"n": 3}


def test_positional_inputs_reach_a_module_that_takes_them() -> None:
    class Shout(dspy.Module):
        def forward(self, word: str) -> Any:
            return dspy.Prediction(word=word.upper())

    assert Vote(Shout(), n=2)("hello").word == "HELLO"


# Drawing.


@WAYS
def test_early_stop_makes_no_more_calls_than_needed(way: str) -> None:
    lm = dummy(*["yes"] * 9)
    with dspy.context(lm=lm):
        decision = run(Vote(dspy.Predict("question -> answer"), n=9, early_stop=True), way, question="?")
    assert (decision.answer, decision.consilience.stopped_early, len(lm.history)) == ("yes", True, 5)


def test_early_stop_cancels_what_is_in_flight() -> None:
    cancelled: list[int] = []

    class Slow(dspy.Module):
        async def aforward(self, **inputs: Any) -> Any:
            from consilience import sample_index

            if (index := sample_index() or 0) > 2:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(index)
                    raise
            return dspy.Prediction(answer="yes")

    program = Vote(Slow(), n=5, concurrency=5, stop=when_settled(), eager=True)
    decision = asyncio.run(program.acall(question="?"))
    assert decision.answer == "yes"
    assert sorted(cancelled) == [3, 4]


def test_a_module_that_hangs_is_a_timeout() -> None:
    release = threading.Event()

    class Hangs(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            from consilience import sample_index

            if sample_index() == 1:
                release.wait(60)
            return dspy.Prediction(answer="yes")

    try:
        decision = Vote(Hangs(), n=3, concurrency=3, timeout=2)(question="?")
    finally:
        release.set()
    assert decision.answer == "yes"
    assert [error.partition(":")[0] for error in decision.failed] == ["timeout"]


def test_a_module_without_aforward_runs_in_threads() -> None:
    class Plain(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            return dspy.Prediction(answer=threading.current_thread() is threading.main_thread())

    assert asyncio.run(Vote(Plain(), n=3, concurrency=3).acall(question="?")).votes == [(False, 3)]


def test_on_sample_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []
    with caplog.at_level(logging.INFO, "consilience"):
        Vote(Scripted(["yes"]), n=2, on_sample=seen.append)(question="?")
    assert [sample.vote for sample in seen] == ["yes", "yes"]
    assert sum("decided" in record.getMessage() for record in caplog.records) == 1


def test_a_decision_is_printed_by_its_fields() -> None:
    with dspy.context(lm=dummy({"nothing": 1}, {"nothing": 1})):
        decision = Vote(dspy.Predict("question -> answer: int"), n=2)(question="?")
    assert decision.failed
    shown = repr(decision.copy(failed=[]))
    assert shown == str(decision.copy(failed=[]))
    wanted = "Decision( answer=None, abstained=True, abstain_reason='no_valid', agreement=0.0, votes=[], failed=[] )"
    assert " ".join(shown.split()) == wanted


def test_a_decision_can_be_copied() -> None:
    decision = Vote(Scripted(["yes"]), n=2)(question="?")
    copied = decision.copy(answer="no")
    assert (copied.answer, decision.answer) == ("no", "yes")
    assert copied.consilience is decision.consilience
    assert copied.completions is decision.completions


def test_fields_of_a_program_that_a_decision_needs_are_refused_and_not_lost() -> None:
    with pytest.raises(SettingsError, match="output field 'votes'"):
        Vote(Scripted([dspy.Prediction(votes=3, answer="yes")]), n=2)(question="?")
    with pytest.raises(SettingsError, match="output field 'failed'"):
        Vote(Scripted(["a", "b"]), n=2, on_abstain=Scripted([dspy.Prediction(failed=3)]))(question="?")


def test_a_program_may_hand_on_the_books_of_a_vote_inside() -> None:
    inner = dspy.Prediction(answer="yes", abstained=False, abstain_reason=None, agreement=1.0, votes=[], failed=[])
    decision = Vote(Scripted([inner]), n=2)(question="?")
    assert (decision.answer, decision.votes) == ("yes", [("yes", 2)])


def test_a_stronger_module_that_gives_nothing_is_an_error() -> None:
    class Silent(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            return None

    with pytest.raises(TypeError, match=r"on_abstain must give a dspy\.Prediction, got NoneType"):
        Vote(Scripted(["a", "b"]), n=2, on_abstain=Silent())(question="?")


def test_an_abstention_knows_the_fields_that_its_samples_had() -> None:
    split = [dspy.Prediction(answer="a", note="x"), dspy.Prediction(answer="b", note="y")]
    decision = Vote(Scripted(split), n=2, key="answer")(question="?")
    assert (decision.abstain_reason, decision.answer, decision.note) == ("tie", None, None)


def test_values_that_cannot_be_compared_do_no_harm() -> None:
    numpy = pytest.importorskip("numpy")
    arrays = [dspy.Prediction(answer=numpy.array([1, 2])), dspy.Prediction(answer=numpy.array([1, 2]))]
    decision = Vote(Scripted(arrays), n=2, validator=lambda record: None)(question="?")
    assert not decision.abstained
    assert decision.answer is arrays[0].answer
