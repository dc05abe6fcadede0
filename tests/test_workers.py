"""The worker threads: how many there are, what they keep, and when they end."""

from __future__ import annotations

import gc
import threading
import weakref
from queue import SimpleQueue
from typing import Any

import pytest

from consilience.drawing._workers import WorkerPool


@pytest.fixture
def pool(no_new_threads: None) -> Any:
    pool = WorkerPool()
    yield pool
    pool.close()


def test_a_thread_that_is_done_takes_the_next_job(pool: WorkerPool) -> None:
    done: SimpleQueue[int] = SimpleQueue()
    seen = set()
    for _ in range(100):
        pool.submit(threading.get_ident, done.put)
        seen.add(done.get(timeout=10))
        assert pool.busy == 0
    assert len(seen) == 1


def test_a_job_that_hangs_keeps_its_thread_and_no_other(pool: WorkerPool) -> None:
    gate = threading.Event()
    done: SimpleQueue[Any] = SimpleQueue()
    for _ in range(3):
        pool.submit(lambda: gate.wait(20), done.put)
    for _ in range(20):
        pool.submit(lambda: "quick", done.put)
        assert done.get(timeout=10) == "quick"
    assert pool.busy == 3
    gate.set()
    assert [done.get(timeout=10) for _ in range(3)] == [True] * 3
    assert pool.busy == 0


def test_jobs_at_once_run_at_once(pool: WorkerPool) -> None:
    barrier = threading.Barrier(5)
    done: SimpleQueue[int] = SimpleQueue()
    for _ in range(5):
        pool.submit(lambda: barrier.wait(timeout=20), done.put)
    assert sorted(done.get(timeout=20) for _ in range(5)) == [0, 1, 2, 3, 4]


def test_an_idle_thread_keeps_nothing_of_its_last_job(pool: WorkerPool) -> None:
    class Content:
        pass

    done: SimpleQueue[Any] = SimpleQueue()
    pool.submit(Content, done.put)
    content = weakref.ref(done.get(timeout=10))
    pool.submit(lambda: None, done.put)
    done.get(timeout=10)
    gc.collect()
    assert content() is None


def test_jobs_given_before_the_close_are_still_done() -> None:
    pool, done, gate = WorkerPool(), SimpleQueue(), threading.Event()
    pool.submit(lambda: gate.wait(20), done.put)
    pool.close()
    gate.set()
    assert done.get(timeout=10) is True
