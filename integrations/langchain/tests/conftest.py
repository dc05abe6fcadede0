"""What the tests of this adapter share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from langchain_core.tools import tool

# How long an example takes says nothing on a machine that has other work to do.
settings.register_profile("consilience", deadline=None)
settings.load_profile("consilience")


def pytest_configure(config: pytest.Config) -> None:
    # Warnings of the framework about itself, under the releases that give them.
    beta = "langchain_core._api.beta_decorator.LangChainBetaWarning"  # loads() and as_tool() are that, since 0.1
    config.addinivalue_line("filterwarnings", f"ignore:.* in beta:{beta}")
    config.addinivalue_line("filterwarnings", "ignore:Core Pydantic V1 functionality isn't compatible:UserWarning")
    config.addinivalue_line("filterwarnings", "ignore:Pydantic serializer warnings:UserWarning")  # langchain-openai 1.0


@pytest.fixture
def refunds() -> list[int]:
    """The orders that were refunded."""
    return []


@pytest.fixture
def refund(refunds: list[int]) -> Any:
    @tool
    def refund(order: int) -> str:
        """Refund an order."""
        refunds.append(order)
        return f"refunded {order}"

    return refund
