"""Gathering: one pass over the sightings, which keeps only what a result holds."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._errors import SettingsError
from ._claims import Reader
from ._identity import Components, Identity, identity_of
from ._provenance import ProvenanceRecord, Sighting, in_order
from ._values import UnusableClaim

__all__ = ["Gathering", "Sightings"]

logger = logging.getLogger("consilience")


class Sightings:
    """The sightings of one claim."""

    __slots__ = ("_highest", "_sightings", "components")

    def __init__(self, components: Components, sighting: Sighting) -> None:
        self.components = components
        self._highest = sighting[0]
        self._sightings = [sighting]

    def add(self, components: Components, sighting: Sighting) -> None:
        """One more sighting. The spelling of the most confident counts; in a tie, the first in alphabetical order."""
        self._sightings.append(sighting)
        confidence = sighting[0]
        if confidence > self._highest or (confidence == self._highest and _texts(components) < _texts(self.components)):
            self.components = components
            self._highest = confidence

    def provenance(self) -> tuple[ProvenanceRecord, ...]:
        """Every sighting, highest confidence first."""
        return in_order(self._sightings)


def _texts(components: Components) -> list[str]:
    """What can be spelled in several ways."""
    return [part for part in components if isinstance(part, str)]


class Gathering:
    """What one pass over the claims brings together.

    Args:
        reader: what reads one claim.
        skip: whether claims that cannot be used are counted, instead of raising.
    """

    def __init__(self, reader: Reader, *, skip: bool) -> None:
        self._reader = reader
        self._skip = skip
        self._skipped: Counter[str] = Counter()
        self._claims: dict[Identity, Sightings] = {}

    def take(self, claims: Any) -> None:
        """Read every claim once; an iterator is used up.

        Raises:
            TypeError: ``claims`` is no collection of claims.
            SettingsError: a claim cannot be used and none are to be skipped.
        """
        noun = self._reader.noun
        if isinstance(claims, str | bytes | Mapping) or not isinstance(claims, Iterable):
            raise TypeError(f"{noun}s must be an iterable of {noun}s, got {type(claims).__name__}")
        for index, claim in enumerate(claims):
            try:
                self._take(claim)
            except UnusableClaim as problem:  # noqa: PERF203 - which one it was must be known
                self._set_aside(f"{noun} {index} {self._reader.show(claim)}: {problem}", problem)

    def drain(self) -> Iterator[tuple[Identity, Components, tuple[ProvenanceRecord, ...]]]:
        """Hand out what was gathered, claim by claim, and forget it, so that no sighting is held twice."""
        while self._claims:
            identity, sightings = self._claims.popitem()
            yield identity, sightings.components, sightings.provenance()

    @property
    def skipped(self) -> tuple[tuple[str, int], ...]:
        """Pairs of reason and number of claims, most first, then by reason."""
        return tuple(sorted(self._skipped.items(), key=lambda item: (-item[1], item[0])))

    def _take(self, claim: Any) -> None:
        components, sighting = self._reader.read(claim)
        identity = identity_of(components)
        sightings = self._claims.get(identity)
        if sightings is None:
            self._claims[identity] = Sightings(components, sighting)
        else:
            sightings.add(components, sighting)

    def _set_aside(self, message: str, problem: UnusableClaim) -> None:
        if not self._skip:
            raise SettingsError(
                f'{message}; on_bad="skip" leaves such a {self._reader.noun} out and counts it'
            ) from problem
        logger.debug("skipped %s", message)
        self._skipped[problem.reason] += 1
