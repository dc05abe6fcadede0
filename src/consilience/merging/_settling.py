"""Settling: whether revisions that are still to come can change the outcome of any field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from .._canonical import canonical_text
from ..voting._quorum import number_of_sources
from ._comparators import Ignore
from ._resolvers import omits_everything
from ._settings import ConsensusSettings
from ._similarity import kind_of

__all__ = ["Said", "Settling"]


class _Outcome(Enum):
    """What is certain about a place, whatever is still to come."""

    OPEN = "open"
    KEPT = "kept"
    LEFT_OUT = "left out"
    EMPTY = "empty"
    """An object of which no field is kept: it is left out unless a revision that is still to come writes it empty."""


class Said(NamedTuple):
    """What one revision has at a place, and the source of the revision."""

    value: Any
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Settling:
    """The worst case for revisions with one vote each.

    ``open`` revisions are still to come; each may hold anything, or fail. Scalars settle by the rules of voting,
    lists once a decisive majority holds the very same list. What has too few sources so far may still find them.
    """

    settings: ConsensusSettings
    rules: Mapping[Any, Any]
    open: int

    def is_settled(self, revisions: Sequence[Said], failed: int) -> bool:
        """Whether the merged record is the same whatever is still to come.

        Args:
            revisions: the valid revisions so far, as plain JSON.
            failed: the number of failed ones.
        """
        planned = len(revisions) + failed + self.open
        enough_valid = len(revisions) / planned >= self.settings.min_valid
        if not revisions or not enough_valid:
            return False
        # A record of which nothing is kept comes back empty, whether a revision wrote it empty or not.
        return self._place(revisions, len(revisions), ()) is not _Outcome.OPEN

    def _place(self, values: Sequence[Said], voters: int, pattern: tuple[str | int, ...]) -> _Outcome:
        """What is certain about one place.

        Args:
            values: what the revisions have there that have something.
            voters: the number of revisions that hold the parent.
            pattern: the place.
        """
        rule = self.rules.get(pattern)
        if isinstance(rule, Ignore):
            return _Outcome.KEPT
        kinds = Counter(kind_of(said.value) for said in values)
        kinds["absent"] = voters - len(values)
        (kind, most), *others = kinds.most_common()
        if not self._leads(most, voters, others[0][1] if others else 0):
            return self._without_a_leader(most, voters)
        if kind == "absent":
            return _Outcome.LEFT_OUT
        of_kind = [said for said in values if kind_of(said.value) == kind]
        if not self._is_supported(of_kind):
            return _Outcome.OPEN
        if kind == "object":
            return self._fields(of_kind, pattern)
        return self._values(of_kind, voters, kind == "list" or rule)

    def _fields(self, objects: Sequence[Said], pattern: tuple[str | int, ...]) -> _Outcome:
        """What is certain about a place that is certain to hold an object, by its fields.

        A field that no revision has had yet is among them.
        """
        voters = len(objects)
        if not self._leads(voters, voters, 0):
            return _Outcome.OPEN
        keys = dict.fromkeys(key for record, _ in objects for key in record)
        fields = set()
        for key in keys:
            having = [Said(record[key], source) for record, source in objects if key in record]
            fields.add(self._field(having, voters, (*pattern, key)))
            if _Outcome.OPEN in fields:
                return _Outcome.OPEN
        if _Outcome.KEPT in fields or not all(record for record, _ in objects):
            return _Outcome.KEPT
        return _Outcome.EMPTY if self.open else _Outcome.LEFT_OUT

    def _field(self, values: Sequence[Said], voters: int, pattern: tuple[str | int, ...]) -> _Outcome:
        """What is certain about a place within an object, where it matters whether an empty object is left out."""
        outcome = self._place(values, voters, pattern)
        return _Outcome.OPEN if outcome is _Outcome.EMPTY else outcome

    def _values(self, values: Sequence[Said], voters: int, joins: Any) -> _Outcome:
        """What is certain about a place that is certain to hold a list, or a scalar.

        ``joins`` is true where alignment or a comparator can join what differs: only a majority is out of its reach.
        """
        texts = [canonical_text(said.value) for said in values]
        (text, most), *others = Counter(texts).most_common()
        supported = self._is_supported(said for said, own in zip(values, texts, strict=True) if own == text)
        if joins:
            return _Outcome.KEPT if supported and self._is_decisive(most, voters) else _Outcome.OPEN
        if supported and self._leads(most, voters, others[0][1] if others else 0):
            return _Outcome.KEPT
        return self._without_a_leader(most, voters)

    def _without_a_leader(self, most: int, voters: int) -> _Outcome:
        return _Outcome.LEFT_OUT if self._is_hopeless(most, voters) else _Outcome.OPEN

    def _is_supported(self, supporters: Iterable[Said]) -> bool:
        return number_of_sources(said.source for said in supporters) >= self.settings.min_sources

    def _leads(self, count: int, voters: int, rival: int) -> bool:
        """Whether an answer wins even if all that is still to come is for its strongest rival."""
        return count > rival + self.open and count / (voters + self.open) >= self.settings.min_agreement

    def _is_decisive(self, count: int, voters: int) -> bool:
        total = voters + self.open
        share = count / total
        support = self.settings.min_support
        others_fail = support is None or (total - count) / total < support
        enough = share >= self.settings.min_agreement and (support is None or share >= support)
        return 2 * count > total and enough and others_fail

    def _is_hopeless(self, most: int, voters: int) -> bool:
        """Whether nothing can meet the threshold any more and the field is certain to be left out."""
        if not omits_everything(self.settings.conflict_resolver, self.settings.min_agreement):
            return False
        best = (most + self.open) / (voters + self.open)
        return best < self.settings.min_agreement
