"""The electorate: who has a voice at a place of the joint tree, and what each answer there has behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Any, NamedTuple

from ..voting._quorum import number_of_sources
from ._options import Option

__all__ = ["Ballot", "Electorate", "Poll"]


@dataclass(frozen=True, slots=True)
class Electorate:
    """The revisions, each with a voice of its own; or, with ``one_vote_per_source``, their sources.

    ``weights`` (in units of 1e-9) and ``sources`` are those of the revisions; ``min_sources`` is the least number of
    different sources that must support an answer.
    """

    weights: Mapping[int, int]
    sources: Mapping[int, str | None]
    min_sources: int = 1
    one_vote_per_source: bool = False

    @property
    def has_no_sources(self) -> bool:
        """Whether it makes no difference who is behind a revision."""
        return self.min_sources == 1 and not self.one_vote_per_source

    def poll(self, voters: Sequence[int]) -> Poll:
        """The poll at a place whose parent is held by these revisions."""
        total = self.weight(voters)
        if not self.one_vote_per_source:
            return Poll(self, voters, total, len(voters))
        return _PollOfSources(self, voters, total, self.voices(voters), self._heaviest(voters), frozenset(voters))

    def weight(self, revisions: Collection[int]) -> int:
        """What these revisions weigh together: every voice as much as the heaviest of its revisions."""
        if not self.one_vote_per_source:
            return sum(map(self.weights.__getitem__, revisions))
        return sum(self._heaviest(revisions).values())

    def voices(self, revisions: Collection[int]) -> int:
        """How many voices these revisions are."""
        return len({self.sources[revision] for revision in revisions}) if self.one_vote_per_source else len(revisions)

    def is_supported(self, option: Option) -> bool:
        """Whether enough different sources support an option."""
        if self.min_sources == 1:
            return True
        return number_of_sources(self.sources[revision] for revision in option.speakers) >= self.min_sources

    def shares(self, revisions: Collection[int]) -> Mapping[int, int]:
        """What each revision has of its voice, where all of them are heard (in a unit of its own, so that it is whole).

        With a voice for every source, its revisions share it.
        """
        if not self.one_vote_per_source:
            return self.weights
        number: dict[str | None, int] = {}
        for revision in revisions:
            number[self.sources[revision]] = number.get(self.sources[revision], 0) + 1
        common = lcm(*number.values())
        return {r: self.weights[r] * (common // number[self.sources[r]]) for r in revisions}

    def _heaviest(self, revisions: Iterable[int]) -> dict[str | None, int]:
        heaviest: dict[str | None, int] = {}
        for revision in revisions:
            source = self.sources[revision]
            heaviest[source] = max(heaviest.get(source, 0), self.weights[revision])
        return heaviest


class Ballot(NamedTuple):
    """One voice: its answer, its weight and whose it is."""

    value: Any
    weight: int
    source: str | None


@dataclass(slots=True)
class Poll:
    """The vote of ``voters`` at one place: ``voices`` in number, with a weight of ``total``."""

    electorate: Electorate
    voters: Sequence[int]
    total: int
    voices: int

    def options(self, answers: Iterable[tuple[Any, Iterable[int]]]) -> list[Option]:
        """Count the voices for each answer.

        Args:
            answers: answers that exclude each other, with the revisions that gave them (a tuple has them in order).
        """
        weight = self.electorate.weights.__getitem__
        found = []
        for value, revisions in answers:
            behind = revisions if type(revisions) is tuple else tuple(sorted(revisions))
            found.append(Option(value, sum(map(weight, behind)), behind, behind))
        return found

    def heard(self, _kinds: Sequence[Option]) -> Poll:
        """The poll among those who are with one of these kinds of answer."""
        return self

    def ballots(self, option: Option) -> list[Ballot]:
        """Every voice for an option."""
        weights, sources = self.electorate.weights, self.electorate.sources
        spelled = option.spellings or (option,)
        return [Ballot(each.value, weights[r], sources[r]) for each in spelled for r in each.revisions]


@dataclass(slots=True)
class _PollOfSources(Poll):
    """Every source speaks once, by its own plurality; one that is tied within itself supports nobody.

    ``heaviest`` holds what each source weighs here; ``heard_revisions`` are those that speak for their source.
    """

    heaviest: Mapping[str | None, int]
    heard_revisions: frozenset[int]

    def options(self, answers: Iterable[tuple[Any, Iterable[int]]]) -> list[Option]:
        given = [(value, tuple(sorted(revisions))) for value, revisions in answers]
        choices = self._choices([revisions for _, revisions in given])
        found = []
        for index, (value, revisions) in enumerate(given):
            supporters = {source for source, choice in choices.items() if choice == index}
            speakers = tuple(r for r in revisions if self.electorate.sources[r] in supporters)
            weight = sum(self.heaviest[source] for source in supporters)
            found.append(Option(value, weight, revisions, speakers))
        return found

    def heard(self, kinds: Sequence[Option]) -> Poll:
        return replace(self, heard_revisions=frozenset(r for kind in kinds for r in kind.speakers))

    def ballots(self, option: Option) -> list[Ballot]:
        sources = {self.electorate.sources[revision] for revision in option.speakers}
        return [Ballot(option.value, self.heaviest[source], source) for source in sources]

    def _choices(self, answers: Sequence[Iterable[int]]) -> dict[str | None, int | None]:
        """Source -> the number of the answer that is its own plurality; None when it is tied."""
        weights: dict[str | None, dict[int, int]] = {}
        for index, revisions in enumerate(answers):
            for revision in self.heard_revisions.intersection(revisions):
                counted = weights.setdefault(self.electorate.sources[revision], {})
                counted[index] = counted.get(index, 0) + self.electorate.weights[revision]
        return {source: _plurality(counted) for source, counted in weights.items()}


def _plurality(counted: Mapping[int, int]) -> int | None:
    heaviest = max(counted.values())
    leaders = [index for index, weight in counted.items() if weight == heaviest]
    return leaders[0] if len(leaders) == 1 else None
