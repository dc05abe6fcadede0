"""The joint tree: all revisions laid over each other, with the items of their lists aligned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from .._canonical import canonical_text
from ._alignment import Rules, Slot, align
from ._comparators import Comparator, Ignore, Ordered
from ._likeness import mean_likeness
from ._paths import EACH, ROOT, Path
from ._similarity import Similarity

__all__ = ["Answer", "Node", "Rules", "lay_over"]

V = TypeVar("V")

_NOTHING: Final[Mapping[Any, Any]] = {}
"""What most places have of most things; one for all of them."""

Answer = tuple[Any, tuple[int, ...]]
"""A value, and the revisions that say so."""

_TEXT = frozenset({str})
_SCALARS = frozenset({str, bool, int, float, type(None)})


@dataclass(slots=True)
class Node:
    """What the revisions say at one place: the value of every revision that has one.

    ``objects``, ``lists`` and ``scalars`` part the revisions by kind; ``answers`` are the different scalars, in
    canonical order. ``keys`` are the children of the objects, ``items`` the aligned items of the lists, each with its
    position in every list that has it. Revisions are in ascending order everywhere.

    ``likeness`` is the mean similarity of two revisions' texts here, once that is measured; None with fewer than two.
    """

    pattern: Path
    values: Mapping[int, Any]
    rule: Comparator | None
    objects: Mapping[int, dict[str, Any]]
    lists: Mapping[int, list[Any]]
    scalars: Mapping[int, Any]
    answers: Sequence[Answer]
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
        texts = {value: len(behind) for value, behind in answers if type(value) is str}
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

    def leaves(self) -> Iterator[tuple[Node, Sequence[Answer]]]:
        """The leaves below this node, one by one, with what the revisions say there: scalars or empty containers."""
        pending = [self]
        while pending:
            node = pending.pop()
            if not (node.objects or node.lists):
                if node.answers:
                    yield node, node.answers
                continue
            answers = [*node.answers, *_empty_containers(node)]
            if answers:
                yield node, answers
            pending.extend(node.keys.values())
            pending.extend([child for _, child in node.items])


def _empty_containers(node: Node) -> Iterator[Answer]:
    """The containers here with nothing in them."""
    for containers in (node.lists, node.objects):
        empty = tuple(revision for revision, value in containers.items() if not value)
        if empty:
            yield containers[empty[0]], empty


def _columns(objects: Mapping[int, dict[str, Any]]) -> Iterator[tuple[str, dict[int, Any]]]:
    """Every key of these objects, with the value of every revision that has it."""
    first, *others = map(list, objects.values()) if objects else [[]]
    if all(keys == first for keys in others):  # then there is no need to ask for every key
        for key in first:
            yield key, {revision: record[key] for revision, record in objects.items()}
        return
    for key in dict.fromkeys(key for record in objects.values() for key in record):
        yield key, {revision: record[key] for revision, record in objects.items() if key in record}


def _only(held: Mapping[int, V], revisions: Collection[int]) -> dict[int, V]:
    return {revision: value for revision, value in held.items() if revision in revisions}


def _answers(scalars: Mapping[int, Any]) -> list[Answer]:
    """The different ones among some scalars, in canonical order."""
    values = list(scalars.values())
    if values and type(values[0]) is str and values.count(values[0]) == len(values):
        return [(values[0], tuple(scalars))]
    # A text that stands among texts alone is its own mark; otherwise 1, 1.0 and true have to be told apart.
    are_texts = _TEXT.issuperset(map(type, values))
    found: dict[str, list[int]] = {}
    for revision, value in scalars.items():
        mark = value if are_texts else canonical_text(value)
        if mark in found:
            found[mark].append(revision)
        else:
            found[mark] = [revision]
    answers = [(scalars[behind[0]], tuple(behind)) for behind in found.values()]
    if len(answers) > 1:
        answers.sort(key=_text_of)
    return answers


def _text_of(answer: Answer) -> str:
    return canonical_text(answer[0])


def lay_over(values: Mapping[int, Any], rules: Rules, pattern: Path = ROOT) -> Node:
    """Build the joint tree of several revisions.

    Args:
        values: revision -> plain JSON value, by ascending revision.
        rules: how values are compared, by pattern.
        pattern: where these values stand.
    """
    rule = rules.get(pattern) if rules else None
    if rule is not None and isinstance(rule, Ignore):
        return Node(pattern, values, rule, _NOTHING, _NOTHING, _NOTHING, (), _NOTHING, ())
    if _SCALARS.issuperset(map(type, values.values())):
        return Node(pattern, values, rule, _NOTHING, _NOTHING, values, _answers(values), _NOTHING, ())
    objects = {revision: value for revision, value in values.items() if type(value) is dict}
    lists = {revision: value for revision, value in values.items() if type(value) is list}
    scalars = {revision: value for revision, value in values.items() if type(value) not in (dict, list)}
    keys = {}
    for key, children in _columns(objects):
        keys[key] = lay_over(children, rules, Path((*pattern, key)))
    items = []
    if lists:
        below = Path((*pattern, EACH))
        for slot in align(lists, rule, Similarity(rules), below):
            aligned = {revision: lists[revision][position] for revision, position in sorted(slot.items())}
            place = Path((*pattern, min(slot.values()))) if isinstance(rule, Ordered) else below
            items.append((slot, lay_over(aligned, rules, place)))
    return Node(pattern, values, rule, objects, lists, scalars, _answers(scalars), keys, items)
