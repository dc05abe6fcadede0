"""Turns: which sampler and which wording each call gets, and what is still pending."""

from __future__ import annotations

import random
from typing import Any

import pytest

from consilience import _errors
from consilience.voting import Paraphrases
from consilience.voting._pending import Pending
from consilience.voting._turns import Turns
from consilience.voting._weights import UNIT, Weigher


def ask(prompt: Any) -> str:
    return "{}"


def schedule(turns: Turns, n: int) -> list[tuple[Any, ...]]:
    return [(call.source, call.prompt, call.prompt_index) for call in map(turns.call, range(n))]


def test_paraphrases_take_turns() -> None:
    assert schedule(Turns(ask, ["a", "b", "c"]), 4) == [(None, "a", 0), (None, "b", 1), (None, "c", 2), (None, "a", 0)]


def test_samplers_take_turns_before_wordings() -> None:
    turns = Turns({"x": ask, "y": len}, ["a", "b", "c"])
    assert schedule(turns, 7) == [
        ("x", "a", 0),
        ("y", "a", 0),
        ("x", "b", 1),
        ("y", "b", 1),
        ("x", "c", 2),
        ("y", "c", 2),
        ("x", "a", 0),
    ]
    assert [turns.call(i).sampler for i in range(2)] == [ask, len]
    assert turns.call(5).index == 5


@pytest.mark.parametrize("samplers", [[ask, ask], (ask, ask)])
def test_listed_samplers_are_named_by_position(samplers: Any) -> None:
    assert Turns(samplers, "?").sources == ("0", "1")


@pytest.mark.parametrize(
    "prompt", ["text", {"question": "?"}, [{"role": "user"}], ["a", {"role": "user"}], ("a", "b"), None, 5]
)
def test_anything_else_is_one_prompt(prompt: Any) -> None:
    turns = Turns(ask, prompt)
    assert [turns.call(i).prompt for i in range(3)] == [prompt] * 3


def test_paraphrases_of_messages() -> None:
    chats = [[{"role": "user", "content": text}] for text in ("a", "b")]
    assert [Turns(ask, Paraphrases(chats)).call(i).prompt for i in range(3)] == [chats[0], chats[1], chats[0]]
    assert len(Paraphrases(chats)) == 2
    assert Paraphrases(chats) == Paraphrases(iter(chats))


@pytest.mark.parametrize(("sampler", "prompt"), [({}, "?"), ([], "?"), (ask, [])], ids=str)
def test_nothing_to_draw_is_an_error(sampler: Any, prompt: Any) -> None:
    with pytest.raises(_errors.SettingsError):
        Turns(sampler, prompt)


@pytest.mark.parametrize("sampler", ["text", None, 5, [5], {"a": None}, {5: ask}, {"a": ask, "b": "model"}], ids=str)
def test_samplers_of_other_types_are_errors(sampler: Any) -> None:
    with pytest.raises(TypeError, match="sampler"):
        Turns(sampler, "?")


def test_no_paraphrases_is_an_error() -> None:
    with pytest.raises(_errors.SettingsError):
        Paraphrases([])
    for wrong in ("text", b"text", {"a": 1}, 5):
        with pytest.raises(TypeError):
            Paraphrases(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_pending_adds_up(seed: int) -> None:
    rng = random.Random(seed)
    n, names = rng.randint(1, 30), [f"s{i}" for i in range(rng.randint(1, 4))]
    turns = Turns(dict.fromkeys(names, ask), "?")
    weigher = Weigher({name: rng.choice([0.0, 0.5, 1.0]) for name in names}, 1.0)
    pending = Pending(n, turns, weigher, track_sources=rng.random() < 0.7)
    states = dict.fromkeys(range(n), "waiting")
    for _ in range(2 * n):
        flying = [index for index, state in states.items() if state == "flying"]
        if "waiting" in states.values() and (not flying or rng.random() < 0.6):
            states[pending.launch()] = "flying"
        elif flying:
            index = rng.choice(flying)
            pending.land(index)
            states[index] = "landed"
        for tranche, kinds in (
            (pending.flight(), {"flying"}),
            (pending.waiting(), {"waiting"}),
            (pending.everything(), {"flying", "waiting"}),
        ):
            indexes = [index for index, state in states.items() if state in kinds]
            assert tranche.samples == len(indexes)
            assert not indexes or tranche.lowest == min(indexes)
            assert tranche.weight == sum(weigher.ceiling(turns.source(i)) for i in indexes)
            if tranche.by_source is not None:
                assert {s: calls for s, (calls, _) in tranche.by_source.items()} == {
                    s: k for s in names if (k := sum(turns.source(i) == s for i in indexes))
                }


def test_unweighted_calls_weigh_one_each() -> None:
    pending = Pending(4, Turns(ask, "?"), Weigher(None, 1.0), track_sources=True)
    assert pending.everything() == (4, 0, 4 * UNIT, None)
