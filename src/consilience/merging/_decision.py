"""The decision: one vote at every place of the joint tree, from the root down."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._canonical import canonical_text
from .._errors import ConsilienceError
from ._comparators import Ignore, Unordered
from ._options import ABSENT, Branch, Decision, Option, Status, is_kept
from ._order import majority_order
from ._paths import ROOT, Path
from ._resolvers import OMIT, Conflict, ConflictResolver, resolve
from ._revisions import plain_json
from ._similarity import kind_of
from ._tree import Node

__all__ = ["UNIT", "Decider"]

H = TypeVar("H", bound=Hashable)

UNIT = 1_000_000_000
"""The weight of a plain vote: weights are whole numbers, so that sums do not depend on the order of revisions."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides the places of a joint tree by one set of weights and rules.

    ``weights`` are in units of 1e-9; ``ranking`` holds the revisions, most trusted first; ``min_support`` is None
    where an item of a list needs what every value needs.
    """

    weights: Mapping[int, int]
    ranking: Sequence[int]
    min_agreement: float
    min_support: float | None
    resolver: ConflictResolver

    def decide(self, node: Node, voters: Sequence[int], path: Path = ROOT) -> Decision:
        """Decide one place and all below it.

        Args:
            node: the place.
            voters: the revisions that hold the parent, as the kind of container that it was decided to be.
            path: where this is, for the resolver and for errors.

        Raises:
            ConsilienceError: a resolver or comparator raised; the message names the path.
        """
        if isinstance(node.rule, Ignore):
            return self._copied(node, voters)
        total = self._weigh(voters)
        absence = self._absence(node, voters)
        kind = self._kind(node, absence, total)
        if kind in ("object", "list"):
            branch = self._object(node, path) if kind == "object" else self._list(node, path)
            options = [self._option(branch, branch.holders), *self._others(node, kind), *absence]
            return Decision(node.pattern, options, 0, _agreement(options), total, len(voters))
        values = self._values(node, path)
        options = [*values, *self._others(node, "scalar"), *absence]
        if kind == "absent":
            return Decision(node.pattern, options, len(options) - 1, Status.ABSENT, total, len(voters))
        choice = self._winner(values, total) if kind == "scalar" else None
        if choice is not None:
            return Decision(node.pattern, options, choice, _agreement(options), total, len(voters))
        return self._resolved(Decision(node.pattern, options, 0, Status.OMITTED, total, len(voters)), node, path)

    def _weigh(self, revisions: Iterable[int]) -> int:
        return sum(map(self.weights.__getitem__, revisions))

    def _option(self, value: Any, revisions: Iterable[int]) -> Option:
        behind = tuple(sorted(revisions))
        return Option(value, self._weigh(behind), behind)

    def _winner(self, options: Sequence[Option], total: int) -> int | None:
        """The heaviest option, if it meets the threshold and no other is as heavy."""
        heaviest = max(option.weight for option in options)
        leaders = [index for index, option in enumerate(options) if option.weight == heaviest]
        meets = total > 0 and heaviest / total >= self.min_agreement
        return leaders[0] if meets and len(leaders) == 1 else None

    def _kind(self, node: Node, absence: list[Option], total: int) -> str | None:
        """What stands here: object, list, scalar, absent, or None when no kind has a majority."""
        held: Mapping[str, Mapping[int, Any]] = {"object": node.objects, "list": node.lists, "scalar": node.scalars}
        kinds = [self._option(kind, revisions) for kind, revisions in held.items() if revisions]
        if len(kinds) == 1 and not absence:
            return str(kinds[0].value)
        kinds += [Option("absent", option.weight, option.revisions) for option in absence]
        winner = self._winner(kinds, total)
        return None if winner is None else str(kinds[winner].value)

    def _absence(self, node: Node, voters: Sequence[int]) -> list[Option]:
        lacking = [revision for revision in voters if revision not in node.values]
        return [self._option(ABSENT, lacking)] if lacking else []

    def _values(self, node: Node, path: Path) -> list[Option]:
        """The scalars here, those that count as equal in one option."""
        distinct = self._distinct(node.scalars, node.texts)
        if node.rule is None or len(distinct) < 2:
            return distinct
        try:
            groups = node.rule.groups([option.value for option in distinct], [option.weight for option in distinct])
        except Exception as error:
            raise ConsilienceError(f"the comparator of {path} raised {type(error).__name__}: {error}") from error
        return [_as_one([distinct[index] for index in group]) for group in groups]

    def _others(self, node: Node, kind: str) -> list[Option]:
        """What is of another kind than the one that is voted on, as whole values."""
        of_kind = node.objects if kind == "object" else node.lists if kind == "list" else node.scalars
        if len(of_kind) == len(node.values):
            return []
        others = {revision: value for revision, value in node.values.items() if kind_of(value) != kind}
        return self._distinct(others, {revision: canonical_text(value) for revision, value in others.items()})

    def _distinct(self, values: Mapping[int, Any], texts: Mapping[int, str]) -> list[Option]:
        """One option for every different value, in canonical order."""
        behind: dict[str, list[int]] = {}
        for revision in values:
            behind.setdefault(texts[revision], []).append(revision)
        return [self._option(values[behind[text][0]], behind[text]) for text in sorted(behind)]

    def _object(self, node: Node, path: Path) -> Branch:
        holders = list(node.objects)
        decided = {key: self.decide(child, holders, Path((*path, key))) for key, child in node.keys.items()}
        orders = {revision: list(record) for revision, record in node.objects.items()}
        first, *others = orders.values()
        if any(order != first for order in others):
            first = _in_order(sorted(decided), decided, _positions(orders), self.weights)
        return Branch("object", [(key, decided[key]) for key in first], holders, not all(node.objects.values()))

    def _list(self, node: Node, path: Path) -> Branch:
        # The items in an order that does not depend on that of the revisions: by what they hold, and where.
        items = sorted(node.items, key=lambda item: self._signature(*item))
        positions = {index: slot for index, (slot, _) in enumerate(items)}
        weights = self._order_weights(node)
        holders = list(node.lists)
        # Their places among all items, for the resolver; those that are left out have no say in the order of the rest.
        places = majority_order(range(len(items)), positions, weights)
        decided = {
            index: self._item(items[index][1], holders, Path((*path, place))) for place, index in enumerate(places)
        }
        order = _in_order(sorted(decided), decided, positions, weights)
        return Branch("list", [(None, decided[index]) for index in order], holders, not all(node.lists.values()))

    def _signature(self, slot: Mapping[int, int], node: Node) -> list[tuple[str, int, int]]:
        return sorted((canonical_text(value), slot[r], self.weights[r]) for r, value in node.values.items())

    def _order_weights(self, node: Node) -> Mapping[int, int]:
        """What each revision's order of the items weighs."""
        if isinstance(node.rule, Unordered):
            return {revision: 1 << place for place, revision in enumerate(reversed(self.ranking))}
        return self.weights

    def _item(self, node: Node, holders: Sequence[int], path: Path) -> Decision:
        """Decide what an item holds, by the revisions that have it, and then whether it is kept."""
        decision = self.decide(node, list(node.values), path)
        absence = self._absence(node, holders)
        if not absence or isinstance(node.rule, Ignore):
            return decision
        have = self._option(None, node.values)
        decision.options.extend(absence)
        decision.total, decision.voters = self._weigh(holders), len(holders)
        if decision.status == Status.UNANIMOUS:
            decision.status = Status.AGREED
        if self._is_kept(have, absence[0], decision.total):
            return decision
        decision.choice = len(decision.options) - 1
        decision.status = Status.ABSENT if absence[0].weight > have.weight else Status.OMITTED
        return decision

    def _is_kept(self, have: Option, absence: Option, total: int) -> bool:
        if self.min_support is not None:
            return total > 0 and have.weight / total >= self.min_support
        return self._winner([have, absence], total) == 0

    def _copied(self, node: Node, voters: Sequence[int]) -> Decision:
        source = next((revision for revision in self.ranking if revision in node.values), None)
        value = ABSENT if source is None else node.values[source]
        options = [Option(value, 0, () if source is None else (source,))]
        return Decision(node.pattern, options, 0, Status.IGNORED, self._weigh(voters), len(voters))

    def _conflict(self, node: Node, total: int, path: Path) -> Conflict:
        held = sorted(node.values.items(), key=lambda item: (canonical_text(item[1]), self.weights[item[0]]))
        weights = [self.weights[revision] / UNIT for revision, _ in held]
        return Conflict(path, [value for _, value in held], weights, total / UNIT, self.min_agreement)

    def _ask(self, conflict: Conflict) -> Any:
        try:
            answer = resolve(self.resolver, conflict)
            return OMIT if answer is OMIT else plain_json(answer, "the value of the conflict resolver")
        except Exception as error:
            raise ConsilienceError(f"the conflict resolver raised at {conflict.path}: {error!r}") from error

    def _resolved(self, decision: Decision, node: Node, path: Path) -> Decision:
        """Let the resolver choose a value, or leave the field out."""
        answer = self._ask(self._conflict(node, decision.total, path))
        if answer is OMIT:
            decision.choose(ABSENT)
            return decision
        decision.status = Status.RESOLVED
        decision.choose(answer)
        return decision


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


def _as_one(options: list[Option]) -> Option:
    """Several spellings as one option, reported as the heaviest of them; on a tie the first in canonical order."""
    if len(options) == 1:
        return options[0]
    heaviest = max(options, key=lambda option: option.weight)
    behind = tuple(sorted(revision for option in options for revision in option.revisions))
    return Option(heaviest.value, sum(option.weight for option in options), behind, tuple(options))
