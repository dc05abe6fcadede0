"""The quorum: who won, by which share, and whether that is enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ._count import Count
from ._reasons import Reason

__all__ = ["Decision", "Quorum", "Voices", "number_of_sources"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the quorum makes of a count.

    ``reason`` is None when ``leader`` won. ``support`` of ``electorate`` voices (samples, or sources with
    ``one_vote_per_source``) are behind the leader; ``tied`` answers share the first place.
    """

    reason: str | None
    leader: str | None
    agreement: float
    valid_ratio: float
    support: int
    electorate: int
    tied: int
    lead_weight: int
    sources: int


@dataclass(slots=True)
class Voices:
    """The voices of sources: for each ballot their weight and number, and those that support nobody ("blank")."""

    weights: dict[str, int] = field(default_factory=dict)
    support: dict[str, int] = field(default_factory=dict)
    blanks: int = 0
    blank_weight: int = 0

    @classmethod
    def of(cls, count: Count) -> Voices:
        """Let each source of ``count`` speak once, by its own plurality."""
        voices = cls()
        for source in (count.by_source or {}).values():
            choice = source.choice()
            if choice is None:
                voices.blanks += 1
                voices.blank_weight += source.blank_weight
            else:
                voices.weights[choice] = voices.weights.get(choice, 0) + source.heaviest[choice]
                voices.support[choice] = voices.support.get(choice, 0) + 1
        return voices

    def denominator(self, count_failures: bool) -> int:
        """What all voices weigh together."""
        return sum(self.weights.values()) + (self.blank_weight if count_failures else 0)


@dataclass(frozen=True, slots=True)
class Poll:
    """The first place, whether voices are samples or sources. Weights are in 1e-9."""

    leader: str | None
    weight: int
    tied: int
    support: int
    denominator: int
    electorate: int


def number_of_sources(supporters: Iterable[str | None]) -> int:
    """How many different witnesses these are; votes without a named source may all come from one, or a named one."""
    named = set(supporters)
    return len(named - {None}) or len(named)


@dataclass(frozen=True, slots=True)
class Quorum:
    """The rules that an answer must meet (see ``VoteSettings``)."""

    min_valid: float
    min_agreement: float
    count_failures: bool
    abstain_on_tie: bool
    min_sources: int
    one_vote_per_source: bool

    @property
    def track_sources(self) -> bool:
        """Whether a count must remember what each source said."""
        return self.one_vote_per_source or self.min_sources > 1

    def decide(self, count: Count) -> Decision:
        """Apply every rule, in the documented order, to the samples that are in."""
        poll = self._poll_of_sources(count) if self.one_vote_per_source else self._poll_of_samples(count)
        valid_ratio = count.valid / count.drawn if count.drawn else 0.0
        agreement = poll.weight / poll.denominator if poll.denominator else 0.0
        sources = 0
        if poll.leader is not None and self.track_sources:
            sources = number_of_sources(count.supporters(poll.leader, by_plurality=self.one_vote_per_source))
        return Decision(
            reason=self._reason(count, poll, valid_ratio, agreement, sources),
            leader=poll.leader,
            agreement=agreement,
            valid_ratio=valid_ratio,
            support=poll.support,
            electorate=poll.electorate,
            tied=poll.tied,
            lead_weight=poll.weight,
            sources=sources,
        )

    def _reason(self, count: Count, poll: Poll, valid_ratio: float, agreement: float, sources: int) -> str | None:
        if not count.valid or not count.valid_weight:
            return Reason.NO_VALID
        if valid_ratio < self.min_valid:
            return Reason.TOO_FEW_VALID
        if poll.leader is None or (poll.tied > 1 and self.abstain_on_tie):
            return Reason.TIE
        if agreement < self.min_agreement:
            return Reason.LOW_AGREEMENT
        if sources < self.min_sources and self.track_sources:
            return Reason.TOO_FEW_SOURCES
        return None

    def _poll_of_samples(self, count: Count) -> Poll:
        denominator = count.valid_weight + (count.failed_weight if self.count_failures else 0)
        electorate = count.drawn if self.count_failures else count.valid
        leader = count.leader
        if leader is None:
            return Poll(None, 0, 0, 0, denominator, electorate)
        tied = 1
        if count.runner_up is not None and count.runner_up.weight == leader.weight:
            tied = sum(answer.weight == leader.weight for answer in count.answers.values())
        return Poll(leader.ballot, leader.weight, tied, leader.votes, denominator, electorate)

    def _poll_of_sources(self, count: Count) -> Poll:
        voices = Voices.of(count)
        denominator = voices.denominator(self.count_failures)
        electorate = sum(voices.support.values()) + (voices.blanks if self.count_failures else 0)
        weights = voices.weights
        if not any(weights.values()):
            return Poll(None, 0, 0, 0, denominator, electorate)
        leader = max(weights, key=lambda ballot: (weights[ballot], -count.answers[ballot].first))
        tied = sum(weight == weights[leader] for weight in weights.values())
        return Poll(leader, weights[leader], tied, voices.support[leader], denominator, electorate)
