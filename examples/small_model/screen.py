"""The screen: results, and below them a line that lives while replies come in."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from consilience import Sample, VoteResult


class Screen(Protocol):
    """Where the demo shows what happens."""

    def write(self, text: str) -> None:
        """Show text that stays."""

    def start(self, title: str, *, texts: int, calls_planned: int) -> None:
        """Begin a task."""

    def sample(self, sample: Sample) -> None:
        """A reply came in: this is the ``on_sample`` of a vote."""

    def finish_text(self, result: VoteResult, text: str) -> None:
        """A vote is over; show what came of it."""

    def stop(self) -> None:
        """End the task."""


class Count:
    """What the live line says: texts and calls done, calls saved and failed, seconds."""

    def __init__(self, texts: int, calls_planned: int) -> None:
        self.texts, self.calls_planned = texts, calls_planned
        self.texts_done = self.abstained = self.calls = self.failed = self.saved = 0
        self._begin = time.perf_counter()

    def add_sample(self, sample: Sample) -> None:
        self.calls += 1
        self.failed += not sample.ok

    def add_result(self, result: VoteResult) -> None:
        self.texts_done += 1
        self.abstained += result.abstained
        self.saved += result.n_planned - result.num_samples

    def __str__(self) -> str:
        return (
            f"{self.texts_done} of {self.texts} texts, {self.abstained} abstained, {self.calls} calls, "
            f"{self.failed} failed, {self.saved} saved, {time.perf_counter() - self._begin:.0f} s"
        )


class PlainScreen:
    """For files and pipes: a line of progress after each text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._count = Count(0, 0)

    def write(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def start(self, title: str, *, texts: int, calls_planned: int) -> None:
        self._count = Count(texts, calls_planned)
        self.write(_headline(title))

    def sample(self, sample: Sample) -> None:
        self._count.add_sample(sample)

    def finish_text(self, result: VoteResult, text: str) -> None:
        self._count.add_result(result)
        self.write(f"{text}\n  ... {self._count}\n")

    def stop(self) -> None:
        """Nothing is left on the screen that would have to go."""


class TerminalScreen:
    """For terminals: rich keeps a bar below the results and redraws it with every reply."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._count = Count(0, 0)
        self._bar: Any = None

    def write(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start(self, title: str, *, texts: int, calls_planned: int) -> None:
        self._count = Count(texts, calls_planned)
        self.write(_headline(title))
        self._bar = self._progress.add_task(str(self._count), total=calls_planned)

    def sample(self, sample: Sample) -> None:
        self._count.add_sample(sample)
        self._redraw()

    def finish_text(self, result: VoteResult, text: str) -> None:
        self._count.add_result(result)
        self.write(f"{text}\n")
        self._redraw()

    def stop(self) -> None:
        self._progress.remove_task(self._bar)

    def _redraw(self) -> None:
        done = self._count.calls + self._count.saved
        self._progress.update(self._bar, completed=done, description=str(self._count))


@contextmanager
def open_screen(stream: TextIO | None = None) -> Iterator[Screen]:
    """The screen that suits ``stream`` (standard output by default)."""
    stream = sys.stdout if stream is None else stream
    if not stream.isatty():
        yield PlainScreen(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        yield TerminalScreen(progress)


def _headline(title: str) -> str:
    return f"\n{title}\n{'=' * len(title)}\n"
