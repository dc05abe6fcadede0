"""The vote as a module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from consilience import Failure, SettingsError, VoteResult, VoteSettings, avote, ballot, vote

from ._decisions import Decision, new_decision
from ._outputs import as_json, exact_fields_of, from_json
from ._recording import current_recording
from ._sampled import OnAbstain, SampledModule
from ._sampling import Drawn, Sampling, extend_trace
from ._saved_settings import SavedSettings

__all__ = ["Vote"]


class Vote(SampledModule):
    """A module that asks another one ``n`` times and gives the answer that most samples agree on, or abstains.

    Each sample is a different request (its own rollout id, at a temperature at which replies vary), also with a warm
    cache. The prediction is a ``Decision``: the output fields of the first winning sample, as its own objects, and how
    the vote went.

    Args:
        module: the module to ask: a predictor or a whole program.
        settings: the core's settings; key words replace its values.
        temperature: above 0; None keeps the temperature of the predictor or the LM if that is above 0.15, else 1.0.
        on_abstain: ``"return"`` a decision whose output fields are None, ``"raise"``, or another module (a stronger
            one, say) that is asked the same instead.
        callbacks: DSPy's callbacks for this module.
        options: the options of ``VoteSettings``, by the same names. Without ``key`` the vote is on the last output
            field (reasoning is none). Functions and validators see the output fields as a dict of JSON values.

    Raises:
        SettingsError, TypeError: an argument is wrong.
        AbstainError: when called, with ``on_abstain="raise"``; it carries the core's result.

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models.

    Example:
        >>> import dspy
        >>> from dspy.utils import DummyLM
        >>> program = Vote(dspy.Predict("question -> answer: int"), n=3, min_agreement=0.6)
        >>> with dspy.context(lm=DummyLM([{"answer": "5"}, {"answer": "-5"}, {"answer": "5"}])):
        ...     program(question="What is 2 + 3?").answer
        5
        >>> with dspy.context(lm=DummyLM([{"answer": "4"}, {"answer": "-5"}, {"answer": "5"}])):
        ...     program(question="What is 2 + 3?").abstain_reason
        'tie'
    """

    def __init__(
        self,
        module: Any,
        *,
        settings: VoteSettings | None = None,
        temperature: float | None = None,
        on_abstain: OnAbstain = "return",
        callbacks: Any = None,
        **options: Any,
    ) -> None:
        if settings is not None and not isinstance(settings, VoteSettings):
            raise TypeError(f"settings must be a VoteSettings or None, got {type(settings).__name__}")
        rules = SavedSettings((settings or VoteSettings()).with_options(**options), temperature)
        super().__init__(module, rules, on_abstain, callbacks)

    def _decided(self, inputs: Any) -> Decision:
        settings, sampling = self._start()
        return self._conclude(vote(sampling.call, inputs, settings=settings), sampling)

    async def _adecided(self, inputs: Any) -> Decision:
        settings, sampling = self._start()
        sampler = sampling.acall if hasattr(self.module, "aforward") else sampling.call
        return self._conclude(await avote(sampler, inputs, settings=settings), sampling)

    def _asks_another(self, decision: Decision) -> bool:
        recording = current_recording(self)
        return not (recording is not None and recording.alone) and super()._asks_another(decision)

    def _check(self, settings: VoteSettings) -> None:
        """A validator may add fields of its own; without one, what the signature lacks is missing from every sample."""
        names = exact_fields_of(self.module)
        if names is None or settings.validator is not None:
            return
        for option in ("key", "confidence_field"):
            for path in _paths(getattr(settings, option)):
                if re.split(r"[.\[]", path)[0] not in names:
                    raise SettingsError(f"{option} must begin with an output field ({', '.join(names)}), got {path!r}")

    def _start(self) -> tuple[VoteSettings, Sampling]:
        settings: VoteSettings = self.settings
        self._check(settings)  # they may have been loaded
        recording = current_recording(self)
        if recording is not None:
            settings = recording.full(settings)
        by_default = settings.key is None
        read = _with_an_answer if by_default else _whole
        sampling = Sampling(self.module, self.rules.temperature, settings.raise_on, read)
        return (settings.with_options(key=_last_field) if by_default else settings), sampling

    def _conclude(self, result: VoteResult, sampling: Sampling) -> Decision:
        """Only the winning sample's steps enter the caller's trace: what lost must not become an example."""
        recording = current_recording(self)
        if recording is not None:
            recording.add(result)
        successful = [sampling.drawn[sample.index] for sample in result.samples if sample.ok]
        winner = _winner(result, sampling)
        if winner is None:
            fields = dict.fromkeys(self._names(successful))
        else:
            fields = winner[1]
            extend_trace(winner[0].trace)
        return new_decision(result, fields, [drawn.fields for drawn in successful], self.signature)

    def _names(self, successful: Sequence[Drawn]) -> list[str]:
        names, key = super()._names(successful), self.settings.key
        return names or ([key] if isinstance(key, str) else [])


def _whole(drawn: Drawn) -> tuple[Any, str | None]:
    return dict(drawn.record), None


def _with_an_answer(drawn: Drawn) -> tuple[Any, str | None]:
    name = drawn.answer_field
    return dict(drawn.record), None if name in drawn.record else f"{Failure.MISSING_KEY}: {name!r} has no value"


def _paths(key: Any) -> list[str]:
    """The names and paths in a key; what its functions read, only a run can tell."""
    if isinstance(key, tuple):
        return [path for part in key for path in _paths(part)]
    return [key] if isinstance(key, str) else []


def _last_field(record: Any) -> Any:
    """The vote where no key is given; what the signature declares comes last in a record."""
    return record[next(reversed(record))]


def _winner(result: VoteResult, sampling: Sampling) -> tuple[Drawn, dict[str, Any]] | None:
    """The first sample that said what won, in its winning spelling, and its fields."""
    if result.abstained:
        return None
    won = ballot(result.value)
    sample = next(each for each in result.samples if each.ok and ballot(each.vote) == won)
    drawn = sampling.drawn[sample.index]
    return drawn, {**drawn.fields, **_replaced(drawn, sample.record)}


def _replaced(drawn: Drawn, record: Any) -> dict[str, Any]:
    """The fields that a validator put other values into, as objects of their types."""
    if not isinstance(record, dict):
        record = as_json(record)
    if not isinstance(record, dict):
        return {}
    return {
        name: from_json(record[name], drawn.types.get(name, Any))
        for name, value in drawn.record.items()
        if name in record and ballot(record[name]) != ballot(value)
    }
