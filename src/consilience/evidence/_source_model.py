"""The source model: what the sightings of one claim are worth, given how its sources depend on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._arguments import check_share
from .._errors import SettingsError
from ._near_duplicates import originals
from ._noisy_or import noisy_or
from ._provenance import ProvenanceRecord

__all__ = ["SourceModel"]

_NEARLY_THE_SAME = 0.9
"""The similarity that ``near_duplicates=True`` stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceModel:
    """How sources depend on each other. The defaults take them for independent."""

    correlation: float = 0.0
    leak: float = 0.0
    near_duplicates: bool | float = False

    def __post_init__(self) -> None:
        check_share("correlation", self.correlation)
        check_share("leak", self.leak)
        if not isinstance(self.near_duplicates, bool):
            check_share("near_duplicates", self.near_duplicates)
            if not self.near_duplicates:
                raise SettingsError("near_duplicates must be True, False, or a number above 0 and up to 1, got 0")

    def worth(self, provenance: Sequence[ProvenanceRecord]) -> tuple[float, int]:
        """The confidence of a claim, and how many sources it rests on.

        Sightings of one source are one piece of evidence, worth as much as the best of them.

        Args:
            provenance: every sighting of the claim, highest confidence first.
        """
        lowest_first = reversed(provenance)
        if self.near_duplicates is False:
            highest = {record.source_iri: record.confidence for record in lowest_first}
        else:
            same = originals(provenance, _NEARLY_THE_SAME if self.near_duplicates is True else self.near_duplicates)
            highest = {same[record.source_iri]: record.confidence for record in lowest_first}
        return noisy_or(highest.values(), correlation=self.correlation, leak=self.leak), len(highest)
