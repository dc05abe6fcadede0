"""The voting LLM: the same votes as the core's, in every form in which LlamaIndex calls a model."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
import time
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integrations.llama_index.tests.scripted import ScriptedLLM
from integrations.llama_index.tests.tracing import traced
from llama_index.core import Settings
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.callbacks import CallbackManager, TokenCountingHandler
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.prompts import PromptTemplate

from consilience import AbstainError, ConsensusSettings, SettingsError, VoteResult, VoteSettings, tally
from llama_index_consilience import ConsilienceOutputParser, ParserAbstainError, VotingLLM

BILLING, SHIPPING = '{"team": "billing"}', '{"team": "shipping"}'
MESSAGES = [ChatMessage(role=MessageRole.USER, content="Which team?")]


async def _all(stream: Any) -> list[Any]:
    return [item async for item in await stream]


def ask(llm: VotingLLM, form: str, **kwargs: Any) -> Any:
    """One call in one of the eight forms; streams must have one chunk."""
    chat = "chat" in form
    given = MESSAGES if chat else "Which team?"
    answer = getattr(llm, form)(given, **kwargs)
    if form in ("acomplete", "achat"):
        return asyncio.run(answer)
    if form.startswith("stream"):
        (chunk,) = answer
        return chunk
    if form.startswith("astream"):
        (chunk,) = asyncio.run(_all(answer))
        return chunk
    return answer


FORMS = [kind + form for form in ("complete", "chat") for kind in ("", "a", "stream_", "astream_")]


def text(response: Any) -> str:
    return response.message.content if hasattr(response, "message") else response.text


@pytest.mark.parametrize("form", FORMS)
def test_every_form_votes(form: str) -> None:
    inner = ScriptedLLM([BILLING, "Hm.", SHIPPING, f"Sure: {BILLING}", BILLING])
    response = ask(VotingLLM(inner, n=5, key="team"), form)
    assert text(response) == BILLING
    assert response.delta == BILLING
    result = response.additional_kwargs["vote"]
    assert isinstance(result, VoteResult)
    assert (result.value, result.agreement, result.num_failed) == ("billing", 0.6, 1)
    assert result.usage == {"prompt_tokens": 15, "completion_tokens": 10, "total_tokens": 25}
    assert {sample.source for sample in result.samples} == {"scripted"}
    assert inner.calls == 5


@pytest.mark.parametrize("form", FORMS)
def test_every_form_abstains_as_it_is_told(form: str) -> None:
    split = [BILLING, SHIPPING]
    with pytest.raises(AbstainError, match="tie") as caught:
        ask(VotingLLM(ScriptedLLM(split), n=2, key="team"), form)
    assert caught.value.result.reason == "tie"
    said = ask(VotingLLM(ScriptedLLM(split), n=2, key="team", on_abstain="return"), form)
    assert text(said) == "I don't know: tie: 2 answers have 1 vote each"
    other = ask(VotingLLM(ScriptedLLM(split), n=2, key="team", on_abstain=ScriptedLLM(["Ask Ana."])), form)
    assert text(other) == "Ask Ana."
    for response in (said, other):
        assert response.additional_kwargs["vote"].reason == "tie"


REPLY = st.one_of(
    st.sampled_from(["", "no idea", BILLING, SHIPPING, f"```\n{BILLING}\n```", '{"team": nu', '{"desk": 1}', "[1]"]),
    st.dictionaries(st.sampled_from(["team", "x"]), st.one_of(st.none(), st.booleans(), st.integers(), st.text())).map(
        json.dumps
    ),
    st.builds(RuntimeError, st.sampled_from(["down", "slow"])),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(REPLY, min_size=1, max_size=7),
    st.sampled_from([None, "team"]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)
def test_the_vote_is_the_tally_of_the_core(replies: list[Any], key: Any, least: float, asynchronous: bool) -> None:
    options: dict[str, Any] = {"key": key, "min_agreement": least, "min_valid": least}
    llm = VotingLLM(ScriptedLLM(replies), n=len(replies), on_abstain="return", **options)
    response = ask(llm, "achat" if asynchronous else "complete")
    result, plain = response.additional_kwargs["vote"], tally(replies, **options)
    assert (result.decided, result.value, result.reason, result.counts) == (
        plain.decided,
        plain.value,
        plain.reason,
        plain.counts,
    )
    assert [sample.error for sample in result.samples] == [sample.error for sample in plain.samples]
    if result.decided:
        record = json.loads(text(response))
        assert key is not None or record == plain.value
        assert key is None or record[key] == plain.value


def test_json_is_written_anew_without_what_stood_around_it() -> None:
    reply = 'Draft: ```json\n{"team": "draft"}\n``` Final: {"team": "züri", "n": 12345678901234567890}'
    response = VotingLLM(ScriptedLLM([reply]), n=1, key="team", prefer="last").complete("?")
    assert response.text == '{"team": "züri", "n": 12345678901234567890}'


def test_null_can_win() -> None:
    response = VotingLLM(ScriptedLLM(['{"team": null, "why": "none"}'] * 2), n=2, key="team").complete("?")
    assert response.additional_kwargs["vote"].decided
    assert response.text == '{"team": null, "why": "none"}'


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("", "empty_reply"),
        (None, "empty_reply"),
        ("I cannot help with that.", "no_json"),
        (('{"team": "bil', "length"), "truncated"),
        ('{"team": "bil', "truncated"),
        (("billing is resp", "length"), "truncated"),
        ('{"desk": "billing"}', "missing_key"),
        (ConnectionError("reset"), "sampler_error"),
        (ValueError("unexpected"), "sampler_error"),
    ],
)
def test_failed_samples_of_every_kind(reply: Any, code: str) -> None:
    for form in ("chat", "achat"):
        llm = VotingLLM(ScriptedLLM([BILLING, reply, BILLING]), n=3, key="team")
        result = ask(llm, form).additional_kwargs["vote"]
        assert [sample.code for sample in result.samples] == [None, code, None]


def test_a_call_that_hangs_is_a_timeout() -> None:
    inner = ScriptedLLM([BILLING, BILLING, BILLING], hang_from=2)
    result = ask(VotingLLM(inner, n=3, key="team", timeout=0.5), "acomplete").additional_kwargs["vote"]
    assert [sample.code for sample in result.samples] == [None, None, "timeout"]
    assert inner._cancelled == 1


@pytest.mark.parametrize("form", FORMS)
def test_raise_on_passes(form: str) -> None:
    with pytest.raises(PermissionError):
        ask(VotingLLM(ScriptedLLM([PermissionError("key")]), n=1, raise_on=PermissionError), form)


def test_early_stop_cancels_calls_in_flight() -> None:
    inner = ScriptedLLM([BILLING] * 9, hang_from=5)
    llm = VotingLLM(inner, n=9, key="team", concurrency=9, early_stop=True, eager=True)
    result = ask(llm, "achat").additional_kwargs["vote"]
    assert (result.num_samples, result.stopped_by, inner._cancelled) == (5, "when_settled", 4)


@pytest.mark.parametrize("after", range(4))
def test_a_cancelled_vote_leaves_no_call_behind(after: int) -> None:
    inner = ScriptedLLM([BILLING] * 4, hang_from=after)

    async def main() -> None:
        with traced() as (spans, _):
            task = asyncio.ensure_future(VotingLLM(inner, n=4, key="team", concurrency=2).acomplete("?"))
            while inner.calls <= after or inner._in_flight == 0:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert inner._in_flight == 0
        assert set(spans.parents) == {*spans.closed, *spans.dropped}

    asyncio.run(main())


def test_plain_text_answers() -> None:
    script = [" Bern.", "bern\n", ("Bern is the cap", "length"), "Basel", " ", "Bern"]
    llm = VotingLLM(ScriptedLLM(script), n=6, answers="text", normalize="text", min_agreement=0.4)
    response = llm.complete("What is the capital of Switzerland?")
    assert response.text == "Bern."
    result = response.additional_kwargs["vote"]
    assert [sample.code for sample in result.samples] == [None, None, "truncated", None, "empty_reply", None]
    assert result.counts[0][1] == 3


@pytest.mark.parametrize("form", FORMS)
def test_an_abstention_that_is_returned_holds_no_json(form: str) -> None:
    """The next parser would take the record that did not win for the answer."""
    inner = ScriptedLLM([BILLING, BILLING, SHIPPING])
    said = text(ask(VotingLLM(inner, n=3, min_agreement=0.9, on_abstain="return"), form))
    assert said.startswith('I don\'t know: ("team":"billing") has only 2 of 3 votes')
    with pytest.raises(ParserAbstainError, match="no_json"):
        ConsilienceOutputParser(key="team").parse(said)


@pytest.mark.parametrize("failure", ['no: {"team": "billing"}', "no: [1, 2]", "{}"])
def test_an_abstention_that_quotes_an_error_holds_no_json(failure: str) -> None:
    llm = VotingLLM(ScriptedLLM([RuntimeError(failure)]), n=1, on_abstain="return")
    with pytest.raises(ParserAbstainError, match="no_json"):
        ConsilienceOutputParser().parse(llm.complete("?").text)


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_that_is_an_abstention_is_a_failed_one(form: str) -> None:
    inner = VotingLLM(ScriptedLLM(["Bern", "Basel"] * 3), n=2, answers="text", on_abstain="return")
    result = ask(VotingLLM(inner, n=3, answers="text", on_abstain="return"), form).additional_kwargs["vote"]
    assert result.abstained
    assert {sample.error for sample in result.samples} == {
        "empty_reply: the sample is itself an abstention: I don't know: tie: 2 answers have 1 vote each"
    }
    assert result.usage["prompt_tokens"] == 3 * 2 * 3


def test_the_answer_of_a_model_that_was_asked_instead_is_no_abstention() -> None:
    strong = ScriptedLLM(["Bern"] * 2)
    inner = VotingLLM(ScriptedLLM(["Bern", "Basel"] * 2), n=2, answers="text", on_abstain=strong)
    assert VotingLLM(inner, n=2, answers="text").complete("?").text == "Bern"


def test_votes_of_those_that_were_asked_instead_are_kept() -> None:
    third = VotingLLM(ScriptedLLM(["Chur"]), n=1, answers="text")
    second = VotingLLM(ScriptedLLM(["c", "d", "e"]), n=3, answers="text", on_abstain=third)
    response = VotingLLM(ScriptedLLM(["a", "b"]), n=2, answers="text", on_abstain=second).complete("?")
    assert response.text == "Chur"
    assert response.additional_kwargs["vote"].num_samples == 2
    assert [vote.num_samples for vote in response.additional_kwargs["fallback_votes"]] == [3, 1]


def test_an_abstention_for_want_of_json_says_what_helps() -> None:
    with pytest.raises(AbstainError, match=r'array; answers="text" votes on plain texts$') as caught:
        VotingLLM(ScriptedLLM(["1862", "1862"]), n=2).complete("?")
    assert caught.value.result.reason == "no_valid"
    with pytest.raises(AbstainError) as caught:
        VotingLLM(ScriptedLLM(["1862", ""]), n=2).complete("?")
    assert "answers=" not in str(caught.value)


@pytest.mark.parametrize("form", ["complete", "achat"])
def test_what_json_does_not_have_is_written_as_text(form: str) -> None:
    class Team:
        def __str__(self) -> str:
            return "the billing team"

    llm = VotingLLM(ScriptedLLM([BILLING] * 2), n=2, validator=lambda record: {"team": Team()}, key=lambda _: "billing")
    assert text(ask(llm, form)) == '{"team": "the billing team"}'


@pytest.mark.parametrize("form", ["chat", "achat", "stream_chat", "astream_chat"])
def test_a_conversation_that_can_be_read_once_reaches_every_sample(form: str) -> None:
    inner = ScriptedLLM([BILLING] * 3)
    answer = getattr(VotingLLM(inner, n=3, key="team"), form)(message for message in MESSAGES)
    if form == "achat":
        asyncio.run(answer)
    elif form == "astream_chat":
        asyncio.run(_all(answer))
    assert inner._prompts == [MESSAGES] * 3


# What LlamaIndex asks of an LLM


def test_prompts_of_the_inner_model_hold_once() -> None:
    inner = ScriptedLLM([BILLING] * 4, system_prompt="Be brief.", completion_to_prompt=lambda text: f"<s>{text}</s>")
    VotingLLM(inner, n=1, key="team").predict(PromptTemplate("Which {what}?"), what="team")
    assert inner._prompts == ["Be brief.\n\n<s>Which team?</s>"]
    inner.is_chat_model = True
    VotingLLM(inner, n=1, key="team").predict(PromptTemplate("Which {what}?"), what="team")
    assert [message.content for message in inner._prompts[1]] == ["Be brief.", "Which team?"]


def test_metadata_is_that_of_the_inner_model_without_functions() -> None:
    from llama_index.core.base.llms.types import LLMMetadata

    class Calling(ScriptedLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_function_calling_model=True, context_window=77, is_chat_model=True)

    metadata = VotingLLM(Calling([])).metadata
    assert (metadata.is_function_calling_model, metadata.context_window, metadata.is_chat_model) == (False, 77, True)


def test_it_can_be_the_llm_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", None)
    monkeypatch.setattr(Settings, "_callback_manager", None)
    llm = VotingLLM(MockLLM(), n=1, key="team")
    Settings.llm = llm
    Settings.callback_manager = CallbackManager([])
    assert Settings.llm is llm
    assert llm.llm.callback_manager is Settings.callback_manager


def test_tokens_are_counted_once() -> None:
    counter = TokenCountingHandler(tokenizer=str.split)
    inner = ScriptedLLM([BILLING] * 10)
    llm = VotingLLM(inner, n=5, key="team", concurrency=5)
    llm.callback_manager = CallbackManager([counter])
    assert inner.callback_manager is llm.callback_manager
    response = llm.complete("?")
    assert counter.total_llm_token_count == 5 * (3 + 2) == response.additional_kwargs["vote"].usage["total_tokens"]
    asyncio.run(llm.achat(MESSAGES))
    assert counter.total_llm_token_count == 10 * (3 + 2)


@pytest.mark.skipif("rate_limiter" not in LLM.model_fields, reason="this release of LlamaIndex has no rate limiters")
def test_a_rate_limiter_holds_for_each_call() -> None:
    class Limiter:
        acquired = 0

        def acquire(self) -> None:
            self.acquired += 1

        async def async_acquire(self) -> None:
            self.acquired += 1

    limiter = Limiter()
    llm = VotingLLM(ScriptedLLM([BILLING] * 6), n=3, key="team", rate_limiter=limiter)
    llm.complete("?")
    asyncio.run(llm.achat(MESSAGES))
    assert limiter.acquired == 6


def test_tokens_of_the_llm_that_is_asked_instead_are_counted_too() -> None:
    counter = TokenCountingHandler(tokenizer=str.split)
    other = ScriptedLLM(["Ask Ana."])
    llm = VotingLLM(ScriptedLLM(["?", "!"]), n=2, on_abstain=other, callback_manager=CallbackManager([counter]))
    llm.complete("?")
    assert counter.total_llm_token_count == 2 * (3 + 1) + (3 + 2)


@pytest.mark.parametrize("form", FORMS)
def test_spans_and_the_event_are_in_the_right_tree(form: str) -> None:
    with traced() as (spans, events):
        ask(VotingLLM(ScriptedLLM([BILLING] * 3), n=3, key="team", concurrency=3), form)
    inner = f"ScriptedLLM.{'a' if form.startswith('a') else ''}{'chat' if 'chat' in form else 'complete'}"
    samples = spans.named(inner)
    assert len(samples) == 3
    (outer,) = {spans.parents[sample] for sample in samples}
    assert outer is not None
    assert spans.path(outer)[0] == f"VotingLLM.{form}"
    assert set(spans.parents) == set(spans.closed)
    (event,) = events.named("VoteEvent")
    assert (event.component, event.result.value, event.span_id) == ("VotingLLM", "billing", outer)
    ends = [each for each in events.seen if each.class_name() in ("LLMCompletionEndEvent", "LLMChatEndEvent")]
    assert {each.span_id for each in ends} == set(samples)
    assert json.loads(event.model_dump_json())
    assert event.model_dump()["result"] == {"abstained": False, "reason": None, "detail": event.result.detail}


def test_samples_run_in_the_context_of_the_caller() -> None:
    from contextvars import ContextVar

    place: ContextVar[str] = ContextVar("place", default="nowhere")
    seen: list[Any] = []

    def script(prompt: str) -> str:
        seen.append((place.get(), threading.current_thread().name))
        return BILLING

    place.set("here")
    llm = VotingLLM(ScriptedLLM(script), n=3, key="team", concurrency=3)
    llm.complete("?")
    assert {where for where, _ in seen} == {"here"}


def test_last_vote_is_that_of_the_last_call() -> None:
    llm = VotingLLM(ScriptedLLM([BILLING, "?"]), n=1, key="team")
    assert llm.last_vote is None
    llm.complete("?")
    assert llm.last_vote is not None
    assert llm.last_vote.value == "billing"
    with pytest.raises(AbstainError):
        llm.complete("?")
    assert llm.last_vote.reason == "no_valid"


# Variation


def test_a_low_temperature_is_raised_in_each_call_and_a_high_one_stays() -> None:
    def used(own: float, wanted: float | None = None, **kwargs: Any) -> list[Any]:
        inner = ScriptedLLM([BILLING] * 2, temperature=own)
        VotingLLM(inner, n=2, key="team", temperature=wanted).complete("?", **kwargs)
        assert inner.temperature == own
        return [each.get("temperature") for each in inner._kwargs]

    assert used(0.1) == [0.8, 0.8]
    assert used(1.2) == [None, None]
    assert used(1.2, 0.5) == [0.5, 0.5]
    assert used(0.1, temperature=0.3) == [0.3, 0.3]


def test_a_temperature_or_a_model_that_is_set_later_holds() -> None:
    inner, other = ScriptedLLM([BILLING] * 4), ScriptedLLM([BILLING] * 2, temperature=1.2)
    llm = VotingLLM(inner, n=2, key="team")
    llm.temperature = 1.5
    llm.complete("?")
    llm.model_copy(update={"temperature": 0.3}).complete("?")
    assert [each["temperature"] for each in inner._kwargs] == [1.5, 1.5, 0.3, 0.3]
    llm.temperature = None
    llm.llm = other
    llm.complete("?")
    assert other._kwargs == [{}, {}]


def test_what_is_set_later_is_checked_as_at_first() -> None:
    llm = VotingLLM(ScriptedLLM([]), n=2, key="team")
    with pytest.raises(SettingsError, match="temperature must be a number of at least 0, got -1"):
        llm.temperature = -1
    with pytest.raises(TypeError, match="llm must be an LLM of LlamaIndex, got str"):
        llm.llm = "gpt"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="frozen"):
        llm.answers = "text"
    with pytest.warns(UserWarning, match="copies of one reply") as caught:
        llm.temperature = 0
    assert caught[0].filename == __file__


def test_a_temperature_of_zero_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="drawn at 0.8 instead"):
        VotingLLM(ScriptedLLM([], temperature=0))
    with pytest.warns(UserWarning, match="copies of one reply") as caught:
        VotingLLM(ScriptedLLM([]), temperature=0)
    assert caught[0].filename == __file__
    llm = VotingLLM(ScriptedLLM([BILLING]), n=1, key="team")
    with pytest.warns(UserWarning, match="copies of one reply"):
        llm.complete("?", temperature=0)


def test_a_model_without_a_temperature_is_left_alone() -> None:
    class Plain(MockLLM):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VotingLLM(Plain(), n=1, key="team").complete(BILLING)


@pytest.mark.parametrize("form", ["complete", "achat"])
def test_a_seed_differs_from_sample_to_sample(form: str) -> None:
    inner = ScriptedLLM([BILLING] * 3)
    ask(VotingLLM(inner, n=3, key="team"), form, seed=40, user="x")
    assert [(each["seed"], each["user"]) for each in inner._kwargs] == [(40, "x"), (41, "x"), (42, "x")]


# Values


def test_a_deep_copy_has_a_model_of_its_own_and_the_same_settings() -> None:
    limiter = threading.Semaphore(2)
    inner = ScriptedLLM([BILLING] * 2)
    llm = VotingLLM(inner, n=2, key="team", limiter=limiter)
    assert llm.llm is inner
    copied = copy.deepcopy(llm)
    assert copied.llm is not inner
    assert copied.settings is llm.settings
    assert copied.complete("?").text == BILLING
    assert (inner.calls, copied.llm.calls) == (0, 2)
    copied.llm.temperature = 1.5
    again = copy.deepcopy(copied)
    again.complete("?")
    assert "temperature" not in again.llm._kwargs[0]


def test_model_dump_json_holds_the_model_and_no_functions() -> None:
    llm = VotingLLM(MockLLM(max_tokens=3), key=lambda record: record, on_sample=print, concurrency=2)
    dumped = json.loads(llm.model_dump_json())
    assert dumped["llm"]["max_tokens"] == 3
    assert dumped["class_name"] == "voting_llm"
    assert "settings" not in dumped


def test_responses_can_be_written_as_json() -> None:
    response = VotingLLM(MockLLM(), n=2, key="team").complete(BILLING)
    assert json.loads(response.model_dump_json())["additional_kwargs"]["vote"]["value"] == "billing"


def test_it_can_be_pickled() -> None:
    llm = pickle.loads(pickle.dumps(VotingLLM(MockLLM(), n=3, key="team")))
    assert llm.complete(BILLING).additional_kwargs["vote"].num_samples == 3


def test_settings_as_one_object_and_key_words_in_place_of_its_own() -> None:
    given = VoteSettings(n=7, key="team", min_agreement=0.6)
    assert VotingLLM(MockLLM(), settings=given).settings is given
    assert VotingLLM(MockLLM(), settings=given, n=3).settings == VoteSettings(n=3, key="team", min_agreement=0.6)


def test_the_consensus_draws_as_the_vote_does_unless_it_is_given() -> None:
    llm = VotingLLM(MockLLM(), n=9, concurrency=3, early_stop=True, repair="lenient", key="team")
    assert llm.consensus == ConsensusSettings(n=9, concurrency=3, repair="lenient")
    given = ConsensusSettings(n=2)
    assert VotingLLM(MockLLM(), consensus=given).consensus is given


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"N": 9}, TypeError, r"VotingLLM\(\) got an unexpected keyword argument 'N'; did you mean 'n'\?"),
        ({"n": 0}, SettingsError, "n must be an int of at least 1, got 0"),
        ({"settings": {}}, TypeError, "settings must be a VoteSettings or None, got dict"),
        ({"consensus": VoteSettings()}, TypeError, "consensus must be a ConsensusSettings or None, got VoteSettings"),
        ({"on_abstain": "ask"}, SettingsError, "on_abstain must be 'return', 'raise' or a LLM to ask instead"),
        ({"on_abstain": 1}, TypeError, "on_abstain must be .*, got int"),
        ({"answers": "prose"}, SettingsError, 'answers must be "json" or "text", got \'prose\''),
        ({"temperature": -1}, SettingsError, "temperature must be a number of at least 0, got -1"),
        ({"temperature": "hot"}, TypeError, "temperature must be a number or None, got str"),
    ],
)
def test_wrong_arguments_fail_when_it_is_made(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VotingLLM(ScriptedLLM([]), **arguments)


def test_the_model_must_be_an_llm() -> None:
    with pytest.raises(TypeError, match="llm must be an LLM of LlamaIndex, got function"):
        VotingLLM(lambda prompt: BILLING)  # type: ignore[arg-type]


def test_one_limiter_holds_for_calls_of_both_kinds() -> None:
    inner = ScriptedLLM([BILLING] * 6, delay=0.01)

    async def main() -> None:
        llm = VotingLLM(inner, n=3, key="team", concurrency=3, limiter=asyncio.Semaphore(2))
        await asyncio.gather(llm.acomplete("?"), llm.achat(MESSAGES))

    asyncio.run(main())
    assert (inner.calls, inner._most_in_flight) == (6, 2)


# What it costs


def least_processor_time(run: Any) -> float:
    best = float("inf")
    for _ in range(30):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def test_the_overhead_is_small_beside_calls_of_50_ms() -> None:
    """In processor time, which other programs do not change: 10% of five calls in turn, 5% of the longest in tasks."""
    inner = ScriptedLLM(lambda prompt: BILLING)
    in_turn, at_once = VotingLLM(inner, n=5, key="team"), VotingLLM(inner, n=5, key="team", concurrency=5)

    async def own_calls() -> None:
        await asyncio.gather(*(inner.acomplete("?") for _ in range(5)))

    own = least_processor_time(lambda: [inner.complete("?") for _ in range(5)])
    assert least_processor_time(lambda: in_turn.complete("?")) - own < 0.1 * 5 * 0.05
    own = least_processor_time(lambda: asyncio.run(own_calls()))
    assert least_processor_time(lambda: asyncio.run(at_once.acomplete("?"))) - own < 0.05 * 0.05
