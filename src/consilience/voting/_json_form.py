"""The JSON form: what every result holds, as plain JSON values, and back."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from .._canonical import canonical_text
from .._errors import SettingsError, received
from ..replies._reply import Reply
from ._ballots import plain
from ._excerpts import excerpt_error
from ._sample import Sample

__all__ = [
    "DEEPEST",
    "PydanticForm",
    "as_instance",
    "checked",
    "in_shape",
    "json_form",
    "reading",
    "samples_form",
    "samples_from",
    "to_text",
]

T = TypeVar("T")

DEEPEST = 200
"""What is nested deeper than this becomes text: not every interpreter could read it back."""

_MOST_BITS = 14_000
"""Integers longer than this are more digits than Python reads back."""


_DEEPEST_SHAPE = 8
_SHAPE = "vote_shape"
"""JSON has no tuples: where votes are tuples (of several keys), a list of their parts, null for a part that is none."""


def json_form(value: dict[str, Any], deepest: int = DEEPEST) -> dict[str, Any]:
    """Plain JSON without what standard JSON cannot hold, or its readers cannot read.

    Args:
        value: a mapping of anything.
        deepest: how deep what it holds may be nested; deeper containers become their canonical text.
    """
    root: dict[str, Any] = plain(value)
    pending: list[tuple[Any, int]] = [(root, 1)]
    while pending:
        holder, depth = pending.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, (dict, list)):
                if depth < deepest:
                    pending.append((item, depth + 1))
                else:
                    holder[key] = canonical_text(item)
            elif isinstance(item, float) and not math.isfinite(item):
                holder[key] = str(item)
            elif isinstance(item, int) and item.bit_length() > _MOST_BITS:
                holder[key] = hex(item)
    return root


def samples_form(samples: Iterable[Sample], deepest: int = DEEPEST) -> dict[str, Any]:
    """Samples in plain JSON values, and beside them the shape of their votes if these are tuples."""
    given = list(samples)
    shape = next((_shape_of(sample.vote) for sample in given if isinstance(sample.vote, tuple)), None)
    form: dict[str, Any] = {} if shape is None else {_SHAPE: shape}
    return {**form, "samples": [_sample_form(sample, deepest) for sample in given]}


def _shape_of(vote: Any, depth: int = 0) -> list[Any] | None:
    if not isinstance(vote, tuple) or depth == _DEEPEST_SHAPE:
        return None
    return [_shape_of(part, depth + 1) for part in tuple.__iter__(vote)]


def _sample_form(sample: Sample, deepest: int) -> dict[str, Any]:
    """A sample; its reply stands under ``reply`` if it is a ``Reply``, else under ``raw``."""
    values = {field.name: getattr(sample, field.name) for field in dataclasses.fields(sample)}
    raw = values.pop("raw")
    if isinstance(raw, Reply):
        values["reply"] = {field.name: getattr(raw, field.name) for field in dataclasses.fields(raw)}
    else:
        values["raw"] = bytes(raw).decode("utf-8", errors="replace") if isinstance(raw, (bytes, bytearray)) else raw
    return json_form(values, deepest)


def samples_from(values: dict[str, Any]) -> tuple[tuple[Sample, ...], Any]:
    """The samples in the JSON values of a result, and the shape of their votes; both are taken out of the values."""
    shape = values.pop(_SHAPE, None)
    return tuple(_sample_from(sample, shape) for sample in values.pop("samples")), shape


def _sample_from(values: dict[str, Any], shape: Any) -> Sample:
    if "reply" in values:
        values["raw"] = Reply(**values.pop("reply"))
    values["vote"] = in_shape(values["vote"], shape)
    return checked(Sample(**values))


def in_shape(vote: Any, shape: Any) -> Any:
    """A vote with the tuples that it had."""
    if not isinstance(vote, list) or not isinstance(shape, list):
        return vote
    if len(vote) != len(shape):  # only the outermost tuple is known to be one
        return tuple(vote)
    return tuple([in_shape(part, shape_of_part) for part, shape_of_part in zip(vote, shape, strict=True)])


def to_text(values: dict[str, Any]) -> str:
    """JSON text, also where the interpreter's own encoder has too little of its stack left (keys are sorted then)."""
    try:
        return json.dumps(values, allow_nan=False)
    except RecursionError:
        return canonical_text(values)


@contextmanager
def reading(kind: type, text: Any) -> Iterator[Any]:
    """The values in a JSON text, of which a result of this kind is made inside of the block.

    Raises:
        TypeError: it is no text.
        SettingsError: it is not the JSON of such a result.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    try:
        yield json.loads(text)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise SettingsError(
            f"text must be what to_json() of a {kind.__name__} wrote: {excerpt_error(error)}"
        ) from error


def checked(instance: T) -> T:
    """``instance``, if its fields are of the types that are written beside them."""
    for field in dataclasses.fields(instance):  # type: ignore[arg-type]
        value = getattr(instance, field.name)
        optional = str(field.type).removesuffix(" | None")
        if not (_CHECKS[optional](value) or (value is None and optional != field.type)):
            raise TypeError(f"{field.name} must be {field.type}, got {received(value)}")
    return instance


def as_instance(value: Any, model: Any) -> Any:
    """JSON values as an instance of a pydantic model class or a dataclass; None stays None."""
    if value is None:
        return None
    return model.model_validate(value) if hasattr(model, "model_validate") else model(**value)


def _is_anything(_: Any) -> bool:
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return all(isinstance(item, str) for item in value)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Any": _is_anything,
    "bool": lambda value: isinstance(value, bool),
    "int": _is_count,
    "float": _is_number,
    "str": lambda value: isinstance(value, str),
    "tuple[int, ...]": lambda value: all(map(_is_count, value)),
    "tuple[float, ...]": lambda value: all(map(_is_number, value)),
    "tuple[str, ...]": _are_texts,
    "tuple[tuple[Any, int], ...]": lambda value: all(_is_count(votes) for _, votes in value),
    "Mapping[str, Any]": lambda value: isinstance(value, Mapping),
    "Mapping[str, float]": lambda value: all(_is_number(share) for share in value.values()),
    # Each of these is checked when it is made.
    "Fields": _is_anything,
    "tuple[Candidate, ...]": _is_anything,
    "tuple[Path, ...]": _is_anything,
    "tuple[Sample, ...]": _is_anything,
}
"""Annotation -> whether a value fits it."""


class PydanticForm:
    """The base of results: pydantic writes them as ``to_dict`` does, wherever it meets them.

    Frameworks carry results in fields of any type, and write their models into traces and stores; a model or a
    response may also declare one, and then knows its fields. A base, because older releases of pydantic take what
    they find in the class itself for the serializer, and not for the property that makes it.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return {**handler(source), "serialization": _written_as_dict(cls)}

    @property
    def __pydantic_serializer__(self) -> Any:
        from pydantic_core import SchemaSerializer, core_schema

        return SchemaSerializer(core_schema.any_schema(serialization=_written_as_dict(type(self))))


def _written_as_dict(cls: type[PydanticForm]) -> Any:
    from pydantic_core import core_schema

    return core_schema.plain_serializer_function_ser_schema(cls.to_dict)
