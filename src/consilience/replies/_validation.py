"""Validation: a validator looks at one candidate and accepts, rejects or replaces it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .._coroutines import require_plain_function
from .._errors import MissingExtraError, SettingsError, received

__all__ = [
    "Rejected",
    "Validator",
    "all_of",
    "as_validator",
    "field_in",
    "from_jsonschema",
    "from_pydantic",
    "is_boolean",
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
    if verdict is None or is_boolean(verdict, True):
        return record
    if is_boolean(verdict, False):
        raise Rejected("the validator returned False")
    return verdict


def is_boolean(verdict: Any, wanted: bool) -> bool:
    """Whether the verdict is this boolean, Python's own or numpy's (which a comparison of numpy values gives)."""
    if verdict is wanted:
        return True
    kind = type(verdict)
    return kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_") and bool(verdict) is wanted


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
    require_plain_function("validator", validator)
    result: Validator = validator
    return result


def field_in(name: str, choices: Iterable[Any], *, ignore_case: bool = False) -> Validator:
    """Accept a record only if a field holds one of the given values.

    Args:
        name: the field, at the top level of the record (of a mapping, a pydantic model or a dataclass).
        choices: the values allowed; members of an enumeration stand for their values.
        ignore_case: compare text without regard to case and outer space, and write the spelling from ``choices`` into
            the record (a copy: the candidate itself is left alone).

    Returns:
        A validator; it rejects records without fields and records that lack this one.

    Raises:
        TypeError: ``name`` is not text, ``choices`` is not several values, or ``ignore_case`` is no boolean.
        SettingsError: ``choices`` is empty, or two of them differ only in case while ``ignore_case`` is on.

    Example:
        >>> check = field_in("team", ["billing", "shipping"], ignore_case=True)
        >>> check({"team": " Billing"})
        {'team': 'billing'}
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, got {type(name).__name__}")
    if isinstance(choices, str | bytes) or not isinstance(choices, Iterable):
        raise TypeError(f"choices must be several values, got {type(choices).__name__}")
    if not isinstance(ignore_case, bool):
        raise TypeError(f"ignore_case must be True or False, got {type(ignore_case).__name__}")
    allowed = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    if not allowed:
        raise SettingsError("choices must hold at least one value, got none")
    texts = {choice for choice in allowed if isinstance(choice, str)} if ignore_case else set()
    folded = {_fold(text): text for text in texts}
    if len(folded) < len(texts):
        raise SettingsError(f"choices must differ in more than case when ignore_case is on, got {received(allowed)}")

    return _FieldIn(name, tuple(allowed), folded)


@dataclass(frozen=True, slots=True)
class _FieldIn:
    """See ``field_in``; ``folded`` maps each choice without its case to its spelling, if that is to be ignored."""

    name: str
    allowed: tuple[Any, ...] = field(hash=False)
    folded: dict[str, str] = field(hash=False)

    def __call__(self, record: Any) -> Any:
        value = _field(record, self.name)
        choice = self.folded.get(_fold(value)) if isinstance(value, str) else None
        if choice is not None:
            return record if choice == value else _with_field(record, self.name, choice)
        if any(type(value) is type(each) and value == each for each in self.allowed):
            return True
        raise Rejected(f"{self.name} must be one of {', '.join(map(received, self.allowed))}, got {received(value)}")


def _fold(text: str) -> str:
    return text.strip().casefold()


def _field(record: Any, name: str) -> Any:
    """The value of a field, or of the enumeration's member that it holds."""
    if isinstance(record, Mapping):
        present, value = name in record, record.get(name)
    elif _has_fields(record):
        present, value = hasattr(record, name), getattr(record, name, None)
    else:
        raise Rejected(f"expected an object with the field {name!r}, got {type(record).__name__}")
    if not present:
        raise Rejected(f"the field {name!r} is missing")
    return value.value if isinstance(value, Enum) else value


def _has_fields(record: Any) -> bool:
    return not isinstance(record, type) and (
        dataclasses.is_dataclass(record) or isinstance(getattr(type(record), "model_fields", None), Mapping)
    )


def _with_field(record: Any, name: str, value: str) -> Any:
    """A copy of the record with another spelling in one field."""
    if isinstance(record, Mapping):
        return {**record, name: value}
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return dataclasses.replace(record, **{name: value})
    return record.model_copy(update={name: value})


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
    if any(each is None for each in validators):
        raise TypeError("validators must be validators, got None among them")
    return _AllOf(tuple([check for check in map(as_validator, validators) if check]))


@dataclass(frozen=True, slots=True)
class _AllOf:
    """See ``all_of``."""

    checks: tuple[Validator, ...]

    def __call__(self, record: Any) -> Any:
        for check in self.checks:
            record = validate(check, record)
        return record


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
    from pydantic import BaseModel

    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"model must be a pydantic model class, got {received(model)}")
    return _FromPydantic(model)


@dataclass(frozen=True, slots=True)
class _FromPydantic:
    """See ``from_pydantic``."""

    model: Any

    def __call__(self, record: Any) -> Any:
        from pydantic import ValidationError

        try:
            return self.model.model_validate(record)
        except ValidationError as error:
            if self.model.model_config.get("strict") and isinstance(record, dict | list):
                return _from_json(self.model, record, error)
            raise Rejected(_pydantic_message(error)) from error


def _from_json(model: Any, record: Any, refusal: Any) -> Any:
    """A strict model takes dates and enumerations as text only where it knows that they come from JSON, as here."""
    try:
        return model.model_validate_json(json.dumps(record))
    except ValueError:
        raise Rejected(_pydantic_message(refusal)) from refusal


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
    return _FromJsonSchema(dict(schema))


@dataclass(frozen=True, slots=True)
class _FromJsonSchema:
    """See ``from_jsonschema``. What was compiled cannot be pickled and is compiled again by whoever unpickles it."""

    schema: dict[str, Any] = field(hash=False)
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", _compiled(self.schema))

    def __reduce__(self) -> tuple[type[_FromJsonSchema], tuple[dict[str, Any]]]:
        return type(self), (self.schema,)

    def __call__(self, record: Any) -> Any:
        first = next(iter(self._compiled.iter_errors(_as_json(record))), None)
        if first is None:
            return True
        place = ".".join(map(str, first.instance_path))
        raise Rejected(f"{place}: {first.message}" if place else first.message)


def _compiled(schema: dict[str, Any]) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("jsonschema", "jsonschema-rs", "a JSON Schema validator") from None
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse_to_retrieve)
    except Exception as error:
        raise SettingsError(f"schema must be a valid JSON Schema, got {received(schema)}: {error}") from error


def _refuse_to_retrieve(uri: str) -> Any:
    raise ValueError(f"the schema must hold what it refers to; {uri} is not fetched")


def _as_json(record: Any) -> Any:
    """The JSON form of a record that a sampler handed over as an object."""
    if hasattr(type(record), "model_dump"):
        return record.model_dump(mode="json")
    if isinstance(record, dict | list):
        return record
    return json.loads(json.dumps(record, default=vars))
