"""The layout of a schema: which paths it has room for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from itertools import islice
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import unquote
from uuid import UUID

from ._annotations import annotation_of, field_key, field_paths
from ._comparators import Comparator
from ._paths import EACH, EVERY_KEY, Path

__all__ = ["JsonSchemaLayout", "Layout", "ModelLayout", "Room"]

_MOST_PATHS = 2000
"""The most paths of a schema that are looked at for one that was meant."""

_DEEPEST = 12


class Room(IntEnum):
    """Whether records of a schema can have something at a path."""

    NONE = 0
    """None of them can."""
    OPEN = 1
    """Some may: the schema does not say."""
    DECLARED = 2
    """The schema names it."""


class Layout:
    """The layout of one schema."""

    def room_for(self, path: Path) -> Room:
        """Whether records can have something at this path or pattern; when in doubt, they can."""
        raise NotImplementedError

    def paths(self) -> list[Path]:
        """The paths that the schema names, as patterns; those of a recursive one as far as it has not been seen."""
        return list(islice(self._walk(), _MOST_PATHS))

    def _walk(self) -> Iterator[Path]:
        raise NotImplementedError


# Of pydantic models

_SCALARS = (str, bytes, int, float, complex, Decimal, date, time, timedelta, UUID, PurePath, Enum)
_LISTS = (list, tuple, set, frozenset)
_CHANGES = frozenset({"before", "wrap", "plain"})
"""Validators that see a value before its type does, and may take any other form for it."""


class ModelLayout(Layout):
    """The layout of a pydantic model: under the keys that it reads first, which are those of the merged record."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def room_for(self, path: Path) -> Room:
        """Whether records can have something at this path or pattern."""
        return _room(self._model, path)

    def _walk(self) -> Iterator[Path]:
        return _declared(self._model, Path(), ())


def _room(annotation: Any, path: tuple[str | int, ...]) -> Room:
    if not path:
        return Room.DECLARED
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Room.OPEN if not all(map(_keeps_form, arguments[1:])) else _room(arguments[0], path)
    if origin in (Union, UnionType):
        return max(_room(member, path) for member in arguments)
    if origin is Literal or annotation is type(None):
        return Room.NONE
    kind = origin or annotation
    if not isinstance(kind, type):
        return Room.OPEN
    if hasattr(kind, "model_fields"):
        return _room_in_model(kind, path)
    if issubclass(kind, _SCALARS):
        return Room.NONE
    step, *below = path
    if kind in _LISTS or (kind.__module__ == "collections.abc" and len(arguments) == 1):
        items = [each for each in arguments if each is not Ellipsis] or [Any]
        return max(_room(item, tuple(below)) for item in items) if isinstance(step, int) else Room.NONE
    if kind is dict or (kind.__module__ == "collections.abc" and len(arguments) == 2):
        values = arguments[1] if arguments else Any
        return min(Room.OPEN, _room(values, tuple(below))) if isinstance(step, str) or step == EVERY_KEY else Room.NONE
    return Room.OPEN


def _room_in_model(model: Any, path: tuple[str | int, ...]) -> Room:
    if _changes_records(model):
        return Room.OPEN
    if getattr(model, "__pydantic_root_model__", False):
        return _room_in_field(model, "root", path)
    step, *below = path
    if isinstance(step, int):
        return Room.NONE
    for name, field in model.model_fields.items():
        if step in [place[0] for place in field_paths(field)]:
            return Room.OPEN
        if step == (field_key(name, field) or name):
            return _room_in_field(model, name, tuple(below))
    return Room.OPEN if model.model_config.get("extra") == "allow" else Room.NONE


def _room_in_field(model: Any, name: str, path: tuple[str | int, ...]) -> Room:
    if not path:
        return Room.DECLARED
    field = model.model_fields[name]
    decorators = model.__pydantic_decorators__
    validators = [*decorators.field_validators.values(), *decorators.validators.values()]
    changing = any({name, "*"} & set(each.info.fields) and each.info.mode in _CHANGES for each in validators)
    return (
        Room.OPEN if changing or not all(map(_keeps_form, field.metadata)) else _room(annotation_of(field, model), path)
    )


def _changes_records(model: Any) -> bool:
    decorators = model.__pydantic_decorators__
    validators = [*decorators.model_validators.values(), *decorators.root_validators.values()]
    return any(each.info.mode in _CHANGES for each in validators)


def _keeps_form(metadata: Any) -> bool:
    """Whether what is noted beside a type leaves the form of its values alone."""
    from annotated_types import BaseMetadata, GroupedMetadata
    from pydantic import AfterValidator, Discriminator, Tag
    from pydantic.fields import FieldInfo

    known = (Comparator, BaseMetadata, GroupedMetadata, FieldInfo, AfterValidator, Discriminator, Tag, str)
    return isinstance(metadata, known) or (isinstance(metadata, type) and issubclass(metadata, Comparator))


def _declared(annotation: Any, path: Path, seen: tuple[Any, ...]) -> Iterator[Path]:
    """The paths that an annotation names, below a path."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Annotated, Union, UnionType):
        for member in arguments[:1] if origin is Annotated else arguments:
            yield from _declared(member, path, seen)
    elif isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        is_root = getattr(annotation, "__pydantic_root_model__", False)
        for name, field in annotation.model_fields.items() if annotation not in seen else ():
            place = path if is_root else Path((*path, field_key(name, field) or name))
            if not is_root:
                yield place
            yield from _declared(annotation_of(field, annotation), place, (*seen, annotation))
    elif origin in _LISTS or getattr(origin, "__module__", "") == "collections.abc":
        place = Path((*path, EACH))
        yield place
        for item in arguments:
            yield from _declared(item, place, seen)


# Of JSON Schemas


class JsonSchemaLayout(Layout):
    """The layout of a JSON Schema. All its key words restrict, so one that is not known here is no reason for NONE."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema

    def room_for(self, path: Path) -> Room:
        """Whether records can have something at this path or pattern."""
        return self._room(self._root, path, ())

    def _room(self, schema: Any, path: tuple[str | int, ...], refs: tuple[str, ...]) -> Room:
        if schema is False:
            return Room.NONE
        if not path:
            return Room.DECLARED
        if not isinstance(schema, Mapping):
            return Room.OPEN
        rooms = [self._own(schema, path)]
        rooms += [self._room(each, path, refs_) for each, refs_ in self._same_place(schema, refs)]
        rooms += [
            max(self._room(each, path, refs) for each in schema[word]) for word in ("anyOf", "oneOf") if word in schema
        ]
        return Room.NONE if Room.NONE in rooms else max(rooms)

    def _own(self, schema: Mapping[str, Any], path: tuple[str | int, ...]) -> Room:
        """The room by the key words of one schema itself."""
        step, below = path[0], path[1:]
        if "type" in schema and ("object" if isinstance(step, str) else "array") not in _listed(schema["type"]):
            room = Room.NONE
        else:
            room = self._property(schema, step, below) if isinstance(step, str) else self._item(schema, below)
        # Up to draft 7 nothing beside a reference counts.
        return max(room, Room.OPEN) if "$ref" in schema else room

    def _property(self, schema: Mapping[str, Any], key: str, below: tuple[str | int, ...]) -> Room:
        named = [schema["properties"][key]] if key in schema.get("properties", {}) else []
        named += [each for pattern, each in schema.get("patternProperties", {}).items() if _may_match(pattern, key)]
        if named:
            return min(self._room(each, below, ()) for each in named)
        return min(Room.OPEN, self._room(schema.get("additionalProperties", True), below, ()))

    def _item(self, schema: Mapping[str, Any], below: tuple[str | int, ...]) -> Room:
        items = schema.get("items", True)
        first = schema.get("prefixItems", [])
        if isinstance(items, list):  # as it was written before draft 2020-12
            first, items = items, schema.get("additionalItems", True)
        is_said = "items" in schema or "prefixItems" in schema
        room = max(self._room(each, below, ()) for each in (*first, items))
        return room if is_said else min(Room.OPEN, room)

    def _same_place(self, schema: Mapping[str, Any], refs: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """The schemas that hold for the same value besides this one, with the references that led to them."""
        for each in schema.get("allOf", ()):
            yield each, refs
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in refs:
            yield self._referred(reference), (*refs, reference)

    def _referred(self, reference: str) -> Any:
        """What a reference within the schema is to; a schema of anything if it leads elsewhere."""
        found: Any = self._root
        if reference != "#" and not reference.startswith("#/"):
            return True
        for part in unquote(reference).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or key not in found:
                return True
            found = found[key]
        return found

    def tuples(self) -> list[Path]:
        """The lists in which every position has a schema of its own."""
        found: list[Path] = []
        list(islice(self._named(self._root, Path(), (), found), _MOST_PATHS))
        return found

    def _walk(self) -> Iterator[Path]:
        return self._named(self._root, Path(), (), [])

    def _named(self, schema: Any, path: Path, refs: tuple[str, ...], tuples: list[Path]) -> Iterator[Path]:
        """The paths below a place; where tuples stand is noted on the way."""
        if not isinstance(schema, Mapping) or len(path) > _DEEPEST:
            return
        for each, refs_ in self._same_place(schema, refs):
            yield from self._named(each, path, refs_, tuples)
        for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from self._named(each, path, refs, tuples)
        for key, each in schema.get("properties", {}).items():
            yield Path((*path, key))
            yield from self._named(each, Path((*path, key)), refs, tuples)
        items = schema.get("items", [])
        if schema.get("prefixItems") or (items and isinstance(items, list)):
            tuples.append(path)
        for each in (*schema.get("prefixItems", ()), *(items if isinstance(items, list) else [items])):
            yield Path((*path, EACH))
            yield from self._named(each, Path((*path, EACH)), refs, tuples)


def _listed(types: Any) -> list[Any]:
    return types if isinstance(types, list) else [types]


def _may_match(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:  # JSON Schema has regular expressions of its own
        return True
