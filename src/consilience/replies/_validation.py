"""Validation: a validator looks at one candidate and accepts, rejects or replaces it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._errors import MissingExtraError, SettingsError

__all__ = [
    "Rejected",
    "Validator",
    "all_of",
    "as_validator",
    "field_in",
    "from_jsonschema",
    "from_pydantic",
    "validate",
]

Validator = Callable[[Any], Any]
"""Raises or returns False to reject, returns None or True to accept unchanged; any other value replaces the record."""


class Rejected(Exception):  # noqa: N818 - a verdict on a reply, caught inside the core, never an error of the user's
    """A validator turned a candidate down; the message says why."""


def validate(validator: Validator, record: Any) -> Any:
    """Apply a validator: the record as accepted or replaced.

    Raises:
        Rejected: the validator raised an Exception or returned False.
    """
    try:
        verdict = validator(record)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(_describe(error)) from error
    if verdict is False:
        raise Rejected("the validator returned False")
    return record if verdict is None or verdict is True else verdict


def _describe(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an exception whose own text cannot be made
        return type(error).__name__


def as_validator(validator: Any) -> Validator | None:
    """Make a validator of what ``validator=`` takes: None, a callable, a pydantic model class or a JSON Schema dict.

    Raises:
        TypeError: it is none of these.
        SettingsError, MissingExtraError: the JSON Schema is wrong, or its library is not installed.
    """
    if validator is None:
        return None
    if isinstance(validator, Mapping):
        return from_jsonschema(validator)
    if isinstance(validator, type) and hasattr(validator, "model_validate"):
        return from_pydantic(validator)
    if not callable(validator):
        raise TypeError(
            "validator must be None, a callable, a pydantic model class or a JSON Schema dict, "
            f"got {type(validator).__name__}"
        )
    if inspect.iscoroutinefunction(validator) or inspect.iscoroutinefunction(type(validator).__call__):
        raise TypeError("validator must be a plain function, got an asynchronous one")
    result: Validator = validator
    return result


def field_in(name: str, choices: Iterable[str], *, ignore_case: bool = False) -> Validator:
    """Accept a record only if a field holds one of the given values.

    Args:
        name: the field, at the top level of the record.
        choices: the values allowed.
        ignore_case: compare text without regard to case and outer space, and write the spelling from ``choices`` into
            the record (a copy: the candidate itself is left alone).

    Returns:
        A validator; it rejects records that are no mapping and records that lack the field.

    Raises:
        TypeError: ``name`` is not text, or ``choices`` is one text instead of several.
        SettingsError: ``choices`` is empty, or two of them differ only in case while ``ignore_case`` is on.

    Example:
        >>> check = field_in("team", ["billing", "shipping"], ignore_case=True)
        >>> check({"team": " Billing"})
        {'team': 'billing'}
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, got {type(name).__name__}")
    if isinstance(choices, str | bytes):
        raise TypeError(f"choices must be several values, got one {type(choices).__name__}")
    allowed = list(choices)
    if not allowed:
        raise SettingsError("choices must hold at least one value, got none")
    folded = {_fold(choice): choice for choice in allowed} if ignore_case else {}
    if ignore_case and len(folded) < len({_typed(choice) for choice in allowed}):
        raise SettingsError(f"choices must differ in more than case when ignore_case is on, got {allowed!r}")

    def check(record: Any) -> Any:
        if not isinstance(record, Mapping):
            raise Rejected(f"expected an object with the field {name!r}, got {type(record).__name__}")
        if name not in record:
            raise Rejected(f"the field {name!r} is missing")
        value = record[name]
        if ignore_case and isinstance(value, str):
            choice = folded.get(_fold(value))
            if choice is not None:
                return record if choice == value else {**record, name: choice}
        elif any(type(value) is type(choice) and value == choice for choice in allowed):
            return True
        raise Rejected(f"{name} must be one of {', '.join(map(repr, allowed))}, got {_short(value)}")

    return check


def _fold(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else _typed(value)


def _typed(value: Any) -> Any:
    return (type(value), value)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # a record may hold any object a sampler returns
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def all_of(*validators: Any) -> Validator:
    """Apply several validators in turn; each sees what the former made of the record.

    Args:
        validators: at least one of what ``validator=`` takes.

    Raises:
        SettingsError: there is none.
        TypeError: one of them is not a validator.

    Example:
        >>> both = all_of(field_in("team", ["billing"]), lambda record: {**record, "checked": True})
        >>> both({"team": "billing"})
        {'team': 'billing', 'checked': True}
    """
    if not validators:
        raise SettingsError("all_of needs at least one validator, got none")
    if None in validators:
        raise TypeError("validators must be validators, got None among them")
    chain = [check for check in map(as_validator, validators) if check]

    def check_all(record: Any) -> Any:
        for check in chain:
            record = validate(check, record)
        return record

    return check_all


def from_pydantic(model: Any) -> Validator:
    """Accept what a pydantic model accepts; the record becomes the instance.

    A record that is an instance already is taken as it is. Text values are coerced as the model's configuration says
    (pydantic reads JSON strings such as ``"2026-11-30"`` into dates unless the model is strict).

    Args:
        model: a pydantic model class (version 2).

    Raises:
        TypeError: it is not one.

    Example:
        >>> from pydantic import BaseModel
        >>> class Ticket(BaseModel):
        ...     team: str
        >>> from_pydantic(Ticket)({"team": "billing"})
        Ticket(team='billing')
    """
    from pydantic import BaseModel, ValidationError

    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"model must be a pydantic model class, got {_short(model)}")

    def check(record: Any) -> Any:
        try:
            return model.model_validate(record)
        except ValidationError as error:
            raise Rejected(_pydantic_message(error)) from error

    return check


def _pydantic_message(error: Any) -> str:
    parts = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(map(str, item["loc"]))
        parts.append(f"{place}: {item['msg']}" if place else item["msg"])
    return "; ".join(parts)


def from_jsonschema(schema: Mapping[str, Any]) -> Validator:
    """Accept what a JSON Schema accepts, unchanged. Needs the extra ``jsonschema``.

    Args:
        schema: the schema, checked once, here. The draft is that of its ``$schema``, else the newest.

    Raises:
        TypeError: ``schema`` is not a mapping.
        SettingsError: it is not a valid schema.
        MissingExtraError: jsonschema-rs is not installed.

    Example:
        >>> check = from_jsonschema({"type": "object", "required": ["team"]})
        >>> check({"team": "billing"})
        True
    """
    if not isinstance(schema, Mapping):
        raise TypeError(f"schema must be a dict, got {type(schema).__name__}")
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("jsonschema", "jsonschema-rs", "a JSON Schema validator") from None
    try:
        compiled = jsonschema_rs.validator_for(dict(schema))
    except Exception as error:
        raise SettingsError(f"schema must be a valid JSON Schema, got {_short(dict(schema))}: {error}") from error

    def check(record: Any) -> Any:
        first = next(iter(compiled.iter_errors(_as_json(record))), None)
        if first is None:
            return True
        place = ".".join(map(str, first.instance_path))
        raise Rejected(f"{place}: {first.message}" if place else first.message)

    return check


def _as_json(record: Any) -> Any:
    """The JSON form of a record that a sampler handed over as an object."""
    if hasattr(type(record), "model_dump"):
        return record.model_dump(mode="json")
    if isinstance(record, dict | list):
        return record
    return json.loads(json.dumps(record, default=vars))
