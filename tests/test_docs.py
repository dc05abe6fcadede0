"""The manual: every Python block runs and prints what the page says; every docstring example runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import pkgutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest
from checks.pages import Block, blocks_not_run, broken_links, check_blocks, python_blocks

import consilience

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("README.md", "CHANGELOG.md", "docs/*.md", "examples/README.md", "integrations/*/README.md")
    for page in ROOT.glob(pattern)
)
OWN_PAGES = [page for page in PAGES if "integrations" not in page.parts]
"""The pages whose blocks run here; those of an adapter run among its tests, where its framework is installed."""
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(consilience.__path__, "consilience.")
    if "__main__" not in module.name
)
MOST_BLOCKS_NOT_RUN = 4
"""A page that shows more code than this without running it is not to be trusted."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_there_are_pages_to_check() -> None:
    assert {"README.md", "docs/concepts.md", "docs/compared.md", "docs/recipes.md"} <= set(map(name_of, PAGES))
    assert len(MODULES) > 20


class _Endpoint(BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's chat protocol as the recipes need, and always says the same."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        completion = {
            "id": "completion-1",
            "object": "chat.completion",
            "created": 0,
            "model": "small-model",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": 'Sure! {"team": "billing"}'},
                }
            ],
            "usage": {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27},
        }
        body = json.dumps(completion).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def _endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the recipes find in the environment: an endpoint on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "no key is needed")
        monkeypatch.setenv("OPENAI_MODEL", "small-model")
        yield
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("_endpoint")
@pytest.mark.parametrize("page", OWN_PAGES, ids=name_of)
def test_every_python_block_prints_what_the_page_says(page: Path) -> None:
    check_blocks(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_few_blocks_are_only_shown(page: Path) -> None:
    assert blocks_not_run(page) <= MOST_BLOCKS_NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    assert not broken_links(page)


@pytest.mark.parametrize("name", ["consilience", *MODULES])
def test_the_examples_in_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_docstring_examples_are_found() -> None:
    attempted = sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES)
    assert attempted > 50


def test_the_reference_is_up_to_date() -> None:
    generator = _load("docs/reference.py")
    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert written == generator.reference(), "run `make docs`"


def _load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_generator", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_block_is_found_with_the_output_that_follows_it() -> None:
    page = "A\n```python\nprint(1)\n```\n\n```text\n1\n```\nB\n```python no-run\nx\n```\nword\n```text\nno\n```\n"
    assert python_blocks(page) == [Block(2, "print(1)\n", "1\n", True), Block(10, "x\n", None, False)]
