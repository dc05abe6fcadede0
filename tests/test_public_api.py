"""The public face: what it shows, what importing it costs, and which way its rooms import."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import consilience
import consilience.testing

PACKAGE = Path(consilience.__file__).parent
ROOMS = (
    "_version",
    "_errors",
    "_arguments",
    "_canonical",
    "_coroutines",
    "_signatures",
    "_stack",
    "replies",
    "drawing",
    "evidence",
    "voting",
    "merging",
)
"""From the bottom to the top: a room imports from those before it only."""
HEAVY = (
    "pydantic",
    "pydantic_core",
    "numpy",
    "scipy",
    "rapidfuzz",
    "tenacity",
    "json_repair",
    "jsonschema_rs",
    "openai",
    "anthropic",
    "langchain",
    "langchain_core",
    "llama_index",
    "dspy",
    "xllamacpp",
    "rich",
)
FACES = (consilience, consilience.testing)
PUBLIC = [(face, name) for face in FACES for name in face.__all__ if name != "__version__"]


def label(value: object) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", repr(value))


@pytest.mark.parametrize(("face", "name"), PUBLIC, ids=label)
def test_a_public_name_has_a_docstring_with_an_example(face: ModuleType, name: str) -> None:
    documentation = inspect.getdoc(getattr(face, name)) or ""
    assert documentation.partition("\n")[0].endswith((".", ";", ":")), "the first line must be a sentence"
    assert ">>> " in documentation


@pytest.mark.parametrize(("face", "name"), PUBLIC, ids=label)
def test_every_public_part_of_a_public_class_has_a_docstring(face: ModuleType, name: str) -> None:
    value = getattr(face, name)
    if not inspect.isclass(value):
        return
    own = [part for base in value.__mro__ if base.__module__.startswith("consilience") for part in vars(base).items()]
    without = [
        part
        for part, member in own
        if not part.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod)))
        and not inspect.getdoc(member)
    ]
    assert without == []


@pytest.mark.parametrize(("face", "name"), PUBLIC, ids=label)
def test_a_public_name_is_in_the_reference(face: ModuleType, name: str) -> None:
    reference = (PACKAGE.parents[1] / "docs/reference.md").read_text(encoding="utf-8")
    assert f"\n### {name}\n" in reference


@pytest.mark.parametrize("face", FACES, ids=label)
def test_all_is_sorted_and_true(face: ModuleType) -> None:
    constants_first = sorted(set(face.__all__), key=lambda name: (not name.isupper(), name))
    assert list(face.__all__) == constants_first
    assert all(hasattr(face, name) for name in face.__all__)


def test_nothing_else_leaks() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    leaked = [name for name in vars(consilience) if not name.startswith("_") and name not in consilience.__all__]
    assert set(leaked) <= rooms


def test_no_public_name_is_that_of_a_module_or_folder() -> None:
    # Importing a module binds its name in the package, where it would hide a function of the same name.
    taken = {path.stem for path in PACKAGE.rglob("*") if path.is_dir() or path.suffix == ".py"}
    assert not set(consilience.__all__) & taken


def test_the_package_is_typed_and_has_a_version() -> None:
    assert (PACKAGE / "py.typed").is_file()
    assert consilience.__version__.count(".") == 2


# What an import costs.


def in_a_new_process(code: str) -> str:
    """What ``code`` prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["consilience", "consilience.testing"])
def test_importing_loads_nothing_heavy(name: str) -> None:
    loaded = in_a_new_process(f"import {name}, sys; print(*sys.modules)").split()
    assert name in loaded
    assert not set(HEAVY) & set(loaded)


def test_a_plain_vote_loads_nothing_heavy() -> None:
    code = "from consilience import vote; import sys; vote(lambda _: '{\"a\": 1}', 'x', key='a'); print(*sys.modules)"
    assert not set(HEAVY) & set(in_a_new_process(code).split())


def test_the_plain_names_of_merging_load_nothing_heavy() -> None:
    code = (
        "from consilience import Keyed, constraint, flatten; import sys; Keyed('sku'); flatten({}); print(*sys.modules)"
    )
    assert not set(HEAVY) & set(in_a_new_process(code).split())


def test_every_public_name_of_a_room_is_that_of_the_library() -> None:
    for room in ("voting", "merging"):
        assert set(importlib.import_module(f"consilience.{room}").__all__) <= set(consilience.__all__)


WATCH = """
import sys
seen = []
def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if not str(path).endswith((".py", ".pyc", ".so", ".pyd")) or any(sign in (mode or "") for sign in "wax+"):
            seen.append((event, str(path)))
    elif event.startswith(("socket.", "subprocess.", "os.mkdir", "os.rename", "os.remove", "os.system", "urllib.")):
        seen.append((event, str(arguments)))
sys.addaudithook(watch)
"""


@pytest.mark.parametrize("name", ["consilience", "consilience.testing"])
def test_importing_touches_neither_network_nor_disk(name: str) -> None:
    assert in_a_new_process(f"{WATCH}\nimport {name}\nprint(seen)") == "[]\n"


def test_the_watch_sees_what_it_is_for() -> None:
    code = f"{WATCH}\nimport socket, tempfile\ntempfile.mkdtemp()\nsocket.socket().close()\nprint(len(seen))"
    assert int(in_a_new_process(code)) >= 2


# Which way the rooms import.


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str, *, when_loading: bool) -> Iterator[str]:
    """The modules of this package that ``name`` imports: all, or only those it needs while it is loaded."""
    path = MODULES[name]
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in _nodes(ast.parse(path.read_text(encoding="utf-8")), when_loading):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            if base in MODULES:
                yield from _origins(base, [alias.name for alias in node.names])


def _nodes(tree: ast.AST, when_loading: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if when_loading and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from _nodes(node, when_loading)


def _origins(base: str, names: list[str]) -> Iterator[str]:
    submodules = {name for name in names if f"{base}.{name}" in MODULES}
    yield from (f"{base}.{name}" for name in submodules)
    if set(names) - submodules:
        yield base


def room(name: str) -> str | None:
    """The room of a module; None for the face itself."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else None


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_room_imports_only_from_those_below(name: str) -> None:
    if room(name) is None:
        return
    rank = len(ROOMS) if room(name) == "testing" else ROOMS.index(str(room(name)))
    above = [
        each for each in imports(name, when_loading=False) if room(each) is None or ROOMS.index(str(room(each))) > rank
    ]
    assert above == []


def test_there_are_no_circles() -> None:
    graph = {name: set(imports(name, when_loading=True)) - {name} for name in MODULES}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
    assert order.index("consilience._errors") < order.index("consilience.voting._vote")
