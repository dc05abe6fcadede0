"""Weights: what each revision counts, in whole units of 1e-9."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_text
from .._errors import SettingsError
from ..voting._sample import Sample
from ..voting._weights import Weigher
from ._decision import UNIT
from ._order import key_order
from ._settings import MAX_WEIGHT, Weighting
from ._tree import Node
from ._trust import mean_similarities, trust_weights

if TYPE_CHECKING:
    from ._likeness import Integers

__all__ = ["CONSISTENT", "check_number_of_weights", "function_weight", "ranked", "weigh"]

CONSISTENT = 2.0
"""How much more a revision counts that satisfies the constraints on its own."""


def weigh(
    weighting: Weighting,
    samples: Sequence[Sample],
    root: Node,
    likeness: Integers,
    satisfies: Callable[[Any], bool] | None,
    *,
    one_vote_per_source: bool = False,
) -> dict[int, int]:
    """Weigh the valid revisions.

    Args:
        weighting: the setting.
        samples: every sample; a list of weights has one for each, a function has given them theirs.
        root: the joint tree of the valid revisions.
        likeness: how alike every two of them are.
        satisfies: whether a record meets the constraints; None without any.
        one_vote_per_source: whether trust is what other sources confirm.

    Returns:
        revision -> weight in units of 1e-9, at a mean of one unit unless the weights were given.
    """
    valid = sorted(root.values)
    if weighting is None:
        return dict.fromkeys(valid, UNIT)
    if weighting == "trust":
        bonus = {r: CONSISTENT for r in valid if satisfies is not None and satisfies(root.values[r])}
        sources = {sample.index: sample.source for sample in samples} if one_vote_per_source else None
        voices = len({sources[revision] for revision in valid}) if sources is not None else len(valid)
        alike = mean_similarities(likeness, valid, sources) if voices > 1 else dict.fromkeys(valid, 1.0)
        return {revision: round(weight * UNIT) for revision, weight in trust_weights(alike, bonus, sources).items()}
    given = _given(weighting, {sample.index: sample for sample in samples})
    return {revision: round(given(revision) * UNIT) for revision in valid}


def _given(weighting: Any, samples: Mapping[int, Sample]) -> Callable[[int], float]:
    """The weight of a revision, by its sample."""
    if weighting == "confidence":
        return lambda revision: samples[revision].confidence or 0.0
    if isinstance(weighting, Mapping):
        return lambda revision: float(weighting.get(samples[revision].source, 1.0))
    if callable(weighting):
        return lambda revision: samples[revision].weight
    return lambda revision: float(weighting[revision])


def function_weight(weighting: Weighting, sample: Sample) -> float:
    """What a valid sample weighs by a function given as ``weights=``; by any other setting what it weighed already.

    Raises:
        UnusableWeight: the function raised, or gave what is no weight.
    """
    return Weigher(weighting, MAX_WEIGHT).of_vote(sample) / UNIT if callable(weighting) else sample.weight


def check_number_of_weights(weighting: Weighting, revisions: int) -> None:
    """Raise unless a list of weights has one for each revision."""
    if isinstance(weighting, Sequence) and not isinstance(weighting, str) and len(weighting) != revisions:
        raise SettingsError(f"weights must have one number for each of {revisions} revisions, got {len(weighting)}")


def ranked(weights: Mapping[int, int], root: Node) -> list[int]:
    """The revisions, most trusted first, then in canonical order, that of their keys included."""

    def rank(revision: int) -> tuple[int, str, tuple[str, ...]]:
        record = root.values[revision]
        return -weights[revision], canonical_text(record), key_order(record)

    return sorted(weights, key=rank)
