"""The joint tree: all revisions laid over each other, with the items of their lists aligned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

from .._canonical import canonical_text
from ._alignment import Rules, Slot, align
from ._comparators import Comparator, Ignore
from ._likeness import mean_likeness
from ._paths import EACH, ROOT, Path
from ._similarity import Similarity

__all__ = ["Node", "Rules", "lay_over"]

V = TypeVar("V")

_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
"""What most places have of most things; one for all of them."""

_SCALARS = frozenset({str, bool, int, float, type(None)})


@dataclass(slots=True)
class Node:
    """What the revisions say at one place: the value of every revision that has one.

    ``objects``, ``lists`` and ``scalars`` part the revisions by kind; ``answers`` are the different scalars by their
    canonical text, in its order, each with the revisions that say so. ``keys`` are the children of the objects,
    ``items`` the aligned items of the lists, each with its position in every list that has it.

    ``likeness`` is the mean similarity of two revisions' texts here, once that is measured; None with fewer than two.
    """

    pattern: Path
    values: Mapping[int, Any]
    rule: Comparator | None
    objects: Mapping[int, dict[str, Any]]
    lists: Mapping[int, list[Any]]
    scalars: Mapping[int, Any]
    answers: Mapping[str, list[int]]
    keys: Mapping[str, Node]
    items: Sequence[tuple[Slot, Node]]
    likeness: float | None = None

    def among(self, revisions: Collection[int]) -> Node:
        """The same place as it is when only these revisions have a say; below it, all still have theirs."""
        if all(revision in revisions for revision in self.values):
            return self
        items = [(_only(slot, revisions), child) for slot, child in self.items]
        scalars = _only(self.scalars, revisions)
        answers = _answers(scalars)
        texts = {scalars[behind[0]]: len(behind) for text, behind in answers.items() if text[0] == '"'}
        return Node(
            self.pattern,
            _only(self.values, revisions),
            self.rule,
            objects=_only(self.objects, revisions),
            lists=_only(self.lists, revisions),
            scalars=scalars,
            answers=answers,
            keys={key: child for key, child in self.keys.items() if not child.values.keys().isdisjoint(revisions)},
            items=[(slot, child) for slot, child in items if slot],
            likeness=mean_likeness(texts),
        )

    def leaves(self) -> Iterator[tuple[Node, Mapping[str, list[int]]]]:
        """The leaves below this node, one by one, with what the revisions say there: scalars or empty containers."""
        pending = [self]
        while pending:
            node = pending.pop()
            empty = _empty_containers(node)
            if empty:
                yield node, {**node.answers, **empty}
            elif node.answers:
                yield node, node.answers
            pending.extend(node.keys.values())
            pending.extend(child for _, child in node.items)


def _empty_containers(node: Node) -> dict[str, list[int]]:
    """The revisions that have a container here with nothing in it, by the canonical text of that."""
    found = {}
    for text, containers in (("[]", node.lists), ("{}", node.objects)):
        empty = [revision for revision, value in containers.items() if not value]
        if empty:
            found[text] = empty
    return found


def _only(held: Mapping[int, V], revisions: Collection[int]) -> dict[int, V]:
    return {revision: value for revision, value in held.items() if revision in revisions}


def _answers(scalars: Mapping[int, Any]) -> Mapping[str, list[int]]:
    """Canonical text -> the revisions with that scalar, in canonical order."""
    found: dict[str, list[int]] = {}
    for revision, value in scalars.items():
        text = canonical_text(value)
        if text in found:
            found[text].append(revision)
        else:
            found[text] = [revision]
    return found if len(found) < 2 else {text: found[text] for text in sorted(found)}


def lay_over(values: Mapping[int, Any], rules: Rules, pattern: Path = ROOT) -> Node:
    """Build the joint tree of several revisions.

    Args:
        values: revision -> plain JSON value.
        rules: how values are compared, by pattern.
        pattern: where these values stand.
    """
    rule = rules.get(pattern) if rules else None
    if isinstance(rule, Ignore):
        return Node(pattern, values, rule, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, ())
    if _SCALARS.issuperset(map(type, values.values())):
        return Node(pattern, values, rule, _NOTHING, _NOTHING, values, _answers(values), _NOTHING, ())
    objects = {revision: value for revision, value in values.items() if type(value) is dict}
    lists = {revision: value for revision, value in values.items() if type(value) is list}
    scalars = {revision: value for revision, value in values.items() if type(value) not in (dict, list)}
    keys = {}
    for key in dict.fromkeys(key for record in objects.values() for key in record):
        children = {revision: record[key] for revision, record in objects.items() if key in record}
        keys[key] = lay_over(children, rules, Path((*pattern, key)))
    items = []
    if lists:
        below = Path((*pattern, EACH))
        for slot in align(lists, rule, Similarity(rules), below):
            aligned = {revision: lists[revision][position] for revision, position in slot.items()}
            items.append((slot, lay_over(aligned, rules, below)))
    return Node(pattern, values, rule, objects, lists, scalars, _answers(scalars), keys, items)
