"""The distributions: built as they are released, and the core's tried where nothing else is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import consilience

ROOT = Path(__file__).parents[1]
ADAPTERS = {
    "langchain": "langchain_consilience",
    "llama_index": "llama_index_consilience",
    "dspy": "dspy_consilience",
}
MAJOR, MINOR, _ = consilience.__version__.split(".")
SERIES = {f">={MAJOR}.{MINOR}", f"<{MAJOR}.{int(MINOR) + 1}"}


def run(*command: str | Path, where: Path = ROOT) -> str:
    """What a command prints; no setting of this process reaches it."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def built(project: Path, into: Path, *kind: str) -> list[Path]:
    run(sys.executable, "-m", "build", "--no-isolation", *kind, "--outdir", into, project)
    return sorted(into.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core's wheel, made from its source distribution."""
    files = built(ROOT, tmp_path_factory.mktemp("dist"))
    assert [file.suffix for file in files] == [".whl", ".gz"]
    return files[0]


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def sources(package: Path) -> set[str]:
    return {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_of_the_core_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert contents(wheel) == sources(ROOT / "src/consilience")
    assert "consilience/py.typed" in contents(wheel)
    about = metadata(wheel)
    assert (about["Name"], about["Version"], about["License-File"]) == (
        "consilience",
        consilience.__version__,
        "LICENSE",
    )
    assert "langchain-consilience" in str(about.get_all("Requires-Dist"))


def test_the_core_works_where_nothing_else_is_installed(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "clean")
    python = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    code = (
        "import consilience, importlib.metadata as metadata; "
        'print(consilience.vote(lambda _: \'{"team": "billing"}\', "x", n=3, key="team").unwrap(), '
        'consilience.__version__ == metadata.version("consilience"), consilience.__file__)'
    )
    decision, same_version, file = run(python, "-c", code, where=tmp_path).split(maxsplit=2)
    assert (decision, same_version) == ("billing", "True")
    assert Path(file.strip()).is_relative_to(packages)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_wheel_of_an_adapter_is_typed_and_pins_the_core(adapter: str, tmp_path: Path) -> None:
    home, package = ROOT / "integrations" / adapter, ADAPTERS[adapter]
    [wheel] = built(home, tmp_path, "--wheel")
    assert contents(wheel) == sources(home / "src" / package)
    assert f"{package}/py.typed" in contents(wheel)
    about = metadata(wheel)
    assert about["Name"] == package.replace("_", "-")
    [core] = [each for each in about.get_all("Requires-Dist", []) if each.startswith("consilience") and ";" not in each]
    assert set(core.removeprefix("consilience").replace(" ", "").split(",")) == SERIES
