"""Hostile replies and samplers, through the public verbs: never an exception, never a hang, always a code."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import Failure, Reply, Sample, VoteResult, avote, tally, vote
from consilience.testing import ReplaySampler

CODES = {code for name, code in vars(Failure).items() if name.isupper()}


class Hostile:
    """An object of which nothing can be asked."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __iter__(self) -> Any:
        raise RuntimeError("no items")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attributes")


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")

    __repr__ = __str__


class HostileText(str):
    __slots__ = ()

    def strip(self, *args: Any) -> Any:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = str.__hash__


def a_generator() -> Any:
    yield '{"a": 1}'


class Unread:
    """A lazily read body, as some clients return it."""

    def read(self) -> bytes:
        return b'{"a": 1}'


def raising(error: BaseException) -> Callable[[Any], Any]:
    def sampler(prompt: Any) -> Any:
        raise error

    return sampler


REPLIES: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "empty": lambda: "",
    "blank": lambda: " \n\t\u00a0",
    "a number": lambda: 42,
    "not a number": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "a huge number": lambda: 10**10_000,
    "true": lambda: True,
    "a generator": a_generator,
    "an iterator": lambda: iter(["{}"]),
    "a class": lambda: dict,
    "a function": lambda: len,
    "an object": object,
    "a hostile object": Hostile,
    "a lazily read body": Unread,
    "a hostile object in a reply": lambda: Reply(Hostile()),
    "bytes that are no text": lambda: b"\xff\xfe\x00",
    "an empty reply object": lambda: Reply(None),
    "a reply in a reply": lambda: Reply(Reply('{"a": 1}')),
    "lone surrogates": lambda: "\ud800\udfff {x}",
    "control characters": lambda: "\x00\x1b[31m{\x07}",
    "scalars": lambda: '"a", 1, null, [1]',
    "nesting": lambda: "[" * 100_000,
    "a key too few": lambda: '{"b": 1}',
    "a list": lambda: ["a"],
    "an empty dict": dict,
    "a set": lambda: {1, 2},
    "another error": lambda: HostileError(),
}


def check_sound(result: VoteResult) -> None:
    """Whatever came in: counted, coded, and fit to be shown, logged, stored and restored."""
    for sample in result.samples:
        assert sample.ok == (sample.error is None)
        if sample.error is not None:
            assert sample.code in CODES, sample.error
            assert sample.vote is None
            assert sample.record is None
            sample.error.encode("utf-8")
    assert result.num_valid + result.num_failed == result.num_samples
    assert 0 <= result.agreement <= 1
    for text in (result.detail, result.explain(), result._repr_html_(), repr(result)):
        text.encode("utf-8")
        assert "\x1b" not in text
    assert json.loads(result.to_json())["detail"] == result.detail
    assert VoteResult.from_json(result.to_json()).detail == result.detail


@pytest.mark.parametrize("name", REPLIES)
def test_a_bad_reply_is_a_failed_sample_with_a_code(name: str) -> None:
    def sampler(prompt: Any) -> Any:
        reply = REPLIES[name]()
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def asynchronous(prompt: Any) -> Any:
        return sampler(prompt)

    results = [
        vote(sampler, "?", n=2, key="a"),
        vote(sampler, "?", n=2, key="a", concurrency=2, timeout=60, early_stop=True),
        vote(sampler, "?", n=2, key="a", repair=True, confidence_field="c", normalize="text"),
        asyncio.run(avote(sampler, "?", n=2, key="a", concurrency=2)),
        asyncio.run(avote(asynchronous, "?", n=2, key="a")),
    ]
    for result in results:
        check_sound(result)
        assert result.num_valid == 0
        assert result.reason in ("no_valid", "quorum_unreachable")
    check_sound(tally([REPLIES[name](), REPLIES[name]()], key="a"))


def test_what_a_validator_makes_may_be_hostile() -> None:
    replies = ['{"a": 1}'] * 3
    result = tally(replies, validator=lambda record: {"a": Hostile()}, key="a")
    check_sound(result)
    assert result.num_valid == 3
    result = tally(replies, validator=lambda record: Hostile())
    check_sound(result)
    assert tally(replies, validator=raising(HostileError())).reason == "no_valid"


def test_an_awaitable_from_a_plain_sampler_says_what_to_do() -> None:
    async def ask(prompt: Any) -> str:
        return '{"a": 1}'

    result = vote(lambda prompt: ask(prompt), "?", n=2, key="a")
    check_sound(result)
    assert {sample.error for sample in result.samples} == {
        "sampler_error: TypeError: the sampler returned an awaitable; use avote"
    }
    assert asyncio.run(avote(lambda prompt: ask(prompt), "?", n=2, key="a")).value == 1


class Fatal(BaseException):
    """No Exception: not this library's to handle."""


@pytest.mark.parametrize("error", [Fatal(), KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}, {"concurrency": 2, "deadline": 30.0}])
def test_what_is_no_exception_propagates_with_and_without_limits(error: BaseException, limits: dict[str, Any]) -> None:
    with pytest.raises(type(error)):
        vote(raising(error), "?", n=2, **limits)


def test_a_sampler_that_never_returns() -> None:
    with ReplaySampler(lambda prompt, call: threading.Event()) as never:
        assert vote(never, "?", n=1).reason == "no_valid"  # the script's function returned an object
    release = threading.Event()
    try:
        for limits in ({"timeout": 0.1}, {"deadline": 0.1}, {"timeout": 0.1, "concurrency": 3}):
            began = time.monotonic()
            result = vote(lambda prompt: release.wait(), "?", n=3, **limits)
            assert time.monotonic() - began < 10
            check_sound(result)
            assert result.abstained
    finally:
        release.set()


def test_fifty_megabytes() -> None:
    big = '{"a": "' + "x" * 50_000_000 + '"}'
    result = tally([big, big, "y" * 50_000_000], key="a")
    assert result.counts[0][1] == 2
    assert len(result.detail) < 1000
    assert len(result.explain()) < 2000
    assert len(result._repr_html_()) < 5000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ANYTHING = st.one_of(
    JSON,
    st.binary(max_size=30),
    JSON.map(json.dumps),
    st.text().map(lambda text: f'{{"a": {json.dumps(text)}}}'),
    st.sampled_from(sorted(REPLIES)).map(lambda name: REPLIES[name]()),
    st.builds(Reply, JSON, usage=JSON, confidence=JSON, source=JSON, finish_reason=JSON),
    st.sampled_from([ValueError("x"), HostileError(), TimeoutError(), StopIteration(), StopAsyncIteration()]),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(ANYTHING, min_size=1, max_size=5),
    st.sampled_from([None, "a", "a.b[0]", ("a", "b")]),
    st.sampled_from([None, "text", "number", "date", {"a": "number"}]),
    st.sampled_from([None, "confidence", {"x": 0.5}]),
    st.sampled_from([False, "lenient", True]),
    st.booleans(),
)
def test_any_replies_at_all(
    replies: list[Any], key: Any, normalize: Any, weights: Any, repair: Any, by_source: bool
) -> None:
    options: dict[str, Any] = {
        "key": key,
        "normalize": normalize,
        "weights": weights,
        "repair": repair,
        "one_vote_per_source": by_source,
        "confidence_field": "a",
    }
    in_order = tally(replies, **options)
    check_sound(in_order)

    def sampler(prompt: Any) -> Any:
        reply = next(script)
        if isinstance(reply, Exception):
            raise reply
        return reply

    script = iter(replies)
    drawn = vote(sampler, "?", n=len(replies), **options)
    check_sound(drawn)
    assert (drawn.abstained, drawn.reason, drawn.agreement) == (in_order.abstained, in_order.reason, in_order.agreement)
    script = iter(replies)
    check_sound(asyncio.run(avote(sampler, "?", n=len(replies), early_stop=True, **options)))


class HostileSource(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")


class HostileName:
    """A key that cannot be compared and, with the hash of a name, is met by whoever looks that name up."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        return hash(self.name)


class HostileNumber(int):
    def __add__(self, other: Any) -> Any:
        raise RuntimeError("add")

    __radd__ = __add__


def endless() -> dict[str, Any]:
    usage: dict[str, Any] = {"tokens": 1}
    usage["details"] = usage
    return usage


@pytest.mark.parametrize(
    "reply",
    [
        Reply('{"team": "a", "conf": 0.5}', source=HostileSource("model")),
        Reply('{"team": "a", "conf": 0.5}', finish_reason=HostileSource("length")),
        Reply('{"team": "a", "conf": 0.5}', usage={"tokens": HostileNumber(1), "details": {"n": HostileNumber(2)}}),
        Reply('{"team": "a", "conf": 0.5}', usage=endless()),
        Reply('{"team": "a", "conf": 0.5}', usage={HostileName("other"): 1, "tokens": 10**400, "more": 0.5}),
        {HostileName("conf"): 1, "team": "a"},
        {HostileName("other"): 1, "team": "a", "conf": 0.5},
        Sample(index=0, ok=True, vote="a", record={"team": "a"}, source=HostileSource("model")),
    ],
    ids=range(8),
)
@pytest.mark.parametrize(
    "options",
    [
        {"key": "team"},
        {"key": "team", "confidence_field": "conf", "one_vote_per_source": True, "weights": {"model": 0.5}},
        {"confidence_field": "conf", "normalize": "text", "min_sources": 1},
        {"confidence_field": "team", "normalize": {"conf": "number"}},
    ],
    ids=str,
)
def test_names_and_numbers_with_methods_of_their_own_do_not_raise(reply: Any, options: dict[str, Any]) -> None:
    result = tally([reply, reply], **options)
    assert result.num_samples == 2
    assert repr(result)
    assert result.explain()
    assert VoteResult.from_json(result.to_json()).num_samples == 2


def test_a_key_that_cannot_be_compared_is_a_missing_key_where_it_is_met() -> None:
    sample = tally([{HostileName("team"): 1}], key="team").samples[0]
    assert sample.code == "missing_key"


def test_usage_of_any_numbers_is_summed() -> None:
    usages: list[Any] = [
        {"cost": Decimal("0.1"), "n": numpy.int64(3), "mixed": Decimal("0.5"), "bad": Decimal("sNaN"), "flag": True},
        {"cost": Decimal("0.2"), "n": 4, "mixed": 0.25, "bad": "many", "flag": True},
    ]
    usage = tally([Reply('{"a": 1}', usage=each) for each in usages], key="a").usage
    assert usage == {"cost": Decimal("0.3"), "n": 7, "mixed": 0.75}


def test_a_reply_inside_a_reply_is_refused() -> None:
    result = vote(lambda prompt: Reply(Reply('{"a": 1}')), "?", n=1, key="a")
    assert result.samples[0].error == "no_json: the sampler returned a Reply inside a Reply"


@pytest.mark.parametrize("wrap", [lambda content: content, Reply])
def test_coroutines_are_put_away_wherever_they_turn_up(wrap: Any) -> None:
    async def ask() -> str:
        raise AssertionError

    async def ask_later(prompt: str) -> Any:
        return wrap(ask())

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "coroutine was never awaited" would be one
        results = [
            tally([wrap(ask())], key="a"),
            vote(lambda prompt: wrap(ask()), "?", n=1, key="a"),
            asyncio.run(avote(ask_later, "?", n=1, key="a")),
        ]
        gc.collect()
    assert [result.num_failed for result in results] == [1, 1, 1]
