"""The field: how one place of the record was decided, and who said what there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._stack import on_a_fresh_stack
from ._paths import Path, parse_path

__all__ = ["Candidate", "FieldConsensus", "Fields"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One answer for a field, with its weight, the revisions behind it and their sources.

    ``absent`` marks the vote of revisions that lack the field (``value`` is None then, as it is for a null).
    ``sources`` are the named sources that support the answer; ``corroboration`` is the noisy-OR over the sources of
    its revisions, each with its highest confidence (see ``consolidate``), None without confidences.

    Example:
        >>> from consilience.merging import merge
        >>> merge([{"a": 1}, {}, {"a": 1}], weights=None).fields["a"].candidates[1]
        Candidate(value=None, weight=1.0, revisions=(1,), absent=True, sources=(), corroboration=None)
    """

    value: Any
    weight: float
    revisions: tuple[int, ...]
    absent: bool = False
    sources: tuple[str, ...] = ()
    corroboration: float | None = None


@dataclass(frozen=True, slots=True)
class FieldConsensus:
    """How one field was decided.

    Attributes:
        value: the value in the merged record; None when the field is not there (see ``status``).
        agreement: the weight of the value over the weight of the revisions that hold the parent, 0 to 1; for a field
            that was left out, of its heaviest candidate.
        support: the same with one vote for each revision (or, with ``one_vote_per_source``, for each source).
        status: unanimous, agreed, resolved, reconciled, omitted or absent (see ``Status``).
        candidates: every answer, heaviest first.
        replaced: with status reconciled, the value that the vote had chosen; None when it had chosen none.
        too_few_sources: whether a value met the threshold but not ``min_sources``, and was left to the resolver.

    Example:
        >>> from consilience.merging import merge
        >>> field = merge([{"a": 1}, {"a": 2}, {"a": 1}], weights=None).fields["a"]
        >>> field.value, field.status, round(field.agreement, 2)
        (1, 'agreed', 0.67)
    """

    value: Any
    agreement: float
    support: float
    status: str
    candidates: tuple[Candidate, ...]
    replaced: Any = None
    too_few_sources: bool = False


class Fields(Mapping[Path, FieldConsensus]):
    """The fields of a result by path; ``fields["items[0].qty"]`` and ``fields[("items", 0, "qty")]`` are the same.

    Example:
        >>> fields = Fields({Path(("specs", "ram")): FieldConsensus(16, 1.0, 1.0, "unanimous", ())})
        >>> fields["specs.ram"].value, [str(path) for path in fields]
        (16, ['specs.ram'])
    """

    __slots__ = ("_items",)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """What fields are to pydantic, where a result is a field or a response: an object by the text of the path."""
        from pydantic_core import core_schema

        items = handler.generate_schema(dict[Path, FieldConsensus])
        fields = core_schema.no_info_after_validator_function(cls, items)
        return core_schema.json_or_python_schema(
            json_schema=fields,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), fields]),
            serialization=core_schema.plain_serializer_function_ser_schema(dict, return_schema=items),
        )

    def __init__(self, items: Mapping[Path, FieldConsensus | Callable[[], FieldConsensus]]) -> None:
        # Most fields of most results are never looked at: what is given as a function is made when it is asked for.
        self._items = dict(items)

    def __getitem__(self, path: str | tuple[str | int, ...]) -> FieldConsensus:
        if isinstance(path, str):
            # A key that holds the dot wins over the path, as in a vote.
            path = Path((path,)) if Path((path,)) in self._items else parse_path(path)
        known = self._items[Path(path)]
        if isinstance(known, FieldConsensus):
            return known
        try:
            made = known()
        except RecursionError:  # a field holds what is below it
            made = on_a_fresh_stack(known)
        self._items[Path(path)] = made
        return made

    def __iter__(self) -> Iterator[Path]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, path: object) -> bool:
        try:
            self[path]  # type: ignore[index]
        except (LookupError, ValueError, TypeError):
            return False
        return True

    def __repr__(self) -> str:
        return f"Fields({{{', '.join(f'{str(path)!r}: {found.value!r}' for path, found in self.items())}}})"

    def __reduce__(self) -> tuple[type[Fields], tuple[dict[Path, FieldConsensus]]]:
        return Fields, (dict(self),)
