"""The alignment: which items of several lists are the same item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_text
from ._comparators import Comparator, Keyed, Ordered, partition
from ._paths import EACH, ROOT, Path
from ._similarity import Similarity, kind_of

if TYPE_CHECKING:
    from ._ratios import Matrix

__all__ = ["ALIKE", "Rules", "Slot", "align"]

ALIKE = 0.5
"""Items less alike than this are never paired by similarity."""

_CLOSER = 1e-6
"""Of two equally good pairings the one that moves items less far wins."""

_ITEMS = Path((*ROOT, EACH))

_BY_TYPE = Similarity()
"""The similarity where no comparator is declared."""

Rules = Mapping[Path, Comparator]
"""Pattern of a path -> how the values there are compared."""

Slot = dict[int, int]
"""One item of the aligned lists: revision -> position of the item in that revision's list."""


def align(
    lists: Mapping[int, list[Any]],
    rule: Comparator | None = None,
    similarity: Similarity = _BY_TYPE,
    pattern: Path = _ITEMS,
) -> list[Slot]:
    """Find the items that several lists have in common.

    The reference starts from the list that has most in common with the others and grows with every item that finds
    no partner; the other lists are added in canonical order, so that the order of the revisions never matters. Items
    with the same key are paired first, then identical items, then similar ones by an optimal assignment (Kuhn 1955).

    Args:
        lists: revision -> list.
        rule: ``Keyed`` names the fields that identify an item, ``Ordered`` pairs items by position; otherwise a key
            is looked for (see ``find_key``).
        similarity: how alike two items are.
        pattern: where the items stand, for the similarity.

    Returns:
        The items, in the order in which the reference took them up.

    Example:
        >>> align({0: ["milk", "eggs"], 1: ["eggs", "milk", "tea"]})
        [{1: 0, 0: 1}, {1: 1, 0: 0}, {1: 2}]
    """
    if isinstance(rule, Ordered):
        longest = max(map(len, lists.values()), default=0)
        return [
            {revision: index for revision, items in lists.items() if index < len(items)} for index in range(longest)
        ]
    key_fields = rule.fields if isinstance(rule, Keyed) else find_key(list(lists.values()))
    keys = _Keys(lists.values(), key_fields, similarity.rules, pattern)
    columns = [_Column.read(revision, items, keys) for revision, items in lists.items()]
    if all(column.texts == columns[0].texts for column in columns):
        return [dict.fromkeys(lists, position) for position in range(len(columns[0].items) if columns else 0)]
    reference = _Reference(similarity, pattern, keys_decide=isinstance(rule, Keyed))
    for column in _medoid_first(columns):
        reference.add(column)
    return [slot.positions for slot in reference.slots]


def find_key(lists: Sequence[list[Any]]) -> tuple[str, ...]:
    """The field that identifies the items of these lists, if there is one.

    A key is a text in every item, unique within every list, and most of its values stand in most of the lists.
    """
    filled = [items for items in lists if items]
    if len(filled) < 2 or not all(type(item) is dict for items in filled for item in items):
        return ()
    shares = {(name,): _shared(filled, name) for name in filled[0][0]}
    best = max(sorted(shares), key=lambda names: shares[names], default=())
    return best if best and shares[best] >= 0.5 else ()


def _shared(lists: Sequence[list[dict[str, Any]]], name: str) -> float:
    """The share of a field's values that stand in most of the lists; 0 when the field cannot be a key."""
    seen: Counter[str] = Counter()
    for items in lists:
        values = {value for item in items if type(value := item.get(name)) is str}
        if len(values) < len(items):
            return 0.0
        seen.update(values)
    return sum(count for count in seen.values() if 2 * count > len(lists)) / seen.total()


@dataclass(slots=True)
class _Column:
    """One revision's list, with the canonical text and the key of every item."""

    revision: int
    items: list[Any]
    texts: list[str]
    keys: list[str | None]

    @classmethod
    def read(cls, revision: int, items: list[Any], keys: _Keys) -> _Column:
        return cls(revision, items, [canonical_text(item) for item in items], keys.of(items))


class _Keys:
    """The keys of the items of several lists: values that the comparator of a key field takes for equal are one key."""

    def __init__(
        self, lists: Iterable[list[Any]], fields: tuple[str, ...], rules: Mapping[Path, Comparator], pattern: Path
    ) -> None:
        self._fields = fields
        items = [item for each in lists for item in each if self._has_key(item)]
        self._marks = {name: _marks([item[name] for item in items], rules, Path((*pattern, name))) for name in fields}

    def of(self, items: list[Any]) -> list[str | None]:
        """The typed ballot of each item's key; None where it is missing or not unique in its list."""
        if not self._fields:
            return [None] * len(items)
        keys = [self._key(item) if self._has_key(item) else None for item in items]
        count = Counter(keys)
        return [key if count[key] == 1 else None for key in keys]

    def _has_key(self, item: Any) -> bool:
        return bool(self._fields) and type(item) is dict and all(map(item.__contains__, self._fields))

    def _key(self, item: Any) -> str:
        texts = [(canonical_text(item[name]), self._marks[name]) for name in self._fields]
        return canonical_text([marks.get(text, text) for text, marks in texts])


def _marks(values: list[Any], rules: Rules, pattern: Path) -> dict[str, str]:
    """Canonical text of a key field's value -> that of the first in its group of equals."""
    rule = rules.get(pattern)
    if rule is None or not values:
        return {}
    distinct = {canonical_text(value): value for value in values if kind_of(value) == "scalar"}
    count = Counter(map(canonical_text, values))
    texts = sorted(distinct)
    groups = partition(rule, [distinct[text] for text in texts], [count[text] for text in texts], pattern)
    return {texts[index]: texts[group[0]] for group in groups for index in group}


def _medoid_first(columns: list[_Column]) -> list[_Column]:
    """The columns in canonical order, but for the one most like the others, which comes first."""
    ordered = sorted(columns, key=lambda column: column.texts)
    if len(ordered) > 2:
        parts = [Counter(part for item in column.items for part in _parts(item)) for column in ordered]
        total = sum(parts, Counter())
        scores = [
            sum(min(count, total[part] - count) for part, count in own.items()) / max(own.total(), 1) for own in parts
        ]
        ordered.insert(0, ordered.pop(scores.index(max(scores))))
    return ordered


def _parts(item: Any) -> Iterator[tuple[str, str]]:
    """The scalars of an item, each with the key it stands under."""
    pending = [("", item)]
    while pending:
        name, value = pending.pop()
        if type(value) is dict:
            pending.extend(value.items())
        elif type(value) is list:
            pending.extend((name, child) for child in value)
        else:
            yield name, canonical_text(value)


@dataclass(slots=True)
class _Slot:
    positions: Slot = field(default_factory=dict)
    members: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)

    def take(self, column: _Column, position: int) -> None:
        self.positions[column.revision] = position
        text = column.texts[position]
        self.members[text] = column.items[position]
        self.counts[text] += 1
        key = column.keys[position]
        if key is not None:
            self.keys.add(key)


class _Reference:
    """The items found so far, each with its members.

    ``keys_decide`` is true where the keys were declared: then two items that both have one are the same item only if
    it is the same. A key that was found may be misspelt, and similarity has a say.
    """

    def __init__(self, similarity: Similarity, pattern: Path, *, keys_decide: bool) -> None:
        self.slots: list[_Slot] = []
        self._alike = similarity
        self._pattern = pattern
        self._keys_decide = keys_decide

    def add(self, column: _Column) -> None:
        """Pair the items of one more list with the items found so far."""
        free = dict.fromkeys(range(len(self.slots)))
        rest = self._pair_equal(column, range(len(column.items)), free, column.keys, [slot.keys for slot in self.slots])
        rest = self._pair_equal(column, rest, free, column.texts, [slot.members for slot in self.slots])
        rest = self._pair_similar(column, rest, list(free))
        for position in rest:
            self.slots.append(_Slot())
            self.slots[-1].take(column, position)

    def _pair_equal(
        self,
        column: _Column,
        positions: Iterable[int],
        free: dict[int, None],
        marks: Sequence[str | None],
        known: Sequence[Iterable[str]],
    ) -> list[int]:
        """Pair items by an equal mark, the first copy with the first copy; return the positions left over."""
        waiting: dict[str, list[int]] = {}
        for index in reversed(free):
            for known_mark in known[index]:
                waiting.setdefault(known_mark, []).append(index)
        rest = []
        for position in positions:
            mark = marks[position]
            candidates = waiting.get(mark, []) if mark is not None else []
            while candidates and candidates[-1] not in free:
                candidates.pop()
            if candidates:
                index = candidates.pop()
                del free[index]
                self.slots[index].take(column, position)
            else:
                rest.append(position)
        return rest

    def _pair_similar(self, column: _Column, positions: list[int], free: list[int]) -> list[int]:
        """Pair items by the assignment that makes the most of their similarity; return the positions left over."""
        if not positions or not free:
            return positions
        import numpy as np
        from scipy.optimize import linear_sum_assignment

        alike = self._similarity([column.items[position] for position in positions], free)
        places = np.array([min(self.slots[index].positions.values()) for index in free])
        distance = np.abs(np.array(positions)[:, None] - places[None, :])
        alike[alike < ALIKE - 1e-9] = 0.0
        if self._keys_decide:
            keyed = np.array([column.keys[position] is not None for position in positions])
            taken = np.array([bool(self.slots[index].keys) for index in free])
            alike[np.ix_(keyed, taken)] = 0.0
        gain = np.where(alike > 0.0, alike + _CLOSER / (1.0 + distance), 0.0)
        rows, columns = linear_sum_assignment(gain, maximize=True)
        paired = {
            int(row): free[column_] for row, column_ in zip(rows, columns, strict=True) if gain[row, column_] > 0.0
        }
        for row, index in paired.items():
            self.slots[index].take(column, positions[row])
        return [position for row, position in enumerate(positions) if row not in paired]

    def _similarity(self, items: list[Any], free: list[int]) -> Matrix:
        """The mean similarity of every item to the members of every free slot."""
        import numpy as np

        members = [(place, text) for place, index in enumerate(free) for text in self.slots[index].members]
        values = [self.slots[free[place]].members[text] for place, text in members]
        alike = self._alike.matrix(items, values, self._pattern)
        if len(members) == len(free):
            return alike
        counts = [self.slots[free[place]].counts[text] for place, text in members]
        share = np.zeros((len(members), len(free)))
        share[np.arange(len(members)), [place for place, _ in members]] = counts
        return np.asarray(alike @ (share / share.sum(axis=0)))
