"""What every test of the adapter has: LlamaIndex without downloads, and its own warnings let through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Of llama-index-core 0.12, beside pydantic releases that are newer than it.
    config.addinivalue_line("filterwarnings", "ignore:The 'validate_default' attribute")


@pytest.fixture(autouse=True)
def _tokens_are_words() -> Iterator[None]:
    """LlamaIndex would load its tokenizer from a cache or the network."""
    from llama_index import core

    before = core.global_tokenizer
    core.global_tokenizer = str.split
    yield
    core.global_tokenizer = before
