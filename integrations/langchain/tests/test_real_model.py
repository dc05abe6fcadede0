"""ChatOpenAI against a real server on loopback that serves the small model: votes, consensus, a graph, an agent."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_openai import ChatOpenAI
from langgraph.types import Command
from pydantic import BaseModel

from consilience import field_in
from langchain_consilience import ConsensusMiddleware, ConsensusRunnable, VoteMiddleware, VoteRunnable

EXAMPLE = Path(__file__).parents[1] / "examples" / "review_graph.py"
LABELS = ["positive", "negative"]
REVIEW = {"text": "It stopped working after one wash."}
ORDER = {"text": "10 coffee mugs at 7 EUR each for Sarah Klein, Chicago."}


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("review_graph", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # typing looks up the names in the annotations of the state here
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Any]:
    from small_model import serve

    with serve() as address:
        yield address


def chat(endpoint: Any, **options: Any) -> ChatOpenAI:
    given = {"temperature": 0.5, "max_tokens": 16, "timeout": 120, **options}
    return ChatOpenAI(model=endpoint.model, base_url=endpoint.base_url, api_key=endpoint.api_key, **given)


def test_a_vote_on_a_real_model(example: Any, endpoint: Any) -> None:
    vote = VoteRunnable(chat(endpoint), n=3, key="sentiment", validator=field_in("sentiment", LABELS), vary="seed")
    tokens = UsageMetadataCallbackHandler()
    result = (example.REVIEWS | vote).invoke(REVIEW, {"callbacks": [tokens]})
    assert result.num_samples == 3
    assert result.num_valid >= 1
    assert {sample.source for sample in result.samples} == {endpoint.model}
    assert result.usage is not None
    [reported] = tokens.usage_metadata.values()
    assert {name: result.usage[name] for name in ("input_tokens", "output_tokens")} == {
        name: reported[name]
        for name in ("input_tokens", "output_tokens")  # type: ignore[literal-required]
    }


def test_an_asynchronous_consensus_on_structured_output_of_a_real_model(example: Any, endpoint: Any) -> None:
    model = chat(endpoint, max_tokens=80).with_structured_output(example.Order, method="json_schema", include_raw=True)
    consensus = ConsensusRunnable(model, n=3, schema=example.Order)
    result = asyncio.run((example.ORDERS | consensus).ainvoke(ORDER))
    assert result.revisions_processed >= 2
    assert result.usage["output_tokens"] > 3 * 10
    assert result.decided
    assert isinstance(result.value, example.Order)
    assert result.value.quantity == 10


def test_a_reply_cut_off_by_the_server_is_a_truncated_sample(example: Any, endpoint: Any) -> None:
    vote = VoteRunnable(chat(endpoint, max_tokens=3), n=2, key="sentiment")
    result = (example.REVIEWS | vote).invoke(REVIEW)
    assert [(sample.code, sample.truncated) for sample in result.samples] == [("truncated", True)] * 2
    strict = chat(endpoint, max_tokens=8).with_structured_output(example.Order, method="json_schema")
    result = (example.ORDERS | VoteRunnable(strict, n=2)).invoke(ORDER)
    assert [(sample.code, sample.truncated) for sample in result.samples] == [("truncated", True)] * 2


def test_the_graph_decides_or_asks_a_human(example: Any, endpoint: Any) -> None:
    graph = example.build_graph(chat(endpoint, max_tokens=64), n=3)
    sure: Any = {"configurable": {"thread_id": "sure"}}
    state = graph.invoke({"kind": "order", **ORDER}, sure)
    if "__interrupt__" not in state:  # which way it goes is the model's business; that it goes one of them is ours
        assert state["check"] == []
        assert set(state["answer"]) == set(example.Order.model_fields)

    # Replies that are cut off can never agree.
    cut_off = example.build_graph(chat(endpoint, max_tokens=3), n=2)
    for kind, mail in (("review", REVIEW), ("order", ORDER)):
        thread: Any = {"configurable": {"thread_id": kind}}
        [question] = cut_off.invoke({"kind": kind, **mail}, thread)["__interrupt__"]
        assert question.value["text"] == mail["text"]
        assert "truncated" in question.value["check"][0]
        assert cut_off.get_state(thread).next == ("human",)
        assert cut_off.invoke(Command(resume="by hand"), thread)["answer"] == "by hand"


class Sentiment(BaseModel):
    sentiment: str


@pytest.mark.parametrize("middleware", [VoteMiddleware, ConsensusMiddleware])
def test_an_agent_on_a_real_model(example: Any, endpoint: Any, middleware: Any) -> None:
    agent = create_agent(
        chat(endpoint), response_format=ProviderStrategy(Sentiment), middleware=[middleware(n=2, vary="seed")]
    )
    messages = example.REVIEWS.invoke(REVIEW).to_messages()
    state = agent.invoke({"messages": messages})
    decision = state["vote"] if middleware is VoteMiddleware else state.get("consensus") or state["vote"]
    assert decision["abstained"] or isinstance(state["structured_response"], Sentiment)
    assert decision["usage"]["output_tokens"] >= 4


def test_the_example_runs(example: Any, endpoint: Any, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", endpoint.api_key)
    monkeypatch.setenv("OPENAI_MODEL", endpoint.model)
    monkeypatch.setattr(example, "MAILS", [example.MAILS[0]])
    example.main()
    said = capsys.readouterr().out
    assert said.startswith("The zipper broke on the first day.\n")
    assert "  -> " in said
