"""Outputs: the fields that a module gives, their types, and their values as JSON and back."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import dspy
from pydantic import AliasChoices, BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from consilience import ballot

__all__ = [
    "allows_none",
    "as_json",
    "exact_fields_of",
    "from_json",
    "is_reasoning",
    "outputs_model",
    "signature_of",
    "types_of",
]

_REASONING_TYPE = getattr(dspy, "Reasoning", None)
"""A model's own reasoning, in the versions of DSPy that know it."""


def is_reasoning(name: str, types: Mapping[str, Any]) -> bool:
    """Whether a module thinks aloud in this field: no two samples agree on it, and nobody asked for it."""
    return name == "reasoning" or (_REASONING_TYPE is not None and types.get(name) is _REASONING_TYPE)


def signature_of(module: Any) -> Any:
    """The signature that says what a module gives; None where only a run can tell."""
    if isinstance(module, dspy.ChainOfThought):
        return signature_of(module.predict)
    if isinstance(module, (dspy.BestOfN, dspy.Refine)):
        return signature_of(module.module)
    declared = getattr(module, "signature", None)
    return declared if hasattr(declared, "output_fields") else None


def exact_fields_of(module: Any) -> list[str] | None:
    """The output fields of a module that gives these and no others; None where it may be otherwise."""
    if isinstance(module, (dspy.BestOfN, dspy.Refine)):
        return exact_fields_of(module.module)
    exact = type(module) in (dspy.Predict, dspy.ChainOfThought)
    return list(types_of(signature_of(module))) if exact else None


def types_of(signature: Any) -> dict[str, Any]:
    """The output fields of a signature in their order, with their types; none without a signature."""
    return dict(_types(signature)) if signature is not None else {}


@functools.lru_cache(maxsize=256)
def _types(signature: Any) -> Mapping[str, Any]:
    return {name: field.rebuild_annotation() for name, field in signature.output_fields.items()}


@functools.lru_cache(maxsize=256)
def outputs_model(signature: Any) -> Any:
    """A pydantic model of the output fields, with their types and comparators."""
    types = _types(signature)
    parts: dict[str, Any] = {name: (kind, ...) for name, kind in types.items() if not is_reasoning(name, types)}
    # Names such as "model_name" are nobody's business but the user's.
    config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
    return create_model(signature.__name__, __config__=config, **parts)


def as_json(value: Any, kind: Any = Any) -> Any:
    """A value as plain JSON, by its type; what has no JSON form stays as it is, to be compared by the core's rules.

    Of the ways to write it the first is taken that the type reads as the same value: an alias or a serializer of the
    user's may write what the type does not read.
    """
    if value is None or type(value) in (str, bool, int, float):
        return value
    adapter = _adapter(kind)
    forms: list[Any] = []
    for write in (_by_alias, _by_name, _by_structure):
        with suppress(Exception):  # a serializer or a validator of the user's may raise anything
            forms.append(write(adapter, value))
            read = adapter.validate_python(forms[-1])
            if read == value or ballot(read) == ballot(value):  # NaN equals nothing; a comparison takes less time
                return forms[-1]
    return forms[0] if forms else value


def _by_alias(adapter: TypeAdapter[Any], value: Any) -> Any:
    return _dumped(adapter, value, by_alias=True)


def _by_name(adapter: TypeAdapter[Any], value: Any) -> Any:
    return _dumped(adapter, value, by_alias=False)


def _dumped(adapter: TypeAdapter[Any], value: Any, by_alias: bool) -> Any:
    written = adapter.dump_python(value, mode="json", by_alias=by_alias, warnings=False)
    return _in_order(written, adapter.dump_python(value, by_alias=by_alias, warnings=False))


def _by_structure(_adapter: TypeAdapter[Any], value: Any) -> Any:
    """As the fields are read, whatever a serializer or an alias would make of them."""
    return _structure(value)


def _structure(value: Any) -> Any:
    if isinstance(value, BaseModel):
        parts = type(value).model_fields.items()
        return {
            _read_name(name, part): _structure(getattr(value, name)) for name, part in parts if part.exclude is not True
        }
    if isinstance(value, dict):
        return {name: _structure(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_structure(part) for part in value]
    return as_json(value)


def _read_name(name: str, field: Any) -> str:
    """The name by which a model reads a field."""
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return next((choice for choice in choices if isinstance(choice, str)), name)


def from_json(value: Any, kind: Any) -> Any:
    """The object that a JSON value stands for, by its type; the value itself where the type does not take it."""
    try:
        return _adapter(kind).validate_python(value)
    except Exception:  # a validator of the user's may raise anything
        return value


def allows_none(kind: Any) -> bool:
    """Whether None is an answer of this type and not the lack of one.

    Example:
        >>> [allows_none(str), allows_none(str | None), allows_none(Any)]
        [False, True, True]
    """
    try:
        return _adapter(kind).validate_python(None) is None
    except ValidationError:
        return False
    except Exception:
        return True


def _in_order(written: Any, original: Any) -> Any:
    """JSON has no sets; to be compared, their members need an order that is the same for every sample."""
    if isinstance(original, (set, frozenset)) and isinstance(written, list):
        return sorted(written, key=ballot)
    if isinstance(original, dict) and isinstance(written, dict):
        return {name: _in_order(part, was) for (name, part), was in _paired(written.items(), original.values())}
    if isinstance(original, (list, tuple)) and isinstance(written, list):
        return [_in_order(part, was) for part, was in _paired(written, original)]
    return written


def _paired(written: Iterable[Any], original: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(written, original, strict=False)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(kind)
    except Exception:  # a type that cannot be hashed, or that pydantic knows nothing of
        return _cached_adapter(Any)


@functools.lru_cache(maxsize=1024)
def _cached_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
