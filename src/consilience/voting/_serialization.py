"""Serialization: a result as JSON, and back."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .._canonical import canonical_text
from .._errors import SettingsError, received
from ..replies._reply import Reply
from ._ballots import plain
from ._excerpts import excerpt_error
from ._readonly import ReadOnlyMapping
from ._sample import Sample

if TYPE_CHECKING:
    from ._result import VoteResult

__all__ = ["result_from_text", "result_to_dict", "to_text"]

T = TypeVar("T")

_MOST_BITS = 14_000
"""Integers longer than this are more digits than Python reads back."""

_DEEPEST = 200
"""What is nested deeper than this becomes text: not every interpreter could read it back."""

_DEEPEST_SHAPE = 8
_SHAPE = "vote_shape"
"""JSON has no tuples: where votes are tuples (of several keys), a list of their parts, null for a part that is none."""


def result_to_dict(result: VoteResult) -> dict[str, Any]:
    """``result`` in plain JSON values."""
    own = {field.name: getattr(result, field.name) for field in dataclasses.fields(result) if field.name != "samples"}
    shape = next((_shape_of(sample.vote) for sample in result.samples if isinstance(sample.vote, tuple)), None)
    if shape is not None:
        own[_SHAPE] = shape
    return {**_json_form(own), "samples": [_sample_to_dict(sample) for sample in result.samples]}


def _shape_of(vote: Any, depth: int = 0) -> list[Any] | None:
    if not isinstance(vote, tuple) or depth == _DEEPEST_SHAPE:
        return None
    return [_shape_of(part, depth + 1) for part in tuple.__iter__(vote)]


def _sample_to_dict(sample: Sample) -> dict[str, Any]:
    values = {field.name: getattr(sample, field.name) for field in dataclasses.fields(sample)}
    raw = values.pop("raw")
    if isinstance(raw, Reply):
        values["reply"] = {field.name: getattr(raw, field.name) for field in dataclasses.fields(raw)}
    else:
        values["raw"] = bytes(raw).decode("utf-8", errors="replace") if isinstance(raw, (bytes, bytearray)) else raw
    return dict(_json_form(values))


def _json_form(value: dict[str, Any]) -> dict[str, Any]:
    """Plain JSON without what standard JSON cannot hold, or its readers cannot read."""
    root: dict[str, Any] = plain(value)
    pending: list[tuple[Any, int]] = [(root, 1)]
    while pending:
        holder, depth = pending.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, (dict, list)):
                if depth < _DEEPEST:
                    pending.append((item, depth + 1))
                else:
                    holder[key] = canonical_text(item)
            elif isinstance(item, float) and not math.isfinite(item):
                holder[key] = str(item)
            elif isinstance(item, int) and item.bit_length() > _MOST_BITS:
                holder[key] = hex(item)
    return root


def to_text(values: dict[str, Any]) -> str:
    """JSON text, also where the interpreter's own encoder has too little of its stack left (keys are sorted then)."""
    try:
        return json.dumps(values, allow_nan=False)
    except RecursionError:
        return canonical_text(values)


def result_from_text(cls: type[VoteResult], text: str, model: Any) -> VoteResult:
    """The result that ``text`` is the JSON of, with records as JSON values or as instances of ``model``."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    try:
        values = json.loads(text)
        shape = values.pop(_SHAPE, None)
        samples = tuple(_sample_from(sample, shape) for sample in values.pop("samples"))
        values["value"] = _in_shape(values["value"], shape)
        values["counts"] = tuple((_in_shape(value, shape), count) for value, count in values["counts"])
        values["sources"] = tuple(list.__iter__(values["sources"]))
        values["field_agreement"] = ReadOnlyMapping(values["field_agreement"])
        result = _checked(cls(**values, samples=samples))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise SettingsError(f"text must be what to_json() of a VoteResult wrote: {excerpt_error(error)}") from error
    return result if model is None else _with_instances(result, model)


def _sample_from(values: dict[str, Any], shape: Any) -> Sample:
    if "reply" in values:
        values["raw"] = Reply(**values.pop("reply"))
    values["vote"] = _in_shape(values["vote"], shape)
    return _checked(Sample(**values))


def _in_shape(vote: Any, shape: Any) -> Any:
    """A vote with the tuples that it had."""
    if not isinstance(vote, list) or not isinstance(shape, list):
        return vote
    if len(vote) != len(shape):  # only the outermost tuple is known to be one
        return tuple(vote)
    return tuple([_in_shape(part, shape_of_part) for part, shape_of_part in zip(vote, shape, strict=True)])


def _checked(instance: T) -> T:
    """``instance``, if its fields are of the types that are written beside them."""
    for field in dataclasses.fields(instance):  # type: ignore[arg-type]
        value = getattr(instance, field.name)
        optional = str(field.type).removesuffix(" | None")
        if not (_CHECKS[optional](value) or (value is None and optional != field.type)):
            raise TypeError(f"{field.name} must be {field.type}, got {received(value)}")
    return instance


def _is_anything(_: Any) -> bool:
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Any": _is_anything,
    "bool": lambda value: isinstance(value, bool),
    "int": _is_count,
    "float": _is_number,
    "str": lambda value: isinstance(value, str),
    "tuple[str, ...]": lambda value: all(isinstance(item, str) for item in value),
    "tuple[Sample, ...]": _is_anything,  # each is checked when it is made
    "tuple[tuple[Any, int], ...]": lambda value: all(_is_count(votes) for _, votes in value),
    "Mapping[str, Any]": lambda value: isinstance(value, Mapping),
    "Mapping[str, float]": lambda value: all(_is_number(share) for share in value.values()),
}


def _with_instances(result: VoteResult, model: Any) -> VoteResult:
    """Records as instances of ``model``, and votes too where the whole record was voted on."""
    records = [(sample.vote, sample.record) for sample in result.samples if sample.ok]
    whole = bool(records) and all(isinstance(vote, dict) and vote == record for vote, record in records)

    def revived(value: Any) -> Any:
        if value is None:
            return None
        return model.model_validate(value) if hasattr(model, "model_validate") else model(**value)

    def voted(value: Any) -> Any:
        return revived(value) if whole else value

    samples = [dataclasses.replace(s, record=revived(s.record), vote=voted(s.vote)) for s in result.samples]
    return dataclasses.replace(
        result,
        samples=tuple(samples),
        record=revived(result.record),
        value=voted(result.value),
        counts=tuple((voted(value), votes) for value, votes in result.counts),
    )
