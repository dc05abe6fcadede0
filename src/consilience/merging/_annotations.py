"""The annotation: what a pydantic model says about a field, and under which key it reads it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from types import GenericAlias, UnionType
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin, get_type_hints

__all__ = [
    "alternatives",
    "annotation_of",
    "below",
    "field_key",
    "field_paths",
    "item_in",
    "members_in",
    "models_in",
    "spellings",
    "target",
    "write_path",
]

_WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly"})
_LISTS = (list, tuple, set, frozenset)


def target(annotation: Any) -> Any:
    """What an annotation stands for: another one, if it names one (``type Money = …``) or wraps one (``Required``)."""
    while True:
        if hasattr(annotation, "__value__") and hasattr(annotation, "__type_params__"):
            annotation = annotation.__value__
        elif getattr(get_origin(annotation), "_name", None) in _WRAPPERS:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def annotation_of(field: Any, model: Any) -> Any:
    """The annotation of a field of a model, with types for names: older releases of pydantic leave ``list["Tree"]``."""
    marked = _with_references(field.annotation)
    if marked == field.annotation:
        return marked
    holder = type("Holder", (), {"__annotations__": {"it": marked}, "__module__": model.__module__})
    try:
        return get_type_hints(holder, localns={model.__name__: model}, include_extras=True)["it"]
    except NameError:  # nothing is known of what cannot be found from here
        return field.annotation


def _with_references(annotation: Any) -> Any:
    """An annotation whose names are marked as such: Python 3.10 takes the text in ``list["Tree"]`` for a type."""
    if isinstance(annotation, str):
        return ForwardRef(annotation)
    if isinstance(annotation, GenericAlias):
        return GenericAlias(get_origin(annotation), tuple(map(_with_references, get_args(annotation))))
    if get_origin(annotation) is Union:
        return Union[tuple(map(_with_references, get_args(annotation)))]  # noqa: UP007 - as many as there are
    return annotation


def alternatives(annotation: Any) -> Iterator[Any]:
    """The types that an annotation admits: the members of a union, without Annotated, None and root models."""
    annotation = target(annotation)
    if get_origin(annotation) is Annotated:
        yield from alternatives(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from alternatives(member)
    elif _is_model(annotation) and getattr(annotation, "__pydantic_root_model__", False):
        yield from alternatives(annotation_of(annotation.model_fields["root"], annotation))
    elif annotation is not type(None):
        yield annotation


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
            found = next((annotation_of(field, each) for name, field in fields if step in spellings(name, field)), None)
        else:
            found = get_args(each)[1] if get_origin(each) is dict else None
        if found is not None:
            return found
    return None


def models_in(annotation: Any, seen: set[Any] | None = None) -> Iterator[Any]:
    """Every model that an annotation reaches."""
    seen = set() if seen is None else seen
    for each in alternatives(annotation):
        if isinstance(each, Hashable):  # else it is no type: a literal value, or the parameters of a callable
            if each in seen:
                continue
            seen.add(each)
        if not _is_model(each):
            for argument in get_args(each):
                yield from models_in(argument, seen)
        else:
            yield each
            for field in each.model_fields.values():
                yield from models_in(annotation_of(field, each), seen)


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
