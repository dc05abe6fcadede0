"""An endpoint that speaks OpenAI's chat protocol on loopback and says what a test wants to hear."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import dspy


def chat(**fields: Any) -> str:
    """A reply in the format of ``dspy.ChatAdapter``."""
    parts = [f"[[ ## {name} ## ]]\n{value}" for name, value in fields.items()]
    return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def _object(kind: str, part: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    choice = {"index": 0, **part, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "local", "choices": [choice]}


def _completion(content: str, finish_reason: str) -> bytes:
    message = {"role": "assistant", "content": content}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    return json.dumps({**_object("chat.completion", {"message": message}, finish_reason), "usage": usage}).encode()


def _stream(content: str, finish_reason: str) -> bytes:
    """The same as server-sent events, a few letters each."""
    parts = [content[at : at + 5] for at in range(0, len(content), 5)]
    chunks = [
        _object("chat.completion.chunk", {"delta": {"role": "assistant", "content": each}}, None) for each in parts
    ]
    chunks.append(_object("chat.completion.chunk", {"delta": {}}, finish_reason))
    return b"".join(f"data: {event}\n\n".encode() for event in (*map(json.dumps, chunks), "[DONE]"))


class Loopback:
    """Answers every request with what ``reply`` makes of its number (from 0) and its body.

    Attributes:
        bodies: what was asked, in order of arrival.
    """

    def __init__(self, reply: Callable[[int, dict[str, Any]], str], finish_reason: str = "stop") -> None:
        self.bodies: list[dict[str, Any]] = []
        self._numbers = itertools.count()
        loopback = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                loopback.bodies.append(body)
                content = reply(next(loopback._numbers), body)
                streams = body.get("stream")
                sent = (_stream if streams else _completion)(content, finish_reason)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            request_queue_size = 128  # by default more than 5 that ask at once are turned away

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def calls(self) -> int:
        return len(self.bodies)

    def lm(self, **options: Any) -> Any:
        """A ``dspy.LM`` that asks this endpoint."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        return dspy.LM("openai/local", api_base=url, api_key="none", **{"num_retries": 0, **options})
