"""Mentions: the paths that settings name, and whether there is anything at them.

A path that can match nothing would be ignored without a word, and the rule that it was written for with it. Where the
schema has no room for it, that is an error; where nobody can know before, the result says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

from .._errors import SettingsError
from ._comparators import Comparator, Keyed
from ._layout import Layout, Room
from ._paths import EACH, Path
from ._resolvers import named_paths

if TYPE_CHECKING:
    from ._schema import Schema
    from ._settings import ConsensusSettings

__all__ = ["check_mentions", "unmatched"]

_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Mention:
    """A path that an option names; ``option`` shows where."""

    option: str
    path: Path


def _mentions(settings: ConsensusSettings) -> Iterator[_Mention]:
    """The paths for which a rule is given."""
    for path, rule in (settings.compare or {}).items():
        option = f"compare[{str(path)!r}]"
        yield _Mention(option, path)
        yield from _of_keys(option, path, rule)
    for path in named_paths(settings.conflict_resolver):
        yield _Mention(f"by_path[{str(path)!r}]", path)
    for path in dict.fromkeys(path for each in settings.constraints for path in each.fields):
        yield _Mention(f"constraint(fields=[{str(path)!r}])", path)


def _of_keys(option: str, path: Path, rule: Comparator) -> Iterator[_Mention]:
    for name in rule.fields if isinstance(rule, Keyed) else ():
        yield _Mention(f"Keyed({name!r}) of {option}", Path((*path, EACH, name)))


def check_mentions(settings: ConsensusSettings, schema: Schema) -> None:
    """Raise for a path that no record of the schema can have.

    Raises:
        SettingsError: there is one; the message names the path of the schema that is most like it.
    """
    required = (_Mention(f"required=[{str(path)!r}]", path) for path in settings.required)
    annotated = (each for path, rule in schema.rules.items() for each in _of_keys(f"the schema's {path}", path, rule))
    for mention in (*_mentions(settings), *required, *annotated):
        if schema.layout.room_for(mention.path) is Room.NONE:
            hint = _meant(mention.path, schema.layout)
            raise SettingsError(f"{mention.option}: the schema has no room for {str(mention.path)!r}{hint}")


def _meant(path: Path, layout: Layout) -> str:
    """The end of a message: the path of a schema that is most like this one, or the first that it has."""
    known = {str(each).lower(): str(each) for each in layout.paths()}
    close = get_close_matches(str(path).lower(), known, n=1)
    if close:
        return f"; did you mean {known[close[0]]!r}?"
    return f"; it has {', '.join(map(repr, islice(known.values(), _MOST_SHOWN)))}" if known else ""


def unmatched(settings: ConsensusSettings, schema: Schema | None, revisions: Iterable[Any]) -> tuple[str, ...]:
    """The options that name a path at which no revision has anything, unless the schema names it, too.

    Args:
        settings: all options.
        schema: the schema in them.
        revisions: plain JSON values; without any, nothing can be said.
    """
    given = list(revisions)
    return tuple(
        mention.option
        for mention in _mentions(settings)
        if given
        and (schema is None or schema.layout.room_for(mention.path) is not Room.DECLARED)
        and not _is_somewhere(given, mention.path)
    )


def _is_somewhere(values: Sequence[Any], path: Path) -> bool:
    """Whether any of these values has something at a path; a position stands for every one.

    What the items of lists have that are all empty, nobody knows.
    """
    for step in path:
        if isinstance(step, str):
            values = [value[step] for value in values if type(value) is dict and step in value]
        else:
            lists = [value for value in values if type(value) is list]
            if lists and not any(lists):
                return True
            values = [item for items in lists for item in items]
    return bool(values)
