"""Settling: whether revisions that are still to come can change the outcome of any field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._canonical import canonical_text
from ..voting._quorum import number_of_sources
from ._comparators import Ignore
from ._resolvers import default_conflict_resolver
from ._settings import ConsensusSettings
from ._similarity import kind_of

__all__ = ["Said", "Settling"]


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
        return bool(revisions) and enough_valid and self._place(revisions, len(revisions), ())

    def _place(self, values: Sequence[Said], voters: int, pattern: tuple[str | int, ...]) -> bool:
        """Whether one place is settled.

        Args:
            values: what the revisions have there that have something.
            voters: the number of revisions that hold the parent.
            pattern: the place.
        """
        rule = self.rules.get(pattern)
        if isinstance(rule, Ignore):
            return True
        kinds = Counter(kind_of(said.value) for said in values)
        kinds["absent"] = voters - len(values)
        (kind, most), *others = kinds.most_common()
        if not self._leads(most, voters, others[0][1] if others else 0):
            return self._is_hopeless(most, voters)
        if kind == "absent":
            return True
        of_kind = [said for said in values if kind_of(said.value) == kind]
        if not self._is_supported(of_kind):
            return False
        if kind == "object":
            return self._fields(of_kind, pattern)
        return self._values(of_kind, voters, kind == "list" or rule)

    def _fields(self, objects: Sequence[Said], pattern: tuple[str | int, ...]) -> bool:
        """Whether all fields of objects are settled, those included that no revision has had yet."""
        voters = len(objects)
        keys = dict.fromkeys(key for record, _ in objects for key in record)
        return self._leads(voters, voters, 0) and all(
            self._place(
                [Said(record[key], source) for record, source in objects if key in record], voters, (*pattern, key)
            )
            for key in keys
        )

    def _values(self, values: Sequence[Said], voters: int, joins: Any) -> bool:
        """Whether the value is settled of a place that is certain to hold a list, or a scalar.

        ``joins`` is true where alignment or a comparator can join what differs: only a majority is out of its reach.
        """
        texts = [canonical_text(said.value) for said in values]
        (text, most), *others = Counter(texts).most_common()
        supported = self._is_supported(said for said, own in zip(values, texts, strict=True) if own == text)
        if joins:
            return supported and self._is_decisive(most, voters)
        leads = supported and self._leads(most, voters, others[0][1] if others else 0)
        return leads or self._is_hopeless(most, voters)

    def _is_supported(self, supporters: Iterable[Said]) -> bool:
        return number_of_sources(said.source for said in supporters) >= self.settings.min_sources

    def _leads(self, count: int, voters: int, rival: int) -> bool:
        """Whether an answer wins even if all that is still to come is for its strongest rival."""
        return count > rival + self.open and count / (voters + self.open) >= self.settings.min_agreement

    def _is_decisive(self, count: int, voters: int) -> bool:
        total = voters + self.open
        share = count / total
        support = self.settings.min_support
        others_fail = support is None or 1 - share < support
        enough = share >= self.settings.min_agreement and (support is None or share >= support)
        return 2 * count > total and enough and others_fail

    def _is_hopeless(self, most: int, voters: int) -> bool:
        """Whether nothing can meet the threshold any more and the field is certain to be left out."""
        if self.settings.conflict_resolver is not default_conflict_resolver:
            return False
        best = (most + self.open) / (voters + self.open)
        return best < self.settings.min_agreement
