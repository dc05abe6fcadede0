"""Settings: every bad argument is named before the first call."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import itertools
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest
from pydantic import BaseModel

from consilience import ConsensusSettings, SettingsError, _errors, all_of
from consilience.voting import VoteSettings, avote, tally, vote, when_settled
from consilience.voting._fingerprint import fingerprint
from consilience.voting._settings import JUDGING_OPTIONS, VoteOptions, exceptions_of, merged_settings, rules_of

BAD_VALUES: list[tuple[str, Any]] = [
    ("n", 0),
    ("n", -1),
    ("concurrency", 0),
    ("min_sources", 0),
    ("min_valid", -0.1),
    ("min_valid", 60),
    ("min_agreement", 1.0000001),
    ("min_agreement", math.nan),
    ("max_weight", 0.5),
    ("max_weight", math.inf),
    ("timeout", 0),
    ("timeout", -1),
    ("deadline", math.nan),
    ("deadline", math.inf),
    ("prefer", "middle"),
    ("key", ""),
    ("key", ()),
    ("confidence_field", ""),
    ("normalize", "words"),
    ("weights", "agreement"),
    ("weights", {"a": 2}),
    ("weights", {"a": -1}),
    ("weights", {"a": math.nan}),
    ("weights", {"a": "1"}),
    ("weights", {"a": True}),
    ("repair", "always"),
    ("validator", {"type": "no such type"}),
]

BAD_TYPES: list[tuple[str, Any]] = [
    ("n", 2.0),
    ("n", True),
    ("n", "5"),
    ("concurrency", None),
    ("min_sources", 1.5),
    ("min_valid", "0.5"),
    ("min_agreement", None),
    ("min_agreement", True),
    ("count_failures", 1),
    ("abstain_on_tie", None),
    ("early_stop", "yes"),
    ("eager", 0),
    ("allow_nan", 1),
    ("one_vote_per_source", None),
    ("timeout", "1"),
    ("deadline", True),
    ("key", 5),
    ("key", ["a"]),
    ("confidence_field", 5),
    ("normalize", 5),
    ("weights", 5),
    ("validator", 5),
    ("stop", 5),
    ("stop", "when_settled"),
    ("stop", [5]),
    ("raise_on", ValueError("x")),
    ("raise_on", (ValueError, "x")),
    ("raise_on", int),
    ("on_sample", 5),
]


def forbidden(prompt: Any) -> str:
    raise AssertionError("a bad argument must be found before the first call")


def call_verbs(name: str, value: Any) -> list[Any]:
    verbs: list[Any] = [lambda: vote(forbidden, "?", **{name: value}), lambda: VoteSettings(**{name: value})]
    verbs.append(lambda: asyncio.run(avote(forbidden, "?", **{name: value})))
    if name in JUDGING_OPTIONS:
        verbs.append(lambda: tally([], **{name: value}))
    return verbs


@pytest.mark.parametrize(("name", "value"), BAD_VALUES, ids=str)
def test_bad_values_are_settings_errors(name: str, value: Any) -> None:
    for call in call_verbs(name, value):
        with pytest.raises(_errors.SettingsError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert name in str(caught.value) or name == "validator"


@pytest.mark.parametrize(("name", "value"), BAD_TYPES, ids=str)
def test_bad_types_are_type_errors(name: str, value: Any) -> None:
    for call in call_verbs(name, value):
        with pytest.raises(TypeError, match=name):
            call()


class HostileArgument:
    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment]


LARGEST = 1e308
HOSTILE_ARGUMENTS: list[Any] = [
    10**400,
    10**5000,
    -(10**5000),
    LARGEST,
    numpy.array([1, 2]),
    numpy.array(["first", "last"]),
    HostileArgument(),
    [HostileArgument()],
    (HostileArgument(),),
    {"a": HostileArgument()},
    {10**5000: 10**5000},
]


NAMES = [field.name for field in dataclasses.fields(VoteSettings)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, id=f"{name}-{type(value).__name__}")
        for name, value in itertools.product(NAMES, HOSTILE_ARGUMENTS)
        if not (name == "validator" and isinstance(value, dict))  # a JSON Schema, which the message names
        and not (name in ("timeout", "deadline") and value is LARGEST)
    ],
)
def test_arguments_that_cannot_be_compared_or_printed_are_named_all_the_same(name: str, value: Any) -> None:
    verbs = call_verbs(name, value)
    if name == "limiter":  # which kind is right depends on the verb
        del verbs[1]
    for call in verbs:
        with pytest.raises((_errors.SettingsError, TypeError), match=f"^{name}") as caught:
            call()
        assert len(str(caught.value)) < 400


def test_the_largest_weights_can_be_counted() -> None:
    weights = {str(number): 1e100 for number in range(50)}
    samplers = {name: lambda prompt: '{"a": 1}' for name in weights}
    result = vote(samplers, "?", n=50, key="a", weights=weights, max_weight=1e100)
    assert (result.value, result.agreement) == (1, 1.0)


def test_more_sources_than_samplers_are_never_there() -> None:
    for sampler in ([forbidden, forbidden], {"a": forbidden, "b": forbidden}):
        with pytest.raises(
            _errors.SettingsError, match=r"min_sources must be at most the number of samplers \(2\), got 3"
        ):
            vote(sampler, "?", min_sources=3)
        with pytest.raises(_errors.SettingsError, match="min_sources"):
            asyncio.run(avote(sampler, "?", min_sources=3))


def test_unknown_key_words_are_type_errors_with_a_hint() -> None:
    with pytest.raises(TypeError, match=r"vote\(\) got an unexpected keyword argument 'N'; did you mean 'n'\?"):
        vote(forbidden, "?", N=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="min_agreemnt"):
        vote(forbidden, "?", settings=VoteSettings(), min_agreemnt=0.6)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="concurrency"):
        tally([], concurrency=3)
    with pytest.raises(TypeError, match="unexpected"):
        VoteSettings(nn=5)  # type: ignore[call-arg]


async def asynchronous(value: Any) -> Any:
    raise AssertionError


class AsynchronousCall:
    async def __call__(self, value: Any) -> Any:
        raise AssertionError


@pytest.mark.parametrize("function", [asynchronous, functools.partial(asynchronous), AsynchronousCall()], ids=repr)
@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        *((name, lambda function: function) for name in ("key", "validator", "normalize", "weights", "on_sample")),
        ("stop", lambda function: function),
        ("stop", lambda function: [when_settled(), function]),
        ("key", lambda function: ("team", function)),
        ("key", lambda function: ("team", ("size", function))),
        ("normalize", lambda function: {"team": function}),
    ],
)
def test_asynchronous_functions_are_type_errors_where_nobody_would_await_them(
    name: str, wrap: Any, function: Any
) -> None:
    for call in call_verbs(name, wrap(function)):
        with pytest.raises(TypeError, match=f"{name} must be a plain function, got the asynchronous"):
            call()


def test_an_asynchronous_validator_among_several() -> None:
    with pytest.raises(TypeError, match="validator must be a plain function"):
        all_of(lambda record: True, AsynchronousCall())


def test_a_rule_that_returns_an_awaitable_stops_nothing() -> None:
    with pytest.raises(TypeError, match="stop must be a plain function"):
        vote(lambda prompt: "{}", "?", stop=lambda state: asynchronous(state))  # type: ignore[arg-type, return-value]


def test_repair_without_its_extra_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json_repair", None)
    for level in (True, "truncated"):
        with pytest.raises(ImportError, match=r'pip install "consilience\[repair\]"'):
            vote(forbidden, "?", repair=level)
    assert VoteSettings(repair="lenient").repair == "lenient"


def test_settings_must_be_settings() -> None:
    with pytest.raises(TypeError, match="settings must be a VoteSettings"):
        vote(forbidden, "?", settings={"n": 5})  # type: ignore[arg-type]


def test_key_words_replace_single_settings() -> None:
    base = VoteSettings(n=9, key="team", min_agreement=0.6)
    merged = merged_settings("vote", base, {"n": 3})
    assert (merged.n, merged.key, merged.min_agreement) == (3, "team", 0.6)
    assert merged_settings("vote", base, {}) is base
    assert merged_settings("vote", None, {"n": 3}) == VoteSettings(n=3)


def test_the_key_words_are_the_settings() -> None:
    names = [field.name for field in dataclasses.fields(VoteSettings)]
    assert list(VoteOptions.__annotations__) == names
    for verb in (vote, avote):
        assert list(inspect.signature(verb).parameters) == ["sampler", "prompt", "settings", *names]
    assert list(inspect.signature(tally).parameters) == ["replies", "settings", *JUDGING_OPTIONS]
    assert inspect.signature(vote).parameters["n"].default == 5
    assert inspect.signature(vote).parameters["stop"].default is None


def test_settings_are_frozen_and_can_be_pickled() -> None:
    settings = VoteSettings(n=3, key=("a", "b"), weights={"x": 0.5}, stop=when_settled(), raise_on=KeyError)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.n = 4  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert exceptions_of(settings) == (KeyError,)
    assert rules_of(settings) == (when_settled(),)


def test_early_stop_comes_after_the_rules_given() -> None:
    def mine(state: Any) -> bool:
        return False

    assert rules_of(VoteSettings(stop=[mine], early_stop=True)) == (mine, when_settled())
    assert rules_of(VoteSettings()) == ()


# --- fingerprints -----------------------------------------------------------------------------------------------------


class Ticket(BaseModel):
    team: str


def check_team(record: Any) -> bool:
    return "team" in record


def in_choices(*choices: str) -> Any:
    return lambda record: record["team"] in choices


@pytest.mark.parametrize(
    "options",
    [
        {"n": 6},
        {"key": "team"},
        {"key": ("team",)},
        {"min_valid": 0.6},
        {"min_agreement": 0.6},
        {"count_failures": False},
        {"abstain_on_tie": False},
        {"confidence_field": "c"},
        {"weights": "confidence"},
        {"weights": {"a": 0.5}},
        {"max_weight": 2.0},
        {"min_sources": 2},
        {"one_vote_per_source": True},
        {"repair": "lenient"},
        {"allow_nan": False},
        {"prefer": "last"},
        {"normalize": "text"},
        {"normalize": {"a": "text"}},
        {"validator": check_team},
        {"validator": Ticket},
        {"validator": {"type": "object"}},
        {"validator": in_choices("a")},
        {"validator": in_choices("b")},
        {"early_stop": True},
    ],
    ids=str,
)
def test_settings_that_decide_otherwise_have_another_fingerprint(options: dict[str, Any]) -> None:
    others = [VoteSettings(), VoteSettings(validator=in_choices("c")), VoteSettings(key="other")]
    assert fingerprint(VoteSettings(**options)) not in {fingerprint(other) for other in others}
    assert fingerprint(VoteSettings(**options)) == fingerprint(VoteSettings(**options))


def test_how_calls_are_made_does_not_matter() -> None:
    calls: dict[str, Any] = {"concurrency": 4, "timeout": 2, "deadline": 9, "raise_on": KeyError, "on_sample": print}
    assert fingerprint(VoteSettings(**calls)) == fingerprint(VoteSettings())


def test_functions_without_a_name_count_by_their_code() -> None:
    functions: list[Any] = [
        lambda record: record["a"],
        lambda record: record["b"],
        lambda record: record.a,
        lambda record: record.b,
        lambda record, name="a": record[name],
        lambda record, name="b": record[name],
        lambda record, *, name="a": record[name],
        lambda record: {name: record[name] for name in ("a", "b")},
        lambda record: [name for name in record if name in {"a", "b", "c"}],
        lambda record: [name for name in record if name in {"a", "b", "d"}],
        lambda record: (lambda inner: inner["a"])(record),
        lambda record: (lambda inner: inner["b"])(record),
        lambda record: record == b"a",
        lambda record: record == b"b",
    ]
    assert len({fingerprint(VoteSettings(key=function)) for function in functions}) == len(functions)
    assert len({fingerprint(VoteSettings(key=lambda record: record["a"])) for _ in range(3)}) == 1


def test_fingerprints_hold_nothing_of_this_process() -> None:
    class Callable1:
        def __call__(self, record: Any) -> bool:
            return True

    assert fingerprint(VoteSettings(validator=Callable1())) == fingerprint(VoteSettings(validator=Callable1()))
    code = (
        "from consilience.voting import VoteSettings; from consilience.voting._fingerprint import fingerprint;"
        "print(fingerprint(VoteSettings(validator={'enum': ['a', 'b']}, key='team', weights={'x': 0.5, 'y': 1})));"
        "print(fingerprint(VoteSettings(key=lambda record: record['a'] in {'a', 'b', 'c', 'd'})))"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_with_options_replaces_some_and_names_the_unknown() -> None:
    for settings in (VoteSettings(n=9), ConsensusSettings(n=9)):
        changed = settings.with_options(n=3, min_agreement=0.7)
        assert (changed.n, changed.min_agreement, settings.n, type(changed)) == (3, 0.7, 9, type(settings))
        assert settings.with_options() == settings
        with pytest.raises(TypeError, match=rf"{type(settings).__name__}\(\) got an unexpected .* did you mean 'n'"):
            settings.with_options(N=3)
        with pytest.raises(SettingsError, match="n must be"):
            settings.with_options(n=0)
