"""The voting workflow and the step helpers: samples in parallel steps, early stop, errors, spans."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integrations.llama_index.tests.scripted import ScriptedLLM
from integrations.llama_index.tests.tracing import traced
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, WorkflowTimeoutError, step

from consilience import (
    AbstainError,
    ConsensusResult,
    ConsensusSettings,
    Reply,
    SettingsError,
    VoteResult,
    retrying,
    sample_index,
    tally,
)
from llama_index_consilience import SampleEvent, SampleRequest, VoteWorkflow, collect_votes, draw_sample

BILLING, SHIPPING = '{"team": "billing"}', '{"team": "shipping"}'
DOCUMENTS = [f"document {number}" for number in range(10)]


def run(workflow: Workflow, **kwargs: Any) -> Any:
    async def main() -> Any:
        return await workflow.run(**kwargs)

    return asyncio.run(main())


def test_ten_documents() -> None:
    llm = ScriptedLLM(lambda prompt: SHIPPING if prompt.endswith(("3", "7")) else BILLING)
    result = run(VoteWorkflow(llm, n=10, key="team", concurrency=4), prompt=DOCUMENTS)
    assert isinstance(result, VoteResult)
    assert [sample.index for sample in result.samples] == list(range(10))
    assert [sample.vote for sample in result.samples].count("shipping") == 2
    assert [sample.index for sample in result.samples if sample.vote == "shipping"] == [3, 7]
    assert result.usage == {"prompt_tokens": 30, "completion_tokens": 20, "total_tokens": 50}
    assert llm.calls == 10
    assert {each["temperature"] for each in llm._kwargs} == {0.8}


@pytest.mark.parametrize("concurrency", [1, 4, 32])
def test_workers_draw_at_the_same_time(concurrency: int) -> None:
    waiting: list[asyncio.Future[None]] = []

    async def sampler(prompt: str) -> str:
        waiting.append(asyncio.get_running_loop().create_future())
        if len(waiting) == concurrency:  # all that may run do run: let them go
            for each in waiting:
                each.set_result(None)
        await waiting[-1]
        return BILLING

    assert run(VoteWorkflow(sampler, n=concurrency, key="team", concurrency=concurrency), prompt="?").decided


def test_ten_documents_and_early_stop_that_cancels_workers() -> None:
    started: list[str] = []
    cancelled: list[str] = []
    all_started = asyncio.Event()

    async def sampler(document: str) -> str:
        started.append(document)
        if len(started) == 10:
            all_started.set()
        try:
            await all_started.wait()
            await asyncio.sleep(3600 if document >= "document 6" else 0)
        except asyncio.CancelledError:
            cancelled.append(document)
            raise
        return BILLING

    workflow = VoteWorkflow(sampler, n=10, key="team", concurrency=10, early_stop=True, eager=True, min_agreement=0.6)
    result = run(workflow, prompt=DOCUMENTS)
    assert (result.num_samples, result.stopped_by, result.value) == (6, "when_settled", "billing")
    assert (sorted(started), sorted(cancelled)) == (DOCUMENTS, DOCUMENTS[6:])
    assert workflow._tickets == {}


def test_early_stop_is_frugal() -> None:
    llm = ScriptedLLM([BILLING] * 3)
    result = run(VoteWorkflow(llm, n=5, key="team", concurrency=5, early_stop=True), prompt="?")
    assert (result.num_samples, llm.calls) == (3, 3)


SAID = st.lists(st.sampled_from([BILLING, SHIPPING, "no idea", ConnectionError("reset")]), min_size=1, max_size=6)


@settings(deadline=None, max_examples=40)
@given(SAID, st.sampled_from([0.0, 0.5, 0.8]), st.integers(1, 6))
def test_the_vote_is_the_tally_of_the_core(said: list[Any], least: float, concurrency: int) -> None:
    async def sampler(prompt: Any) -> Any:
        reply = said[sample_index() or 0]
        await asyncio.sleep(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    options: dict[str, Any] = {"key": "team", "min_agreement": least, "min_valid": least}
    result = run(VoteWorkflow(sampler, n=len(said), concurrency=concurrency, **options), prompt="?")
    plain = tally(said, **options)
    assert (result.decided, result.value, result.reason, result.counts) == (
        plain.decided,
        plain.value,
        plain.reason,
        plain.counts,
    )
    assert [sample.error for sample in result.samples] == [sample.error for sample in plain.samples]


def test_a_plain_sampler_runs_in_threads_with_the_context_of_the_caller() -> None:
    place: ContextVar[str] = ContextVar("place", default="nowhere")
    seen: set[Any] = set()
    barrier = threading.Barrier(3, timeout=30)

    def sampler(prompt: str) -> Reply:
        barrier.wait()
        seen.add((place.get(), sample_index(), threading.current_thread() is threading.main_thread()))
        return Reply(BILLING, usage={"tokens": 1})

    async def main() -> Any:
        place.set("here")
        return await VoteWorkflow(sampler, n=3, key="team", concurrency=3).run(prompt="?")

    assert asyncio.run(main()).usage == {"tokens": 3}
    assert seen == {("here", index, False) for index in range(3)}


def test_options_of_drawing_hold() -> None:
    slow = ScriptedLLM([BILLING, BILLING, BILLING], hang_from=1)
    result = run(VoteWorkflow(slow, n=2, key="team", timeout=0.5), prompt="?")
    assert [sample.code for sample in result.samples] == [None, "timeout"]
    assert slow._cancelled == 1
    late = ScriptedLLM([BILLING] * 3, hang_from=1)
    assert run(VoteWorkflow(late, n=3, key="team", deadline=0.5, min_valid=1.0), prompt="?").num_samples == 1
    assert late._in_flight == 0

    attempts: list[int] = []

    async def flaky(prompt: str) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("reset")
        return BILLING

    result = run(VoteWorkflow(retrying(flaky, attempts=2, wait=0), n=1, key="team"), prompt="?")
    assert result.samples[0].attempts == 2
    limited = ScriptedLLM([BILLING] * 6, delay=0.005)
    run(VoteWorkflow(limited, n=6, key="team", concurrency=6, limiter=asyncio.Semaphore(2)), prompt="?")
    assert limited._most_in_flight == 2


def test_a_workflow_that_times_out_leaves_no_call_behind() -> None:
    llm = ScriptedLLM([BILLING] * 4, hang_from=1)
    workflow = VoteWorkflow(llm, n=4, key="team", concurrency=2, workflow_timeout=0.5)

    async def main() -> None:
        with pytest.raises(WorkflowTimeoutError):
            await workflow.run(prompt="?")
        for _ in range(1000):
            if not llm._in_flight:
                return
            await asyncio.sleep(0.01)

    asyncio.run(main())
    assert llm._in_flight == 0
    assert llm._cancelled == llm.calls - 1 > 0
    assert workflow._tickets == {}


def test_raise_on_ends_the_workflow() -> None:
    llm = ScriptedLLM([PermissionError("no such key")] * 3)
    with pytest.raises(Exception, match="no such key"):
        run(VoteWorkflow(llm, n=3, raise_on=PermissionError), prompt="?")


def test_without_a_decision() -> None:
    split = [BILLING, SHIPPING]
    assert run(VoteWorkflow(ScriptedLLM(split), n=2, key="team"), prompt="?").reason == "tie"
    with pytest.raises(Exception, match="tie: 2 answers") as caught:
        run(VoteWorkflow(ScriptedLLM(split), n=2, key="team", on_abstain="raise"), prompt="?")
    assert any(isinstance(error, AbstainError) for error in (caught.value, caught.value.__cause__))
    other = VoteWorkflow(ScriptedLLM([BILLING]), n=1, key="team")
    asked = run(VoteWorkflow(ScriptedLLM(split), n=2, key="team", on_abstain=other), prompt="?")
    assert asked.value == "billing"


def test_a_consensus() -> None:
    replies = ['{"a": 1, "b": 2}', '{"a": 1, "b": 3}', '{"a": 2, "b": 2}']
    result = run(VoteWorkflow(ScriptedLLM(replies), settings=ConsensusSettings(n=3, weights=None)), prompt="?")
    assert isinstance(result, ConsensusResult)
    assert result.value == {"a": 1, "b": 2}


def test_chat_messages_are_one_prompt() -> None:
    llm = ScriptedLLM([BILLING] * 2, is_chat_model=True)
    messages = [ChatMessage(content="Which team?"), ChatMessage(content="Well?")]
    assert run(VoteWorkflow(llm, n=2, key="team"), prompt=messages).decided
    assert llm._prompts == [messages, messages]


def test_spans_and_the_event() -> None:
    with traced() as (spans, events):
        run(VoteWorkflow(ScriptedLLM([BILLING] * 3), n=3, key="team", concurrency=3), prompt="?")
    calls = spans.named("ScriptedLLM.acomplete")
    steps = spans.named("VoteWorkflow.draw")
    assert len(calls) == len(steps) == 3
    assert {spans.parents[call] for call in calls} == set(steps)
    assert {spans.path(call)[0] for call in calls} == {"VoteWorkflow.run"}
    (event,) = events.named("VoteEvent")
    assert event.span_id in spans.named("VoteWorkflow.decide")
    assert set(spans.parents) == {*spans.closed, *spans.dropped}


def test_runs_at_the_same_time_do_not_mix() -> None:
    async def sampler(prompt: str) -> Any:
        await asyncio.sleep(0)
        return {"team": prompt}

    async def main() -> list[Any]:
        workflow = VoteWorkflow(sampler, n=4, key="team", concurrency=4)
        return await asyncio.gather(*(workflow.run(prompt=name) for name in ("a", "b", "c")))

    assert [result.detail for result in asyncio.run(main())] == [f"'{name}' won with 4 of 4 votes" for name in "abc"]


def test_a_plain_sampler_may_run_out_of_replies() -> None:
    """StopIteration can cross neither a thread nor a coroutine: the workflow would wait for ever."""
    replies = iter([BILLING, BILLING])
    result = run(VoteWorkflow(lambda _: next(replies), n=4, key="team", workflow_timeout=60), prompt="?")
    assert [sample.code for sample in result.samples] == [None, None, "sampler_error", "sampler_error"]
    assert "StopIteration" in (result.samples[2].error or "")


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_call_that_cancels_itself_is_a_failed_sample(concurrency: int) -> None:
    async def sampler(_: Any) -> str:
        if sample_index() == 1:
            raise asyncio.CancelledError
        return BILLING

    workflow = VoteWorkflow(sampler, n=3, key="team", concurrency=concurrency, workflow_timeout=60)
    result = run(workflow, prompt="?")
    assert [sample.code for sample in result.samples] == [None, "sampler_error", None]
    assert result.samples[1].error == "sampler_error: CancelledError: the call was cancelled, but not by the vote"


def test_a_request_of_a_sample_that_has_gone_calls_nothing() -> None:
    """Tickets of one workflow have names that no later one has, however many there were."""
    seen: set[str] = set()

    class Watched(VoteWorkflow):
        @step(num_workers=4)
        async def draw(self, ev: SampleRequest) -> None:
            assert ev.ticket not in seen
            seen.add(ev.ticket)
            await super().draw(ev)

    workflow = Watched(lambda _: BILLING, n=50, key="team")
    for _ in range(2):
        assert run(workflow, prompt="?").num_samples == 50
    assert len(seen) == 100


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"temperature": 0.5}, SettingsError, r"temperature needs a sampler that is an LLM; .* got 0\.5"),
        ({"workflow_timeout": 0}, SettingsError, "workflow_timeout must be more than 0 seconds, .* got 0"),
        ({"workflow_timeout": float("nan")}, SettingsError, "workflow_timeout must be more than 0 seconds, .* got nan"),
        ({"workflow_timeout": "1"}, TypeError, "workflow_timeout must be a number of seconds or None, got str"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VoteWorkflow(lambda _: BILLING, n=3, **options)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"VoteWorkflow\(\) got .* 'kye'; did you mean 'key'"):
        VoteWorkflow(ScriptedLLM([]), kye="team")
    with pytest.raises(SettingsError, match="concurrency must be at most 32 here, got 33"):
        VoteWorkflow(ScriptedLLM([]), concurrency=33)
    with pytest.raises(TypeError, match="sampler must be an LLM of LlamaIndex or a function, got str"):
        VoteWorkflow("gpt")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Workflow to ask instead"):
        VoteWorkflow(ScriptedLLM([]), on_abstain=ScriptedLLM([]))  # type: ignore[arg-type]
    with pytest.raises(Exception, match="run\\(\\) needs prompt="):
        run(VoteWorkflow(ScriptedLLM([])))
    with pytest.warns(UserWarning, match="copies of one reply") as caught:
        VoteWorkflow(ScriptedLLM([]), temperature=0)
    assert caught[0].filename == __file__


# The helpers, in a workflow of one's own


class Ask(Event):
    index: int
    text: str


class Triage(Workflow):
    """Ten documents, read by four workers."""

    def __init__(self, llm: ScriptedLLM, **options: Any) -> None:
        super().__init__(timeout=60)
        self.llm = llm
        self.options = options
        self.arrived: list[int] = []

    @step
    async def fan_out(self, ctx: Context, ev: StartEvent) -> Ask | None:
        for index, text in enumerate(ev.documents):
            ctx.send_event(Ask(index=index, text=text))
        return None

    @step(num_workers=4)
    async def ask(self, ev: Ask) -> SampleEvent:
        return await draw_sample(ev.index, self.llm.acomplete(ev.text))

    @step(num_workers=1)
    async def count(self, ctx: Context, ev: SampleEvent) -> StopEvent | None:
        self.arrived.append(ev.index)
        result = await collect_votes(ctx, ev, n=10, key="team", **self.options)
        return None if result is None else StopEvent(result=result)


def test_a_workflow_of_ones_own() -> None:
    said = {"document 2": ConnectionError("reset"), "document 5": "no idea", "document 7": SHIPPING}
    llm = ScriptedLLM(lambda prompt: said.get(prompt, BILLING))
    with traced() as (_, events):
        result = run(Triage(llm), documents=DOCUMENTS)
    assert [sample.index for sample in result.samples] == list(range(10))
    assert [sample.code for sample in result.samples if not sample.ok] == ["sampler_error", "no_json"]
    assert result.samples[2].error == "sampler_error: ConnectionError: reset"
    assert (result.value, result.agreement) == ("billing", 0.7)
    assert result.usage is not None
    assert [event.result for event in events.named("VoteEvent")] == [result]


def test_a_workflow_of_ones_own_stops_early_and_cancels_its_workers() -> None:
    llm = ScriptedLLM([BILLING] * 10, hang_from=6)
    workflow = Triage(llm, early_stop=True)
    result = run(workflow, documents=DOCUMENTS)
    assert (result.num_samples, result.stopped_by) == (6, "when_settled")
    assert llm._in_flight == 0
    assert llm._cancelled == llm.calls - 6 > 0


def test_samples_that_arrive_out_of_order_are_counted_in_order() -> None:
    class Backwards(Triage):
        @step(num_workers=10)
        async def ask(self, ev: Ask) -> SampleEvent:
            while len(self.arrived) < 9 - ev.index:
                await asyncio.sleep(0)
            return SampleEvent(index=ev.index, reply={"team": "billing" if ev.index % 2 else "shipping"})

    workflow = Backwards(ScriptedLLM([]), abstain_on_tie=False)
    result = run(workflow, documents=DOCUMENTS)
    assert workflow.arrived == list(range(9, -1, -1))
    assert result.value == "shipping"  # seen first by index, last by time


def test_one_context_for_two_runs() -> None:
    class Named(Triage):
        @step
        async def fan_out(self, ctx: Context, ev: StartEvent) -> Ask | None:
            self.options["name"] = self.vote = ev.name
            return await super().fan_out(ctx, ev)

        @step(num_workers=4)
        async def ask(self, ev: Ask) -> SampleEvent:
            return await draw_sample(ev.index, self.llm.acomplete(ev.text), vote=self.vote)

    async def main() -> list[Any]:
        workflow = Named(ScriptedLLM(lambda prompt: BILLING), early_stop=True)
        context = Context(workflow)
        return [await workflow.run(documents=DOCUMENTS, name=name, ctx=context) for name in ("first", "second")]

    first, second = asyncio.run(main())
    assert (first.num_samples, second.num_samples) == (6, 6)
    assert first.value == second.value == "billing"


def test_two_votes_in_one_workflow() -> None:
    class Both(Workflow):
        @step
        async def ask(self, ctx: Context, ev: StartEvent) -> SampleEvent | None:
            for index in range(3):
                for vote in ("team", "tone"):
                    ctx.send_event(SampleEvent(index=index, reply={vote: f"{vote} {index // 2}"}, vote=vote))
            return None

        @step(num_workers=1)
        async def count(self, ctx: Context, ev: SampleEvent) -> StopEvent | None:
            decided: dict[str, Any] = await ctx.store.get("decided", default={})
            for vote, early_stop in (("team", True), ("tone", False)):
                result = await collect_votes(ctx, ev, n=3, key=vote, name=vote, early_stop=early_stop)
                if result is not None:
                    decided = {**decided, vote: (result.value, result.num_samples)}
            await ctx.store.set("decided", decided)
            return StopEvent(result=decided) if len(decided) == 2 else None

    assert run(Both()) == {"team": ("team 0", 2), "tone": ("tone 0", 3)}


def test_settings_of_the_helper_are_checked() -> None:
    class Wrong(Triage):
        @step
        async def count(self, ctx: Context, ev: SampleEvent) -> StopEvent | None:
            await collect_votes(ctx, ev, keys="team")
            return None

    with pytest.raises(Exception, match=r"collect_votes\(\) got .* 'keys'; did you mean 'key'"):
        run(Wrong(ScriptedLLM([BILLING] * 10)), documents=DOCUMENTS)


@pytest.mark.parametrize("early_stop", [False, True])
def test_two_samples_with_one_index_are_an_error(early_stop: bool) -> None:
    """The vote would wait for ever for the sample whose place was taken."""

    class Twice(Workflow):
        @step
        async def ask(self, ctx: Context, ev: StartEvent) -> SampleEvent | None:
            for index in (0, 0, 1):
                ctx.send_event(SampleEvent(index=index, reply=BILLING))
            return None

        @step(num_workers=1)
        async def count(self, ctx: Context, ev: SampleEvent) -> StopEvent | None:
            result = await collect_votes(ctx, ev, n=3, key="team", early_stop=early_stop)
            return None if result is None else StopEvent(result=result)

    with pytest.raises(Exception, match="must have different indexes, got two with index 0"):
        run(Twice(timeout=60))


def test_a_sample_needs_something_to_await() -> None:
    with pytest.raises(TypeError, match=r"call must be something to await, such as llm\.acomplete\(prompt\), got str"):
        asyncio.run(draw_sample(0, BILLING))  # type: ignore[arg-type]


def test_a_sample_whose_call_cancels_itself_does_not_cancel_the_step() -> None:
    async def call() -> str:
        raise asyncio.CancelledError

    event = asyncio.run(draw_sample(3, call()))
    assert (event.index, event.reply.error) == (
        3,
        "sampler_error: CancelledError: the call was cancelled, but not by the vote",
    )


def test_a_step_that_is_cancelled_leaves_no_call_behind() -> None:
    llm = ScriptedLLM([BILLING], hang_from=0)

    async def main() -> None:
        task = asyncio.ensure_future(draw_sample(0, llm.acomplete("?")))
        while not llm._in_flight:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (llm._in_flight, llm._cancelled) == (0, 1)

    asyncio.run(main())
