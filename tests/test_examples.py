"""The examples: each runs by itself, offline, and prints what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMES = [
    "quickstart",
    "ticket_triage",
    "invoice_fields",
    "merge_invoices",
    "intent_paraphrases",
    "async_concurrency",
    "coverage_simulation",
    "consolidate_facts",
]


def source_without_docstring(name: str) -> str:
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    return source.partition('"""\n\n')[2]


def shown_output(name: str) -> str:
    """The text block that follows the README's call of an example, or its code."""
    call = re.escape(f"```console\n$ .venv/bin/python examples/{name}.py\n```\n")
    code = re.escape(f"```python\n{source_without_docstring(name)}```\n")
    found = re.findall(f"(?:{call}|{code})\n```text\n(.*?)```", README, re.DOTALL)
    assert len(found) == 1, f"the README must show the output of examples/{name}.py once"
    return str(found[0])


def run(name: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "random",  # whatever the order of sets
        "PYTHONIOENCODING": "utf-8",
        "PYTHONWARNINGS": "error",
        # A proxy that nobody runs: an example that reached for the network would fail.
        **dict.fromkeys(("http_proxy", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9"),
    }
    return subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py"],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_the_readme_says(name: str) -> None:
    done = run(name)
    assert done.stderr == ""
    assert done.stdout == shown_output(name)
    assert done.returncode == 0


def test_the_readme_shows_the_quickstart_as_it_is() -> None:
    assert f"```python\n{source_without_docstring('quickstart')}```" in README
