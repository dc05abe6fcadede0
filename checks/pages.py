"""The pages of a manual as tests see them: blocks of Python that must print what the page says, and links."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

__all__ = ["Block", "blocks_not_run", "broken_links", "check_blocks", "python_blocks"]

_FENCE = re.compile(r"(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A Python block of a page, and what the page says that it prints (None where no output block follows)."""

    line: int
    code: str
    output: str | None
    runs: bool


def python_blocks(page: str) -> list[Block]:
    fences = list(_FENCE.finditer(page))
    blocks = []
    for position, fence in enumerate(fences):
        language, *flags = fence["info"].split() or [""]
        if language == "python":
            line = page.count("\n", 0, fence.start()) + 1
            blocks.append(Block(line, fence["body"], _output_after(page, fences, position), "no-run" not in flags))
    return blocks


def _output_after(page: str, fences: list[re.Match[str]], position: int) -> str | None:
    """The text block that follows with nothing but space between."""
    if position + 1 == len(fences):
        return None
    fence, following = fences[position : position + 2]
    if following["info"].strip() != "text" or page[fence.end() : following.start()].strip():
        return None
    return following["body"]


@contextlib.contextmanager
def fresh_module(page: Path) -> Iterator[ModuleType]:
    """A module for the blocks of one page; listed in sys.modules, where pydantic and dataclasses look up names."""
    module = ModuleType(f"page_{page.parent.name}_{page.stem}".replace("-", "_"))
    sys.modules[module.__name__] = module
    logger = logging.getLogger("consilience")
    before = logger.level, logger.handlers[:]
    try:
        yield module
    finally:
        del sys.modules[module.__name__]
        logger.setLevel(before[0])
        logger.handlers[:] = before[1]


def without_ids(text: str) -> str:
    """Results carry a random id of 32 hexadecimal digits, which shows in the log."""
    return re.sub(r"\b[0-9a-f]{32}\b", "<id>", text)


def check_blocks(page: Path) -> None:
    """Run the blocks of a page in order, in one module, and compare what they print with what the page says."""
    blocks = python_blocks(page.read_text(encoding="utf-8"))
    with fresh_module(page) as module:
        for block in blocks:
            where = f"{page.name}:{block.line}"
            code = compile("\n" * block.line + block.code, where, "exec")
            if not block.runs:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, module.__dict__)
            assert without_ids(printed.getvalue()) == without_ids(block.output or ""), f"{where} prints something else"


def blocks_not_run(page: Path) -> int:
    """How many Python blocks of a page are only shown."""
    return sum(not block.runs for block in python_blocks(page.read_text(encoding="utf-8")))


def broken_links(page: Path) -> list[str]:
    """The links of a page into the project that lead nowhere."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if "://" not in target and not _leads_somewhere(page, target)
    ]


def _leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    goal = page.parent / path if path else page
    return goal.exists() and (not anchor or anchor in anchors(goal.read_text(encoding="utf-8")))


def anchors(page: str) -> set[str]:
    """The anchors that hosts of Markdown make of headings: lower case, no marks, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
