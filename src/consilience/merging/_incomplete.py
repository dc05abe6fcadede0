"""The incomplete record: what a model makes of the fields that are there when others are missing."""

from __future__ import annotations

from typing import Any

__all__ = ["Incomplete", "incomplete_validator"]

_OPAQUE = frozenset({"metadata", "serialization", "default", "config", "expected", "members", "function"})
"""Parts of a core schema that hold values of users and no schemas."""

_BY_NAME = frozenset({"fields", "choices"})
_SIZED = frozenset({"list", "set", "frozenset", "tuple", "dict"})


class Incomplete:
    """The base of stand-ins for instances, in which any field may be missing. ``model`` is the model of a stand-in."""

    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")

    model: Any


def incomplete_validator(model: Any) -> Any:
    """A validator that reads as a model does, but asks for no field and runs no validator on a whole model.

    Returns:
        A pydantic-core ``SchemaValidator``; it makes stand-ins (``Incomplete``) instead of instances.
    """
    from pydantic_core import SchemaValidator

    model.model_rebuild()
    return SchemaValidator(_relaxed(model.__pydantic_core_schema__, {}))


def _relaxed(node: Any, stand_ins: dict[Any, Any]) -> Any:
    """A copy of a core schema in which nothing is required."""
    if isinstance(node, list):
        return [_relaxed(each, stand_ins) for each in node]
    if not isinstance(node, dict):
        return node
    relaxed = {key: _part(key, part, stand_ins) for key, part in node.items()}
    kind = node.get("type")
    if kind == "model":
        relaxed["cls"] = stand_ins.setdefault(node["cls"], type("StandIn", (Incomplete,), {"model": node["cls"]}))
        relaxed["custom_init"] = False
        relaxed.pop("post_init", None)
    elif kind == "model-field" and node["schema"]["type"] != "default":
        relaxed["schema"] = {"type": "default", "schema": relaxed["schema"], "default": None}
    elif kind == "function-after" and _innermost(node)["type"] == "model":
        relaxed = {**relaxed["schema"], **({"ref": node["ref"]} if "ref" in node else {})}
    elif kind in _SIZED:
        relaxed.pop("min_length", None)
    return relaxed


def _part(key: str, part: Any, stand_ins: dict[Any, Any]) -> Any:
    if key in _OPAQUE:
        return part
    if key in _BY_NAME and isinstance(part, dict):
        return {name: _relaxed(each, stand_ins) for name, each in part.items()}
    return _relaxed(part, stand_ins)


def _innermost(node: Any) -> Any:
    """The schema around which functions are wrapped."""
    while node["type"].startswith("function-") and "schema" in node:
        node = node["schema"]
    return node
