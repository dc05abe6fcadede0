"""The package: what importing it costs and what its pages say."""

from __future__ import annotations

from pathlib import Path

from checks.pages import check_blocks

HOME = Path(__file__).parents[1]


def test_every_python_block_of_the_readme_prints_what_it_says() -> None:
    check_blocks(HOME / "README.md")
