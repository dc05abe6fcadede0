"""Validators: accept, reject, replace; what is wrong with a validator itself is said at once."""

from __future__ import annotations

import copy
import pickle
import sys
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from consilience import (
    ConsilienceError,
    MissingExtraError,
    SettingsError,
    VoteSettings,
    all_of,
    extract_json,
    field_in,
    from_jsonschema,
    from_pydantic,
    tally,
)
from consilience.replies import Rejected, as_validator, validate


class Ticket(BaseModel):
    team: str
    total: Decimal = Decimal(0)

    @field_validator("team")
    @classmethod
    def known(cls, team: str) -> str:
        if team == "nobody":
            raise ValueError("nobody is no team")
        return team


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("verdict", "result"), [(None, {"a": 1}), (True, {"a": 1}), ("other", "other"), (0, 0), ([], [])]
)
def test_verdicts(verdict: Any, result: Any) -> None:
    assert validate(lambda record: verdict, {"a": 1}) == result


def test_false_and_exceptions_reject() -> None:
    def angry(record: Any) -> Any:
        raise KeyError("team")

    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def mute(record: Any) -> Any:
        raise MuteError

    with pytest.raises(Rejected, match="returned False"):
        validate(lambda record: False, {})
    with pytest.raises(Rejected, match="KeyError: 'team'"):
        validate(angry, {})
    with pytest.raises(Rejected, match="MuteError"):
        validate(mute, {})


def test_an_interrupt_is_no_rejection() -> None:
    def interrupted(record: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        validate(interrupted, {})


def test_field_in() -> None:
    check = field_in("team", ["billing", "shipping"])
    assert check({"team": "billing"}) is True
    for record in ({"team": "Billing"}, {"team": None}, {}, ["billing"], "billing", {"team": ["billing"]}):
        with pytest.raises(Rejected):
            check(record)


def test_field_in_writes_the_spelling_of_the_choice_into_a_copy() -> None:
    check = field_in("team", ["Billing", "Straße"], ignore_case=True)
    record = {"team": " bILLING\n", "n": 1}
    assert check(record) == {"team": "Billing", "n": 1}
    assert record == {"team": " bILLING\n", "n": 1}
    assert check({"team": "STRASSE"}) == {"team": "Straße"}
    with pytest.raises(Rejected, match="team must be one of 'Billing', 'Straße', got 'other'"):
        check({"team": "other"})


def test_field_in_keeps_types_apart() -> None:
    check = field_in("n", [1, "1", None])  # type: ignore[list-item]
    assert check({"n": 1}) is True
    assert check({"n": None}) is True
    for value in (True, 1.0, "null"):
        with pytest.raises(Rejected):
            check({"n": value})


def test_field_in_says_what_it_got_even_of_hostile_objects() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    for ignore_case in (False, True):
        with pytest.raises(Rejected, match="got <Hostile>"):
            validate(field_in("a", ["b"], ignore_case=ignore_case), {"a": Hostile()})


class Team(str, Enum):
    BILLING = "billing"
    SHIPPING = "shipping"


@dataclass(frozen=True)
class Routed:
    team: Any


def test_field_in_takes_an_enumeration() -> None:
    for ignore_case in (False, True):
        check = field_in("team", Team, ignore_case=ignore_case)
        assert validate(check, {"team": "billing"}) == {"team": "billing"}
        assert validate(check, {"team": Team.BILLING}) == {"team": Team.BILLING}
        with pytest.raises(Rejected):
            validate(check, {"team": "BILLING "} if not ignore_case else {"team": "x"})
    assert type(validate(field_in("team", Team, ignore_case=True), {"team": "Billing"})["team"]) is str


def test_field_in_reads_models_and_dataclasses() -> None:
    check = field_in("team", ["a", "b"], ignore_case=True)
    assert validate(all_of(Ticket, check), {"team": " A"}) == Ticket(team="a")
    assert validate(check, Routed("B")) == Routed("b")
    with pytest.raises(Rejected, match="team must be one of"):
        validate(check, Ticket(team="c"))
    with pytest.raises(Rejected, match="'city' is missing"):
        validate(field_in("city", ["a"]), Routed("b"))
    with pytest.raises(Rejected, match="expected an object"):
        validate(check, Routed)


def test_verdicts_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert validate(lambda record: numpy.bool_(True), {"a": 1}) == {"a": 1}
    with pytest.raises(Rejected, match="returned False"):
        validate(lambda record: numpy.float64(1) > 2, {"a": 1})


def test_strict_models_read_what_json_can_say() -> None:
    class Due(BaseModel, strict=True):
        day: date
        team: Team

    record = {"day": "2026-11-30", "team": "billing"}
    assert validate(from_pydantic(Due), record) == Due(day=date(2026, 11, 30), team=Team.BILLING)
    with pytest.raises(Rejected, match="day"):
        validate(from_pydantic(Due), {"day": 3, "team": "billing"})


def test_all_of_passes_on_what_the_former_made() -> None:
    check = all_of(field_in("team", ["billing"], ignore_case=True), Ticket, lambda ticket: ticket.team)
    assert check({"team": "BILLING"}) == "billing"
    with pytest.raises(Rejected, match="team must be one of"):
        check({"team": "x"})


def test_from_pydantic() -> None:
    check = from_pydantic(Ticket)
    assert check({"team": "a", "total": "1.50"}) == Ticket(team="a", total=Decimal("1.50"))
    ticket = Ticket(team="a")
    assert check(ticket) is ticket
    with pytest.raises(Rejected, match="team: Field required"):
        check({})
    with pytest.raises(Rejected, match="nobody is no team"):
        check({"team": "nobody"})


def test_from_jsonschema() -> None:
    check = from_jsonschema(SCHEMA)
    assert check({"n": 3}) is True
    with pytest.raises(Rejected, match="n: 0 is less than"):
        check({"n": 0})
    with pytest.raises(Rejected, match="required"):
        check({})
    assert check(OrderedDict(n=1)) is True


def test_from_jsonschema_reads_objects_by_their_json_form() -> None:
    @dataclass
    class Count:
        n: int

    class Model(BaseModel):
        n: int

    check = from_jsonschema(SCHEMA)
    assert check(Count(1)) is True
    assert check(Model(n=1)) is True
    with pytest.raises(Rejected):
        check(Count(0))


def test_big_integers_pass_a_schema_unchanged() -> None:
    reply = '{"n": 98765432109876543210987}'
    assert extract_json(reply, SCHEMA) == {"n": 98765432109876543210987}


def test_classes_and_schemas_are_wrapped_by_themselves() -> None:
    assert extract_json('{"team": "a"}', Ticket) == Ticket(team="a")
    assert extract_json('{"n": 0} {"n": 2}', SCHEMA) == {"n": 2}
    assert as_validator(None) is None


async def asynchronous(record: Any) -> Any:
    return record


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: field_in("a", []), SettingsError, "choices must hold at least one value"),
        (lambda: field_in("a", "billing"), TypeError, "choices must be several values, got str"),
        (lambda: field_in(1, ["a"]), TypeError, "name must be a str, got int"),
        (lambda: field_in("a", ["x", "X"], ignore_case=True), SettingsError, "differ in more than case"),
        (lambda: field_in("a", None), TypeError, "choices must be several values, got NoneType"),
        (lambda: field_in("a", 5), TypeError, "choices must be several values, got int"),
        (lambda: field_in("a", ["x"], ignore_case="no"), TypeError, "ignore_case must be True or False, got str"),
        (lambda: from_jsonschema({"$ref": "http://127.0.0.1:9/s"}), SettingsError, "is not fetched"),
        (lambda: from_jsonschema({"$ref": "file:///etc/hostname"}), SettingsError, "is not fetched"),
        (lambda: all_of(), SettingsError, "at least one validator"),
        (lambda: all_of(None), TypeError, "got None among them"),
        (lambda: all_of(3), TypeError, "validator must be None, a callable, .* got int"),
        (lambda: from_pydantic(dict), TypeError, "model must be a pydantic model class"),
        (lambda: from_pydantic(Ticket(team="a")), TypeError, "model must be a pydantic model class"),
        (lambda: from_jsonschema([]), TypeError, "schema must be a dict, got list"),
        (lambda: from_jsonschema({"type": "integr"}), SettingsError, "schema must be a valid JSON Schema"),
        (lambda: as_validator("field"), TypeError, "got str"),
        (lambda: as_validator(asynchronous), TypeError, "got the asynchronous"),
        (lambda: all_of(asynchronous), TypeError, "got the asynchronous"),
    ],
)
def test_bad_validators(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_missing_extras_give_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    monkeypatch.setitem(sys.modules, "json_repair", None)
    with pytest.raises(ImportError, match=r'pip install "consilience\[jsonschema\]"'):
        from_jsonschema({})
    with pytest.raises(MissingExtraError, match=r'pip install "consilience\[repair\]"') as caught:
        extract_json("{}", repair=True)
    assert isinstance(caught.value, ConsilienceError)
    assert caught.value.extra == "repair"


READY_MADE = {
    "field_in": lambda: field_in("team", ["billing", 5, ["a list"]]),
    "field_in, ignoring case": lambda: field_in("team", ["Billing"], ignore_case=True),
    "from_pydantic": lambda: from_pydantic(Ticket),
    "from_jsonschema": lambda: from_jsonschema({"required": ["team"], "properties": {"team": {"const": "billing"}}}),
    "all_of": lambda: all_of(field_in("team", ["billing"]), from_pydantic(Ticket), {"type": "object"}),
}


def verdict(validator: Any, record: Any) -> Any:
    try:
        return validate(validator, record)
    except Rejected as error:
        return str(error)


@pytest.mark.parametrize("make", READY_MADE.values(), ids=READY_MADE)
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["copy", "deep", "pickle"]
)
def test_ready_made_validators_survive_the_way_to_another_process(make: Any, again: Any) -> None:
    validator = make()
    restored = again(validator)
    assert restored == validator == make()
    assert hash(restored) == hash(validator)
    for record in ({"team": "billing"}, {"team": "shipping"}, {"team": "nobody"}, {}):
        assert verdict(restored, record) == verdict(validator, record)
    settings = VoteSettings(key="team", validator=validator)
    assert again(settings) == settings
    assert hash(again(settings)) == hash(settings)
    assert tally(['{"team": "billing"}'], settings=again(settings)).settings_hash == (
        tally(['{"team": "billing"}'], settings=settings).settings_hash
    )


def test_validators_that_check_otherwise_are_not_equal() -> None:
    validators = [make() for make in READY_MADE.values()]
    for position, one in enumerate(validators):
        assert [one == other for other in validators] == [position == each for each in range(len(validators))]
    assert from_jsonschema({"type": "object"}) != from_jsonschema({"type": "array"})
