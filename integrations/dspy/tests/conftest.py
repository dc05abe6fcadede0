"""DSPy as the tests need it: no price list from the network, no cache on the disk, no settings left behind."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
_cache = tempfile.TemporaryDirectory()  # DSPy opens a cache there when it is imported
os.environ["DSPY_CACHEDIR"] = _cache.name
sys.path.insert(0, str(Path(__file__).parent))  # for what the tests share

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some versions of DSPy deprecate what they use themselves
    import dspy

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from loopback import Loopback, chat  # noqa: E402

settings.register_profile("shared machine", deadline=None, max_examples=50)
settings.load_profile("shared machine")


def pytest_configure(config: pytest.Config) -> None:
    # Without a loop ever run in this thread, litellm makes one and leaves it open.
    asyncio.run(asyncio.sleep(0))
    # What DSPy and litellm do between themselves is not this project's to repair.
    for ignored in (
        "ignore:.*OpenAI-style messages.*:DeprecationWarning",
        "ignore:.*messages=.*:DeprecationWarning",
        "ignore:Pydantic serializer warnings:UserWarning",
        # Clients that litellm keeps for ever.
        "ignore:unclosed (transport |.socket.*127.0.0.1|event loop):ResourceWarning",
        "ignore:Items? .* on TypedDict class:UserWarning",
        "ignore::DeprecationWarning:litellm",
    ):
        config.addinivalue_line("filterwarnings", ignored)


@pytest.fixture(autouse=True)
def _fresh_dspy() -> Iterator[None]:
    """An empty cache in memory, and an empty trace of its own, as in a program that has just begun."""
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    with dspy.context(trace=[], callbacks=[], lm=None, adapter=None):
        yield


@pytest.fixture
def endpoint() -> Iterator[Callable[..., Loopback]]:
    """Makes endpoints that speak OpenAI's protocol on loopback, and stops them."""
    started: list[AbstractContextManager[Any]] = []

    def start(*args: Any, **kwargs: Any) -> Loopback:
        server = Loopback(*args, **kwargs)
        started.append(server)
        return server.__enter__()

    yield start
    for server in started:
        server.__exit__(None, None, None)


@pytest.fixture
def streaming_lm(endpoint: Callable[..., Loopback]) -> Any:
    """An LM that votes yes and tells so, over HTTP and in chunks where it is asked for them."""

    def reply(number: int, body: dict[str, Any]) -> str:
        tells = "sentence" in body["messages"][0]["content"]
        return chat(sentence="It is yes indeed.") if tells else chat(answer="yes")

    return endpoint(reply).lm(cache=False)
