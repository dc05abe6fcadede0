"""Stopping rules: when a vote need not draw any further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from .._coroutines import close_awaitable, is_awaitable
from ._count import Count
from ._outlook import Outlook, outlook
from ._pending import Tranche
from ._quorum import Quorum
from ._weights import UNIT, Weigher

__all__ = ["StoppingRule", "TallyState", "first_to_stop", "rule_name", "when_settled"]


@dataclass(frozen=True, slots=True)
class TallyState:
    """What a stopping rule may look at: the tally as it stands, or as it would stand if calls in flight agreed.

    Before another call is started, a rule is also asked about a *supposed* state, in which every call in flight has
    come back valid, for the leader, with its largest weight. If the rule would stop then, the call is not started.

    A state is only good for the call that it was made for: it looks at the running tally and copies nothing.

    Example:
        >>> def when_two_ahead(state: TallyState) -> bool:
        ...     return state.leader_votes - state.runner_up_votes >= 2
    """

    supposed: int
    """How many of the samples drawn are still in flight and only supposed."""
    _count: Count = field(repr=False)
    _pending: Tranche = field(repr=False)
    _quorum: Quorum = field(repr=False)
    _weigher: Weigher = field(repr=False)
    _ballots: Sequence[str | None] = field(repr=False)

    @property
    def planned(self) -> int:
        """Samples of a full run (``n``)."""
        return self._count.drawn + self._pending.samples

    @property
    def drawn(self) -> int:
        """Samples that are in."""
        return self._count.drawn

    @property
    def valid(self) -> int:
        """Valid samples that are in."""
        return self._count.valid

    @property
    def failed(self) -> int:
        """Failed samples that are in."""
        return self._count.drawn - self._count.valid

    @property
    def leader(self) -> str | None:
        """The ballot in first place; of several, the one that was seen first. None without a vote."""
        return None if self._count.leader is None else self._count.leader.ballot

    @property
    def leader_votes(self) -> int:
        """Votes of the first place."""
        return 0 if self._count.leader is None else self._count.leader.votes

    @property
    def runner_up_votes(self) -> int:
        """Votes of the second place."""
        return 0 if self._count.runner_up is None else self._count.runner_up.votes

    @property
    def counts(self) -> Mapping[str, int]:
        """Votes for each ballot. Takes time in proportion to the number of ballots."""
        return MappingProxyType({ballot: answer.votes for ballot, answer in self._count.answers.items()})

    @property
    def weights(self) -> Mapping[str, float]:
        """Weight of each ballot; the same as ``counts`` without ``weights=``."""
        return MappingProxyType({ballot: answer.weight / UNIT for ballot, answer in self._count.answers.items()})

    @property
    def ballots(self) -> tuple[str | None, ...]:
        """The ballots in the order in which they came in, None for a failure; supposed ones last."""
        return (*self._ballots, *[self.leader] * self.supposed)

    @property
    def settled(self) -> bool:
        """Whether the samples that are pending cannot change the outcome any more."""
        return outlook(self._count, self._pending, self._quorum, self._weigher) is not Outlook.OPEN


class StoppingRule(Protocol):
    """A callable over the state of the tally that says whether to stop: True to stop, False to go on.

    Any function will do; it must depend on the state alone. ``VoteResult.stopped_by`` gives its name: its attribute
    ``name`` if it has one, else ``__name__``.

    Example:
        >>> def when_two_ahead(state: TallyState) -> bool:
        ...     return state.leader_votes - state.runner_up_votes >= 2
        >>> from consilience.voting import vote
        >>> result = vote(lambda prompt: '{"team": "billing"}', "?", n=9, key="team", stop=when_two_ahead)
        >>> result.num_samples, result.stopped_by
        (2, 'when_two_ahead')
    """

    def __call__(self, state: TallyState, /) -> bool:
        """Whether to stop."""
        ...


@dataclass(frozen=True, slots=True)
class _WhenSettled:
    """See ``when_settled``."""

    name: str = field(default="when_settled", init=False, repr=False)

    def __call__(self, state: TallyState) -> bool:
        return state.settled

    def __repr__(self) -> str:
        return "when_settled()"


def when_settled() -> StoppingRule:
    """Stop once the remaining samples cannot change the outcome; ``early_stop=True`` means this rule.

    The decision and the winning ballot are always those of the full run. For votes of equal weight without
    ``one_vote_per_source`` the vote stops at the first moment at which all completions agree; otherwise it may go on
    for some calls more than it had to.

    Returns:
        A rule for ``stop=``.

    Example:
        >>> from consilience.voting import vote
        >>> vote(lambda prompt: '{"team": "billing"}', "?", n=9, key="team", stop=when_settled()).num_samples
        5
    """
    return _WhenSettled()


def rule_name(rule: Any) -> str:
    """The name by which a result says which rule stopped the vote."""
    name = getattr(rule, "name", None) or getattr(rule, "__name__", None)
    return name if isinstance(name, str) else type(rule).__name__


def first_to_stop(rules: Sequence[StoppingRule], state: TallyState) -> str | None:
    """The name of the first rule that says to stop; None when all say to go on."""
    for rule in rules:
        verdict = rule(state)
        if type(verdict) is not bool and is_awaitable(verdict):
            close_awaitable(verdict)
            raise TypeError(f"stop must be a plain function, but {rule_name(rule)!r} returned an awaitable")
        if verdict:
            return rule_name(rule)
    return None
