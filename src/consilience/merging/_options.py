"""Options: the answers at one place of the joint tree, and which of them was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from .._canonical import canonical_text
from ._paths import Path
from ._resolvers import OMIT
from ._revisions import plain_json

__all__ = [
    "ABSENT",
    "Branch",
    "Child",
    "Decision",
    "Option",
    "Status",
    "assemble",
    "assemble_value",
    "is_kept",
    "is_plain",
    "taken",
]


class Status:
    """How a field was decided, as plain strings.

    Example:
        >>> Status.AGREED
        'agreed'
    """

    UNANIMOUS = "unanimous"
    """All revisions that hold the parent say the same."""
    AGREED = "agreed"
    """One value meets the threshold."""
    RESOLVED = "resolved"
    """No value meets the threshold; the conflict resolver chose one."""
    RECONCILED = "reconciled"
    """Changed so that the record satisfies the constraints."""
    OMITTED = "omitted"
    """No value meets the threshold, and the conflict resolver left the field out."""
    ABSENT = "absent"
    """The revisions agree that there is no such field."""
    IGNORED = "ignored"
    """Copied from the most trusted revision and never voted on; such a field is not listed in a result."""


class _Absent:
    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""The vote of a revision that holds the parent and lacks the path."""


@dataclass(slots=True)
class Branch:
    """A container whose children are decided one by one: keys of an object, or the items of a list in their order.

    Where a list is ``by_position``, an item that is left out takes all that come after it along: in its place they
    would mean something else.
    """

    kind: str
    children: list[tuple[str | None, Decision]]
    holders: list[int]
    written_empty: bool
    by_position: bool = False

    def parted(self, choices: Mapping[int, int]) -> tuple[list[Child], list[Child]]:
        """The children that are in the record, and those that are left out."""
        kept: list[Child] = []
        left_out: list[Child] = []
        for child in self.children:
            stays = is_kept(child[1], choices) and not (self.by_position and left_out)
            (kept if stays else left_out).append(child)
        return kept, left_out


class Option(NamedTuple):
    """One answer: a value, a branch or ABSENT, with its weight (in units of 1e-9) and the revisions behind it.

    ``speakers`` are those of the revisions that have a voice: all of them, or with one vote per source those that say
    what their source says. ``spellings`` holds the different values that count as this one, when there are several.
    """

    value: Any
    weight: int
    revisions: tuple[int, ...]
    speakers: tuple[int, ...]
    spellings: tuple[Option, ...] = ()


@dataclass(slots=True)
class Decision:
    """What was decided at one place: the options, the choice among them, and how it came about.

    ``total`` is the weight of all voices, ``voices`` their number, ``likeness`` how alike two texts here are on average
    (None with fewer than two). ``lacks_sources`` says that an answer met the
    threshold, but was left to the conflict resolver because too few sources support it.
    """

    pattern: Path
    options: list[Option]
    choice: int
    status: str
    total: int
    voices: int
    likeness: float | None = None
    lacks_sources: bool = False

    @property
    def chosen(self) -> Option:
        """The option that was chosen."""
        return self.options[self.choice]

    @property
    def best(self) -> Option:
        """The option that weighs most."""
        return max(self.options, key=lambda option: option.weight)

    @property
    def best_weight(self) -> int:
        """What the option weighs that weighs most."""
        return max([option.weight for option in self.options])

    def take(self, option: Option, status: str) -> None:
        """Choose one of the options."""
        self.choice = [each is option for each in self.options].index(True)
        self.status = status

    def choose(self, value: Any) -> None:
        """Choose a value or ABSENT, which becomes an option if it was none."""
        for index, option in enumerate(self.options):
            if option.value is value or (is_plain(value) and is_plain(option.value) and _same(option.value, value)):
                self.choice = index
                return
        self.options.append(Option(value, 0, (), ()))
        self.choice = len(self.options) - 1


Child = tuple[str | None, Decision]
"""A key (None in a list), and what was decided there."""


def is_plain(value: Any) -> bool:
    """Whether an option's value is JSON, neither ABSENT nor a branch."""
    return value is not ABSENT and not isinstance(value, Branch)


def _same(one: Any, other: Any) -> bool:
    return canonical_text(one) == canonical_text(other)


def is_kept(decision: Decision, choices: Mapping[int, int]) -> bool:
    """Whether a decision leaves something in the record: a value, or a container that is not left out."""
    value = taken(decision, choices).value
    if not isinstance(value, Branch):
        return value is not ABSENT
    children = value.children[:1] if value.by_position else value.children
    return value.written_empty or any(is_kept(child, choices) for _, child in children)


def taken(decision: Decision, choices: Mapping[int, int]) -> Option:
    """The option taken: the choice of the vote, or what stands in its place in ``choices`` (by ``id``)."""
    if not choices:
        return decision.options[decision.choice]
    return decision.options[choices.get(id(decision), decision.choice)]


def assemble(decision: Decision, choices: Mapping[int, int]) -> Any:
    """Build the value of a decision, or OMIT.

    A container that comes out empty although no revision wrote it empty is left out.

    Args:
        decision: the decision at the root of the value.
        choices: ``id`` of a decision -> the option to take instead of its choice.
    """
    return assemble_value(taken(decision, choices).value, choices)


def assemble_value(value: Any, choices: Mapping[int, int]) -> Any:
    """Build what an option stands for: JSON, a branch with what was decided below it, or OMIT for ABSENT.

    No decision is made up for it: ``choices`` knows decisions by ``id``, which a new object can inherit from one that
    is gone.
    """
    if value is ABSENT:
        return OMIT
    if not isinstance(value, Branch):
        # Whoever changes the record must not change the report on it.
        return plain_json(value) if type(value) in (dict, list) else value
    built = []
    for key, decision in value.children:
        child = assemble(decision, choices)
        if child is not OMIT:
            built.append((key, child))
        elif value.by_position:
            break
    if not built and not value.written_empty:
        return OMIT
    return dict(built) if value.kind == "object" else [child for _, child in built]
