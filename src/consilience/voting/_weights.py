"""Weights: what a vote, or a failure, weighs.

Weights are whole numbers of 1e-9, so that sums and ties do not depend on the order in which replies arrive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

from .._coroutines import require_plain_function
from .._errors import SettingsError, received
from ._excerpts import excerpt_error, excerpt_value
from ._sample import Sample

__all__ = ["UNIT", "UnusableWeight", "Weigher", "Weights", "check_weights"]

UNIT = 1_000_000_000
"""The weight of a plain vote."""

Weights = Literal["confidence"] | Mapping[str, float] | Callable[[Sample], float] | None


class UnusableWeight(Exception):  # noqa: N818 - a signal inside the judging of one reply
    """A function given as ``weights=`` raised, or gave something that is no weight."""


def check_weights(weights: Any, max_weight: float) -> None:
    """Raise for ``weights`` that are not allowed."""
    if isinstance(weights, Mapping):
        for source, weight in weights.items():
            if not _is_weight(weight, max_weight):
                raise SettingsError(
                    f"weights[{received(source)}] must be a number from 0 to {max_weight:g} "
                    f"(larger ones: give max_weight), got {received(weight)}"
                )
    elif isinstance(weights, str):
        if weights != "confidence":
            raise SettingsError(f'weights must be "confidence", a mapping, a function or None, got {received(weights)}')
    elif weights is not None and not callable(weights):
        raise TypeError(f'weights must be "confidence", a mapping, a function or None, got {type(weights).__name__}')
    else:
        require_plain_function("weights", weights)


def _is_weight(weight: Any, max_weight: float) -> bool:
    try:
        return not isinstance(weight, bool) and math.isfinite(weight) and 0 <= weight <= max_weight
    except (TypeError, ValueError, OverflowError):
        return False


class Weigher:
    """The weights of one vote: of the samples that are in, and bounds for those that are not."""

    def __init__(self, weights: Weights, max_weight: float) -> None:
        self.weighted = weights is not None
        self.fixed = weights is None or isinstance(weights, Mapping)  # all samples of one source weigh the same
        self._weights = weights
        self._max_weight = max_weight
        self._by_source: dict[str, int] = {}
        self._heaviest = UNIT
        if isinstance(weights, Mapping):
            self._by_source = {source: round(weight * UNIT) for source, weight in weights.items()}
            self._heaviest = max((UNIT, *self._by_source.values()))
        elif callable(weights):
            self._heaviest = round(max_weight * UNIT)

    def of_vote(self, sample: Sample) -> int:
        """What a valid sample weighs; without ``weights=`` everything weighs one unit.

        Raises:
            UnusableWeight: the function given as ``weights=`` failed on it.
        """
        if self._weights is None:
            return UNIT
        if self._weights == "confidence":
            return round((sample.confidence or 0.0) * UNIT)
        if isinstance(self._weights, Mapping):
            return self.of_failure(sample.source)
        return self._from_function(sample)

    def of_failure(self, source: str | None) -> int:
        """What a failed sample weighs: what its source weighs, else one unit."""
        return UNIT if source is None else self._by_source.get(source, UNIT)

    def ceiling(self, source: str | None) -> int:
        """The most that a sample can weigh, valid or failed; ``source`` is None when it is not known beforehand."""
        return self._heaviest if source is None or not isinstance(self._weights, Mapping) else self.of_failure(source)

    def _from_function(self, sample: Sample) -> int:
        function: Any = self._weights
        try:
            weight: float = function(sample)
        except Exception as error:
            raise UnusableWeight(f"weights raised {excerpt_error(error)}") from None
        if not _is_weight(weight, self._max_weight):
            raise UnusableWeight(
                f"weights gave {excerpt_value(weight)}, allowed is a number from 0 to {self._max_weight:g} "
                "(larger ones: give max_weight)"
            )
        return round(weight * UNIT)
