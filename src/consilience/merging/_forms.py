"""The form in which a revision's values are compared: as the model reads them where that is safe, else as written.

"10.00" and 10 are one answer where the model reads a number. What the model makes of a value may take its place only if
the model, reading that in turn, makes the same of it: a validator that multiplies or splits must not run twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any

from ._annotations import field_key, field_paths, spellings
from ._incomplete import Incomplete
from ._paths import EACH
from ._revisions import decimal_number, plain_json

__all__ = ["comparable_form"]

Place = tuple[str | int, ...]

_MISSING: Any = object()
_SCALARS = frozenset({str, bool, int, float, type(None)})


def comparable_form(read: Any, written: Any, read_again: Callable[[Any], Any]) -> Any:
    """The JSON of a record in which equal answers are equal, and which the model reads as it reads the record.

    Fields that were not set are left out; each stands under the key that the model reads first.

    Args:
        read: what the model made of the record, an instance or a stand-in for one.
        written: the record.
        read_again: what the model makes of a record.
    """

    def written_as(kept: Collection[Place], adds: bool) -> Any:
        return _Form(kept, adds).of(read, written, ())

    def is_faithful(form: Any) -> bool:
        try:
            return _alike(read_again(form), read)
        except Exception:
            return False

    try:
        full = _Form((), adds=False)
        form = full.of(read, written, ())
        if (not full.changed and form == written) or is_faithful(form):
            return form
        adds = bool(full.added)
        if adds:
            full = _Form((), adds)
            form = full.of(read, written, ())
            if is_faithful(form):
                return form
        form = written_as(
            {each for each in full.changed if not is_faithful(written_as(full.changed - {each}, adds))}, adds
        )
    except Exception:
        return written
    return form if is_faithful(form) else written


def _alike(one: Any, other: Any) -> bool:
    """Whether two values read by a model say the same: defaults, which may be made anew each time, say nothing."""
    if type(one) is not type(other):
        return False
    if _model_of(one) is not None:
        names = one.__pydantic_fields_set__
        if names != other.__pydantic_fields_set__ or one.__pydantic_extra__ != other.__pydantic_extra__:
            return False
        return all(_alike(getattr(one, name), getattr(other, name)) for name in names if name in vars(one))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(child, other[key]) for key, child in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


class _Form:
    """Writes a form; values at the places ``kept`` stay as written, ``changed`` are the places of all others.

    Fields that the revision did not write but a validator set are left out, and ``added`` are their places; with
    ``adds`` they are written: a validator may have renamed what the revision wrote.
    """

    def __init__(self, kept: Collection[Place], adds: bool) -> None:
        self._kept = kept
        self._adds = adds
        self.changed: set[Place] = set()
        self.added: set[Place] = set()

    def of(self, read: Any, written: Any, place: Place) -> Any:
        model = _model_of(read)
        if model is not None and getattr(model, "__pydantic_root_model__", False):
            return self.of(read.root, written, place)
        if model is not None and (written is _MISSING or type(written) is dict):
            return self._object(model, read, {} if written is _MISSING else written, place)
        if type(read) is dict and type(written) is dict and len(read) == len(written):
            pairs = zip(read.values(), written.items(), strict=True)
            return {key: self.of(child, raw, (*place, EACH)) for child, (key, raw) in pairs}
        if dataclasses.is_dataclass(read) and type(written) is dict:
            fields = [each.name for each in dataclasses.fields(read)]
            return {key: self.of(getattr(read, key), written[key], (*place, key)) for key in written if key in fields}
        if isinstance(read, list | tuple) and type(written) is list and len(read) == len(written):
            return [self.of(child, raw, (*place, EACH)) for child, raw in zip(read, written, strict=True)]
        if isinstance(read, set | frozenset) and type(written) is list:
            return self._noted(plain_json(read), written, place)
        if written is _MISSING:
            return self._noted(plain_json(_scalar(read)), written, place)
        return written if type(written) in (dict, list) else self._noted(_scalar(read), written, place)

    def _object(self, model: Any, read: Any, written: dict[str, Any], place: Place) -> dict[str, Any]:
        form: dict[str, Any] = {}
        for name, field in model.model_fields.items():
            if name not in read.__pydantic_fields_set__:
                continue
            spelled = next((each for each in spellings(name, field) if each in written), None)
            tops = [path[0] for path in field_paths(field) if path[0] in written] if spelled is None else []
            if tops:  # read from inside of another value, which has to stay as it is
                form[str(tops[0])] = written[tops[0]]
                continue
            key = field_key(name, field) or name
            raw = _MISSING if spelled is None else written[spelled]
            if raw is _MISSING:
                self.added.add((*place, key))
                if not self._adds:
                    continue
            form[key] = self.of(getattr(read, name), raw, (*place, key))
        for key, value in (read.__pydantic_extra__ or {}).items():
            form[key] = written[key] if key in written else plain_json(value)
        return _in_order_of(written, model, form)

    def _noted(self, form: Any, written: Any, place: Place) -> Any:
        """A value in its new form, unless it has to stay as written."""
        if type(form) is type(written) and form == written:
            return form
        if written is not _MISSING and (place in self._kept or (form is not None and type(form) not in _FORMS)):
            return written
        self.changed.add(place)
        return form


_FORMS = _SCALARS | {list}


def _scalar(read: Any) -> Any:
    """The JSON form of a value that is not a container; the value itself if it has none."""
    from pydantic_core import to_jsonable_python

    if type(read) in _SCALARS:
        return read
    try:
        return decimal_number(read) if isinstance(read, Decimal) else to_jsonable_python(read)
    except Exception:
        return read


def _model_of(read: Any) -> Any:
    if isinstance(read, Incomplete):
        return read.model
    return type(read) if hasattr(read, "__pydantic_fields_set__") else None


def _in_order_of(written: dict[str, Any], model: Any, form: dict[str, Any]) -> dict[str, Any]:
    """The keys in the order in which the revision wrote them, others after them."""
    order = {key: number for number, key in enumerate(written)}
    for number, (name, field) in enumerate(model.model_fields.items(), len(written)):
        positions = [order[each] for each in spellings(name, field) if each in order]
        order.setdefault(field_key(name, field) or name, positions[0] if positions else number)
    return dict(sorted(form.items(), key=lambda each: order.get(each[0], len(order))))
