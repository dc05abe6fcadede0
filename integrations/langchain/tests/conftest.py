"""What the tests of this adapter share."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Warnings of the framework about itself, under the releases that give them.
    config.addinivalue_line("filterwarnings", "ignore:Core Pydantic V1 functionality isn't compatible:UserWarning")
