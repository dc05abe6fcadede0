"""VoteRunnable: what it is made of, what it decides, what comes out."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from integrations.langchain.tests.scripted import A, B, C, ScriptedModel, usage
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import BaseModel

from consilience import (
    AbstainError,
    Paraphrases,
    SettingsError,
    VoteResult,
    VoteSettings,
    sample_index,
    tally,
    when_settled,
)
from langchain_consilience import VoteRunnable


class Ticket(BaseModel):
    team: str


def run(component: Runnable[Any, Any], prompt: Any, mode: str, **kwargs: Any) -> Any:
    if mode == "invoke":
        return component.invoke(prompt, **kwargs)
    return asyncio.run(component.ainvoke(prompt, **kwargs))


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])


# Construction


@pytest.mark.parametrize("make", [lambda: VoteRunnable(n=5), lambda: VoteRunnable(), lambda: VoteRunnable(None)])
def test_without_anything_to_sample_it_says_how_to_spell_it(make: Any) -> None:
    with pytest.raises(TypeError, match=r"VoteRunnable\(model \| parser, n=5\).*prompt \| VoteRunnable\(model"):
        make()


QUESTION = ChatPromptTemplate.from_template("{x}")


@pytest.mark.parametrize(
    "bound",
    [
        StrOutputParser(),
        QUESTION,
        QUESTION | StrOutputParser(),
        {"a": QUESTION},
        {},
        StrOutputParser() | {"a": QUESTION},
    ],
)
def test_parsers_and_prompts_alone_are_nothing_to_sample(bound: Any) -> None:
    with pytest.raises(TypeError, match=r"needs a model to sample, got only a .*VoteRunnable\(model \| parser, n=5\)"):
        VoteRunnable(bound, n=5)


def test_a_parser_that_asks_a_model_can_be_sampled() -> None:
    class Fixing(StrOutputParser):
        model: Any

        def parse(self, text: str) -> str:
            return str(self.model.invoke(text).text)

    assert VoteRunnable(Fixing(model=ScriptedModel(script=[A])), n=3, key="team").invoke("x").value == "a"


@pytest.mark.parametrize(
    ("bound", "named"),
    [(5, "int"), ("model", "str"), (VoteSettings(), "VoteSettings"), (ScriptedModel, "the class ScriptedModel")],
)
def test_what_is_no_runnable_is_refused(bound: Any, named: str) -> None:
    message = rf"must be a Runnable, a function or a dict of them, got {named}: VoteRunnable\(model \| parser, n=5\)"
    with pytest.raises(TypeError, match=message):
        VoteRunnable(bound)


@pytest.mark.parametrize("name", ["model", "chain", "runnable"])
def test_what_is_sampled_under_another_name_is_told_its_place(name: str) -> None:
    with pytest.raises(
        TypeError, match=rf"'{name}': what is to be sampled is the first argument, VoteRunnable\({name}"
    ):
        VoteRunnable(n=3, **{name: ScriptedModel(script=[A])})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"N": 99}, TypeError, r"VoteRunnable\(\) got an unexpected keyword argument 'N'; did you mean 'n'\?"),
        ({"min_agreemnt": 1}, TypeError, "did you mean 'min_agreement'"),
        ({"on_abstian": "raise"}, TypeError, "did you mean 'on_abstain'"),
        ({"max_concurrency": 3}, TypeError, "did you mean 'concurrency'"),
        ({"n": 0}, SettingsError, "n must be an int of at least 1, got 0"),
        ({"n": True}, TypeError, "n must be an int"),
        ({"n": "5"}, TypeError, "n must be an int"),
        ({"concurrency": 0}, SettingsError, "concurrency must be an int of at least 1, got 0"),
        ({"output": "vlaue"}, SettingsError, "output must be 'result' or 'value', got 'vlaue'"),
        ({"on_abstain": "rase"}, SettingsError, 'on_abstain must be "return", "raise" or a Runnable'),
        ({"on_abstain": AbstainError}, SettingsError, "on_abstain must be"),
        ({"on_abstain": 3}, SettingsError, "on_abstain must be"),
        ({"vary": "salt"}, SettingsError, "vary must be 'seed' or 'cache' or None, got 'salt'"),
        ({"nostream": "yes"}, SettingsError, "nostream must be True or False"),
        ({"settings": {"n": 3}}, TypeError, "settings must be a VoteSettings or None, got dict"),
        ({"timeout": -1}, SettingsError, "timeout must be more than 0 seconds"),
    ],
)
def test_a_wrong_argument_fails_at_construction(options: dict[str, Any], error: type[Exception], message: str) -> None:
    model = ScriptedModel(script=[A])
    with pytest.raises(error, match=message):
        VoteRunnable(model, **options)
    assert model.calls == 0


def test_two_positional_arguments_are_too_many() -> None:
    with pytest.raises(TypeError, match="one positional argument"):
        VoteRunnable(ScriptedModel(script=[A]), 5)
    with pytest.raises(TypeError, match="one positional argument"):
        VoteRunnable(ScriptedModel(script=[A]), bound=ScriptedModel(script=[A]))


def test_every_option_of_the_core_is_a_field_with_the_same_default() -> None:
    ours = VoteRunnable.model_fields
    for option in fields(VoteSettings):
        if option.name == "concurrency":  # of a framework that runs things at once
            assert ours["concurrency"].default is None
        else:
            assert ours[option.name].default == getattr(VoteSettings(), option.name), option.name
    own = set(ours) - {option.name for option in fields(VoteSettings)}
    assert own == {"bound", "name", "output", "on_abstain", "vary", "nostream"}


def test_every_field_is_taken_by_key_word() -> None:
    vote = VoteRunnable(ScriptedModel(script=[A]), n=3, key=("team", "city"), stop=when_settled(), min_agreement=0.6)
    again = VoteRunnable(**{name: getattr(vote, name) for name in VoteRunnable.model_fields})
    assert again.settings == vote.settings
    assert again == vote


def test_settings_and_key_words() -> None:
    model = ScriptedModel(script=[A])
    settings = VoteSettings(n=9, key="team", min_agreement=0.6)
    assert VoteRunnable(model, settings=settings).settings == settings
    assert VoteRunnable(model, settings=settings, n=3).settings == settings.with_options(n=3)
    assert VoteRunnable(model, n=3).settings == VoteSettings(n=3, concurrency=3)
    assert VoteRunnable(model, n=300).settings.concurrency == 32
    assert VoteRunnable(model, n=3, concurrency=1).settings.concurrency == 1


def test_functions_and_dicts_are_sampled_too() -> None:
    assert VoteRunnable(lambda text: {"team": text}, n=3, key="team").invoke("a").value == "a"
    many = VoteRunnable({"team": ScriptedModel(script=["a"]) | StrOutputParser()}, n=3, key="team")
    assert many.invoke("x").value == "a"


# Deciding

lines = st.sampled_from([A, B, C, '{"team": ', "Sorry, I cannot.", "", None, {"team": "a"}, Ticket(team="b"), 7])


@given(st.lists(lines, min_size=1, max_size=7), st.sampled_from([0.0, 0.5, 0.7]), st.booleans())
def test_the_same_votes_through_the_adapter_and_the_core(
    replies: list[Any], min_agreement: float, count_failures: bool
) -> None:
    options: Any = {"key": "team", "min_agreement": min_agreement, "count_failures": count_failures}
    chain = RunnableLambda(lambda _: replies[sample_index() or 0])
    result = VoteRunnable(chain, n=len(replies), **options).invoke("x")
    direct = tally(replies, **options)
    outcome = (result.value, result.reason, result.counts, result.agreement, result.detail)
    assert outcome == (direct.value, direct.reason, direct.counts, direct.agreement, direct.detail)
    assert [each.code for each in result.samples] == [each.code for each in direct.samples]


@both
@pytest.mark.parametrize("chained", [False, True])
def test_each_kind_of_failure_has_its_code(mode: str, chained: bool) -> None:
    script = [
        ConnectionError("reset by peer"),
        AIMessage("", additional_kwargs={"refusal": "I cannot help with that."}),
        AIMessage('{"team": "bil', response_metadata={"finish_reason": "length"}, usage_metadata=usage()),
        A,
        "No idea.",
        "",
    ]
    model = ScriptedModel(script=script)
    result = run(
        VoteRunnable(model | StrOutputParser() if chained else model, n=6, key="team", concurrency=1), "x", mode
    )
    codes = [each.code for each in result.samples]
    assert codes == ["sampler_error", "no_json", "truncated", None, "no_json", "empty_reply"]
    assert result.samples[0].error == "sampler_error: ConnectionError: reset by peer"
    assert result.samples[1].error == "no_json: the model refused: I cannot help with that."
    assert result.samples[2].truncated
    assert result.reason == "too_few_valid"


@both
def test_none_is_a_failed_sample(mode: str) -> None:
    result = run(VoteRunnable(lambda _: None, n=3), "x", mode)
    assert [each.code for each in result.samples] == ["empty_reply"] * 3


@both
def test_a_reply_that_its_parser_refuses_keeps_its_text_and_its_tokens(mode: str) -> None:
    model = ScriptedModel(script=[A, "no team here", A])
    parser: Any = PydanticOutputParser(pydantic_object=Ticket)
    result = run(VoteRunnable(model | parser, n=3, key="team", concurrency=1), "x", mode)
    failed = result.samples[1]
    assert failed.error.startswith("invalid: OutputParserException: Invalid json output")
    assert failed.raw.content == "no team here"
    assert result.value == "a"
    assert result.samples[0].record == Ticket(team="a")
    assert result.usage == {"input_tokens": 90, "output_tokens": 15, "total_tokens": 105}


@both
def test_a_chain_that_breaks_behind_the_model_keeps_text_and_tokens(mode: str) -> None:
    def broken(message: AIMessage) -> Any:
        raise KeyError("team")

    silent = run(VoteRunnable(FakeListChatModel(responses=[A]) | broken, n=2), "x", mode)  # about its tokens
    assert [each.error for each in silent.samples] == ["sampler_error: KeyError: 'team'"] * 2
    assert silent.samples[0].raw.content == A
    result = run(VoteRunnable(ScriptedModel(script=[A]) | broken, n=2), "x", mode)
    assert [each.error for each in result.samples] == ["sampler_error: KeyError: 'team'"] * 2
    assert result.samples[0].raw.content == A
    assert result.usage["total_tokens"] == 70


@both
def test_raise_on_wins_over_every_translation(mode: str) -> None:
    parser: Any = JsonOutputParser()
    vote = VoteRunnable(ScriptedModel(script=["{{{"]) | parser, n=2, raise_on=OutputParserException)
    with pytest.raises(OutputParserException):
        run(vote, "x", mode)


@both
def test_an_input_that_is_a_list_of_texts_is_one_input(mode: str) -> None:
    seen: list[Any] = []
    vote = VoteRunnable(lambda texts: seen.append(texts) or {"n": len(texts)}, n=3)
    assert run(vote, ["one", "two"], mode).value == {"n": 2}
    assert seen == [["one", "two"]] * 3
    assert run(vote, [], mode).value == {"n": 0}


@both
def test_paraphrases_take_turns(mode: str) -> None:
    vote = VoteRunnable(lambda text: {"text": text}, n=4)
    result = run(vote, Paraphrases(["one", "two"]), mode)
    assert [each.record["text"] for each in result.samples] == ["one", "two", "one", "two"]
    assert [each.prompt_index for each in result.samples] == [0, 1, 0, 1]


@both
def test_key_words_go_to_what_is_sampled(mode: str) -> None:
    model = ScriptedModel(script=[A])
    run(VoteRunnable(model, n=2), "x", mode, seed=4)
    assert model.seeds == [4, 4]
    run(VoteRunnable(model, n=1).bind(seed=5), "x", mode)
    assert model.seeds[2:] == [5]


def test_an_early_stop_starts_no_call_that_is_not_needed() -> None:
    model = ScriptedModel(script=[A])
    result = VoteRunnable(model, n=5, key="team", early_stop=True).invoke("x")
    assert (result.value, result.stopped_early, model.calls) == ("a", True, 3)


def test_an_early_stop_cancels_calls_that_are_running() -> None:
    hang = asyncio.Event()

    async def slow(_: Any) -> Any:
        try:
            await hang.wait()
        except asyncio.CancelledError:
            cancelled.append(sample_index())
            raise

    async def chain(text: str) -> Any:
        return await slow(text) if (sample_index() or 0) >= 3 else {"team": "a"}

    cancelled: list[Any] = []
    vote = VoteRunnable(RunnableLambda(lambda _: None, afunc=chain), n=5, key="team", early_stop=True, eager=True)
    result = asyncio.run(vote.ainvoke("x"))
    assert (result.value, result.num_samples) == ("a", 3)
    assert sorted(cancelled) == [3, 4]


def test_a_call_that_takes_too_long_is_a_failed_sample() -> None:
    async def chain(text: str) -> Any:
        if sample_index() == 1:
            await asyncio.Event().wait()
        return {"team": "a"}

    vote = VoteRunnable(RunnableLambda(lambda _: None, afunc=chain), n=3, key="team", timeout=0.3)
    result = asyncio.run(vote.ainvoke("x"))
    assert [each.code for each in result.samples] == [None, "timeout", None]


# What comes out


@both
def test_the_output_is_the_result(mode: str) -> None:
    result = run(VoteRunnable(ScriptedModel(script=[A]), n=3, key="team"), "x", mode)
    assert isinstance(result, VoteResult)
    assert result.value == "a"


@both
def test_the_bare_value_goes_to_the_next_step(mode: str) -> None:
    chain = VoteRunnable(ScriptedModel(script=[A]), n=3, key="team", output="value") | (lambda team: f"to {team}")
    assert run(chain, "x", mode) == "to a"


TIED: dict[str, Any] = {"n": 2, "key": "team", "concurrency": 1}


@both
@pytest.mark.parametrize(
    "options", [{"on_abstain": "raise"}, {"output": "value"}, {"output": "value", "on_abstain": "raise"}]
)
def test_an_abstention_can_raise_and_the_error_carries_the_result(mode: str, options: dict[str, Any]) -> None:
    with pytest.raises(AbstainError, match="the vote abstained \\(tie\\)") as caught:
        run(VoteRunnable(ScriptedModel(script=[A, B]), **TIED, **options), "x", mode)
    assert caught.value.result.reason == "tie"
    assert caught.value.result.num_samples == 2


@both
@pytest.mark.parametrize("options", [{}, {"on_abstain": "return"}, {"output": "value", "on_abstain": "return"}])
def test_an_abstention_can_be_returned(mode: str, options: dict[str, Any]) -> None:
    result = run(VoteRunnable(ScriptedModel(script=[A, B]), **TIED, **options), "x", mode)
    assert (result.abstained, result.reason) == (True, "tie")


@both
@pytest.mark.parametrize("output", ["result", "value"])
def test_a_branch_gets_the_input_and_the_result(mode: str, output: Any) -> None:
    def shown(abstention: Any) -> Any:
        return {"ticket": abstention["input"], "reason": abstention["result"].reason}

    branch = (
        RunnableLambda(shown)
        | ChatPromptTemplate.from_template("{ticket}: {reason}")
        | (lambda prompt: prompt.to_string())
    )
    vote = VoteRunnable(ScriptedModel(script=[A, B]), **TIED, on_abstain=branch, output=output)
    assert run(vote, "Ticket 5", mode) == "Human: Ticket 5: tie"


@both
def test_a_function_can_be_the_branch(mode: str) -> None:
    vote = VoteRunnable(ScriptedModel(script=[A, B]), **TIED, on_abstain=lambda seen: sorted(seen))
    assert run(vote, "x", mode) == ["input", "result"]


@both
def test_a_decided_vote_does_not_ask_the_branch(mode: str) -> None:
    asked: list[Any] = []
    vote = VoteRunnable(ScriptedModel(script=[A]), n=2, key="team", on_abstain=asked.append)
    assert run(vote, "x", mode).value == "a"
    assert asked == []


@both
def test_null_can_win_with_output_value(mode: str) -> None:
    vote = VoteRunnable(ScriptedModel(script=['{"team": null}']), n=2, key="team", output="value")
    assert run(vote, "x", mode) is None


@both
def test_what_langgraph_raises_to_pause_passes_through(mode: str) -> None:
    from langgraph.errors import GraphBubbleUp, GraphInterrupt

    class Elsewhere(GraphBubbleUp):
        pass

    for error in (GraphInterrupt(()), Elsewhere()):

        def ask(_: Any, error: Exception = error) -> Any:
            raise error

        with pytest.raises(type(error)):
            run(VoteRunnable(ask, n=3), "x", mode)


def test_the_source_is_the_model_that_answered() -> None:
    script = [AIMessage(A, response_metadata={"model_name": name}) for name in ("small", "large")]
    chain = ScriptedModel(script=script) | StrOutputParser()
    result = VoteRunnable(chain, n=2, key="team", min_sources=2, concurrency=1).invoke("x")
    assert result.sources == ("small", "large")
    assert VoteRunnable(ScriptedModel(script=script[:1]), n=2, key="team", min_sources=2).invoke("x").reason == (
        "too_few_sources"
    )


def test_the_framework_s_own_fake() -> None:
    model = FakeListChatModel(responses=[A, B, A])
    assert VoteRunnable(model, n=3, key="team", concurrency=1).invoke("x").counts == (("a", 2), ("b", 1))
