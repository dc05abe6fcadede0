"""The pydantic model as a schema: field types, comparators in annotations, model-wide validators."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from ._comparators import Comparator
from ._paths import EACH, Path
from ._resolvers import OMIT
from ._revisions import decimal_number, plain_json
from ._schema import Built, Cleaned

__all__ = ["PydanticModel", "model_schema"]

_LISTS = (list, tuple, set, frozenset)


class PydanticModel:
    """A pydantic model class, read field by field so that one bad field does not cost the revision."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._adapters: dict[int, tuple[Any, Any]] = {}
        self._known: dict[Any, dict[str, tuple[str, Any]]] = {}
        found: dict[Path, Comparator] = {}
        self._collect(model, Path(), found, ())
        self.rules: Mapping[Path, Comparator] = found
        self.has_constraints = any(_validates_as_a_whole(each) for each in _models(model, set()))

    def clean(self, record: Any) -> Cleaned:
        """Coerce every field to its type as JSON, and drop those that cannot be."""
        dropped: list[Path] = []
        cleaned = self._clean(self._model, record, Path(), dropped)
        return Cleaned(cleaned, tuple(dropped))

    def build(self, merged: Any) -> Built:
        """The model's instance, if the merged record makes one."""
        from pydantic import ValidationError

        try:
            return Built(self._model.model_validate(merged))
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False, include_input=False)
        of_fields = sorted({Path(each["loc"]) for each in errors if not self._is_model_wide(each)}, key=str)
        return Built(None, tuple(of_fields), not of_fields, str(errors[0]["msg"]))

    def _is_model_wide(self, error: Mapping[str, Any]) -> bool:
        """Whether an error comes from a validator of a whole model and not from one of its fields."""
        annotation: Any = self._model
        for step in error["loc"]:
            annotation = _below(annotation, step)
            if annotation is None:
                return False
        return error["type"] in ("value_error", "assertion_error") and _model_in(annotation) is not None

    def _collect(self, annotation: Any, path: Path, found: dict[Path, Comparator], seen: tuple[Any, ...]) -> None:
        """Gather the comparators of an annotation and of what is below it."""
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            _note(metadata, path, found)
        if get_origin(annotation) in (Union, UnionType):
            for member in get_args(annotation):
                self._collect(member, path, found, seen)
            return
        model = _model_in(annotation)
        if model is not None:
            if model not in seen:
                for name, field in model.model_fields.items():
                    below = Path((*path, _key(name, field)))
                    _note(field.metadata, below, found)
                    self._collect(field.annotation, below, found, (*seen, model))
            return
        item = _item_in(annotation)
        if item is not None:
            self._collect(item, Path((*path, EACH)), found, seen)

    def _clean(self, annotation: Any, value: Any, path: Path, dropped: list[Path]) -> Any:
        model, item = _model_in(annotation), _item_in(annotation)
        if model is not None and type(value) is dict:
            return self._clean_object(model, value, path, dropped)
        if item is not None and type(value) is list:
            items = [self._clean(item, child, Path((*path, index)), dropped) for index, child in enumerate(value)]
            return [child for child in items if child is not OMIT]
        return self._coerced(annotation, value, path, dropped)

    def _clean_object(self, model: Any, value: dict[str, Any], path: Path, dropped: list[Path]) -> dict[str, Any]:
        fields = self._fields(model)
        cleaned: dict[str, Any] = {}
        for spelling, child in value.items():
            if spelling in fields:
                key, annotation = fields[spelling]
                kept = self._clean(annotation, child, Path((*path, key)), dropped)
                if kept is not OMIT:
                    cleaned[key] = kept
            elif model.model_config.get("extra") == "allow":
                cleaned[spelling] = child
        return cleaned

    def _fields(self, model: Any) -> dict[str, tuple[str, Any]]:
        """Every spelling of a field's name -> the key under which the model reads it, and its full annotation."""
        if model not in self._known:
            known: dict[str, tuple[str, Any]] = {}
            for name, field in model.model_fields.items():
                key = _key(name, field)
                annotation: Any = Annotated[(field.annotation, field)]
                for spelling in (key, field.serialization_alias or name, name):
                    known.setdefault(spelling, (key, annotation))
            self._known[model] = known
        return self._known[model]

    def _coerced(self, annotation: Any, value: Any, path: Path, dropped: list[Path]) -> Any:
        from pydantic import TypeAdapter, ValidationError

        known = self._adapters.get(id(annotation))
        if known is None or known[0] is not annotation:
            known = self._adapters[id(annotation)] = (annotation, TypeAdapter(annotation))
        try:
            read = known[1].validate_python(value)
        except ValidationError:
            dropped.append(path)
            return OMIT
        if isinstance(read, Decimal):
            return decimal_number(read)
        return plain_json(known[1].dump_python(read, mode="json", by_alias=True, exclude_unset=True))


@functools.lru_cache(maxsize=64)
def model_schema(model: Any) -> PydanticModel:
    """The schema of a pydantic model class; made once, because its validators take longer to build than to run."""
    return PydanticModel(model)


def _note(metadata: Any, path: Path, found: dict[Path, Comparator]) -> None:
    for entry in metadata:
        if isinstance(entry, Comparator):
            found[path] = entry
        elif isinstance(entry, type) and issubclass(entry, Comparator):
            found[path] = entry()


def _key(name: str, field: Any) -> str:
    """The key under which the model reads a field."""
    alias = field.validation_alias if isinstance(field.validation_alias, str) else field.alias
    return alias or name


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The types that an annotation admits: the members of a union, without Annotated and None."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _alternatives(member)
    elif annotation is not type(None):
        yield annotation


def _model_in(annotation: Any) -> Any:
    """The model that an annotation admits, if it is the only type besides None."""
    types = list(_alternatives(annotation))
    return types[0] if len(types) == 1 and isinstance(types[0], type) and hasattr(types[0], "model_fields") else None


def _item_in(annotation: Any) -> Any:
    """The type of the items, if a list of one type is all that an annotation admits besides None."""
    types = list(_alternatives(annotation))
    if len(types) != 1:
        return None
    origin, arguments = get_origin(types[0]), [each for each in get_args(types[0]) if each is not Ellipsis]
    is_list = isinstance(origin, type) and (origin in _LISTS or origin.__module__ == "collections.abc")
    return arguments[0] if is_list and len(arguments) == 1 else None


def _below(annotation: Any, step: str | int) -> Any:
    """The annotation of what stands at one step below."""
    model = _model_in(annotation)
    if model is not None:
        return next((f.annotation for name, f in model.model_fields.items() if step in (name, _key(name, f))), None)
    return _item_in(annotation) if isinstance(step, int) else None


def _models(annotation: Any, seen: set[Any]) -> Iterator[Any]:
    """Every model that an annotation reaches."""
    model, item = _model_in(annotation), _item_in(annotation)
    if item is not None:
        yield from _models(item, seen)
    elif model is not None and model not in seen:
        seen.add(model)
        yield model
        for field in model.model_fields.values():
            yield from _models(field.annotation, seen)


def _validates_as_a_whole(model: Any) -> bool:
    return bool(model.__pydantic_decorators__.model_validators or model.__pydantic_decorators__.root_validators)
