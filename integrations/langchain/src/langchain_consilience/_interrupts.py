"""Interrupts: exceptions that steer a graph and must never be counted as failed samples."""

from __future__ import annotations

import sys

__all__ = ["interrupts"]


def interrupts() -> tuple[type[BaseException], ...]:
    """The exceptions by which LangGraph pauses a graph or sends it elsewhere; none while LangGraph is not imported.

    ``GraphInterrupt`` is an ``Exception``: counted as a failed sample, a question to a human would be lost.

    Example:
        >>> import langgraph.errors
        >>> [each.__name__ for each in interrupts()]
        ['GraphBubbleUp']
    """
    bubble_up = getattr(sys.modules.get("langgraph.errors"), "GraphBubbleUp", None)
    return () if bubble_up is None else (bubble_up,)
