"""Serialization: the result of a consensus as JSON, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..voting._json_form import as_instance, checked, json_form, reading, samples_form, samples_from
from ..voting._sample import Sample
from ._fields import Candidate, FieldConsensus, Fields
from ._paths import parse_path
from ._revisions import MAX_DEPTH, plain_json

if TYPE_CHECKING:
    from ._result import ConsensusResult

__all__ = ["result_from_text", "result_to_dict"]

_DEEPEST = MAX_DEPTH + 8
"""Every record that can be merged is kept, also as the value of a candidate of a field."""


def result_to_dict(result: ConsensusResult) -> dict[str, Any]:
    """``result`` in plain JSON values."""
    own = _values(result)
    own["missing"] = [str(path) for path in result.missing]
    own["fields"] = {str(path): _field_values(found) for path, found in result.fields.items()}
    del own["samples"]
    return {**json_form(own, _DEEPEST), **samples_form(map(_as_merged, result.samples), _DEEPEST)}


def _values(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}


def _field_values(found: FieldConsensus) -> dict[str, Any]:
    return {**_values(found), "candidates": [_values(candidate) for candidate in found.candidates]}


def _as_merged(sample: Sample) -> Sample:
    """A sample with its record as the merge read it: defaults of a model, which do not vote, are not written."""
    try:
        return dataclasses.replace(sample, record=plain_json(sample.record)) if sample.ok else sample
    except (TypeError, ValueError):
        return sample


def result_from_text(cls: type[ConsensusResult], text: str, model: Any) -> ConsensusResult:
    """The result that ``text`` is the JSON of, with the value as JSON or as an instance of ``model``."""
    with reading(cls, text) as values:
        values["samples"], _ = samples_from(values)
        values["fields"] = Fields({parse_path(path): _field(found) for path, found in values["fields"].items()})
        values["missing"] = tuple(map(parse_path, values["missing"]))
        values["weights"] = _tuple(values["weights"])
        values["unmatched"] = _tuple(values["unmatched"])
        result = checked(cls(**values))
    if model is None or result.abstained:
        return result
    # Validators may change what they are given.
    return dataclasses.replace(result, value=as_instance(plain_json(result.partial), model))


def _field(values: Mapping[str, Any]) -> FieldConsensus:
    candidates = tuple(map(_candidate, _tuple(values["candidates"])))
    return checked(FieldConsensus(**{**values, "candidates": candidates}))


def _candidate(values: Mapping[str, Any]) -> Candidate:
    listed = {name: _tuple(values[name]) for name in ("revisions", "sources")}
    return checked(Candidate(**{**values, **listed}))


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    return tuple(list.__iter__(values))
