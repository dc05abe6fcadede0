"""What every test of the adapter has: LlamaIndex without downloads, and its own warnings let through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Of llama-index-core, which lags behind pydantic.
    config.addinivalue_line("filterwarnings", "ignore:The 'validate_default' attribute")
    config.addinivalue_line("filterwarnings", "ignore:The `json` method is deprecated")
    # Of llama-index-workflows 1, about itself.
    config.addinivalue_line("filterwarnings", "ignore:ServiceManager is deprecated")


@pytest.fixture(autouse=True)
def _tokens_are_words() -> Iterator[None]:
    """LlamaIndex would load its tokenizer from a cache or the network."""
    from llama_index import core

    before = core.global_tokenizer
    core.global_tokenizer = str.split
    yield
    core.global_tokenizer = before


@pytest.fixture(autouse=True)
def _no_default_model() -> Iterator[None]:
    """LlamaIndex would load OpenAI's, also where no model is called."""
    from llama_index.core import MockEmbedding, Settings
    from llama_index.core.llms import MockLLM

    before = Settings._llm, Settings._embed_model, Settings._callback_manager
    Settings._llm, Settings._embed_model, Settings._callback_manager = MockLLM(), MockEmbedding(embed_dim=2), None
    yield
    Settings._llm, Settings._embed_model, Settings._callback_manager = before
