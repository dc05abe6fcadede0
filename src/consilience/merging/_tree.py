"""The joint tree: all revisions laid over each other, with the items of their lists aligned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .._canonical import canonical_text
from ._alignment import Rules, Slot, align
from ._comparators import Comparator, Ignore
from ._paths import EACH, ROOT, Path
from ._similarity import Similarity

__all__ = ["Node", "Rules", "lay_over"]

V = TypeVar("V")


@dataclass(slots=True)
class Node:
    """What the revisions say at one place: the value of every revision that has one.

    ``objects``, ``lists`` and ``scalars`` part the revisions by kind; ``texts`` are the canonical texts of the scalars,
    ``keys`` the children of the objects, ``items`` the aligned items of the lists, each with its position in every
    list that has it.
    """

    pattern: Path
    values: dict[int, Any]
    rule: Comparator | None
    objects: dict[int, dict[str, Any]] = field(default_factory=dict)
    lists: dict[int, list[Any]] = field(default_factory=dict)
    scalars: dict[int, Any] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    keys: dict[str, Node] = field(default_factory=dict)
    items: list[tuple[Slot, Node]] = field(default_factory=list)

    def among(self, revisions: Collection[int]) -> Node:
        """The same place as it is when only these revisions have a say; below it, all still have theirs."""
        if all(revision in revisions for revision in self.values):
            return self
        items = [(_only(slot, revisions), child) for slot, child in self.items]
        return Node(
            self.pattern,
            _only(self.values, revisions),
            self.rule,
            objects=_only(self.objects, revisions),
            lists=_only(self.lists, revisions),
            scalars=_only(self.scalars, revisions),
            texts=_only(self.texts, revisions),
            keys={key: child for key, child in self.keys.items() if not child.values.keys().isdisjoint(revisions)},
            items=[(slot, child) for slot, child in items if slot],
        )

    def leaves(self) -> Iterator[tuple[dict[int, Any], Mapping[int, str]]]:
        """The leaves below this node, one by one: revision -> scalar or empty container, and their canonical texts."""
        pending = [self]
        while pending:
            node = pending.pop()
            empty = {
                revision: value
                for containers in (node.objects, node.lists)
                for revision, value in containers.items()
                if not value
            }
            if empty:
                marks = {revision: "{}" if value == {} else "[]" for revision, value in empty.items()}
                yield node.scalars | empty, node.texts | marks
            elif node.scalars:
                yield node.scalars, node.texts
            pending.extend(node.keys.values())
            pending.extend(child for _, child in node.items)


def _only(held: Mapping[int, V], revisions: Collection[int]) -> dict[int, V]:
    return {revision: value for revision, value in held.items() if revision in revisions}


def lay_over(values: dict[int, Any], rules: Rules, pattern: Path = ROOT) -> Node:
    """Build the joint tree of several revisions.

    Args:
        values: revision -> plain JSON value.
        rules: how values are compared, by pattern.
        pattern: where these values stand.
    """
    node = Node(pattern, values, rules.get(pattern))
    if isinstance(node.rule, Ignore):
        return node
    for revision, value in values.items():
        if type(value) is dict:
            node.objects[revision] = value
        elif type(value) is list:
            node.lists[revision] = value
        else:
            node.scalars[revision] = value
            node.texts[revision] = canonical_text(value)
    for key in dict.fromkeys(key for record in node.objects.values() for key in record):
        children = {revision: record[key] for revision, record in node.objects.items() if key in record}
        node.keys[key] = lay_over(children, rules, Path((*pattern, key)))
    if node.lists:
        below = Path((*pattern, EACH))
        for slot in align(node.lists, node.rule, Similarity(rules), below):
            items = {revision: node.lists[revision][position] for revision, position in slot.items()}
            node.items.append((slot, lay_over(items, rules, below)))
    return node
