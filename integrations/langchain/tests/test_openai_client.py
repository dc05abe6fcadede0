"""ChatOpenAI against a server on loopback that says what models say on bad days: refusals, replies cut off, errors."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from langchain_consilience import ConsensusRunnable, VoteRunnable


class Ticket(BaseModel):
    """Which team a ticket is for."""

    team: str


GOOD = {"content": '{"team": "a"}'}
REFUSAL = {"content": None, "refusal": "I cannot help with that."}
CUT = {"content": '{"team": "bil', "finish_reason": "length"}
WRONG = {"content": '{"queue": 5}'}


def call(arguments: str, number: int) -> dict[str, Any]:
    function = {"name": "Ticket", "arguments": arguments}
    calls = [{"id": f"call_{number}", "type": "function", "function": function}]
    return {"content": None, "tool_calls": calls, "finish_reason": "tool_calls"}


class Server(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint that gives the lines of a script in turn; a number is an HTTP status."""

    daemon_threads = True
    script: list[Any]
    requests: list[dict[str, Any]]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        line = self.server.script[len(self.server.requests) % len(self.server.script)]
        self.server.requests.append(request)
        status, body = (
            (line, {"error": {"message": "overloaded"}}) if isinstance(line, int) else (200, completion(line))
        )
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *args: Any) -> None: ...


def completion(line: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", **{name: value for name, value in line.items() if name != "finish_reason"}}
    choice = {"index": 0, "message": message, "finish_reason": line.get("finish_reason", "stop")}
    tokens = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-1",
        "choices": [choice],
        "usage": tokens,
    }


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.script, server.requests = [GOOD], []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def chat(server: Server) -> Any:
    return ChatOpenAI(model="small-1", base_url=server.base_url, api_key="x", max_retries=0)


def run(component: Runnable[Any, Any], mode: str) -> Any:
    return component.invoke("x") if mode == "invoke" else asyncio.run(component.ainvoke("x"))


both = pytest.mark.parametrize("mode", ["invoke", "ainvoke"])


@both
def test_plain_replies(mode: str, server: Server) -> None:
    server.script = [GOOD, REFUSAL, CUT, 500, GOOD]
    result = run(VoteRunnable(chat(server), n=5, key="team", concurrency=1, min_agreement=0), mode)
    assert [each.code for each in result.samples] == [None, "no_json", "truncated", "sampler_error", None]
    assert result.samples[1].raw.content == "I cannot help with that."
    assert result.samples[2].truncated
    assert result.usage["total_tokens"] == 4 * 35
    assert result.sources == ("small-1",)


@both
@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
@pytest.mark.parametrize("include_raw", [False, True])
def test_structured_output(mode: str, method: Any, include_raw: bool, server: Server) -> None:
    good, wrong, cut = GOOD, WRONG, CUT
    if method == "function_calling":
        good, wrong, cut = (call(each["content"], 1) for each in (GOOD, WRONG, CUT))
        cut["finish_reason"] = "length"
    server.script = [good, REFUSAL, cut, wrong, good]
    chain = chat(server).with_structured_output(Ticket, method=method, include_raw=include_raw)
    result = run(VoteRunnable(chain, n=5, key="team", concurrency=1, min_agreement=0, min_valid=0), mode)
    assert result.value == "a"
    assert result.record == Ticket(team="a")
    assert [each.ok for each in result.samples] == [True, False, False, False, True]
    assert result.samples[1].error == "no_json: the model refused: I cannot help with that."
    assert result.samples[2].code == "truncated"
    assert result.samples[2].raw.content == '{"team": "bil'
    assert result.usage["total_tokens"] >= 4 * 35  # a client that validates by itself does not tell what it paid for


@both
def test_tool_calls_are_voted_on_without_their_ids(mode: str, server: Server) -> None:
    server.script = [call('{"team": "a"}', 1), call('{"team": "b"}', 2), call('{"team": "a"}', 3)]
    chain = chat(server).bind_tools([Ticket])
    result = run(VoteRunnable(chain, n=3, concurrency=1), mode)
    assert result.value == {"name": "Ticket", "args": {"team": "a"}}
    assert result.counts[0][1] == 2


@both
def test_seeds_reach_the_server(mode: str, server: Server) -> None:
    chain = chat(server).with_structured_output(Ticket, method="json_mode")
    result = run(ConsensusRunnable(chain, n=3, vary="seed", concurrency=1, schema=Ticket), mode)
    assert result.value == Ticket(team="a")
    assert [each.get("seed") for each in server.requests] == [0, 1, 2]


@both
def test_a_server_that_fails_every_time(mode: str, server: Server) -> None:
    server.script = [500]
    result = run(VoteRunnable(chat(server), n=3), mode)
    assert result.reason == "no_valid"
    assert result.samples[0].error.startswith("sampler_error: ")
    assert "500" in result.samples[0].error
