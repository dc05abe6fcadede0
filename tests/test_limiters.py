"""Which limiters are let through."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from consilience.drawing import check_limiter


class Both:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
    async def __aenter__(self) -> None: ...
    async def __aexit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("limiter", [None, Both(), contextlib.nullcontext()])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_limiters_for_either(limiter: Any, asynchronous: bool) -> None:
    check_limiter(limiter, asynchronous=asynchronous)


def test_limiters_of_one_kind() -> None:
    check_limiter(threading.Semaphore(2), asynchronous=False)
    check_limiter(asyncio.Semaphore(2), asynchronous=True)
    with pytest.raises(TypeError, match="a plain context manager in vote, got an asynchronous one of type Semaphore"):
        check_limiter(asyncio.Semaphore(2), asynchronous=False)
    with pytest.raises(TypeError, match="an asynchronous context manager in avote, got a plain one of type Semaphore"):
        check_limiter(threading.Semaphore(2), asynchronous=True)


@pytest.mark.parametrize("limiter", [3, "2/s", Both, object(), True])
@pytest.mark.parametrize(("asynchronous", "verb"), [(False, "vote"), (True, "avote")])
def test_what_is_no_limiter(limiter: Any, asynchronous: bool, verb: str) -> None:
    with pytest.raises(TypeError, match=rf"context manager in {verb}, got {type(limiter).__name__}"):
        check_limiter(limiter, asynchronous=asynchronous)
