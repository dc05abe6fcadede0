"""Tracing: what callbacks see of a vote, in threads and in asyncio, also when it is cancelled."""

from __future__ import annotations

import asyncio
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
from integrations.langchain.tests.scripted import A, B, ScriptedModel, StreamingModel, usage
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langchain_core.tracers.base import AsyncBaseTracer, BaseTracer
from langchain_core.tracers.schemas import Run

from consilience import sample_index
from langchain_consilience import ConsensusRunnable, TallyRunnable, VoteRunnable

PROMPT = ChatPromptTemplate.from_messages([("human", "{ticket}")])


class Book:
    """Which runs have begun and ended; the base of a tracer of either kind."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_schema_format="original+chat", **kwargs)
        self.runs: dict[Any, Run] = {}
        self.ended: dict[Any, str | None] = {}

    def _start(self, run: Run) -> None:
        assert run.id not in self.runs, "a run began twice"
        self.runs[run.id] = run

    def _stop(self, run: Run) -> None:
        assert run.id in self.runs, "a run ended that had not begun"
        assert run.id not in self.ended, "a run ended twice"
        self.ended[run.id] = run.error

    @property
    def open(self) -> list[str]:
        return [run.name for run in self.runs.values() if run.id not in self.ended]

    def children(self, parent: Run) -> list[Run]:
        return sorted(
            (run for run in self.runs.values() if run.parent_run_id == parent.id), key=lambda run: run.start_time
        )

    @property
    def root(self) -> Run:
        [root] = [run for run in self.runs.values() if run.parent_run_id is None]
        return root


class Threads(Book, BaseTracer):
    def _persist_run(self, run: Run) -> None: ...

    def _on_run_create(self, run: Run) -> None:
        self._start(run)

    def _on_run_update(self, run: Run) -> None:
        self._stop(run)


class Tasks(Book, AsyncBaseTracer):
    async def _persist_run(self, run: Run) -> None: ...

    async def _on_run_create(self, run: Run) -> None:
        self._start(run)

    async def _on_run_update(self, run: Run) -> None:
        self._stop(run)


def run(component: Any, prompt: Any, mode: str, config: RunnableConfig) -> Any:
    return component.invoke(prompt, config) if mode == "invoke" else asyncio.run(component.ainvoke(prompt, config))


@pytest.fixture(autouse=True)
def _no_callback_failed(caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest) -> Iterator[None]:
    """The framework logs what a handler raises, and goes on."""
    yield
    if "sixty_points" in request.node.name and "Threads" in request.node.name:
        return  # threads of the framework's own may still tell an end when the vote has told it
    failed = [each.getMessage() for when in ("setup", "call") for each in caplog.get_records(when)]
    assert [message for message in failed if "callback" in message] == []


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
modes_and_tracers = pytest.mark.parametrize(
    ("mode", "tracer_type"), [("invoke", Threads), ("ainvoke", Threads), ("ainvoke", Tasks)]
)
in_context = (
    modes_and_tracers
    if sys.version_info >= (3, 11)
    else pytest.mark.parametrize(("mode", "tracer_type"), [("invoke", Threads)])
)
"""The modes in which a function knows whose child it is from the context alone; in asyncio that takes Python 3.11."""


@modes_and_tracers
@pytest.mark.parametrize("concurrency", [1, 3])
def test_root_samples_and_steps_have_the_right_parents(mode: str, tracer_type: Any, concurrency: int) -> None:
    tracer = tracer_type()
    chain = PROMPT | ScriptedModel(script=[A]) | StrOutputParser()
    vote = VoteRunnable(chain, n=3, key="team", concurrency=concurrency)
    run(vote, {"ticket": "x"}, mode, {"callbacks": [tracer], "tags": ["night"], "run_name": "triage"})
    assert tracer.open == []
    root = tracer.root
    assert root.name == "triage"
    samples = tracer.children(root)
    assert sorted(tag for sample in samples for tag in sample.tags or [] if tag.startswith("sample:")) == [
        "sample:0",
        "sample:1",
        "sample:2",
    ]
    for sample in samples:
        assert sample.name == "RunnableSequence"
        assert {"night", "nostream"} <= set(sample.tags or [])
        assert [step.name for step in tracer.children(sample)] == [
            "ChatPromptTemplate",
            "ScriptedModel",
            "StrOutputParser",
        ]
        assert all("nostream" in (step.tags or []) for step in tracer.children(sample))
        assert all(step.outputs is not None for step in tracer.children(sample))
    assert len(tracer.runs) == 1 + 3 + 9
    assert root.outputs is not None


@in_context
def test_runs_inside_functions_and_parallel_steps_have_the_right_parents(mode: str, tracer_type: Any) -> None:
    model = ScriptedModel(script=["a"])

    @tool
    def look_up(ticket: str) -> str:
        """Looks a ticket up."""
        return ticket.upper()

    def by_hand(ticket: str) -> Any:  # without a config: the context alone tells whose child it is
        return (model | StrOutputParser()).invoke(look_up.invoke(ticket))

    tracer = tracer_type()
    chain = RunnableParallel(team=model | StrOutputParser(), again=by_hand)
    result = run(VoteRunnable(chain, n=2, key="team"), "x", mode, {"callbacks": [tracer]})
    assert result.value == "a"
    assert tracer.open == []
    for sample in tracer.children(tracer.root):
        assert sample.name == "RunnableParallel<team,again>"
        assert sorted(step.name for step in tracer.children(sample)) == ["RunnableSequence", "by_hand"]
        [function] = [step for step in tracer.children(sample) if step.name == "by_hand"]
        assert [step.name for step in tracer.children(function)] == ["look_up", "RunnableSequence"]
    assert result.usage["total_tokens"] == 4 * 35


@modes_and_tracers
def test_failed_samples_are_failed_runs(mode: str, tracer_type: Any) -> None:
    tracer = tracer_type()
    vote = VoteRunnable(ScriptedModel(script=[A, ConnectionError("reset"), A]), n=3, key="team", concurrency=1)
    assert run(vote, "x", mode, {"callbacks": [tracer]}).value == "a"
    errors = [tracer.ended[sample.id] for sample in tracer.children(tracer.root)]
    assert [error is None for error in errors] == [True, False, True]
    assert tracer.ended[tracer.root.id] is None


@modes_and_tracers
def test_the_branch_is_a_child_whose_tokens_may_be_streamed(mode: str, tracer_type: Any) -> None:
    tracer = tracer_type()
    branch = RunnableLambda(lambda abstention: "x") | ScriptedModel(script=[A])
    vote = VoteRunnable(ScriptedModel(script=[A, B]), n=2, key="team", concurrency=1, on_abstain=branch)
    assert run(vote, "x", mode, {"callbacks": [tracer]}).content == A
    *samples, taken_over = tracer.children(tracer.root)
    assert len(samples) == 2
    assert "abstain" in (taken_over.tags or [])
    assert "nostream" not in (taken_over.tags or [])


@modes_and_tracers
def test_an_abstention_that_raises_is_a_failed_run(mode: str, tracer_type: Any) -> None:
    tracer = tracer_type()
    vote = VoteRunnable(ScriptedModel(script=["no"]), n=2, on_abstain="raise", name="triage")
    with pytest.raises(Exception, match="no_valid"):
        run(vote, "x", mode, {"callbacks": [tracer]})
    assert "AbstainError" in (tracer.ended[tracer.root.id] or "")
    assert tracer.open == []


@pytest.mark.parametrize("mode", ["batch", "abatch"])
def test_every_vote_of_a_batch_is_a_root_with_its_own_samples(mode: str) -> None:
    tracer = Threads()
    vote = VoteRunnable(ScriptedModel(script=[A]), n=3, key="team")
    config: RunnableConfig = {"callbacks": [tracer], "max_concurrency": 2}
    vote.batch(["x"] * 4, config) if mode == "batch" else asyncio.run(vote.abatch(["x"] * 4, config))
    roots = [each for each in tracer.runs.values() if each.parent_run_id is None]
    assert [len(tracer.children(root)) for root in roots] == [3] * 4
    assert tracer.open == []


def test_consensus_and_tally_are_traced_too() -> None:
    tracer = Threads()
    ConsensusRunnable(ScriptedModel(script=[A]), n=3).invoke("x", {"callbacks": [tracer]})
    assert len(tracer.children(tracer.root)) == 3
    tallied = Threads()
    TallyRunnable(key="team").invoke([A, A], {"callbacks": [tallied]})
    assert tallied.root.name == "TallyRunnable"


@both
def test_the_tag_can_be_left_off(mode: str) -> None:
    tracer = Threads()
    run(VoteRunnable(ScriptedModel(script=[A]), n=2, nostream=False), "x", mode, {"callbacks": [tracer]})
    assert all("nostream" not in (each.tags or []) for each in tracer.runs.values())


# Context variables


user: ContextVar[str] = ContextVar("user", default="nobody")


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "batch", "abatch"])
def test_the_user_s_context_variables_reach_every_sample(mode: str) -> None:
    seen: list[Any] = []
    vote = VoteRunnable(lambda _: seen.append((user.get(), sample_index())) or {}, n=3)
    token = user.set("ada")
    try:
        if mode == "invoke":
            vote.invoke("x")
        elif mode == "ainvoke":
            asyncio.run(vote.ainvoke("x"))
        elif mode == "batch":
            vote.batch(["x"], {"max_concurrency": 2})
        else:
            asyncio.run(vote.abatch(["x"], {"max_concurrency": 2}))
    finally:
        user.reset(token)
    assert sorted(seen) == [("ada", 0), ("ada", 1), ("ada", 2)]


@both
def test_what_a_sample_sets_stays_its_own(mode: str) -> None:
    def chain(_: Any) -> Any:
        before = user.get()
        user.set(f"sample {sample_index()}")
        return {"before": before}

    vote = VoteRunnable(chain, n=3, key="before", concurrency=1)
    assert run(vote, "x", mode, {}).value == "nobody"
    assert user.get() == "nobody"


# Usage


@both
def test_usage_adds_up_over_all_models_of_all_samples(mode: str) -> None:
    first, second = ScriptedModel(script=["x"]), ScriptedModel(script=[AIMessage(A, usage_metadata=usage(7))])
    chain = first | StrOutputParser() | second | StrOutputParser()
    result = run(VoteRunnable(chain, n=3, key="team"), "x", mode, {})
    assert result.usage == {"input_tokens": 180, "output_tokens": 36, "total_tokens": 216}
    consensus = run(ConsensusRunnable(chain, n=3), "x", mode, {})
    assert consensus.usage == result.usage


@both
def test_usage_of_details_and_of_retries_adds_up(mode: str) -> None:
    details: Any = {**usage(), "input_token_details": {"cache_read": 3}}
    model = ScriptedModel(script=[AIMessage("?", usage_metadata=details), AIMessage(A, usage_metadata=details)])

    def picky(message: AIMessage) -> Any:
        if message.content == "?":
            raise ValueError("say that again")
        return message.content

    chain = (model | picky).with_retry(wait_exponential_jitter=False, stop_after_attempt=2)
    result = run(VoteRunnable(chain, n=1), "x", mode, {})
    assert result.usage["total_tokens"] == 70
    assert result.usage["input_token_details"] == {"cache_read": 6}


@both
def test_without_a_report_there_is_no_usage(mode: str) -> None:
    assert run(VoteRunnable(lambda _: {}, n=2), "x", mode, {}).usage is None
    assert run(VoteRunnable(FakeListLLM(responses=["{}"]), n=2), "x", mode, {}).usage is None
    handmade = AIMessage(A, usage_metadata=usage())
    assert run(VoteRunnable(lambda _: handmade, n=2), "x", mode, {}).usage["total_tokens"] == 70


# Cancellation


class Stuck(BaseCallbackHandler):
    """Tells when a model has been asked."""

    run_inline = True

    def __init__(self) -> None:
        self.asked = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.asked += 1


def deep_chain(delay: float) -> Any:
    model = ScriptedModel(script=[A], delay=delay)

    async def inner(prompt: Any, config: RunnableConfig) -> Any:  # Python 3.10 has no other way to pass it on in a task
        return await (model | StrOutputParser()).ainvoke(prompt, config)

    both_ways = RunnableParallel(team=model | StrOutputParser(), more=RunnableLambda(lambda _: None, afunc=inner))
    return PROMPT | both_ways


def cancel_a_vote(tracer: Any, is_time: Callable[[int], bool]) -> None:
    """Cancel a vote whose models hang, in the turn of the event loop for which ``is_time`` says so."""

    async def main() -> None:
        vote = VoteRunnable(deep_chain(600.0), n=2, key="team")
        task = asyncio.create_task(vote.ainvoke({"ticket": "x"}, {"callbacks": [tracer]}))
        turn = 0
        while not is_time(turn):
            assert not task.done(), "the vote ended before it was to be cancelled"
            assert turn < 100_000, "the runs that the point waits for never begin"
            await asyncio.sleep(0)
            turn += 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(main())


@pytest.mark.parametrize("tracer_type", [Threads, Tasks])
def test_sixty_points_of_cancellation_leave_no_run_open(tracer_type: Any) -> None:
    """After 1, 2, … 43 turns of the event loop, and when 1, 2, … 17 runs have begun, which are all that there are."""
    turns = [partial(operator.le, turn) for turn in range(1, 44)]
    for point in [*turns, *range(1, 18)]:
        tracer = tracer_type()
        is_time = point if callable(point) else lambda _, least=point, runs=tracer.runs: len(runs) >= least
        cancel_a_vote(tracer, is_time)
        below = [run.name for run in tracer.runs.values() if run.parent_run_id and run.id not in tracer.ended]
        assert below == [], f"cancelled at {point}"
    assert len(tracer.runs) == 17


@pytest.mark.parametrize("tracer_type", [Threads, Tasks])
def test_an_early_stop_leaves_no_run_open(tracer_type: Any) -> None:
    tracer = tracer_type()

    def line(messages: Any, given: Any) -> Any:
        return A

    class Uneven(ScriptedModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            if (sample_index() or 0) >= 3:
                await asyncio.Event().wait()
            return await super()._agenerate(*args, **kwargs)

    vote = VoteRunnable(Uneven(script=[line]) | StrOutputParser(), n=5, key="team", early_stop=True, eager=True)
    result = asyncio.run(vote.ainvoke("x", {"callbacks": [tracer]}))
    assert result.num_samples == 3
    assert tracer.open == []
    assert len(tracer.children(tracer.root)) == 5
    cancelled = [error for error in tracer.ended.values() if error is not None]
    assert len(cancelled) == 4  # two chains and their models
    assert all("CancelledError" in error for error in cancelled)


@pytest.mark.parametrize("tracer_type", [Threads, Tasks])
def test_a_timeout_leaves_no_run_open(tracer_type: Any) -> None:
    tracer = tracer_type()
    vote = VoteRunnable(ScriptedModel(script=[A], delay=60.0), n=2, timeout=0.2)
    result = asyncio.run(vote.ainvoke("x", {"callbacks": [tracer]}))
    assert [each.code for each in result.samples] == ["timeout"] * 2
    assert tracer.open == []


def test_being_cancelled_again_and_again_leaves_no_run_open() -> None:
    tracer = Tasks()

    async def main() -> None:
        handler = Stuck()
        vote = VoteRunnable(ScriptedModel(script=[A], delay=60.0), n=3)
        task = asyncio.create_task(vote.ainvoke("x", {"callbacks": [tracer, handler]}))
        while handler.asked < 3:
            await asyncio.sleep(0)
        for _ in range(8):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert [each.name for each in tracer.runs.values() if each.parent_run_id and each.id not in tracer.ended] == []


def test_children_end_before_their_parents_where_the_vote_ends_them() -> None:
    """Newest first: of two runs left open, the inner one is closed before the outer."""
    ends: list[str] = []

    class Order(BaseCallbackHandler):
        run_inline = True

        def on_llm_error(self, error: BaseException, *, tags: Any = None, **kwargs: Any) -> None:
            ends.append("model")

        def on_chain_error(self, error: BaseException, *, parent_run_id: Any = None, **kwargs: Any) -> None:
            ends.append("chain" if parent_run_id else "vote")

    vote = VoteRunnable(ScriptedModel(script=[A], delay=60.0), n=1, timeout=0.2, on_abstain="raise")
    with pytest.raises(Exception, match="abstained"):
        asyncio.run(vote.ainvoke("x", {"callbacks": [Order()]}))
    assert ends == ["model", "vote"]


# LangGraph's stream of messages


@pytest.mark.parametrize("mode", ["stream", "astream"])
def test_no_token_of_a_sample_leaks_into_the_message_stream_of_langgraph(mode: str) -> None:
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        ticket: str
        team: str

    def graph(nostream: bool) -> Any:
        vote = VoteRunnable(StreamingModel(script=[A]), n=3, key="team", output="value", nostream=nostream)
        builder: Any = StateGraph(State)
        builder.add_node("triage", RunnableLambda(lambda state: state["ticket"]) | vote | (lambda team: {"team": team}))
        builder.add_edge(START, "triage")
        builder.add_edge("triage", END)
        return builder.compile()

    async def astream(nostream: bool) -> list[Any]:
        return [each async for each in graph(nostream).astream({"ticket": "x"}, stream_mode="messages")]

    def streamed(nostream: bool) -> list[Any]:
        if mode == "astream":
            return asyncio.run(astream(nostream))
        return list(graph(nostream).stream({"ticket": "x"}, stream_mode="messages"))

    assert streamed(nostream=True) == []
    assert len(streamed(nostream=False)) >= 3 * len(A)  # what the tag is good for


def test_threads_of_samples_are_not_those_of_the_caller() -> None:
    threads: set[int] = set()
    VoteRunnable(lambda _: threads.add(threading.get_ident()) or {}, n=3).invoke("x")
    assert threading.get_ident() not in threads


async def cancelled(component: Any, is_time: Callable[[], bool], tracer: Any) -> None:
    """Run ``component`` and cancel it when ``is_time``."""
    task = asyncio.create_task(component.ainvoke("x", {"callbacks": [tracer]}))
    while not is_time():
        assert not task.done()
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("tracer_type", [Threads, Tasks])
@pytest.mark.parametrize(
    "component",
    [
        TallyRunnable(key="team", on_abstain="return"),
        VoteRunnable(lambda _: "no idea", n=2),
        ConsensusRunnable(lambda _: "no idea", n=2),
    ],
)
def test_a_branch_that_is_cancelled_leaves_no_run_open(component: Any, tracer_type: Any) -> None:
    model, tracer = ScriptedModel(script=[A], delay=60.0), tracer_type()
    branch = RunnableLambda(lambda _: {"ticket": "x"}) | PROMPT | {"one": model, "other": model | StrOutputParser()}
    deciding = component.model_copy(update={"on_abstain": branch})
    chain = RunnableLambda(lambda text: [text]) | deciding
    asyncio.run(cancelled(chain, lambda: model.calls == 2, tracer))
    assert tracer.open == []
    assert [run.name for run in tracer.runs.values()].count("ScriptedModel") == 2


@pytest.mark.parametrize("tracer_type", [Threads, Tasks])
@pytest.mark.parametrize("kind", ["tool", "retriever", "model inside a tool"])
def test_tools_and_retrievers_that_are_cancelled_leave_no_run_open(kind: str, tracer_type: Any) -> None:
    model = ScriptedModel(script=[A], delay=60.0)
    hanging: list[str] = []

    async def hang() -> None:
        hanging.append(kind)
        await asyncio.Event().wait()

    @tool
    async def look_up(ticket: str) -> str:
        """Looks a ticket up."""
        if kind == "model inside a tool":
            await model.ainvoke(ticket)
        await hang()
        return ticket

    class Shelf(BaseRetriever):
        def _get_relevant_documents(self, query: str, **kwargs: Any) -> Any:
            return []

        async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> Any:
            await hang()

    step: Any = Shelf() if kind == "retriever" else look_up
    tracer = tracer_type()
    vote = VoteRunnable(RunnableLambda(str) | step, n=2)
    asyncio.run(cancelled(vote, lambda: len(hanging) + model.calls == 2, tracer))
    assert tracer.open == []
    kinds = [run.run_type for run in tracer.runs.values()]
    assert kinds.count("retriever" if kind == "retriever" else "tool") == 2
