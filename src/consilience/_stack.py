"""The stack: work on nested values needs frames of it, and the caller may have left few."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import Any, TypeVar

__all__ = ["nesting", "on_a_fresh_stack", "with_room"]

T = TypeVar("T")

_SCALARS = frozenset({str, int, float, bool, type(None)})


def nesting(values: Iterable[Any], most: int) -> int:
    """How deep these values are nested; ``most`` for all that is deeper, and for what contains itself.

    Args:
        values: JSON values, or dataclasses, models and other objects that hold some.
        most: where to stop.

    Example:
        >>> nesting([1, [[2], {}]], 9), nesting([[[]]], 1)
        (2, 1)
    """
    level = [value for value in values if type(value) not in _SCALARS]
    for depth in range(most):
        # By identity, because what holds the same object many times would otherwise be as many objects a level down.
        inner = {id(part): part for value in level for part in _parts(value) if type(part) not in _SCALARS}
        if not level:
            return depth
        level = list(inner.values())
    return most


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    parts = getattr(value, "__dict__", None)
    return parts.values() if isinstance(parts, dict) else ()


def with_room(frames: int, work: Callable[[], T]) -> T:
    """Do some work where it can call this many functions within each other: here, or in a thread of its own.

    It is decided before, because a function of the user's that meets the end of the stack would be believed to have
    failed, and an exception that it catches would never be seen.

    Args:
        frames: how many; if that is more than the interpreter allows at all, the work gets all there are.
        work: a function without arguments. In a thread it sees the caller's context variables.
    """
    return work() if _has_room(frames) else on_a_fresh_stack(work)


def _has_room(frames: int) -> bool:
    limit = sys.getrecursionlimit()
    if frames <= limit // 2 and _is_shallow(limit // 8):
        return True
    try:
        _descend(frames)
    except RecursionError:
        return False
    return True


def _is_shallow(depth: int) -> bool:
    """Whether the caller stands less deep than this, which takes a hundredth of the time that trying takes."""
    try:
        sys._getframe(depth)
    except ValueError:
        return True
    return False


def _descend(frames: int) -> None:
    if frames > 0:
        _descend(frames - 1)


def on_a_fresh_stack(work: Callable[[], T]) -> T:
    """Do some work in a thread of its own, whose stack is empty, and wait for it."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
