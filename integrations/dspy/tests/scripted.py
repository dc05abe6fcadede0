"""Programs that say what a test wants to hear, sample by sample."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy

from consilience import sample_index


class Scripted(dspy.Module):
    """A program of which sample ``i`` gives (or raises) item ``i`` of a script."""

    def __init__(self, script: list[Any], field: str = "answer") -> None:
        super().__init__()
        self.script = script
        self.field = field

    def forward(self, **inputs: Any) -> Any:
        index = sample_index() or 0
        item = self.script[index % len(self.script)]
        if isinstance(item, BaseException):
            raise item
        return item if isinstance(item, dspy.Prediction) else dspy.Prediction(**{self.field: item})

    async def aforward(self, **inputs: Any) -> Any:
        await asyncio.sleep(0)
        return self.forward(**inputs)


def run(program: Any, way: str, **inputs: Any) -> Any:
    """Call a program: ``way`` is "sync" or "async"."""
    return program(**inputs) if way == "sync" else asyncio.run(program.acall(**inputs))
