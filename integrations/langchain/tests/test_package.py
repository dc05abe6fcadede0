"""The package: its public face, what importing it costs, and what its pages say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checks.pages import blocks_not_run, broken_links, check_blocks

import langchain_consilience

HOME = Path(__file__).parents[1]
MODULES = [
    module.name for module in pkgutil.walk_packages(langchain_consilience.__path__, prefix="langchain_consilience.")
]


def test_every_python_block_of_the_readme_prints_what_it_says() -> None:
    check_blocks(HOME / "README.md")


def test_the_links_of_the_readme_lead_somewhere() -> None:
    assert broken_links(HOME / "README.md") == []
    assert blocks_not_run(HOME / "README.md") == 0


@pytest.mark.parametrize("name", ["langchain_consilience", *MODULES])
def test_the_examples_of_a_module_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0


def test_all_is_true_and_sorted() -> None:
    assert langchain_consilience.__all__ == sorted(langchain_consilience.__all__)
    assert all(hasattr(langchain_consilience, name) for name in langchain_consilience.__all__)


def test_nothing_else_leaks() -> None:
    public = {name for name in vars(langchain_consilience) if not name.startswith("_")}
    assert public - set(langchain_consilience.__all__) == set()


@pytest.mark.parametrize("name", langchain_consilience.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    value: Any = getattr(langchain_consilience, name)
    documentation = inspect.getdoc(value) or ""
    assert documentation.partition("\n")[0].endswith((".", ":"))
    assert ">>> " in documentation
    if "Warning" not in name:
        assert "Args:" in documentation
        assert "Raises:" in documentation
    for each, member in vars(value).items():
        if not each.startswith("_") and (inspect.isfunction(member) or isinstance(member, (property, classmethod))):
            assert inspect.getdoc(member), f"{name}.{each} has no docstring"


def test_importing_it_is_cheap_and_touches_neither_network_nor_disk() -> None:
    code = """
import sys, socket
import langchain_core.runnables, langchain_core.prompts, langchain_core.output_parsers, langchain_core.language_models
before = set(sys.modules)
opened = []
sys.addaudithook(lambda event, args: opened.append((event, args)) if event.split(".")[0] == "socket" or (
    event == "open" and isinstance(args[1], str) and any(mode in args[1] for mode in "wax+")) else None)
import langchain_consilience
heavy = {"langchain", "langgraph", "langchain_openai", "openai", "numpy", "scipy", "rapidfuzz"}
print(sorted(heavy & (set(sys.modules) - before)))
print([each for each in opened if "__pycache__" not in str(each[1])])
print([name for name in ("langchain", "langgraph") if name in sys.modules])
print(hasattr(langchain_consilience, "VoteMiddlewear"))
"""
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert shown.stdout.split("\n")[:4] == ["[]", "[]", "[]", "False"]
