"""Serialization: a result as JSON, and back."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_text
from .._errors import SettingsError
from ..replies._reply import Reply
from ._ballots import plain
from ._excerpts import excerpt_error
from ._readonly import ReadOnlyMapping
from ._sample import Sample

if TYPE_CHECKING:
    from ._result import VoteResult

__all__ = ["result_from_text", "result_to_dict", "to_text"]

_MOST_BITS = 14_000
"""Integers longer than this are more digits than Python reads back."""


def result_to_dict(result: VoteResult) -> dict[str, Any]:
    """``result`` in plain JSON values."""
    own = {field.name: getattr(result, field.name) for field in dataclasses.fields(result) if field.name != "samples"}
    return {**_json_form(own), "samples": [_sample_to_dict(sample) for sample in result.samples]}


def _sample_to_dict(sample: Sample) -> dict[str, Any]:
    values = {field.name: getattr(sample, field.name) for field in dataclasses.fields(sample)}
    raw = values.pop("raw")
    if isinstance(raw, Reply):
        values["reply"] = {field.name: getattr(raw, field.name) for field in dataclasses.fields(raw)}
    else:
        values["raw"] = bytes(raw).decode("utf-8", errors="replace") if isinstance(raw, (bytes, bytearray)) else raw
    return dict(_json_form(values))


def _json_form(value: dict[str, Any]) -> dict[str, Any]:
    """Plain JSON without the numbers that standard JSON cannot hold."""
    root: dict[str, Any] = plain(value)
    pending: list[Any] = [root]
    while pending:
        holder = pending.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, (dict, list)):
                pending.append(item)
            elif isinstance(item, float) and not math.isfinite(item):
                holder[key] = str(item)
            elif isinstance(item, int) and item.bit_length() > _MOST_BITS:
                holder[key] = hex(item)
    return root


def to_text(values: dict[str, Any]) -> str:
    """JSON text, also of values too deep for the interpreter's own encoder (their keys are sorted then)."""
    try:
        return json.dumps(values, allow_nan=False)
    except RecursionError:
        return canonical_text(values)


def result_from_text(cls: type[VoteResult], text: str, model: Any) -> VoteResult:
    """The result that ``text`` is the JSON of, with records as JSON values or as instances of ``model``."""
    try:
        values = json.loads(text)
        samples = tuple(_sample_from(sample) for sample in values.pop("samples"))
        values["counts"] = tuple((value, count) for value, count in values["counts"])
        values["sources"] = tuple(values["sources"])
        values["field_agreement"] = ReadOnlyMapping(values["field_agreement"])
        result = cls(**values, samples=samples)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise SettingsError(f"text must be what to_json() of a VoteResult wrote: {excerpt_error(error)}") from error
    return result if model is None else _with_instances(result, model)


def _sample_from(values: dict[str, Any]) -> Sample:
    if "reply" in values:
        values["raw"] = Reply(**values.pop("reply"))
    return Sample(**values)


def _with_instances(result: VoteResult, model: Any) -> VoteResult:
    samples = tuple(
        dataclasses.replace(sample, **_revived(sample.record, "vote", sample.vote, model)) for sample in result.samples
    )
    return dataclasses.replace(result, samples=samples, **_revived(result.record, "value", result.value, model))


def _revived(record: Any, name: str, vote: Any, model: Any) -> dict[str, Any]:
    """The record as an instance of ``model``, and the vote too where the whole record was voted on."""
    if record is None:
        return {}
    instance = model.model_validate(record) if hasattr(model, "model_validate") else model(**record)
    return {"record": instance, name: instance if vote == record else vote}
