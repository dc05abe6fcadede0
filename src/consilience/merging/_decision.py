"""The decision: one vote at every place of the joint tree, from the root down."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._canonical import canonical_text
from .._errors import ConsilienceError
from ._comparators import Ignore, Ordered, Unordered, partition
from ._electorate import Electorate, Poll
from ._options import ABSENT, Branch, Child, Decision, Option, Status, is_kept
from ._order import majority_order, usual_key_order
from ._paths import ROOT, Path
from ._resolvers import OMIT, Conflict, ConflictResolver, omits_everything, resolve
from ._revisions import plain_json
from ._similarity import kind_of
from ._tree import Node

__all__ = ["UNIT", "Decider"]

H = TypeVar("H", bound=Hashable)

UNIT = 1_000_000_000
"""The weight of a plain vote: weights are whole numbers, so that sums do not depend on the order of revisions."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides the places of a joint tree by one electorate and one set of rules.

    ``ranking`` holds the revisions, most trusted first (empty where no rule asks for it); ``min_support`` is None
    where an item of a list needs what every value needs.
    """

    electorate: Electorate
    ranking: Sequence[int]
    min_agreement: float
    min_support: float | None
    resolver: ConflictResolver

    def decide(self, node: Node, poll: Poll, path: Path = ROOT) -> Decision:
        """Decide one place and all below it.

        Args:
            node: the place.
            poll: that of the revisions that hold the parent, as the kind of container that it was decided to be.
            path: where this is, for the resolver and for errors.

        Raises:
            ConsilienceError: a resolver or comparator raised; the message names the path.
        """
        node = self._as_seen_by(poll.voters, node)
        if node.rule is not None and isinstance(node.rule, Ignore):  # asking an abstract class takes its time
            return self._copied(node, poll)
        if len(node.scalars) == len(poll.voters) and self.electorate.has_no_sources:
            return self._unanimous(node, poll) or self._scalar(node, poll, [], path)
        kinds = poll.options(_kinds(node, poll.voters))
        absence = [option for option in kinds if option.value is ABSENT]
        winner = self._kind(kinds, poll.total)
        kind = winner.value if winner is not None and self._is_supported(winner) else None
        poll = poll.heard(kinds)
        if winner is not None and kind in ("object", "list"):
            options = [self._container(winner, node, path), *self._others(node, kind, poll), *absence]
            return Decision(node.pattern, options, 0, _agreement(options), poll.total, poll.voices, node.likeness)
        if kind == "scalar":
            return self._scalar(node, poll, absence, path)
        options = [*self._values(node, poll, path), *self._others(node, "scalar", poll), *absence]
        decision = Decision(node.pattern, options, 0, Status.OMITTED, poll.total, poll.voices, node.likeness)
        if winner is not None and kind is ABSENT:
            decision.take(winner, Status.ABSENT)
            return decision
        decision.lacks_sources = winner is not None
        return self._resolved(decision, poll, path)

    def _unanimous(self, node: Node, poll: Poll) -> Decision | None:
        """What all say who speak, as they do of most fields; None where they differ or have no weight."""
        if len(node.answers) > 1 or not poll.total:
            return None
        [(value, behind)] = node.answers
        option = Option(value, poll.total, behind, behind)
        return Decision(node.pattern, [option], 0, Status.UNANIMOUS, poll.total, poll.voices, node.likeness)

    def _scalar(self, node: Node, poll: Poll, absence: Sequence[Option], path: Path) -> Decision:
        """Decide which scalar stands at a place where one does."""
        values = self._values(node, poll, path)
        options = [*values, *self._others(node, "scalar", poll), *absence]
        decision = Decision(node.pattern, options, 0, Status.OMITTED, poll.total, poll.voices, node.likeness)
        leader = self._winner(values, poll.total)
        if leader is not None and self._is_supported(leader):
            decision.take(leader, _agreement(options))
            return decision
        decision.lacks_sources = leader is not None
        return self._resolved(decision, poll, path)

    def _as_seen_by(self, voters: Sequence[int], node: Node) -> Node:
        """The place without the revisions that have no say here: those whose source says something else."""
        return node.among(frozenset(voters)) if self.electorate.one_vote_per_source else node

    def _kind(self, kinds: Sequence[Option], total: int) -> Option | None:
        """What stands here: object, list, scalar, ABSENT, or None when no kind has a majority.

        An object or a list that as much of the weight has as lacks meets the threshold, and nothing else that is
        written here rivals it: it is kept. It is a part of a record that was forgotten more often than made up, and its
        content is still decided field by field. A single value has absence for a rival like any other.
        """
        present = [option for option in kinds if option.value is not ABSENT]
        if len(kinds) == len(present) == 1:
            return present[0]  # even if none of those who say so has any weight
        winner = self._winner(kinds, total)
        if winner is not None or not present:
            return winner
        level = self._winner(present, total)
        return level if level is not None and level.value in ("object", "list") else None

    def _winner(self, options: Sequence[Option], total: int) -> Option | None:
        """The heaviest option, if it meets the threshold and no other is as heavy."""
        heaviest = max([option.weight for option in options])
        leaders = [option for option in options if option.weight == heaviest]
        meets = total > 0 and heaviest / total >= self.min_agreement
        return leaders[0] if meets and len(leaders) == 1 else None

    def _is_supported(self, option: Option) -> bool:
        """Whether an answer has enough sources; that there is nothing needs no witness."""
        return option.value is ABSENT or self.electorate.is_supported(option)

    def _container(self, held: Option, node: Node, path: Path) -> Option:
        """The container that a place was decided to be, as seen by those who speak for it."""
        place = self._as_seen_by(held.speakers, node)
        branch = self._object(place, path) if held.value == "object" else self._list(place, path)
        return Option(branch, held.weight, held.revisions, held.speakers)

    def _values(self, node: Node, poll: Poll, path: Path) -> list[Option]:
        """The scalars here, those that count as equal in one option."""
        distinct = poll.options(node.answers)
        if node.rule is None or len(distinct) < 2:
            return distinct
        values, weights = [option.value for option in distinct], [option.weight for option in distinct]
        groups = partition(node.rule, values, weights, path)
        return _joined(poll, [[distinct[index] for index in group] for group in groups])

    def _others(self, node: Node, kind: str, poll: Poll) -> list[Option]:
        """What is of another kind than the one that is voted on, as whole values."""
        of_kind = node.objects if kind == "object" else node.lists if kind == "list" else node.scalars
        if len(of_kind) == len(node.values):
            return []
        others = {revision: value for revision, value in node.values.items() if kind_of(value) != kind}
        return _distinct(poll, others)

    def _object(self, node: Node, path: Path) -> Branch:
        holders = list(node.objects)
        poll = self.electorate.poll(holders)
        no_items = path is node.pattern  # then there is no position in the path that the pattern lacks
        decided = {}
        for key, child in node.keys.items():  # as loops, because a comprehension would be one more frame a level
            decided[key] = self.decide(child, poll, child.pattern if no_items else Path((*path, key)))
        orders = {revision: list(record) for revision, record in node.objects.items()}
        first, *others = orders.values()
        if any(order != first for order in others):
            first = _in_order(sorted(decided), decided, _positions(orders), self.electorate.shares(holders))
        return Branch("object", [(key, decided[key]) for key in first], holders, not all(node.objects.values()))

    def _list(self, node: Node, path: Path) -> Branch:
        # The items in an order that does not depend on that of the revisions: by what they hold, and where.
        items = sorted(node.items, key=lambda item: self._signature(*item))
        positions = {index: slot for index, (slot, _) in enumerate(items)}
        holders = list(node.lists)
        weights = self._order_weights(node, holders)
        # Their places among all items, for the resolver; those that are left out have no say in the order of the rest.
        places = majority_order(range(len(items)), positions, weights)
        poll = self.electorate.poll(holders)
        decided = {}
        for place, index in enumerate(places):
            decided[index] = self._item(items[index][1], poll, Path((*path, place)))
        by_position = isinstance(node.rule, Ordered)
        order = places if by_position else _in_order(sorted(decided), decided, positions, weights)
        children: list[Child] = [(None, decided[index]) for index in order]
        return Branch("list", children, holders, not all(node.lists.values()), by_position)

    def _signature(self, slot: Mapping[int, int], node: Node) -> list[tuple[str, int, int]]:
        weights = self.electorate.weights
        return sorted((canonical_text(node.values[r]), position, weights[r]) for r, position in slot.items())

    def _order_weights(self, node: Node, holders: Sequence[int]) -> Mapping[int, int]:
        """What each revision's order of the items weighs."""
        if isinstance(node.rule, Unordered):
            return {revision: 1 << place for place, revision in enumerate(reversed(self.ranking))}
        return self.electorate.shares(holders)

    def _item(self, node: Node, poll: Poll, path: Path) -> Decision:
        """Decide whether an item is kept, and what it holds, by the revisions that have it."""
        node = self._as_seen_by(poll.voters, node)
        lacking = _lacking(node, poll.voters)
        if not lacking or isinstance(node.rule, Ignore):
            return self.decide(node, self.electorate.poll(list(node.values)), path)
        have, absence = poll.options([(None, node.values), (ABSENT, lacking)])
        decision = self.decide(node, self.electorate.poll(have.speakers or have.revisions), path)
        decision.options.append(absence)
        decision.total, decision.voices = poll.total, poll.voices
        if decision.status == Status.UNANIMOUS:
            decision.status = Status.AGREED
        if self._is_kept(have, absence, poll.total):
            return decision
        decision.take(absence, Status.ABSENT if absence.weight > have.weight else Status.OMITTED)
        decision.lacks_sources = False
        return decision

    def _is_kept(self, have: Option, absence: Option, total: int) -> bool:
        if self.min_support is not None:
            return total > 0 and have.weight / total >= self.min_support
        return self._winner([have, absence], total) is have

    def _copied(self, node: Node, poll: Poll) -> Decision:
        source = next((revision for revision in self.ranking if revision in node.values), None)
        value = ABSENT if source is None else node.values[source]
        behind = () if source is None else (source,)
        return Decision(
            node.pattern, [Option(value, 0, behind, behind)], 0, Status.IGNORED, poll.total, poll.voices, node.likeness
        )

    def _resolved(self, decision: Decision, poll: Poll, path: Path) -> Decision:
        """Let the resolver choose a value, or leave the field out; so it is where nobody has a voice."""
        answer = OMIT
        if not omits_everything(self.resolver, self.min_agreement):
            conflict = self._conflict(decision, poll, path)
            answer = self._ask(conflict) if conflict.values else OMIT
        if answer is OMIT:
            decision.choose(ABSENT)
            return decision
        decision.status = Status.RESOLVED
        decision.choose(answer)
        return decision

    def _conflict(self, decision: Decision, poll: Poll, path: Path) -> Conflict:
        given = [ballot for option in decision.options if option.value is not ABSENT for ballot in poll.ballots(option)]
        given.sort(key=lambda ballot: (canonical_text(ballot.value), ballot.weight, ballot.source or ""))
        return Conflict(
            path,
            [ballot.value for ballot in given],
            [ballot.weight / UNIT for ballot in given],
            decision.total / UNIT,
            self.min_agreement,
            [ballot.source for ballot in given],
            self.electorate.min_sources,
        )

    def _ask(self, conflict: Conflict) -> Any:
        try:
            answer = resolve(self.resolver, conflict)
            return OMIT if answer is OMIT else plain_json(answer, "the value of the conflict resolver")
        except Exception as error:
            raise ConsilienceError(f"the conflict resolver raised at {conflict.path}: {error!r}") from error


def _kinds(node: Node, voters: Sequence[int]) -> list[tuple[Any, Iterable[int]]]:
    """The kinds of answers here, with the revisions that gave one."""
    lacking = _lacking(node, voters)
    kinds: list[tuple[Any, Collection[int]]] = [
        ("object", node.objects),
        ("list", node.lists),
        ("scalar", node.scalars),
        (ABSENT, lacking),
    ]
    return [(kind, revisions) for kind, revisions in kinds if revisions]


def _lacking(node: Node, voters: Sequence[int]) -> list[int]:
    """The voters that have nothing here."""
    if len(node.values) == len(voters):
        return []
    return [revision for revision in voters if revision not in node.values]


def _distinct(poll: Poll, values: Mapping[int, Any]) -> list[Option]:
    """One option for every different value, in canonical order."""
    behind: dict[str, list[int]] = {}
    for revision, value in values.items():
        behind.setdefault(canonical_text(value), []).append(revision)
    return poll.options((_as_most_write_it(poll, values, behind[text]), behind[text]) for text in sorted(behind))


def _as_most_write_it(poll: Poll, values: Mapping[int, Any], revisions: Sequence[int]) -> Any:
    """The value that these revisions have in common."""
    value = values[revisions[0]]
    if len(revisions) == 1 or not isinstance(value, dict | list):
        return value
    return usual_key_order({revision: values[revision] for revision in revisions}, poll.electorate.shares(revisions))


def _joined(poll: Poll, groups: Sequence[Sequence[Option]]) -> list[Option]:
    """Each group as one option, reported as the heaviest spelling in it; on a tie the first in canonical order."""
    joined = poll.options(
        (max(group, key=lambda option: option.weight).value, [r for option in group for r in option.revisions])
        for group in groups
    )
    return [
        option._replace(spellings=tuple(group)) if len(group) > 1 else option
        for option, group in zip(joined, groups, strict=True)
    ]


def _positions(orders: Mapping[int, list[str]]) -> dict[str, dict[int, int]]:
    """key -> revision -> position."""
    positions: dict[str, dict[int, int]] = {}
    for revision, order in orders.items():
        for position, key in enumerate(order):
            positions.setdefault(key, {})[revision] = position
    return positions


def _in_order(
    members: Sequence[H],
    decided: Mapping[H, Decision],
    positions: Mapping[H, Mapping[int, int]],
    weights: Mapping[int, int],
) -> list[H]:
    """Members in the majority's order: those that are kept, and after them those that are left out."""
    kept = [member for member in members if is_kept(decided[member], {})]
    left_out = [member for member in members if not is_kept(decided[member], {})]
    return majority_order(kept, positions, weights) + majority_order(left_out, positions, weights)


def _agreement(options: Sequence[Option]) -> str:
    return Status.UNANIMOUS if len(options) == 1 and len(options[0].spellings) < 2 else Status.AGREED
