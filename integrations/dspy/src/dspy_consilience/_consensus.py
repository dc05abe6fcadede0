"""The consensus as a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy
from pydantic import BaseModel

from consilience import (
    ConsensusResult,
    ConsensusSettings,
    Failure,
    Sample,
    aconsensus,
    ballot,
    consensus,
    flatten,
)

from ._decisions import Decision, new_decision
from ._outputs import as_json, from_json, outputs_model
from ._sampled import OnAbstain, SampledModule
from ._sampling import Drawn, Sampling, extend_trace
from ._saved_settings import SavedSettings

__all__ = ["Consensus"]


class Consensus(SampledModule):
    """A module that asks another one ``n`` times and merges the answers into one, field by field, or abstains.

    The record that is merged holds the output fields under their names (so paths begin with one: ``"invoice.total"``),
    without the reasoning. Where the module's signature is known it is the schema: its types decide what fits, their
    annotations what counts as equal, and every output field must find agreement. A merged field that equals that of a
    sample is the sample's own object; another one is built by its type.

    Args:
        module: the module to ask: a predictor or a whole program.
        settings: the core's settings; key words replace its values.
        threshold: the same as ``min_agreement``, above 0 and at most 1.
        temperature: above 0; None keeps the temperature of the predictor or the LM if that is above 0.15, else 1.0.
        on_abstain: ``"return"`` a decision whose output fields are None, ``"raise"``, or another module (a stronger
            one, say) that is asked the same instead.
        callbacks: DSPy's callbacks for this module.
        options: the options of ``ConsensusSettings``, by the same names.

    Raises:
        SettingsError, TypeError: an argument is wrong.
        AbstainError: when called, with ``on_abstain="raise"``; it carries the core's result.

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models, applied to each
    field of a record.

    Example:
        >>> import dspy
        >>> from dspy.utils import DummyLM
        >>> program = Consensus(dspy.Predict("order -> city, quantity: int"), n=3)
        >>> readings = [("Bern", 2), ("Bern", 3), ("Berne", 2)]
        >>> with dspy.context(lm=DummyLM([{"city": city, "quantity": str(n)} for city, n in readings])):
        ...     order = program(order="Two mugs to Bern.")
        >>> order.city, order.quantity, order.votes["quantity"]
        ('Bern', 2, [(2, 2), (3, 1)])
    """

    def __init__(
        self,
        module: Any,
        *,
        settings: ConsensusSettings | None = None,
        threshold: float | None = None,
        temperature: float | None = None,
        on_abstain: OnAbstain = "return",
        callbacks: Any = None,
        **options: Any,
    ) -> None:
        if settings is not None and not isinstance(settings, ConsensusSettings):
            raise TypeError(f"settings must be a ConsensusSettings or None, got {type(settings).__name__}")
        if threshold is not None:
            if "min_agreement" in options:
                raise TypeError("threshold is another name of min_agreement: give one of them")
            options["min_agreement"] = threshold
        rules = SavedSettings((settings or ConsensusSettings()).with_options(**options), temperature)
        super().__init__(module, rules, on_abstain, callbacks)

    def _decided(self, inputs: Any) -> Decision:
        settings, sampling = self._start()
        return self._conclude(consensus(sampling.call, inputs, settings=settings), sampling)

    async def _adecided(self, inputs: Any) -> Decision:
        settings, sampling = self._start()
        sampler = sampling.acall if hasattr(self.module, "aforward") else sampling.call
        return self._conclude(await aconsensus(sampler, inputs, settings=settings), sampling)

    def _check(self, settings: ConsensusSettings) -> None:
        self._with_schema(settings)  # which refuses paths that lead nowhere in the signature

    def _start(self) -> tuple[ConsensusSettings, Sampling]:
        settings = self._with_schema(self.settings)
        return settings, Sampling(self.module, self.rules.temperature, settings.raise_on, _answers)

    def _with_schema(self, settings: ConsensusSettings) -> ConsensusSettings:
        """The settings, with the signature as the schema where none is given."""
        if settings.schema is not None or self.signature is None:
            return settings
        return settings.with_options(schema=outputs_model(self.signature))

    def _conclude(self, result: ConsensusResult, sampling: Sampling) -> Decision:
        successful = [sampling.drawn[sample.index] for sample in result.samples if sample.ok]
        fields = dict.fromkeys(self._names(successful)) if result.abstained else self._merged(result, sampling)
        return new_decision(result, fields, [drawn.fields for drawn in successful], self.signature)

    def _merged(self, result: ConsensusResult, sampling: Sampling) -> dict[str, Any]:
        """The output fields. The sample most like the merged record gives what was not merged, and its steps."""
        merged = _plain(result.value)
        closest = sampling.drawn[_closest(result, merged).index]
        others = [sampling.drawn[sample.index] for sample in result.samples if sample.ok]
        fields = {
            name: _object(name, merged.get(name), [closest, *others]) if name in closest.answers else value
            for name, value in closest.fields.items()
        }
        fields.update({name: _object(name, merged[name], others) for name in merged if name not in fields})
        extend_trace(tuple(_as_merged(step, closest, fields) for step in closest.trace))
        return fields


def _answers(drawn: Drawn) -> tuple[Any, str | None]:
    return drawn.answers, None if drawn.answers else f"{Failure.EMPTY_REPLY}: no output field has a value"


def _plain(value: Any) -> dict[str, Any]:
    """The merged record as JSON, which it is not where a pydantic model made an instance of it."""
    if isinstance(value, BaseModel):
        return {name: as_json(getattr(value, name), part.annotation) for name, part in type(value).model_fields.items()}
    record = value if isinstance(value, dict) else as_json(value)
    return record if isinstance(record, dict) else {}


def _closest(result: ConsensusResult, merged: Mapping[str, Any]) -> Sample:
    """The sample with the most values in common with the merged record; of several, the first."""
    wanted = {(str(path), ballot(value)) for path, value in flatten(merged).items()}

    def likeness(sample: Sample) -> int:
        return len(wanted & {(str(path), ballot(value)) for path, value in flatten(_plain(sample.record)).items()})

    return max((sample for sample in result.samples if sample.ok), key=likeness)


def _object(name: str, value: Any, samples: list[Drawn]) -> Any:
    """A merged value as the object of the first sample that has the same, else as one of its type."""
    wanted = ballot(value)
    for drawn in samples:
        if name in drawn.record and ballot(drawn.record[name]) == wanted:
            return drawn.fields[name]
    kind = next((drawn.types[name] for drawn in samples if name in drawn.types), Any)
    return from_json(value, kind)


def _as_merged(step: Any, closest: Drawn, fields: Mapping[str, Any]) -> Any:
    """A step of the trace. Where the module's answer is a predictor's own, an example must show what was decided."""
    predictor, inputs, outputs = step
    if outputs is not closest.prediction:
        return step
    return predictor, inputs, dspy.Prediction(**{name: fields[name] for name in outputs.keys()})  # noqa: SIM118
