"""Sampling: one module called n times, each time in a DSPy context of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError
from dspy.utils.usage_tracker import UsageTracker

from consilience import Failure, Reply, sample_index

from ._decisions import is_abstained, own_fields
from ._outputs import allows_none, as_json, is_reasoning, signature_of, types_of
from ._rollouts import RolloutAdapter

__all__ = ["Drawn", "Read", "Sampling", "extend_trace"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One sample as DSPy knows it.

    Attributes:
        prediction: what the module gave.
        fields: its output fields: reasoning first, those that the signature declares last and in its order.
        record: the same as JSON, without those that hold None for want of an answer.
        types: the types of the fields that a signature declares.
        trace: the steps of the module's predictors.
    """

    prediction: Any
    fields: Mapping[str, Any]
    record: Mapping[str, Any]
    types: Mapping[str, Any]
    trace: tuple[Any, ...]

    @property
    def answer_field(self) -> str:
        """The last output field that is no reasoning: what a vote without ``key=`` is about."""
        return next(reversed(list(self.fields)))

    @property
    def answers(self) -> dict[str, Any]:
        """The part of the record that a consensus is about: what the signature declares, without the reasoning."""
        names = self.types or self.fields
        return {
            name: value for name, value in self.record.items() if name in names and not is_reasoning(name, self.types)
        }


Read = Callable[[Drawn], tuple[Any, str | None]]
"""What the core is to see of a sample, and why it has failed, if it has."""


class Sampling:
    """The samples of one call of a module. ``call`` and ``acall`` are the samplers.

    Every sample is a call of the module itself, not of a copy: optimizers know their predictors by identity.

    Args:
        module: the module to sample.
        temperature: see ``RolloutAdapter``.
        raise_on: exceptions that must reach the core as they are.
        read: what the core is to see of a sample, or an error (see ``Reply.error``).
    """

    def __init__(self, module: Any, temperature: float | None, raise_on: Any, read: Read) -> None:
        self.drawn: dict[int, Drawn] = {}
        self._module = module
        self._signature = signature_of(module)
        self._temperature = temperature
        self._raise_on = raise_on
        self._read = read

    def call(self, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> Reply:
        """Draw one sample."""
        args, kwargs = inputs
        with self._context() as watch:
            try:
                return self._reply(self._module(*args, **kwargs), watch)
            except Exception as error:
                return self._refusal(error, watch)

    async def acall(self, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> Reply:
        """``call`` for asyncio."""
        args, kwargs = inputs
        with self._context() as watch:
            try:
                return self._reply(await self._module.acall(*args, **kwargs), watch)
            except Exception as error:
                return self._refusal(error, watch)

    @contextmanager
    def _context(self) -> Iterator[_Watch]:
        """The context of one sample, inside the copy of the caller's in which the core runs it.

        Its trace is its own until it has won; its chunks go to nobody, since those of n samples would be shuffled
        together; its usage is counted for itself and then handed on.
        """
        settings = dspy.settings
        watch = _Watch(trace=None if settings.trace is None else [])
        outer = settings.usage_tracker
        adapter = RolloutAdapter(settings.adapter or dspy.ChatAdapter(), sample_index() or 0, self._temperature)
        try:
            with dspy.context(
                adapter=adapter,
                trace=watch.trace,
                send_stream=None,
                usage_tracker=watch.tracker,
                caller_modules=[*(settings.caller_modules or []), watch],
            ):
                yield watch
        finally:
            if outer is not None:
                for lm, entries in watch.tracker.usage_data.items():
                    outer.usage_data[lm].extend(entries)

    def _reply(self, prediction: Any, watch: _Watch) -> Reply:
        if not isinstance(prediction, dspy.Prediction):
            kind = type(prediction).__name__
            return watch.reply(None, f"{Failure.NO_JSON}: the module returned a {kind}, not a dspy.Prediction")
        if is_abstained(prediction):
            return watch.reply(None, f"{Failure.INVALID}: the module abstained ({prediction.get('abstain_reason')})")
        drawn = _drawn(prediction, self._signature, watch)
        if not drawn.record:
            return watch.reply(None, f"{Failure.EMPTY_REPLY}: no output field has a value")
        self.drawn[sample_index() or 0] = drawn
        return watch.reply(*self._read(drawn))

    def _refusal(self, error: Exception, watch: _Watch) -> Reply:
        """An exception as a failed sample that keeps what was said and what it cost."""
        if isinstance(error, self._raise_on):
            raise error
        if isinstance(error, AdapterParseError):
            first = _first_parse_error(error)
            return watch.reply(first.lm_response, f"AdapterParseError: {_first_paragraph(first)}")
        return watch.reply(None, f"{Failure.SAMPLER_ERROR}: {type(error).__name__}: {error}")


@dataclass(slots=True)
class _Watch:
    """What a sample leaves behind. Among the calling modules it is told of every call of an LM, as they are."""

    trace: list[Any] | None
    history: list[Any] = field(default_factory=list)
    tracker: Any = field(default_factory=UsageTracker)

    def reply(self, content: Any, error: str | None) -> Reply:
        return Reply(content, self._usage(), source=self._model(), finish_reason=self._finish_reason(), error=error)

    def _usage(self) -> dict[str, float] | None:
        summed: Counter[str] = Counter()
        for entries in self.tracker.usage_data.values():
            for entry in entries:
                summed.update({name: count for name, count in entry.items() if type(count) in (int, float)})
        return dict(summed) or None

    def _model(self) -> str | None:
        models = {entry.get("model") for entry in self.history}
        return " + ".join(sorted(map(str, models))) if models - {None} else None

    def _finish_reason(self) -> str | None:
        return "length" if any(map(_was_cut_off, self.history)) else None


def _was_cut_off(entry: Mapping[str, Any]) -> bool:
    response = entry.get("response")
    responses = response if isinstance(response, (list, tuple)) else [response]
    ends = [end for each in responses for end in (each, *(getattr(each, "choices", None) or ()))]
    return any(getattr(end, "finish_reason", None) == "length" for end in ends)


def _drawn(prediction: Any, declared: Any, watch: _Watch) -> Drawn:
    """A prediction with what is known of its types: its own signature knows best, then that of the module."""
    own = getattr(prediction.completions, "signature", None)
    types = types_of(own)
    if not types and set(types_of(declared)) <= set(prediction.keys()):
        types = types_of(declared)
    values = own_fields(prediction)
    declared_place = {name: place for place, name in enumerate(types, 1)}
    order = sorted(values, key=lambda name: (not is_reasoning(name, types), declared_place.get(name, 0)))
    fields = {name: values[name] for name in order}
    record = {
        name: as_json(value, types.get(name, Any))
        for name, value in fields.items()
        if value is not None or allows_none(types.get(name, Any))
    }
    return Drawn(prediction, fields, record, types, tuple(watch.trace or ()))


def _first_parse_error(error: Any) -> Any:
    """DSPy tries a second format after the first, and then complains about the second."""
    while isinstance(error.__context__, AdapterParseError):
        error = error.__context__
    return error


def _first_paragraph(error: Any) -> str:
    text = str(error).partition("\n\n")[0].strip()
    if error.parsed_result is None:
        return text
    found = ", ".join(error.parsed_result) or "none"
    return f"{text} Output fields expected: {', '.join(error.signature.output_fields)}; found: {found}"


def extend_trace(steps: tuple[Any, ...]) -> None:
    """Append steps to the caller's trace, which holds a limited number of them."""
    trace, most = dspy.settings.trace, dspy.settings.max_trace_size
    if trace is None or most <= 0:
        return
    trace.extend(steps)
    del trace[: max(0, len(trace) - most)]
