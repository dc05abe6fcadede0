"""Serialization: the result of a vote as JSON, and back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ._json_form import as_instance, checked, json_form, reading, sample_from, sample_to_dict
from ._readonly import ReadOnlyMapping
from ._sample import Sample

if TYPE_CHECKING:
    from ._result import VoteResult

__all__ = ["result_from_text", "result_to_dict"]

_DEEPEST_SHAPE = 8
_SHAPE = "vote_shape"
"""JSON has no tuples: where votes are tuples (of several keys), a list of their parts, null for a part that is none."""


def result_to_dict(result: VoteResult) -> dict[str, Any]:
    """``result`` in plain JSON values."""
    own = {field.name: getattr(result, field.name) for field in dataclasses.fields(result) if field.name != "samples"}
    shape = next((_shape_of(sample.vote) for sample in result.samples if isinstance(sample.vote, tuple)), None)
    if shape is not None:
        own[_SHAPE] = shape
    return {**json_form(own), "samples": [sample_to_dict(sample) for sample in result.samples]}


def _shape_of(vote: Any, depth: int = 0) -> list[Any] | None:
    if not isinstance(vote, tuple) or depth == _DEEPEST_SHAPE:
        return None
    return [_shape_of(part, depth + 1) for part in tuple.__iter__(vote)]


def result_from_text(cls: type[VoteResult], text: str, model: Any) -> VoteResult:
    """The result that ``text`` is the JSON of, with records as JSON values or as instances of ``model``."""
    with reading(cls, text) as values:
        shape = values.pop(_SHAPE, None)
        samples = tuple(_sample_from(sample, shape) for sample in values.pop("samples"))
        values["value"] = _in_shape(values["value"], shape)
        values["counts"] = tuple((_in_shape(value, shape), count) for value, count in values["counts"])
        values["sources"] = tuple(list.__iter__(values["sources"]))
        values["field_agreement"] = ReadOnlyMapping(values["field_agreement"])
        result = checked(cls(**values, samples=samples))
    return result if model is None else _with_instances(result, model)


def _sample_from(values: dict[str, Any], shape: Any) -> Sample:
    values["vote"] = _in_shape(values["vote"], shape)
    return sample_from(values)


def _in_shape(vote: Any, shape: Any) -> Any:
    """A vote with the tuples that it had."""
    if not isinstance(vote, list) or not isinstance(shape, list):
        return vote
    if len(vote) != len(shape):  # only the outermost tuple is known to be one
        return tuple(vote)
    return tuple([_in_shape(part, shape_of_part) for part, shape_of_part in zip(vote, shape, strict=True)])


def _with_instances(result: VoteResult, model: Any) -> VoteResult:
    """Records as instances of ``model``, and votes too where the whole record was voted on."""
    records = [(sample.vote, sample.record) for sample in result.samples if sample.ok]
    whole = bool(records) and all(isinstance(vote, dict) and vote == record for vote, record in records)

    def voted(value: Any) -> Any:
        return as_instance(value, model) if whole else value

    samples = [dataclasses.replace(s, record=as_instance(s.record, model), vote=voted(s.vote)) for s in result.samples]
    return dataclasses.replace(
        result,
        samples=tuple(samples),
        record=as_instance(result.record, model),
        value=voted(result.value),
        counts=tuple((voted(value), votes) for value, votes in result.counts),
    )
