"""Recording: every vote of a labelled set with all its samples, for choosing thresholds later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import dspy

from consilience import AbstainError, SettingsError, VoteResult, VoteSettings

from ._outputs import is_reasoning, types_of

__all__ = ["RecordedVote", "Recording", "current_recording", "record_votes"]

_log = logging.getLogger("consilience")
_SETTING = "consilience_recording"
"""The name under which a recording is found in DSPy's settings, which reach every thread of a program."""


_OWN = ("self", "devset", "metric", "num_threads", "kwargs")
"""What ``record_votes`` gives to ``dspy.Evaluate`` itself."""


@dataclass(frozen=True, slots=True)
class RecordedVote:
    """One vote with the right answer.

    Attributes:
        example: the labelled example.
        gold: the right answer, as the example has it.
        result: the core's result with every sample; ``tally(result, min_agreement=0.7)`` judges them by other rules.

    Example:
        >>> from consilience import tally
        >>> RecordedVote(example=None, gold="billing", result=tally(['{"team": "billing"}'], key="team")).gold
        'billing'
    """

    example: Any
    gold: Any
    result: VoteResult


@dataclass(slots=True)
class Recording:
    """The results of one vote while a program runs on one example."""

    vote: Any
    n: int | None
    alone: bool
    results: list[VoteResult] = field(default_factory=list)

    def full(self, settings: VoteSettings) -> VoteSettings:
        """The settings with every sample drawn."""
        n = settings.n if self.n is None else self.n
        return settings.with_options(n=n, early_stop=False, stop=None)

    def add(self, result: VoteResult) -> None:
        """Keep a result."""
        self.results.append(result)


def current_recording(vote: Any) -> Recording | None:
    """The recording that ``vote`` is part of, None outside ``record_votes``."""
    recording = dspy.settings.get(_SETTING)
    return recording if isinstance(recording, Recording) and recording.vote is vote else None


def record_votes(
    program: Any,
    devset: Sequence[Any],
    *,
    vote: Any = None,
    n: int | None = None,
    gold: str | Callable[[Any], Any] | None = None,
    num_threads: int | None = None,
    **evaluate: Any,
) -> list[RecordedVote]:
    """Run a program once over labelled examples and keep every sample of its vote, with the right answers.

    What it returns is all that is needed to choose ``n`` and the thresholds without another call: fewer samples and
    other rules are judged by ``tally``.

    Args:
        program: a ``Vote``, or a program with one inside. It is not changed. A ``Vote`` that is the whole program does
            not ask its ``on_abstain`` module meanwhile.
        devset: ``dspy.Example`` objects with inputs set.
        vote: which ``Vote`` inside the program to record; needed where there are several.
        n: the largest number of samples of interest, at least 1; None takes that of the vote. All are drawn: neither
            early stop nor ``stop`` ends a vote.
        gold: the name of the example's field with the right answer, or a function of the example; None takes the field
            that the vote is on.
        num_threads: as in ``dspy.Evaluate``, which runs the program.
        evaluate: further options of ``dspy.Evaluate``, such as ``display_progress`` and ``max_errors``.

    Returns:
        A recorded vote for each example in its order; several, where the program votes several times. Examples on which
        the program failed before it voted are left out, and the log of ``consilience`` says how many.

    Raises:
        SettingsError, TypeError: an argument is wrong; before the first call.
        Exception: more examples failed than ``max_errors`` allows.

    Example:
        >>> import dspy
        >>> from dspy.utils import DummyLM
        >>> from dspy_consilience import Vote
        >>> devset = [dspy.Example(ticket="Charged twice.", team="billing").with_inputs("ticket")]
        >>> program = Vote(dspy.Predict("ticket -> team"), n=2)
        >>> answers = [{"team": team} for team in ("billing", "shipping", "billing")]
        >>> with dspy.context(lm=DummyLM(answers)):
        ...     recorded = record_votes(program, devset, n=3)
        >>> [(sample.vote, recorded[0].gold) for sample in recorded[0].result.samples]
        [('billing', 'billing'), ('shipping', 'billing'), ('billing', 'billing')]
    """
    chosen = _vote_in(program, vote)
    if n is not None:
        chosen.settings.with_options(n=n)
    _check_evaluate(evaluate)
    examples = _examples(devset)
    answers = [_gold(example, gold, chosen) for example in examples]
    evaluation = dspy.Evaluate(devset=examples, metric=_decided_share, num_threads=num_threads, **evaluate)
    rows = evaluation(_Recorded(program, chosen, n)).results
    recorded = [
        RecordedVote(example, answer, result)
        for (example, prediction, _), answer in zip(rows, answers, strict=True)
        for result in _results(prediction)
    ]
    without = sum(not _results(prediction) for _, prediction, _ in rows)
    if without:
        _log.warning("%d of %d examples gave no vote to record", without, len(examples))
    return recorded


class _Recorded(dspy.Module):  # type: ignore[misc] # dspy has no types
    """A program whose prediction is what its vote came to."""

    def __init__(self, program: Any, vote: Any, n: int | None) -> None:
        super().__init__()
        self.program = program
        self.vote = vote
        self.n = n

    def forward(self, **inputs: Any) -> Any:
        recording = Recording(self.vote, self.n, alone=self.vote is self.program)
        try:
            with dspy.context(**{_SETTING: recording}):
                self.program(**inputs)
        except AbstainError:
            pass  # what on_abstain="raise" makes of an abstention, which has been recorded
        except Exception as error:
            if not recording.results:
                raise
            _log.warning("the program failed after its vote: %s: %s", type(error).__name__, error)
        return _Record(recording.results)


class _Record(dspy.Prediction):  # type: ignore[misc] # dspy has no types
    """The results of one example: as they are for ``record_votes``, as JSON for the files of the evaluation."""

    def __init__(self, results: list[VoteResult]) -> None:
        super().__init__(recorded=[result.to_dict() for result in results])
        self._results = results


def _results(prediction: Any) -> list[VoteResult]:
    """None of them, where the program failed: the prediction is then the evaluation's own."""
    return prediction._results if isinstance(prediction, _Record) else []


def _check_evaluate(options: Mapping[str, Any]) -> None:
    """``dspy.Evaluate`` takes any option and ignores what it does not know."""
    known = [name for name in signature(dspy.Evaluate.__init__).parameters if name not in _OWN]
    for name in options:
        if name not in known:
            found = f"record_votes() got an unexpected keyword argument {name!r}"
            raise TypeError(f"{found}; those of dspy.Evaluate are {', '.join(known)}")


def _examples(devset: Any) -> list[Any]:
    examples = list(devset)
    if not examples:
        raise SettingsError("devset must have at least one example, got none")
    for example in examples:
        if not isinstance(example, dspy.Example):
            raise TypeError(f"devset must hold dspy.Example objects, got {type(example).__name__}")
    return examples


def _vote_in(program: Any, vote: Any) -> Any:
    from ._vote import Vote

    if not isinstance(program, dspy.Module):
        raise TypeError(f"program must be a dspy.Module, got {type(program).__name__}")
    votes = dict(program.named_sub_modules(Vote))
    if vote is None:
        if isinstance(program, Vote):
            return program
        if len(votes) != 1:
            found = ", ".join(votes) or "none"
            raise SettingsError(f"vote must name one Vote of the program, which has {len(votes)}: {found}")
        return next(iter(votes.values()))
    if not any(vote is each for each in votes.values()):
        raise SettingsError(f"vote must be a Vote inside the program, got {type(vote).__name__} that is not in it")
    return vote


def _gold(example: Any, gold: Any, vote: Any) -> Any:
    if gold is not None and not isinstance(gold, str):
        if not callable(gold):
            raise TypeError(f"gold must be a field name, a function of the example or None, got {type(gold).__name__}")
        return gold(example)
    name = gold if gold is not None else _voted_field(vote)
    labels = example.labels()
    if name not in labels:
        raise SettingsError(
            f"gold must name the label with the right answer, got {name!r}: the example has {', '.join(labels.keys())}"
        )
    return labels[name]


def _voted_field(vote: Any) -> str | None:
    """The output field that a vote is on, as far as it can be known without a call."""
    key = vote.settings.key
    if key is None:
        types = types_of(vote.signature)
        return next((name for name in reversed(types) if not is_reasoning(name, types)), None)
    return key if isinstance(key, str) else None


def _decided_share(_example: Any, prediction: Any) -> float:
    """What the evaluation reports while it runs, for want of a metric."""
    results = _results(prediction)
    return sum(result.decided for result in results) / len(results) if results else 0.0
