"""Serialization: the result of a vote as JSON, and back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ._json_form import as_instance, checked, in_shape, json_form, reading, samples_form, samples_from
from ._readonly import ReadOnlyMapping

if TYPE_CHECKING:
    from ._result import VoteResult

__all__ = ["result_from_text", "result_to_dict"]


def result_to_dict(result: VoteResult) -> dict[str, Any]:
    """``result`` in plain JSON values."""
    own = {field.name: getattr(result, field.name) for field in dataclasses.fields(result) if field.name != "samples"}
    return {**json_form(own), **samples_form(result.samples)}


def result_from_text(cls: type[VoteResult], text: str, model: Any) -> VoteResult:
    """The result that ``text`` is the JSON of, with records as JSON values or as instances of ``model``."""
    with reading(cls, text) as values:
        samples, shape = samples_from(values)
        values["value"] = in_shape(values["value"], shape)
        values["counts"] = tuple((in_shape(value, shape), count) for value, count in values["counts"])
        values["sources"] = tuple(list.__iter__(values["sources"]))
        values["field_agreement"] = ReadOnlyMapping(values["field_agreement"])
        result = checked(cls(**values, samples=samples))
    return result if model is None else _with_instances(result, model)


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
