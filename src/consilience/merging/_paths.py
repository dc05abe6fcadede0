"""The path: where a value stands inside a record, as a tuple inside and as dotted text for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._errors import SettingsError

__all__ = ["EACH", "EVERY_KEY", "ROOT", "Path", "flatten", "parse_path", "pattern_of", "unflatten"]

EACH = -1
"""The step of a pattern that stands for every index of a list."""

EVERY_KEY = -2
"""The step of a declared path that stands for every key of an object; no path of a user can have it."""

_PLAIN_KEY = re.compile(r"(?!\d+\Z)[^.\[\]\"\s$]+")
_STEP = re.compile(r'\.?(?:\[(?P<index>\d*)\]|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|(?P<key>[^.\[\]"]+))')


class Path(tuple[str | int, ...]):
    """Where a value stands: keys as text, list positions as integers; the root is the empty path.

    A path is a tuple, so that keys with dots, brackets or digits are safe. ``str(path)`` is for people:
    ``items[0].qty``, a key that would be misread in quotes (``["a.b"]``), ``$`` for the root.

    Example:
        >>> str(Path(("items", 0, "unit.price")))
        'items[0]["unit.price"]'
    """

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """What a path is to pydantic, where a result is a field or a response: its text."""
        from pydantic_core import core_schema

        text = core_schema.no_info_after_validator_function(parse_path, core_schema.str_schema())
        return core_schema.json_or_python_schema(
            json_schema=text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), text]),
            serialization=core_schema.to_string_ser_schema(),
        )

    def __str__(self) -> str:
        return "".join(map(_step_text, self)).removeprefix(".") or "$"

    def __repr__(self) -> str:
        return f"Path({str(self)!r})"


ROOT = Path()

_PATTERN_STEPS = {EACH: "[]", EVERY_KEY: "[*]"}


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return _PATTERN_STEPS.get(step) or f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{json.dumps(step, ensure_ascii=False)}]"


def parse_path(text: str | Iterable[str | int]) -> Path:
    """Read a path or a pattern from its text.

    Args:
        text: ``"customer.city"``, ``"items[0].qty"`` (``"items.0.qty"`` is the same), ``"items[].qty"`` for every
            item, ``'["a.b"]'`` for a key that holds a dot, ``"$"`` for the root; a tuple of steps is taken as it is.

    Returns:
        The path, with ``EACH`` where the text has ``[]``.

    Raises:
        SettingsError: the text is not a path.

    Example:
        >>> tuple(parse_path("items[].qty")) == ("items", EACH, "qty")
        True
    """
    if not isinstance(text, str):
        return _path_of(text)
    if text == "$":
        return Path()
    steps: list[str | int] = []
    position = 0
    while position < max(len(text), 1):
        match = _STEP.match(text, position)
        if match is None:
            raise SettingsError(f'a path looks like "customer.city" or "items[].qty", got {text!r}')
        steps.append(_read_step(match))
        position = match.end()
    return Path(steps)


def _path_of(steps: Any) -> Path:
    """A path from its steps, which may come from anywhere."""
    listed = Path(steps) if isinstance(steps, Iterable) else None
    if listed is None or not all(isinstance(step, str) or (type(step) is int and step >= EACH) for step in listed):
        raise SettingsError(f"a path is a text, or a tuple of keys and positions, got {steps!r}")
    return listed


def _read_step(match: re.Match[str]) -> str | int:
    if match["quoted"] is not None:
        return str(json.loads(f'"{match["quoted"]}"', strict=False))
    if match["key"] is not None:
        key = match["key"]
        return int(key) if key.isascii() and key.isdigit() else key
    return int(match["index"]) if match["index"] else EACH


def pattern_of(path: Iterable[str | int]) -> Path:
    """The pattern of a path: every position stands for each of them.

    Example:
        >>> pattern_of(("items", 0, "qty"))
        Path('items[].qty')
    """
    return Path(EACH if isinstance(step, int) else step for step in path)


def flatten(value: Any) -> dict[Path, Any]:
    """Return the leaves of a JSON value by path.

    Leaves are the scalars and the empty containers, so that ``unflatten`` gives back exactly the same value.

    Args:
        value: a JSON value, nested as deep as memory allows.

    Example:
        >>> {str(path): leaf for path, leaf in flatten({"ram": {"gb": 16}, "tags": ["A", []]}).items()}
        {'ram.gb': 16, 'tags[0]': 'A', 'tags[1]': []}
    """
    leaves: dict[Path, Any] = {}
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, node = pending.pop()
        if node and isinstance(node, dict | list):
            steps = node.items() if isinstance(node, dict) else enumerate(node)
            pending.extend(reversed([((*path, step), child) for step, child in steps]))
        else:
            leaves[Path(path)] = node
    return leaves


def unflatten(leaves: Mapping[Path, Any]) -> Any:
    """Put a flattened value together again; the inverse of ``flatten``.

    Args:
        leaves: path to leaf; text steps make objects, integer steps make lists.

    Raises:
        SettingsError: the paths contradict each other or leave a hole in a list.

    Example:
        >>> unflatten({("ram", "gb"): 16, ("tags", 0): "A"})
        {'ram': {'gb': 16}, 'tags': ['A']}
    """
    root: list[Any] = []
    for path, leaf in leaves.items():
        holder: Any = root
        step: str | int = 0
        for following in path:
            holder = _child(holder, step, [] if isinstance(following, int) else {}, path)
            step = following
        if _child(holder, step, leaf, path) is not leaf:
            raise SettingsError(f"leaves hold two values for {Path(path)}")
    if not root:
        raise SettingsError("leaves must hold at least one path, got none")
    return root[0]


def _child(holder: Any, step: str | int, fresh: Any, path: tuple[str | int, ...]) -> Any:
    """The child of a container at one step, made when it is not there yet."""
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, fresh)
    if isinstance(holder, list) and isinstance(step, int) and 0 <= step <= len(holder):
        if step == len(holder):
            holder.append(fresh)
        return holder[step]
    raise SettingsError(f"the leaf {Path(path)} does not fit the leaves before it")
