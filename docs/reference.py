"""Writes reference.md, the API reference, from the docstrings of the public names: ``make docs``."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import consilience
import consilience.testing

CHAPTERS: dict[str, tuple[ModuleType, tuple[str, ...]]] = {
    "Voting": (consilience, ("vote", "avote", "tally", "settle", "VoteSettings", "Paraphrases", "sample_index")),
    "Results": (consilience, ("VoteResult", "Sample", "Reason", "Failure")),
    "Reading and judging replies": (
        consilience,
        (
            "Reply",
            "extract_json",
            "iter_json_candidates",
            "field_in",
            "all_of",
            "from_pydantic",
            "from_jsonschema",
            "ballot",
            "coerce_confidence",
        ),
    ),
    "Consensus": (
        consilience,
        (
            "consensus",
            "aconsensus",
            "merge",
            "JSONConsensus",
            "ConsensusSettings",
            "ConsensusResult",
            "ConsensusReason",
            "FieldConsensus",
            "Status",
            "Candidate",
            "ReviewItem",
            "WorkflowAnalyticsCollector",
        ),
    ),
    "Comparators and constraints": (
        consilience,
        (
            "Comparator",
            "Exact",
            "Normalized",
            "Similar",
            "Tolerance",
            "Ignore",
            "Keyed",
            "Ordered",
            "Unordered",
            "constraint",
            "Constraint",
        ),
    ),
    "Conflict resolvers": (
        consilience,
        (
            "default_conflict_resolver",
            "prefer_leading_resolver",
            "prefer_most_common_resolver",
            "SimilarityClusterResolver",
            "NumericResolver",
            "by_type",
            "by_path",
            "Resolver",
            "Conflict",
            "OMIT",
        ),
    ),
    "Paths": (consilience, ("Path", "flatten", "unflatten")),
    "Consolidation": (
        consilience,
        (
            "NoisyORConsolidator",
            "consolidate",
            "Consolidation",
            "ConsolidatedTriple",
            "ConsolidatedClaim",
            "ProvenanceRecord",
            "Contradiction",
        ),
    ),
    "Drawing and stopping": (consilience, ("retrying", "when_settled", "StoppingRule", "TallyState")),
    "Errors": (consilience, ("ConsilienceError", "SettingsError", "MissingExtraError", "AbstainError")),
    "Testing": (
        consilience.testing,
        ("ReplaySampler", "AsyncReplaySampler", "Delayed", "Hang", "NoisySampler", "ScriptExhaustedError"),
    ),
}
"""The chapters in order of reading: what each is about, where its names are imported from, and the names."""

_OPENING = """# API reference

Written by `make docs` from the docstrings; do not edit. Names under [Testing](#testing) are imported from
`consilience.testing`, all others from `consilience`. What is not named here is private.
"""
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Source|Example):[ ]?(.*)$")
_ENTRY = re.compile(r"^([\w*, ]+): (.*)$", re.DOTALL)


def reference() -> str:
    """The whole page."""
    _require_every_name()
    parts = [_OPENING]
    for title, (face, names) in CHAPTERS.items():
        parts.append(f"## {title}\n")
        parts.extend(part for name in names for part in _entry(name, getattr(face, name)))
    return "\n".join(parts).rstrip("\n") + "\n"


def _require_every_name() -> None:
    named = {name for _, names in CHAPTERS.values() for name in names}
    public = {*consilience.__all__, *consilience.testing.__all__} - {"__version__"}
    if named != public:
        raise SystemExit(f"CHAPTERS must name every public name once; it differs in {sorted(named ^ public)}")


def _entry(name: str, value: Any) -> Iterator[str]:
    yield f"### {name}\n"
    signature = _signature(name, value)
    if signature:
        yield f"```text\n{signature}\n```\n"
    yield from _rendered(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        yield from _constants(value)
        yield from _members(name, value)


# Signatures.


def _signature(name: str, value: Any) -> str | None:
    """How it is called; None for what only the library makes, and for what is not called."""
    if inspect.isclass(value) and is_dataclass(value) and not _writes_its_own_init(value):
        return None if _only_read(value) else _call(name, _dataclass_arguments(value))
    if (inspect.isclass(value) and not _has_own_arguments(value)) or not callable(value):
        return None
    return _call(name, list(_arguments(list(inspect.signature(value).parameters.values()))))


def _only_read(value: Any) -> bool:
    """Whether users are given instances of a class and make none themselves."""
    return "Attributes:" in (value.__doc__ or "") or any(field.name.startswith("_") for field in fields(value))


def _writes_its_own_init(value: Any) -> bool:
    """Whether a dataclass takes other arguments than its fields."""
    return not value.__dataclass_params__.init


def _has_own_arguments(value: Any) -> bool:
    owner = next(base for base in value.__mro__ if "__init__" in vars(base))
    return owner.__module__.startswith("consilience") and not getattr(value, "_is_protocol", False)


def _dataclass_arguments(value: Any) -> list[str]:
    own = [field for field in fields(value) if field.init]
    keyword_only = ["*"] if own and own[0].kw_only else []
    return keyword_only + [_argument(field.name, field.default, MISSING) for field in own]


def _arguments(parameters: list[inspect.Parameter]) -> Iterator[str]:
    keyword_only = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            keyword_only = True
            yield f"*{parameter.name}"
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            yield f"**{parameter.name}"
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        yield _argument(parameter.name, parameter.default, parameter.empty)


def _argument(name: str, default: Any, empty: Any) -> str:
    if default is empty:
        return name
    return f"{name}={getattr(default, '__name__', repr(default))}"


def _call(name: str, arguments: list[str]) -> str:
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= 100:
        return line
    lines, row = [], ""
    for argument in arguments:
        if row and len(row) + len(argument) > 92:
            lines.append(row)
            row = ""
        row += f"{' ' if row else ''}{argument},"
    body = "\n".join(f"    {each}" for each in [*lines, row])
    return f"{name}(\n{body}\n)"


# Docstrings.


def _rendered(documentation: str) -> Iterator[str]:
    title, lines = "", list[str]()
    for line in [*documentation.splitlines(), "Example:"]:
        section = _SECTION.match(line)
        if section is None:
            lines.append(line)
            continue
        yield from _section(title, inspect.cleandoc("\n".join(["", *lines])))
        title, lines = section[1], [f"    {section[2]}"] if section[2] else []


def _section(title: str, text: str) -> Iterator[str]:
    if not text:
        return
    if title == "":
        yield _prose(text)
    elif title == "Example":
        yield f"```pycon\n{text}\n```\n"
    elif title in ("Returns", "Source"):
        yield f"**{title}:** {_prose(text)}"
    else:
        yield f"**{'Arguments' if title == 'Args' else title}:**\n"
        yield "\n".join(f"- {_item(entry)}" for entry in _entries(text)) + "\n"


def _prose(text: str) -> str:
    """Running text as Markdown; indented parts (a tree, a snippet) become blocks."""
    parts = []
    for paragraph in re.split(r"\n\n+", text):
        if all(line.startswith("    ") for line in paragraph.splitlines()):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```\n")
        else:
            parts.append(_inline(" ".join(paragraph.split())) + "\n")
    return "\n".join(parts)


def _entries(text: str) -> list[str]:
    """The entries of a list of arguments; lines indented further belong to the entry before them."""
    entries: list[str] = []
    for line in text.splitlines():
        if entries and (line.startswith(" ") or not _ENTRY.match(line)):
            entries[-1] += " " + line.strip()
        elif line.strip():
            entries.append(line)
    return entries


def _item(entry: str) -> str:
    match = _ENTRY.match(entry)
    if match is None:
        return _inline(entry)
    names = ", ".join(f"`{name.strip()}`" for name in match[1].split(","))
    return f"{names}: {_inline(match[2])}"


def _inline(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text)


# What a class holds.


def _constants(value: type) -> Iterator[str]:
    """The constants of a class, each with the text that stands below it."""
    rows = []
    for statement, following in itertools.pairwise(_class_body(value)):
        text = _text_of(following)
        if isinstance(statement, ast.Assign) and text:
            name = ast.unparse(statement.targets[0])
            rows.append(f"| `{name}` | `{getattr(value, name)}` | {_inline(text)} |")
    if rows:
        yield "| name | code | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _class_body(value: type) -> list[ast.stmt]:
    definition = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    return definition.body if isinstance(definition, ast.ClassDef) else []


def _text_of(statement: ast.stmt) -> str | None:
    constant = statement.value if isinstance(statement, ast.Expr) else None
    return constant.value if isinstance(constant, ast.Constant) and isinstance(constant.value, str) else None


def _members(class_name: str, value: type) -> Iterator[str]:
    """Properties and methods, those of private bases included; what has no docstring of its own is told at its base."""
    owners = [base for base in reversed(value.__mro__) if base.__module__.startswith("consilience")]
    members = {name: getattr(value, name) for owner in owners for name in vars(owner) if not name.startswith("_")}
    properties = {name: member for name, member in members.items() if isinstance(member, property)}
    if properties:
        yield "\n".join(f"- `.{name}`: {_summary(member)}" for name, member in properties.items()) + "\n"
    for name, member in members.items():
        if (inspect.isfunction(member) or inspect.ismethod(member)) and member.__doc__:
            yield f"#### {class_name}.{name}\n"
            arguments = [part for part in inspect.signature(member).parameters.values() if part.name != "self"]
            yield f"```text\n{_call(name, list(_arguments(arguments)))}\n```\n"
            yield from _rendered(inspect.getdoc(member) or "")


def _summary(member: Any) -> str:
    return _inline(" ".join((inspect.getdoc(member) or "").split()))


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), encoding="utf-8")
