"""The errors, and that everything public survives the way to another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from consilience import (
    AbstainError,
    ConsilienceError,
    MissingExtraError,
    Paraphrases,
    Reply,
    Sample,
    SettingsError,
    VoteSettings,
    tally,
    when_settled,
)

RESULT = tally(['{"a": 1, "b": 2}', "no idea"], key=("a", "b"))
ERRORS = [
    ConsilienceError("plain"),
    SettingsError("n must be an int of at least 1, got 0"),
    MissingExtraError("repair", "json-repair", "repair=True"),
    AbstainError(RESULT, "the vote abstained (tie)"),
]
VALUES = [
    RESULT,
    RESULT.field_agreement,
    RESULT.samples[0],
    Sample(index=0, ok=False, error="no_json: none"),
    Reply("text", usage={"tokens": 3}, source="a"),
    Paraphrases(["one", "another"]),
    VoteSettings(n=3, key=("a", "b"), stop=when_settled(), raise_on=KeyError, normalize={"a": "text"}),
    when_settled(),
]
WAYS: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol)) for protocol in range(6)),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_a_copy(error: Exception, way: Callable[[Any], Any]) -> None:
    again = way(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_survive_a_copy(value: Any, way: Callable[[Any], Any]) -> None:
    assert way(value) == value


def test_the_tree() -> None:
    assert issubclass(SettingsError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert not issubclass(AbstainError, ValueError)
    assert all(isinstance(error, ConsilienceError) for error in ERRORS)
