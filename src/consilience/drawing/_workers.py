"""The worker: a daemon thread that runs jobs.

Not concurrent.futures, whose threads are joined at exit: a sampler that hangs would keep the interpreter from ending.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["WorkerPool"]

T = TypeVar("T")


class WorkerPool:
    """As many threads as there are jobs at once; a thread that is done takes the next job.

    A job that never returns keeps its thread, and another takes its place. A job must not raise.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._busy = 0
        self._threads = 0

    @property
    def busy(self) -> int:
        """How many jobs have not returned."""
        return self._busy

    def submit(self, job: Callable[[], T], deliver: Callable[[T], None]) -> None:
        """Run ``deliver(job())`` in a thread. By the time of delivery the job does not count as busy any more.

        Raises:
            RuntimeError: the system has no thread left; the job will not be run.
        """
        with self._lock:
            self._busy += 1
            short_of_threads = self._busy > self._threads
            self._threads += short_of_threads
        if short_of_threads:
            try:
                threading.Thread(target=self._work, name="consilience-worker", daemon=True).start()
            except RuntimeError:
                with self._lock:
                    self._busy -= 1
                    self._threads -= 1
                raise
        self._jobs.put((job, deliver))

    def close(self) -> None:
        """Let every thread end, the busy ones after their job."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (order := self._jobs.get()) is not None:
            job, deliver = order
            result = job()
            with self._lock:
                self._busy -= 1
            deliver(result)
            del order, job, deliver, result  # nothing of a call may live on while the thread waits for the next one
