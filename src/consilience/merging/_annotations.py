"""The annotation: what a pydantic model says about a field, and under which key it reads it."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

__all__ = [
    "alternatives",
    "below",
    "field_key",
    "field_paths",
    "item_in",
    "members_in",
    "model_in",
    "models_in",
    "spellings",
    "write_path",
]

_LISTS = (list, tuple, set, frozenset)


def alternatives(annotation: Any) -> Iterator[Any]:
    """The types that an annotation admits: the members of a union, without Annotated, None and root models."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from alternatives(member)
    elif _is_model(annotation) and getattr(annotation, "__pydantic_root_model__", False):
        yield from alternatives(annotation.model_fields["root"].annotation)
    elif annotation is not type(None):
        yield annotation


def model_in(annotation: Any) -> Any:
    """The model that an annotation admits, if it is the only type besides None."""
    types = list(alternatives(annotation))
    return types[0] if len(types) == 1 and _is_model(types[0]) else None


def item_in(annotation: Any) -> Any:
    """The type of the items, if a list of one type is all that an annotation admits besides None."""
    types = list(alternatives(annotation))
    return _item(types[0]) if len(types) == 1 else None


def members_in(annotation: Any) -> list[Any]:
    """The types of the members, if an annotation is a tuple in which every position has its own; else none."""
    if get_origin(annotation) is tuple and Ellipsis not in get_args(annotation):
        return list(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        return [annotation.__annotations__.get(name, Any) for name in annotation._fields]
    return []


def below(annotation: Any, step: str | int) -> Any:
    """The annotation of what stands at one step below; None if it is not known."""
    for each in alternatives(annotation):
        if isinstance(step, int):
            found = _item(each)
        elif _is_model(each):
            fields = each.model_fields.items()
            found = next((field.annotation for name, field in fields if step in spellings(name, field)), None)
        else:
            found = get_args(each)[1] if get_origin(each) is dict else None
        if found is not None:
            return found
    return None


def models_in(annotation: Any, seen: set[Any] | None = None) -> Iterator[Any]:
    """Every model that an annotation reaches."""
    seen = set() if seen is None else seen
    for each in alternatives(annotation):
        if not _is_model(each):
            for argument in get_args(each):
                yield from models_in(argument, seen)
        elif each not in seen:
            seen.add(each)
            yield each
            for field in each.model_fields.values():
                yield from models_in(field.annotation, seen)


def field_key(name: str, field: Any) -> str | None:
    """The key under which a model reads a field, the first of several; None if it reads it from a path only."""
    alias = field.validation_alias or field.alias or name
    if isinstance(alias, str):
        return alias
    return next((choice for choice in getattr(alias, "choices", ()) if isinstance(choice, str)), None)


def spellings(name: str, field: Any) -> list[str]:
    """Every key under which a model may read a field, the first choice first."""
    choices = getattr(field.validation_alias, "choices", None) or [field.validation_alias or field.alias]
    return [*(choice for choice in choices if isinstance(choice, str)), name]


def field_paths(field: Any) -> list[list[str | int]]:
    """The paths from which a model may read a field."""
    choices = getattr(field.validation_alias, "choices", None) or [field.validation_alias]
    return [choice.path for choice in choices if hasattr(choice, "path")]


def write_path(name: str, field: Any) -> list[str]:
    """Where to write a field so that its model reads it; by name if that would be at a position in a list."""
    key = field_key(name, field)
    readable = [[key]] if key is not None else [path for path in field_paths(field) if _is_of_keys(path)]
    return [str(step) for step in readable[0]] if readable else [name]


def _is_of_keys(path: list[str | int]) -> bool:
    return all(isinstance(step, str) for step in path)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "model_fields")


def _item(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), [each for each in get_args(annotation) if each is not Ellipsis]
    is_list = isinstance(origin, type) and (origin in _LISTS or origin.__module__ == "collections.abc")
    return arguments[0] if is_list and len(arguments) == 1 else None
