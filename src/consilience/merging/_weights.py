"""Weights: what each revision counts, in whole units of 1e-9."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._canonical import canonical_text
from .._errors import SettingsError
from ..voting._sample import Sample
from ._decision import UNIT
from ._settings import Weighting, check_weight
from ._tree import Node
from ._trust import mean_similarities, trust_weights

__all__ = ["CONSISTENT", "ranked", "weigh"]

CONSISTENT = 2.0
"""How much more a revision counts that satisfies the constraints on its own."""


def weigh(
    weighting: Weighting,
    samples: Sequence[Sample],
    root: Node,
    satisfies: Callable[[Any], bool] | None,
    *,
    one_vote_per_source: bool = False,
) -> dict[int, int]:
    """Weigh the valid revisions.

    Args:
        weighting: the setting.
        samples: every sample; a list of weights has one for each.
        root: the joint tree of the valid revisions.
        satisfies: whether a record meets the constraints; None without any.
        one_vote_per_source: whether trust is what other sources confirm.

    Returns:
        revision -> weight in units of 1e-9, at a mean of one unit unless the weights were given.

    Raises:
        SettingsError: the weights given do not fit the revisions, or come to nothing.
    """
    valid = sorted(root.values)
    if weighting is None:
        return dict.fromkeys(valid, UNIT)
    if weighting == "trust":
        bonus = {r: CONSISTENT for r in valid if satisfies is not None and satisfies(root.values[r])}
        sources = {sample.index: sample.source for sample in samples} if one_vote_per_source else None
        voices = len({sources[revision] for revision in valid}) if sources is not None else len(valid)
        alike = mean_similarities(root, valid, sources) if voices > 1 else dict.fromkeys(valid, 1.0)
        return {revision: round(weight * UNIT) for revision, weight in trust_weights(alike, bonus).items()}
    given = _given(weighting, {sample.index: sample for sample in samples})
    weights = {revision: round(given(revision) * UNIT) for revision in valid}
    if not sum(weights.values()):
        raise SettingsError(f"weights must not all be 0, got {weighting!r}")
    return weights


def _given(weighting: Any, samples: Mapping[int, Sample]) -> Callable[[int], float]:
    """The weight of a revision, by its sample."""
    if weighting == "confidence":
        return lambda revision: samples[revision].confidence or 0.0
    if isinstance(weighting, Mapping):
        return lambda revision: float(weighting.get(samples[revision].source, 1.0))
    if callable(weighting):
        return lambda revision: _checked(f"weights(revision {revision})", weighting(samples[revision]))
    if len(weighting) != len(samples):
        raise SettingsError(f"weights must have one number for each of {len(samples)} revisions, got {len(weighting)}")
    return lambda revision: float(weighting[revision])


def _checked(name: str, weight: Any) -> float:
    check_weight(name, weight)
    return float(weight)


def ranked(weights: Mapping[int, int], root: Node) -> list[int]:
    """The revisions, most trusted first, then in canonical order."""
    return sorted(weights, key=lambda revision: (-weights[revision], canonical_text(root.values[revision])))
