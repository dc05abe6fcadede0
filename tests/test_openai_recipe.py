"""The recipe for OpenAI-compatible endpoints, against a real server on loopback that serves the small model."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from consilience import VoteResult, VoteSettings, avote, vote

EXAMPLES = Path(__file__).parents[1] / "examples"
PROMPT = [
    {"role": "user", "content": "The zipper broke on the first day."},
    {"role": "assistant", "content": '{"sentiment": "negative"}'},
    {"role": "user", "content": "Soft, warm and a perfect fit."},
    {"role": "assistant", "content": '{"sentiment": "positive"}'},
    {"role": "user", "content": "It stopped working after one wash."},
]
LABELS = {"negative", "positive"}
OPTIONS: dict[str, Any] = {"temperature": 0.3, "max_tokens": 16}
SETTINGS = VoteSettings(n=4, key="sentiment", concurrency=2, min_valid=0, min_agreement=0)


@pytest.fixture(scope="module")
def recipe() -> Iterator[Any]:
    """The example as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        import openai_compatible

        yield openai_compatible
        sys.modules.pop("openai_compatible")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        from small_model import serve

        with serve() as address:
            yield address


@pytest.fixture
def deaf_address() -> Iterator[str]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


@pytest.fixture
def dead_address() -> str:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}/v1"


def client_for(endpoint: Any, **changes: Any) -> openai.OpenAI:
    return openai.OpenAI(**{"base_url": endpoint.base_url, "api_key": endpoint.api_key, "max_retries": 0, **changes})


def codes(result: VoteResult) -> list[str | None]:
    return [sample.code for sample in result.samples]


def assert_a_real_vote(result: VoteResult, endpoint: Any) -> None:
    assert result.num_samples == 4
    assert all(sample.raw.content for sample in result.samples)
    assert {sample.vote for sample in result.samples if sample.ok} & LABELS
    assert result.usage is not None
    assert result.usage["input_tokens"] > 4 * 20
    assert result.usage["output_tokens"] == sum(sample.raw.usage["output_tokens"] for sample in result.samples)
    assert 4 <= result.usage["output_tokens"] <= 4 * OPTIONS["max_tokens"]
    assert {sample.source for sample in result.samples} == {endpoint.model}


def test_a_vote_over_http(recipe: Any, endpoint: Any) -> None:
    with client_for(endpoint) as client:
        result = vote(recipe.chat_sampler(client, endpoint.model, **OPTIONS), PROMPT, settings=SETTINGS)
    assert_a_real_vote(result, endpoint)


def test_an_asynchronous_vote_over_http(recipe: Any, endpoint: Any) -> None:
    async def run() -> VoteResult:
        async with openai.AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key) as client:
            sampler = recipe.async_chat_sampler(client, endpoint.model, **OPTIONS)
            return await avote(sampler, PROMPT, settings=SETTINGS)

    assert_a_real_vote(asyncio.run(run()), endpoint)


def test_a_question_is_one_message_and_a_reply_cut_off_is_truncated(recipe: Any, endpoint: Any) -> None:
    with client_for(endpoint) as client:
        sampler = recipe.chat_sampler(client, endpoint.model, max_tokens=3, temperature=0.3)
        result = vote(sampler, "Tell me a long story.", n=1)
    (sample,) = result.samples
    assert sample.raw.finish_reason == "length"
    assert sample.truncated
    assert sample.code == "truncated"


def test_an_address_where_nobody_listens_makes_failed_samples(recipe: Any, endpoint: Any, dead_address: str) -> None:
    with client_for(endpoint, base_url=dead_address) as client:
        result = vote(recipe.chat_sampler(client, endpoint.model), PROMPT, settings=SETTINGS)
    assert codes(result) == ["sampler_error"] * 4
    assert "APIConnectionError" in str(result.samples[0].error)
    assert result.reason == "no_valid"


def test_a_server_that_never_answers_is_a_timeout_of_the_vote(recipe: Any, endpoint: Any, deaf_address: str) -> None:
    # The client gives up later than the vote, so that its thread ends with the test.
    with client_for(endpoint, base_url=deaf_address, timeout=2) as client:
        result = vote(recipe.chat_sampler(client, endpoint.model), PROMPT, settings=SETTINGS, n=2, timeout=0.2)
    assert codes(result) == ["timeout", "timeout"]


def test_a_server_that_never_answers_is_an_error_where_the_client_gives_up_first(
    recipe: Any, endpoint: Any, deaf_address: str
) -> None:
    async def run() -> VoteResult:
        options: dict[str, Any] = {"api_key": "none", "max_retries": 0, "timeout": 0.2}
        async with openai.AsyncOpenAI(base_url=deaf_address, **options) as client:
            sampler = recipe.async_chat_sampler(client, endpoint.model)
            return await avote(sampler, PROMPT, settings=SETTINGS, timeout=60)

    result = asyncio.run(run())
    assert codes(result) == ["sampler_error"] * 4
    assert "APITimeoutError" in str(result.samples[0].error)


def wrong_key(endpoint: Any) -> openai.OpenAI:
    return client_for(endpoint, api_key="wrong")


def wrong_path(endpoint: Any) -> openai.OpenAI:
    return client_for(endpoint, base_url=endpoint.base_url.replace("/v1", "/v9"))


FOREVER = [(wrong_key, openai.AuthenticationError), (wrong_path, openai.NotFoundError)]


@pytest.mark.parametrize(("connect", "error"), FOREVER)
def test_errors_that_every_call_would_meet_are_raised(
    recipe: Any, endpoint: Any, connect: Callable[[Any], openai.OpenAI], error: type[Exception]
) -> None:
    with connect(endpoint) as client:
        sampler = recipe.chat_sampler(client, endpoint.model)
        with pytest.raises(error):
            vote(sampler, PROMPT, settings=SETTINGS, raise_on=recipe.SAME_FOR_EVERY_CALL)


@pytest.mark.parametrize(("connect", "error"), FOREVER)
def test_without_raise_on_they_are_failed_samples_that_say_why(
    recipe: Any, endpoint: Any, connect: Callable[[Any], openai.OpenAI], error: type[Exception]
) -> None:
    with connect(endpoint) as client:
        result = vote(recipe.chat_sampler(client, endpoint.model), PROMPT, settings=SETTINGS)
    assert codes(result) == ["sampler_error"] * 4
    assert error.__name__ in result.detail


def test_the_example_takes_its_address_from_the_environment(
    recipe: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", endpoint.api_key)
    monkeypatch.setenv("OPENAI_MODEL", endpoint.model)
    recipe.main("My parcel has not arrived.")
    shown = capsys.readouterr().out
    assert "samples valid" in shown
    assert "'output_tokens': " in shown
