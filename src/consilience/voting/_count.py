"""The count: what is known of the votes that are in, kept up to date with every sample."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from ._pending import Tranche

__all__ = ["Answer", "Count", "SourceCount"]

_SUPPOSED = "?"
"""The ballot of votes that are only supposed; no canonical JSON text is spelled like this."""


@dataclass(slots=True)
class Answer:
    """One ballot with its votes, its weight (in 1e-9) and the lowest index that voted for it."""

    ballot: str
    votes: int
    weight: int
    first: int

    def beats(self, other: Answer | None) -> bool:
        """Whether this answer stands before ``other``: by weight, then by who was first."""
        return other is None or (self.weight, -self.first) > (other.weight, -other.first)


@dataclass(slots=True)
class SourceCount:
    """The votes of one source: for each ballot the summed and the largest weight."""

    weights: dict[str, int]
    heaviest: dict[str, int]
    blank_weight: int

    def places(self) -> tuple[str | None, int, int]:
        """The ballot in first place with its weight, and the weight of the second place (-1 when there is none)."""
        best, weight, second = None, -1, -1
        for ballot, summed in self.weights.items():
            if summed > weight:
                best, weight, second = ballot, summed, weight
            elif summed > second:
                second = summed
        return best, weight, second

    def choice(self) -> str | None:
        """The source's own plurality; None when it is tied within itself or has no valid vote."""
        best, weight, second = self.places()
        return best if weight > second else None


class Count:
    """Votes and weights per answer, and the first two places.

    An answer only ever gains, so both places can be kept up to date in constant time, in whatever order samples arrive.
    What each source said is kept only on demand (``by_source`` is None otherwise).
    """

    __slots__ = (
        "answers",
        "by_source",
        "drawn",
        "failed_weight",
        "leader",
        "runner_up",
        "valid",
        "valid_weight",
    )

    def __init__(self, *, track_sources: bool) -> None:
        self.answers: MutableMapping[str, Answer] = {}
        self.by_source: dict[str | None, SourceCount] | None = {} if track_sources else None
        self.drawn = 0
        self.valid = 0
        self.valid_weight = 0
        self.failed_weight = 0
        self.leader: Answer | None = None
        self.runner_up: Answer | None = None

    def add_vote(self, index: int, ballot: str, weight: int, source: str | None, blank_weight: int) -> None:
        """Count a valid sample; ``blank_weight`` is what its source weighs if it ends up supporting nobody."""
        self.drawn += 1
        self.valid += 1
        self.valid_weight += weight
        answer = self.answers.get(ballot)
        if answer is None:
            answer = self.answers[ballot] = Answer(ballot, 0, 0, index)
        answer.votes += 1
        answer.weight += weight
        answer.first = min(answer.first, index)
        self._place(answer)
        if self.by_source is not None:
            counted = self._of_source(source, blank_weight)
            counted.weights[ballot] = counted.weights.get(ballot, 0) + weight
            counted.heaviest[ballot] = max(counted.heaviest.get(ballot, 0), weight)

    def add_failure(self, weight: int, source: str | None) -> None:
        """Count a failed sample."""
        self.drawn += 1
        self.failed_weight += weight
        if self.by_source is not None:
            self._of_source(source, weight)

    def supporters(self, ballot: str, *, by_plurality: bool) -> Iterator[str | None]:
        """The sources that voted for ``ballot``, or whose own plurality it is; sources must have been tracked."""
        for source, counted in (self.by_source or {}).items():
            if counted.choice() == ballot if by_plurality else ballot in counted.weights:
                yield source

    def supposing(self, flight: Tranche, ballot: str | None) -> Count:
        """The count as it would be if every call in flight came back valid, for ``ballot``, with its largest weight.

        Takes constant time (with tracked sources: time in proportion to their own counts), since it is asked before
        each call; the copy shares what does not change and must not be added to. Without a ballot, the calls agree on
        one that nobody has given yet.
        """
        if not flight.samples:
            return self
        was = Answer(_SUPPOSED, 0, 0, flight.lowest) if ballot is None else self.answers[ballot]
        raised = Answer(
            was.ballot, was.votes + flight.samples, was.weight + flight.weight, min(was.first, flight.lowest)
        )
        supposed = Count(track_sources=False)
        supposed.answers = ChainMap({raised.ballot: raised}, self.answers)
        supposed.drawn = self.drawn + flight.samples
        supposed.valid = self.valid + flight.samples
        supposed.valid_weight = self.valid_weight + flight.weight
        supposed.failed_weight = self.failed_weight
        rest = [answer for answer in (self.leader, self.runner_up) if answer is not None and answer is not was]
        for answer in (raised, *rest):
            supposed._place(answer)
        if self.by_source is not None:
            supposed.by_source = self._supposed_sources(raised.ballot, flight)
        return supposed

    def _place(self, answer: Answer) -> None:
        if answer is self.leader:
            return
        if answer.beats(self.leader):
            self.leader, self.runner_up = answer, self.leader
        elif answer is not self.runner_up and answer.beats(self.runner_up):
            self.runner_up = answer

    def _of_source(self, source: str | None, blank_weight: int) -> SourceCount:
        assert self.by_source is not None
        counted = self.by_source.get(source)
        if counted is None:
            counted = self.by_source[source] = SourceCount({}, {}, blank_weight)
        return counted

    def _supposed_sources(self, ballot: str, flight: Tranche) -> dict[str | None, SourceCount]:
        assert self.by_source is not None
        supposed = dict(self.by_source)
        for source, (calls, ceiling) in _flights_by_source(flight).items():
            was = supposed.get(source) or SourceCount({}, {}, ceiling)
            supposed[source] = SourceCount(
                {**was.weights, ballot: was.weights.get(ballot, 0) + calls * ceiling},
                {**was.heaviest, ballot: max(was.heaviest.get(ballot, 0), ceiling)},
                was.blank_weight,
            )
        return supposed


def _flights_by_source(flight: Tranche) -> Mapping[str | None, tuple[int, int]]:
    """Calls in flight and the most that one of them can weigh, by source; unknown sources may all be different ones."""
    if flight.by_source is None:
        return {f"{_SUPPOSED}{number}": (1, flight.weight // flight.samples) for number in range(flight.samples)}
    return flight.by_source
