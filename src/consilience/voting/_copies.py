"""Copies: what a function of the user's may edit, without changing the reply that it came from."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["private_copy"]


def private_copy(record: Any) -> Any:
    """A deep copy of a record; of one that cannot be copied, a copy of its dicts and lists. It never raises.

    Example:
        >>> reply = {"tags": ["new"]}
        >>> private_copy(reply)["tags"].append("seen")
        >>> reply
        {'tags': ['new']}
    """
    try:
        return copy.deepcopy(record)
    except Exception:  # an object that refuses, or too deep a nesting
        return _copied_containers(record)


def _copied_containers(record: Any) -> Any:
    """A copy of the dicts and lists that can be reached through dicts and lists; everything else is shared."""
    root = [record]
    copies: dict[int, Any] = {id(root): root}  # of cycles, too, each container is copied once
    pending: list[Any] = [root]
    while pending:
        holder = pending.pop()
        for place, item in list(holder.items()) if type(holder) is dict else enumerate(holder):
            if type(item) not in (dict, list):
                continue
            if id(item) not in copies:
                copies[id(item)] = item.copy()
                pending.append(copies[id(item)])
            holder[place] = copies[id(item)]
    return root[0]
