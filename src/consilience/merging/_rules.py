"""The rules: how values are compared, by where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._comparators import Comparator, Ordered
from ._declared import Declared
from ._paths import Path, pattern_of

__all__ = ["RuleSet"]


class RuleSet(dict[Path, Comparator]):
    """Pattern -> comparator. In a list that is compared by position, a rule for one position comes first.

    Args:
        of_schema: those of the schema; they may name positions.
        given: those given beside it; they take the place of the schema's.

    Example:
        >>> rules = RuleSet({Path(("at",)): Ordered(), Path(("at", 0)): Ordered()}, {Path(("at", -1)): Ordered()})
        >>> sorted(map(str, rules)), rules.get(Path(("at", 1)))
        (['at', 'at[]'], Ordered())
    """

    def __init__(self, of_schema: Mapping[Path, Comparator], given: Mapping[Path, Comparator]) -> None:
        super().__init__({path: rule for path, rule in of_schema.items() if pattern_of(path) not in given})
        self.update(given)
        self._declared = of_schema if isinstance(of_schema, Declared) else None
        self._given = given
        self._by_position = any(isinstance(rule, Ordered) for rule in self.values())

    def get(self, pattern: Path, default: Any = None) -> Any:
        """The rule for a place: its own, or else that of the pattern, or what the schema declares for such places."""
        found = super().get(pattern)
        if found is None and self._by_position:
            found = super().get(pattern_of(pattern))
        if found is None and self._declared is not None and pattern_of(pattern) not in self._given:
            found = self._declared.at(pattern)
        return default if found is None else found
