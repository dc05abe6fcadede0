"""The package: its face, what importing it costs, its docstrings and its pages."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from checks.pages import blocks_not_run, broken_links, check_blocks

import llama_index_consilience

HOME = Path(__file__).parents[1]
PACKAGE = Path(llama_index_consilience.__file__).parent
HAS_PIPELINES = importlib.util.find_spec("llama_index.core.query_pipeline") is not None
MODULES = [
    f"llama_index_consilience.{module.name}"
    for module in pkgutil.iter_modules([str(PACKAGE)])
    if module.name != "_component" or HAS_PIPELINES
]
NAMES = [*llama_index_consilience.__all__, *(["VoteComponent"] if HAS_PIPELINES else [])]


def test_every_python_block_of_the_readme_prints_what_it_says() -> None:
    check_blocks(HOME / "README.md")


def test_the_readme_links_to_what_there_is_and_hides_nothing() -> None:
    assert broken_links(HOME / "README.md") == []
    # Query pipelines are shown to those who still have them.
    assert blocks_not_run(HOME / "README.md") <= 1


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_run(name: str) -> None:
    with warnings.catch_warnings(record=True):  # LlamaIndex's word on query pipelines heeds no filter
        results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_docstring_with_an_example(name: str) -> None:
    value = getattr(llama_index_consilience, name)
    documentation = inspect.getdoc(value) or ""
    assert documentation.partition("\n")[0].endswith((".", ";", ":"))
    assert ">>> " in documentation
    if inspect.isclass(value):
        assert [part for part in _own_parts(value) if not inspect.getdoc(part)] == []


def _own_parts(value: type) -> list[Any]:
    own = [vars(base) for base in value.__mro__ if base.__module__.startswith("llama_index_consilience")]
    return [
        member
        for part, member in (pair for each in own for pair in each.items())
        if not part.startswith("_") and (callable(member) or isinstance(member, (property, classmethod)))
    ]


def test_all_is_sorted_and_nothing_else_leaks() -> None:
    names = llama_index_consilience.__all__
    assert names == sorted(set(names))
    assert set(names) <= set(dir(llama_index_consilience))
    assert set(llama_index_consilience._HOMES) == {*names, "VoteComponent"}
    for name in names:
        assert getattr(llama_index_consilience, name).__name__ == name
    leaked = {name for name in vars(llama_index_consilience) if not name.startswith("_")} - set(NAMES)
    assert leaked <= {"Any", "TYPE_CHECKING", "import_module"}
    assert (PACKAGE / "py.typed").is_file()


def test_no_module_of_the_adapter_imports_a_private_one_of_the_core() -> None:
    for path in PACKAGE.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "from consilience._" not in text
        assert "from consilience." not in text, path.name


def in_a_new_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COST = """
import sys, time
import llama_index.core
from llama_index.core.workflow import Workflow
before = set(sys.modules)
seen = []
def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        code = str(path).endswith((".py", ".pyc", ".so", ".pyd")) or path == "<unknown>"  # inspect parses signatures
        if not code or any(sign in (mode or "") for sign in "wax+"):
            seen.append((event, str(path)))
    elif event.startswith(("socket.", "subprocess.", "os.mkdir", "os.rename", "os.remove", "os.system", "urllib.")):
        seen.append((event, str(arguments)))
sys.addaudithook(watch)
start = time.process_time()
import llama_index_consilience
print(time.process_time() - start)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
from llama_index_consilience import *
print(VotingLLM.__name__)
print(seen)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def test_importing_is_cheap_and_touches_neither_network_nor_disk() -> None:
    """And ``import *`` works, with and without query pipelines."""
    seconds, bare, name, seen, all_names = in_a_new_process(COST).splitlines()
    assert name == "VotingLLM"
    assert bare == "llama_index_consilience"
    assert float(seconds) < 0.05
    assert seen == "[]"
    # No package is loaded that llama_index.core has not loaded, but for the core, which is light.
    assert set(all_names.split()) - set(sys.stdlib_module_names) <= {"consilience", "llama_index", bare}
