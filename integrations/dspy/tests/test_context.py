"""What DSPy keeps in its context: the LM, traces, usage, history, callbacks and streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback
from loopback import Loopback, chat
from scripted import Scripted, run

from consilience import sample_index
from dspy_consilience import Consensus, Vote

Endpoint = Callable[..., Loopback]
WAYS = pytest.mark.parametrize("way", ["sync", "async"])
KINDS = pytest.mark.parametrize("kind", [Vote, Consensus])


def dummy(*answers: str) -> DummyLM:
    return DummyLM([{"answer": each} for each in answers])


def answered(*answers: str) -> Callable[[int, dict[str, Any]], str]:
    return lambda number, body: chat(answer=answers[number % len(answers)])


@WAYS
@KINDS
@pytest.mark.parametrize("concurrency", [1, 4])
def test_every_sample_asks_the_lm_of_the_context(kind: Any, way: str, concurrency: int) -> None:
    inside, outside = dummy(*["in"] * 8), dummy(*["out"] * 8)
    program = kind(dspy.Predict("question -> answer"), n=4, concurrency=concurrency)
    with dspy.context(lm=outside):
        with dspy.context(lm=inside):
            assert run(program, way, question="?").answer == "in"
        assert (len(inside.history), len(outside.history)) == (4, 0)
        assert run(program, way, question="?").answer == "out"


def test_contexts_in_many_threads_do_not_mix() -> None:
    program = Vote(dspy.Predict("question -> answer"), n=3, concurrency=3)
    found: dict[str, Any] = {}

    def work(name: str) -> None:
        with dspy.context(lm=dummy(*[name] * 3), trace=[], adapter=None, callbacks=[]):
            found[name] = program(question="?").votes

    threads = [threading.Thread(target=work, args=(f"lm {number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {f"lm {number}": [(f"lm {number}", 3)] for number in range(6)}


@WAYS
def test_settings_of_the_caller_are_seen_and_not_changed(way: str) -> None:
    seen: list[Any] = []

    class Looks(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            seen.append((dspy.settings.get("mine"), dspy.settings.send_stream, type(dspy.settings.adapter).__name__))
            return dspy.Prediction(answer="yes")

        async def aforward(self, **inputs: Any) -> Any:
            return self.forward(**inputs)

    adapter = dspy.JSONAdapter()
    with dspy.context(mine="kept", adapter=adapter):
        before = dict(dspy.settings.config)
        run(Vote(Looks(), n=2, concurrency=2), way, question="?")
        assert dict(dspy.settings.config) == before
        assert dspy.settings.adapter is adapter
    assert seen == [("kept", None, "RolloutAdapter")] * 2


# Traces.


@WAYS
@pytest.mark.parametrize("concurrency", [1, 5])
def test_only_the_winner_is_in_the_trace(way: str, concurrency: int) -> None:
    module = dspy.Predict("question -> answer")
    program = Vote(module, n=5, concurrency=concurrency)
    with dspy.context(lm=dummy("no", "yes", "yes", "maybe", "yes"), trace=[]):
        decision = run(program, way, question="?")
        trace = list(dspy.settings.trace)
    assert decision.answer == "yes"
    assert [(predictor is module, inputs, outputs.answer) for predictor, inputs, outputs in trace] == [
        (True, {"question": "?"}, "yes")
    ]


@WAYS
def test_an_abstention_leaves_no_trace(way: str) -> None:
    with dspy.context(lm=dummy("a", "b"), trace=[]):
        run(Vote(dspy.Predict("question -> answer"), n=2), way, question="?")
        assert dspy.settings.trace == []


def test_the_module_that_is_asked_instead_leaves_its_trace() -> None:
    strong = dspy.Predict("question -> answer")
    with dspy.context(lm=dummy("a", "b", "c"), trace=[]):
        Vote(dspy.Predict("question -> answer"), n=2, on_abstain=strong)(question="?")
        assert [predictor for predictor, _, _ in dspy.settings.trace] == [strong]


def test_all_steps_of_the_winning_program_are_in_the_trace() -> None:
    class TwoSteps(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = dspy.Predict("question -> answer")
            self.second = dspy.Predict("question, hint -> answer")

        def forward(self, question: str) -> Any:
            return self.second(question=question, hint=self.first(question=question).answer)

    program = Vote(TwoSteps(), n=3)
    with dspy.context(lm=dummy("h0", "no", "h1", "yes", "h2", "yes"), trace=[]):
        program(question="?")
        steps = [(predictor, outputs.answer) for predictor, _, outputs in dspy.settings.trace]
    assert steps == [(program.module.first, "h1"), (program.module.second, "yes")]


@pytest.mark.parametrize(("most", "kept"), [(0, []), (1, ["d"]), (2, ["c", "d"]), (9, ["a", "b", "c", "d"])])
def test_the_trace_keeps_its_limit(most: int, kept: list[str]) -> None:
    program = Vote(dspy.Predict("question -> answer"), n=1)
    with dspy.context(lm=dummy("a", "b", "c", "d"), trace=[], max_trace_size=most):
        for _ in range(4):
            program(question="?")
        assert [outputs.answer for _, _, outputs in dspy.settings.trace] == kept


def test_without_a_trace_none_is_made() -> None:
    with dspy.context(lm=dummy("a", "a"), trace=None):
        assert Vote(dspy.Predict("question -> answer"), n=2)(question="?").answer == "a"
        assert dspy.settings.trace is None


def test_the_trace_of_a_consensus_shows_what_was_decided() -> None:
    module = dspy.Predict("order -> city, size")
    replies = [{"city": "Bern", "size": "S"}, {"city": "Basel", "size": "M"}, {"city": "Bern", "size": "M"}]
    split = [{"city": "Bern", "size": "S"}, {"city": "Rome", "size": "M"}, {"city": "Bern", "size": "L"}]
    split += [{"city": "Oslo", "size": "M"}]
    with dspy.context(lm=DummyLM(replies), trace=[]):
        Consensus(module, n=3)(order="?")
        assert [dict(outputs) for _, _, outputs in dspy.settings.trace] == [{"city": "Bern", "size": "M"}]
    with dspy.context(lm=DummyLM(split), trace=[]):
        merged = Consensus(module, n=4, weights=None)(order="?")
        ((predictor, inputs, outputs),) = dspy.settings.trace
    assert (merged.city, merged.size) == ("Bern", "M"), "no sample said both"
    assert predictor is module
    assert inputs == {"order": "?"}
    assert dict(outputs) == {"city": "Bern", "size": "M"}


# Usage and history.


@WAYS
@KINDS
def test_usage_is_complete_and_counted_once(endpoint: Endpoint, kind: Any, way: str) -> None:
    server = endpoint(answered("yes"))
    program = kind(dspy.Predict("question -> answer"), n=4, concurrency=2)
    lm = server.lm()
    with dspy.context(lm=lm, track_usage=True):
        decision = run(program, way, question="?")
        again = run(program, way, question="?")
    (usage,) = decision.get_lm_usage().values()
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (44, 12)
    assert decision.consilience.usage["completion_tokens"] == 12
    assert decision.consilience.usage["prompt_tokens"] == 44
    assert not again.get_lm_usage(), "a cached reply costs nothing"
    assert again.consilience.usage is None
    assert server.calls == 4


@WAYS
def test_usage_reaches_a_tracker_around_and_a_program_around(endpoint: Endpoint, way: str) -> None:
    class Around(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vote = Vote(Vote(dspy.Predict("question -> answer"), n=2, concurrency=2), n=2, concurrency=2)
            self.after = dspy.Predict("question -> answer")

        def forward(self, question: str) -> Any:
            self.vote(question=question)
            return self.after(question=question)

        async def aforward(self, question: str) -> Any:
            await self.vote.acall(question=question)
            return await self.after.acall(question=question)

    server = endpoint(answered("yes"))
    with dspy.context(lm=server.lm(), track_usage=True):
        prediction = run(Around(), way, question="?")
    (usage,) = prediction.get_lm_usage().values()
    assert usage["completion_tokens"] == 5 * 3
    with dspy.context(lm=server.lm(cache=False)), dspy.track_usage() as tracker:
        run(Around(), way, question="?")
    (total,) = tracker.get_total_tokens().values()
    assert total["completion_tokens"] == 5 * 3


def test_the_usage_of_samples_that_fail_counts(endpoint: Endpoint) -> None:
    class Fails(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.predict = dspy.Predict("question -> answer")

        def forward(self, question: str) -> Any:
            self.predict(question=question)
            raise ValueError("too late")

    server = endpoint(answered("yes"))
    with dspy.context(lm=server.lm(), track_usage=True):
        decision = Vote(Fails(), n=3)(question="?")
    assert decision.consilience.usage["completion_tokens"] == 9
    (usage,) = decision.get_lm_usage().values()
    assert usage["completion_tokens"] == 9


@WAYS
@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_history_is_complete(way: str, concurrency: int) -> None:
    class Around(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vote = Vote(dspy.Predict("question -> answer"), n=4, concurrency=concurrency)

        def forward(self, question: str) -> Any:
            return self.vote(question=question)

        async def aforward(self, question: str) -> Any:
            return await self.vote.acall(question=question)

    program, lm = Around(), dummy(*["yes"] * 4)
    with dspy.context(lm=lm):
        run(program, way, question="?")
    histories = [lm.history, program.history, program.vote.history, program.vote.module.history]
    assert [len(history) for history in histories] == [4, 4, 4, 4]
    assert sorted(entry["kwargs"]["rollout_id"] for entry in lm.history) == [0, 1, 2, 3]


@pytest.mark.parametrize("setting", [{"disable_history": True}, {"max_history_size": 0}])
def test_without_a_history_votes_go_on(setting: dict[str, Any]) -> None:
    with dspy.context(lm=dummy("a", "a"), **setting):
        decision = Vote(dspy.Predict("question -> answer"), n=2)(question="?")
    assert decision.answer == "a"


def test_the_source_of_a_sample_is_the_model_that_answered(endpoint: Endpoint) -> None:
    server = endpoint(answered("yes"))
    with dspy.context(lm=server.lm()):
        result = Vote(dspy.Predict("question -> answer"), n=2)(question="?").consilience
    assert result.sources == ("openai/local",)


# Callbacks.


class Watching(BaseCallback):
    """Notes every start and end, and which call it happened in."""

    def __init__(self) -> None:
        self.parents: dict[str, str | None] = {}
        self.kinds: dict[str, Any] = {}
        self.ended: dict[str, BaseException | None] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: Any) -> None:
        self.parents[call_id] = ACTIVE_CALL_ID.get()
        self.kinds[call_id] = instance

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self.ended[call_id] = exception

    on_lm_start = on_module_start
    on_lm_end = on_module_end

    def calls_of(self, instance: Any) -> list[str]:
        return [call for call, each in self.kinds.items() if each is instance]


@WAYS
@KINDS
@pytest.mark.parametrize("concurrency", [1, 3])
def test_samples_are_children_of_the_vote_in_callbacks(kind: Any, way: str, concurrency: int) -> None:
    watching, module, lm = Watching(), dspy.Predict("question -> answer"), dummy(*["yes"] * 3)
    program = kind(module, n=3, concurrency=concurrency)
    with dspy.context(lm=lm, callbacks=[watching]):
        run(program, way, question="?")
    (vote,) = watching.calls_of(program)
    samples = watching.calls_of(module)
    assert [watching.parents[call] for call in samples] == [vote] * 3
    assert sorted(str(watching.parents[call]) for call in watching.calls_of(lm)) == sorted(samples)
    assert set(watching.ended) == set(watching.kinds)


def test_callbacks_of_the_vote_itself() -> None:
    watching = Watching()
    Vote(Scripted(["yes"]), n=2, callbacks=[watching])(question="?")
    assert len(watching.ended) == 1


@pytest.mark.parametrize("at", range(12))
def test_cancelled_anywhere_no_call_stays_open(at: int) -> None:
    """The task that votes is cancelled after ``at`` turns of the event loop."""
    watching = Watching()

    class Waits(dspy.Module):
        async def aforward(self, **inputs: Any) -> Any:
            for _ in range(sample_index() or 0):
                await asyncio.sleep(0)
            return dspy.Prediction(answer="yes")

    async def main() -> None:
        with dspy.context(callbacks=[watching]):
            task = asyncio.create_task(Vote(Waits(), n=6, concurrency=3).acall(question="?"))
            for _ in range(at):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert set(watching.ended) == set(watching.kinds)


# Streams.


class Around(dspy.Module):
    """A vote, and then a step whose reply can be streamed."""

    def __init__(self) -> None:
        super().__init__()
        self.vote = Vote(dspy.Predict("question -> answer"), n=3, concurrency=3)
        self.tell = dspy.Predict("answer -> sentence")

    def forward(self, question: str) -> Any:
        answer = self.vote(question=question).answer
        return dspy.Prediction(answer=answer, sentence=self.tell(answer=answer).sentence)

    async def aforward(self, question: str) -> Any:
        answer = (await self.vote.acall(question=question)).answer
        return dspy.Prediction(answer=answer, sentence=(await self.tell.acall(answer=answer)).sentence)


def streamed(program: Any, **options: Any) -> list[Any]:
    async def collect() -> list[Any]:
        return [value async for value in dspy.streamify(program, **options)(question="?")]

    return asyncio.run(collect())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_streaming_program_with_a_vote_inside(streaming_lm: Any, is_async: bool) -> None:
    program = Around()
    listener = dspy.streaming.StreamListener(signature_field_name="sentence")
    with dspy.context(lm=streaming_lm):
        values = streamed(program, stream_listeners=[listener], is_async_program=is_async)
    chunks = "".join(value.chunk for value in values if isinstance(value, dspy.streaming.StreamResponse))
    assert chunks.strip() == "It is yes indeed."
    assert values[-1].sentence == "It is yes indeed."
    assert values[-1].answer == "yes"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_samples_of_a_vote_are_not_streamed(streaming_lm: Any, is_async: bool) -> None:
    program = Vote(dspy.Predict("question -> answer"), n=3, concurrency=3)
    with dspy.context(lm=streaming_lm):
        values = streamed(program, is_async_program=is_async)
    assert [type(value).__name__ for value in values] == ["Decision"]
    assert values[0].answer == "yes"


@pytest.mark.parametrize("is_async", [False, True])
def test_status_messages_tell_of_the_vote(streaming_lm: Any, is_async: bool) -> None:
    class Says(dspy.streaming.StatusMessageProvider):
        def module_start_status_message(self, instance: Any, inputs: Any) -> str:
            return type(instance).__name__

    with dspy.context(lm=streaming_lm):
        values = streamed(Around(), status_message_provider=Says(), is_async_program=is_async)
    said = [value.message for value in values if isinstance(value, dspy.streaming.StatusMessage)]
    assert "Vote" in said
    assert isinstance(values[-1], dspy.Prediction)
