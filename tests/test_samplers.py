"""Telling asynchronous samplers from plain ones, and putting awaitables away."""

from __future__ import annotations

import asyncio
import functools
import gc
import warnings
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from consilience import avote, retrying, sample_index, vote
from consilience._coroutines import close_awaitable, is_awaitable
from consilience.drawing import is_async_sampler, require_sync_sampler


async def ask(prompt: str, extra: int = 0) -> str:
    return prompt


def ask_plainly(prompt: str, extra: int = 0) -> str:
    return prompt


def generate(prompt: str) -> Any:
    yield prompt


async def generate_in_task(prompt: str) -> Any:
    yield prompt


class Client:
    async def __call__(self, prompt: str) -> str:
        return prompt

    async def method(self, prompt: str) -> str:
        return prompt

    @classmethod
    async def class_method(cls, prompt: str) -> str:
        return prompt

    @staticmethod
    async def static_method(prompt: str) -> str:
        return prompt


class PlainClient:
    def __call__(self, prompt: str) -> str:
        return prompt


class InheritingClient(Client):
    pass


ASYNCHRONOUS = {
    "function": ask,
    "partial": functools.partial(ask, extra=1),
    "partial of partial": functools.partial(functools.partial(ask, extra=1), extra=2),
    "object": Client(),
    "partial of object": functools.partial(Client()),
    "inherited": InheritingClient(),
    "bound method": Client().method,
    "partial of bound method": functools.partial(Client().method),
    "class method": Client.class_method,
    "static method": Client.static_method,
    "mock": AsyncMock(),
}
PLAIN = {
    "function": ask_plainly,
    "lambda returning a coroutine": lambda prompt: ask(prompt),
    "partial": functools.partial(ask_plainly, extra=1),
    "object": PlainClient(),
    "class with asynchronous instances": Client,
    "bound method": PlainClient().__call__,
    "builtin": len,
    "class": str,
    "generator": generate,
    "asynchronous generator": generate_in_task,
    "mock": Mock(),
}


@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_asynchronous_samplers(name: str) -> None:
    sampler: Any = ASYNCHRONOUS[name]
    assert is_async_sampler(sampler)
    with pytest.raises(TypeError, match=r"sampler must be a plain function in vote, got .*; use avote"):
        require_sync_sampler(sampler)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_samplers(name: str) -> None:
    sampler: Any = PLAIN[name]
    assert not is_async_sampler(sampler)
    require_sync_sampler(sampler)


def test_the_message_names_the_sampler() -> None:
    with pytest.raises(TypeError, match="'ask'"):
        require_sync_sampler(ask)
    with pytest.raises(TypeError, match="'Client'"):
        require_sync_sampler(Client())


@pytest.mark.parametrize("content", ["text", b"", None, 3, {"a": 1}, [1], object(), generate("x"), ask])
def test_what_is_no_awaitable_is_left_alone(content: Any) -> None:
    assert not is_awaitable(content)
    close_awaitable(content)
    if content is not None and hasattr(content, "__next__"):
        assert next(content) == "x"


def test_awaitables_are_put_away_without_a_warning() -> None:
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    coroutine = ask("prompt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for awaitable in (coroutine, future):
            assert is_awaitable(awaitable)
            close_awaitable(awaitable)
        del coroutine, awaitable
        gc.collect()
    assert future.cancelled()
    loop.close()


def test_an_object_that_cannot_be_asked_is_left_alone() -> None:
    class Hostile:
        @property
        def __class__(self) -> Any:  # type: ignore[override]
            raise RuntimeError("hands off")

    close_awaitable(Hostile())
    with pytest.raises(RuntimeError):
        is_awaitable(Hostile())


def test_a_sampler_knows_the_number_of_its_sample() -> None:
    def ask_for_number(prompt: str) -> Any:
        return {"number": sample_index()}

    async def ask_in_task(prompt: str) -> Any:
        await asyncio.sleep(0)
        return {"number": sample_index()}

    def numbers(result: Any) -> list[Any]:
        return [sample.record["number"] for sample in result.samples]

    assert sample_index() is None
    assert numbers(vote(ask_for_number, "x", n=8, concurrency=4)) == list(range(8))
    for sampler in (ask_for_number, ask_in_task):
        assert numbers(asyncio.run(avote(sampler, "x", n=8, concurrency=4))) == list(range(8))
    assert sample_index() is None


def test_a_retry_has_the_number_of_its_sample_and_a_vote_within_a_vote_its_own() -> None:
    seen = []

    def flaky(prompt: str) -> Any:
        seen.append(sample_index())
        if len(seen) == 1:
            raise OSError("try again")
        inner = vote(lambda _: {"number": sample_index()}, "x", n=2)
        return {"inner": [sample.record["number"] for sample in inner.samples], "outer": sample_index()}

    result = vote(retrying(flaky, attempts=2, wait=lambda state: 0), "x", n=2)
    assert seen == [0, 0, 1]
    assert [sample.record for sample in result.samples] == [{"inner": [0, 1], "outer": i} for i in range(2)]
