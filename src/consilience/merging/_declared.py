"""What is declared: the comparators in the annotations of a pydantic model, by where they stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from ._annotations import alternatives, annotation_of, field_key, item_in, members_in, target
from ._comparators import Comparator, Ordered
from ._paths import EACH, EVERY_KEY, Path

__all__ = ["Declared"]


class _Part(NamedTuple):
    """What stands one step below a type: the step, what is noted of it beside its annotation, and that."""

    step: str | int
    notes: Sequence[Any]
    annotation: Any


class Declared(dict[Path, Comparator]):
    """Path -> comparator, each as the annotations name it: ``EACH`` for every item, ``EVERY_KEY`` for every key.

    A type that holds itself is gone through once; ``at`` finds what it declares further down, too.

    Args:
        model: a pydantic model class.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model
        self._found: dict[Path, Comparator | None] = {}
        self._names_all = True
        self._collect(_Part("", (), model), Path(), ())

    def at(self, path: Path) -> Comparator | None:
        """The comparator declared for a place of a record."""
        if self._names_all or not self:
            return self.get(path)
        if path not in self._found:
            self._found[path] = self._look_up(path)
        return self._found[path]

    def _look_up(self, path: Path) -> Comparator | None:
        places = [_Part("", (), self._model)]
        for step in path:
            places = [part for place in places for part in _parts(place.annotation) if _is_at(part.step, step)]
        declared = [rule for rule in map(_declared_for, places) if rule is not None]
        return declared[-1] if declared else None

    def _collect(self, place: _Part, path: Path, seen: tuple[Any, ...]) -> None:
        self._note(place, path)
        within = (*seen, place.annotation, *filter(_has_names, alternatives(place.annotation)))
        for part in _parts(place.annotation):
            if part.annotation in within or any(each in within for each in alternatives(part.annotation)):
                self._names_all = False
                self._note(part, Path((*path, part.step)))
            else:
                self._names_all = self._names_all and part.step != EVERY_KEY
                self._collect(part, Path((*path, part.step)), within)

    def _note(self, place: _Part, path: Path) -> None:
        rule = _declared_for(place)
        if rule is not None:
            self[path] = rule


def _is_at(declared: str | int, step: str | int) -> bool:
    by_key = declared == EVERY_KEY and isinstance(step, str)
    return declared == step or by_key or (declared == EACH and isinstance(step, int))


def _declared_for(place: _Part) -> Comparator | None:
    """The comparator declared for a place, the innermost of several; a tuple is compared by position."""
    found = [*_comparators(place.notes), *_noted(place.annotation)]
    if found:
        return found[-1]
    return Ordered() if any(map(members_in, alternatives(place.annotation))) else None


def _noted(annotation: Any) -> Iterator[Comparator]:
    """The comparators noted in an annotation itself, and in those that it stands for."""
    annotation = target(annotation)
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        yield from _comparators(notes)
        yield from _noted(annotation)
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _noted(member)
    elif getattr(annotation, "__pydantic_root_model__", False):
        root = annotation.model_fields["root"]
        yield from _comparators(root.metadata)
        yield from _noted(annotation_of(root, annotation))


def _comparators(notes: Sequence[Any]) -> Iterator[Comparator]:
    for note in notes:
        if isinstance(note, Comparator):
            yield note
        elif isinstance(note, type) and issubclass(note, Comparator):
            yield note()


def _parts(annotation: Any) -> Iterator[_Part]:
    """What stands one step below a type, by each of its alternatives."""
    for each in alternatives(annotation):
        if hasattr(each, "model_fields"):
            for name, field in each.model_fields.items():
                yield _Part(field_key(name, field) or name, field.metadata, annotation_of(field, each))
        elif _has_names(each):
            for name, hint in _hints(each).items():
                yield _Part(name, (), hint)
        elif (item := item_in(each)) is not None:
            yield _Part(EACH, (), item)
        elif isinstance(origin := get_origin(each), type) and issubclass(origin, Mapping):
            yield _Part(EVERY_KEY, (), get_args(each)[1])
        else:
            yield from (_Part(position, (), member) for position, member in enumerate(members_in(each)))


def _has_names(annotation: Any) -> bool:
    """Whether a type names its fields: a model, a dataclass or a typed dict."""
    return isinstance(annotation, type) and (
        hasattr(annotation, "model_fields")
        or dataclasses.is_dataclass(annotation)
        or hasattr(annotation, "__required_keys__")
    )


def _hints(annotation: Any) -> Mapping[str, Any]:
    """The annotations of a dataclass or a typed dict; none if they name what cannot be found from here."""
    try:
        return get_type_hints(annotation, include_extras=True)
    except NameError:
        return {}
