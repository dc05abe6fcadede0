"""The schema: what type each field has, how it is compared, and what the whole record must satisfy."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .._errors import MissingExtraError, SettingsError
from ._comparators import Comparator, Ordered
from ._layout import JsonSchemaLayout, Layout
from ._paths import Path
from ._resolvers import OMIT

__all__ = ["Built", "Cleaned", "JsonSchema", "Schema", "as_schema", "outermost", "without"]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A revision without the fields that do not fit the schema; ``dropped`` are the paths of those."""

    record: Any
    dropped: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """A merged record as the schema's own value; ``value`` is None when it does not satisfy the schema.

    ``missing`` are the paths where it does not; ``inconsistent`` says that only a model-wide validator objects.
    """

    value: Any
    missing: tuple[Path, ...] = ()
    inconsistent: bool = False
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the record satisfies the schema."""
        return not self.missing and not self.inconsistent


class Schema(Protocol):
    """What the merger asks of a schema."""

    @property
    def rules(self) -> Mapping[Path, Comparator]:
        """How values are compared, by pattern."""
        ...

    @property
    def layout(self) -> Layout:
        """Which paths the schema has room for."""
        ...

    @property
    def has_constraints(self) -> bool:
        """Whether the schema has validators that look at several fields at once."""
        ...

    def clean(self, record: Any) -> Cleaned:
        """Drop the fields that do not fit."""
        ...

    def build(self, merged: Any) -> Built:
        """Turn the merged JSON into the schema's own value."""
        ...


def as_schema(schema: Any) -> Schema | None:
    """A schema from a pydantic model class or a JSON Schema dict.

    Raises:
        TypeError: it is neither.
        SettingsError: it is not a valid JSON Schema.
        MissingExtraError: JSON Schema needs the extra ``jsonschema``.
    """
    if schema is None:
        return None
    if isinstance(schema, type) and hasattr(schema, "model_fields"):
        from ._model import model_schema

        return model_schema(schema)
    if isinstance(schema, Mapping):
        return JsonSchema(schema)
    raise TypeError(f"schema must be a pydantic model class or a JSON Schema dict, got {schema!r}")


class JsonSchema:
    """A JSON Schema; fields that it rejects are dropped one by one."""

    has_constraints = False

    def __init__(self, schema: Mapping[str, Any]) -> None:
        layout = JsonSchemaLayout(schema)
        self.layout: Layout = layout
        self.rules: Mapping[Path, Comparator] = dict.fromkeys(layout.tuples(), Ordered())
        try:
            import jsonschema_rs
        except ImportError:
            raise MissingExtraError("jsonschema", "jsonschema-rs", "a JSON Schema") from None
        try:
            self._compiled = jsonschema_rs.validator_for(dict(schema))
        except Exception as error:
            raise SettingsError(f"schema must be a valid JSON Schema: {error}") from error

    def clean(self, record: Any) -> Cleaned:
        """Drop what the schema rejects, the innermost value that each error names."""
        dropped: list[Path] = []
        while wrong := outermost(path for each in self._errors(record) for path in _to_drop(each)):
            dropped += wrong
            record = without(record, wrong)
        return Cleaned(record, tuple(dropped))

    def build(self, merged: Any) -> Built:
        """The merged JSON itself, if the schema accepts it."""
        errors = self._errors(merged)
        if not errors:
            return Built(merged)
        missing = sorted({_place(error) for error in errors}, key=str)
        return Built(None, tuple(missing), message=str(errors[0].message))

    def _errors(self, record: Any) -> list[Any]:
        return (
            [] if record is OMIT else [each for error in self._compiled.iter_errors(record) for each in _causes(error)]
        )


_ABOUT_ABSENCE = frozenset({"required", "minItems", "minProperties", "contains", "minContains", "dependentRequired"})
_ABOUT_KIND = frozenset({"type", "enum", "const"})
_REQUIRED = re.compile(r'(".*") is a required property', re.DOTALL)


def _causes(error: Any) -> list[Any]:
    """The errors behind an error: those of the alternative that the value was most likely meant for, else itself.

    No alternative is meant whose kind (type, or a constant that tells alternatives apart) is not that of the value.
    Among the others the one with the fewest errors counts; on a tie the first.
    """
    place = list(error.instance_path)
    alternatives = []
    for alternative in getattr(error.kind, "context", None) or []:
        causes = [each for cause in alternative for each in _causes(cause)]
        if not any(_keyword(each) in _ABOUT_KIND and list(each.instance_path) == place for each in causes):
            constants = sum(_keyword(each) in ("enum", "const") for each in causes)
            alternatives.append((constants, len(causes), causes))
    return min(alternatives, key=lambda each: each[:2])[2] if alternatives else [error]


def _keyword(error: Any) -> str:
    return str(error.schema_path[-1])


def _to_drop(error: Any) -> list[Path]:
    """The values that have to go: none if the error is about something that is missing, or about the whole record."""
    path = tuple(error.instance_path)
    surplus = list(getattr(error.kind, "unexpected", ()))
    if hasattr(error.kind, "error"):  # a property of a name that is not allowed
        surplus.append(error.kind.error.instance)
    if surplus:
        return [Path((*path, key)) for key in surplus]
    droppable = _keyword(error) not in _ABOUT_ABSENCE if path else _keyword(error) in _ABOUT_KIND
    return [Path(path)] if droppable else []


def _place(error: Any) -> Path:
    """Where the error is; of a property that is missing, where it should be."""
    path = tuple(error.instance_path)
    named = _REQUIRED.fullmatch(error.message)
    return Path((*path, json.loads(named[1]))) if named else Path(path)


def outermost(paths: Iterable[Path]) -> list[Path]:
    """The different paths that are not below another one, in order of their text."""
    different = set(paths)
    return sorted((path for path in different if not any(path[:end] in different for end in range(len(path)))), key=str)


def without(value: Any, wrong: Collection[Path]) -> Any:
    """A copy of a value without what stands at these paths; OMIT if it is the value itself."""
    return _without(value, (), frozenset(wrong))


def _without(value: Any, path: tuple[str | int, ...], wrong: frozenset[Path]) -> Any:
    """A copy of a value without what stands at these paths; OMIT if it is the value itself."""
    if path in wrong:
        return OMIT
    if type(value) is dict:
        kept = ((key, _without(child, (*path, key), wrong)) for key, child in value.items())
        return {key: child for key, child in kept if child is not OMIT}
    if type(value) is list:
        items = (_without(child, (*path, index), wrong) for index, child in enumerate(value))
        return [child for child in items if child is not OMIT]
    return value
