"""Serialization: what LangChain's ``dumps`` is to write of a component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableSerializable

from consilience import Path

__all__ = ["Component"]


class Component(RunnableSerializable[Any, Any]):
    """A runnable that LangChain's ``dumps`` and ``loads`` take, if they take what is inside."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Whether ``dumps`` writes it down."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Where ``loads`` finds it."""
        return ["langchain_consilience"]

    def to_json(self) -> Any:
        """What ``dumps`` writes: the arguments that are not at their default."""
        return _plain_arguments(self, super().to_json())


def _plain_arguments(component: Any, dumped: Any) -> Any:
    """``dumped`` with only the arguments that are not at their default, and paths as text.

    The framework writes every argument that is true, and the default of an option may be a function, which it cannot
    write.
    """
    fields = type(component).model_fields
    given = {
        name: _plain(value)
        for name, value in dumped.get("kwargs", {}).items()
        if name not in fields or fields[name].is_required() or not _is_default(value, fields[name].get_default())
    }
    return {**dumped, "kwargs": given} if "kwargs" in dumped else dumped


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping) and any(isinstance(name, Path) for name in value):
        return {str(name): each for name, each in value.items()}
    return value
