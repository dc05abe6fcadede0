"""Metrics that know of abstentions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from consilience import SettingsError

from ._decisions import is_abstained

__all__ = ["abstain_aware"]


def abstain_aware(metric: Callable[..., Any], abstain_score: float = 0.0) -> Callable[..., Any]:
    """A metric that gives abstentions a score of their own instead of asking ``metric``, which may raise on None.

    An abstention is a prediction whose ``abstained`` is True, or one of which every field is None (a program that
    hands on the fields of a vote and nothing else). While examples are bootstrapped an abstention is never a success,
    whatever its score.

    Args:
        metric: a metric as DSPy calls it.
        abstain_score: what an abstention is worth; a wrong answer is worth 0 by most metrics, so a negative wrong score
            of your own or a positive score here makes "I don't know" better than a guess.

    Returns:
        The metric, with the same arguments.

    Raises:
        TypeError, SettingsError: ``metric`` is no function, or ``abstain_score`` no finite number.

    Example:
        >>> import dspy
        >>> metric = abstain_aware(dspy.evaluate.answer_exact_match, abstain_score=0.25)
        >>> gold = dspy.Example(question="Capital?", answer="Bern").with_inputs("question")
        >>> metric(gold, dspy.Prediction(answer="Bern", abstained=False))
        True
        >>> metric(gold, dspy.Prediction(answer=None, abstained=True))
        0.25
    """
    if not callable(metric):
        raise TypeError(f"metric must be a function, got {type(metric).__name__}")
    if isinstance(abstain_score, bool) or not isinstance(abstain_score, (int, float)):
        raise TypeError(f"abstain_score must be a number, got {abstain_score!r}")
    if not float("-inf") < abstain_score < float("inf"):
        raise SettingsError(f"abstain_score must be a finite number, got {abstain_score!r}")

    @functools.wraps(metric)
    def aware(*args: Any, **kwargs: Any) -> Any:
        if _is_abstention(_prediction(args, kwargs)):
            trace = args[2] if len(args) > 2 else kwargs.get("trace")
            return abstain_score if trace is None else False
        return metric(*args, **kwargs)

    return aware


def _prediction(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The second argument, which has no name of its own: metrics call it pred, prediction and more."""
    if len(args) > 1:
        return args[1]
    return next((value for value in kwargs.values() if isinstance(value, dspy.Prediction)), None)


def _is_abstention(prediction: Any) -> bool:
    if is_abstained(prediction):
        return True
    if not isinstance(prediction, dspy.Prediction) or "abstained" in prediction:
        return False
    values = prediction.values()
    return bool(values) and all(value is None for value in values)
