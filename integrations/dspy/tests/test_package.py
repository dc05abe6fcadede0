"""The package: its names, what importing it costs, and what its pages say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from contextvars import Context
from pathlib import Path

import dspy
import pytest
from checks.pages import blocks_not_run, broken_links, check_blocks

import dspy_consilience

HOME = Path(__file__).parents[1]
PACKAGE = Path(dspy_consilience.__file__).parent
MODULES = ["dspy_consilience", *(f"dspy_consilience.{each.name}" for each in pkgutil.iter_modules([str(PACKAGE)]))]


def test_every_python_block_of_the_readme_prints_what_it_says() -> None:
    try:
        Context().run(check_blocks, HOME / "README.md")  # outside the context that every test has, as a program begins
    finally:
        dspy.configure(lm=None)
    assert blocks_not_run(HOME / "README.md") == 0


def test_the_links_of_the_readme_lead_somewhere() -> None:
    assert broken_links(HOME / "README.md") == []


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_all_is_sorted_and_true() -> None:
    assert sorted(dspy_consilience.__all__) == dspy_consilience.__all__
    assert all(hasattr(dspy_consilience, name) for name in dspy_consilience.__all__)
    assert set(dspy_consilience.__all__) <= set(dir(dspy_consilience))
    assert set(dspy_consilience._HOMES) == set(dspy_consilience.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Votes'"):
        dspy_consilience.Votes  # noqa: B018


@pytest.mark.parametrize("name", dspy_consilience.__all__)
def test_a_public_name_is_documented_with_an_example(name: str) -> None:
    documented = inspect.getdoc(getattr(dspy_consilience, name)) or ""
    assert documented.partition("\n")[0].endswith((".", ":")), "one summary line"
    assert ">>>" in documented
    readme = (HOME / "README.md").read_text(encoding="utf-8")
    assert f"`{name}`" in readme or f"{name}(" in readme


def test_no_module_is_public_and_none_holds_two_nouns() -> None:
    for path in PACKAGE.glob("*.py"):
        assert path.name.startswith("_")
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize("name", MODULES)
def test_the_core_is_used_by_its_public_names(name: str) -> None:
    source = inspect.getsource(importlib.import_module(name))
    assert "from consilience." not in source
    assert "import consilience." not in source


# What an import costs.

WATCH = """
import sys
seen = []
def watch(event, arguments):
    if event == "open" and not str(arguments[0]).endswith((".py", ".pyc", ".so")):
        seen.append(arguments)
    elif event.startswith(("socket.", "subprocess.", "os.mkdir")):
        seen.append(arguments)
sys.addaudithook(watch)
import consilience, dspy_consilience
print("dspy" in sys.modules, seen)
"""


def test_importing_loads_no_dspy_and_touches_neither_network_nor_disk() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCH], capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.stdout == "False []\n", done.stderr
