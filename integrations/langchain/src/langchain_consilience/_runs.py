"""The runs of one sample: a callback handler that knows which are open, what they cost and where replies came from."""

# ruff: noqa: ARG002 - the arguments of a callback are those of the framework

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.manager import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    AsyncCallbackManagerForRetrieverRun,
    AsyncCallbackManagerForToolRun,
)
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import LLMResult

from consilience import Failure, Reply

from ._replies import error_reply_of, finish_reason_of, is_free, reply_of, sentence, source_of, usage_of

__all__ = ["SampleRuns"]

_MANAGERS: dict[str, Any] = {
    "chain": AsyncCallbackManagerForChainRun,
    "llm": AsyncCallbackManagerForLLMRun,
    "tool": AsyncCallbackManagerForToolRun,
    "retriever": AsyncCallbackManagerForRetrieverRun,
}
_TURNS = 20
"""Turns of the event loop in which the tasks of a cancelled chain unwind."""

_PATIENCE = 0.01
"""Seconds, for what happens in worker threads: a plain tracer may just be told of a start."""

_closings: set[asyncio.Task[None]] = set()
"""Keeps alive what the event loop refers to only weakly."""


class _OpenRun(NamedTuple):
    kind: str
    run_id: UUID
    parent_run_id: UUID | None
    tags: list[str]
    metadata: dict[str, Any]
    thread: int


@dataclass
class _Heard:
    """What the language models of one sample said of their replies."""

    started: int = 0
    calls: int = 0
    hits: int = 0
    usage: Any = None
    finish_reason: str | None = None
    source: str | None = None
    said: Reply | None = None


class SampleRuns(BaseCallbackHandler):
    """Follows the runs below one sample, whatever the chain does with the replies of its language models.

    A parser drops what a message knows (tokens, why generation ended, who answered), and a chain may ask several
    models; so this is gathered where it is announced, not from the output.

    Attributes:
        started: language model calls begun.
        copied: whether every reply came from LangChain's cache, so that the sample is a copy of an earlier one.
    """

    run_inline = True  # before any other handler, in the event loop itself

    def __init__(self) -> None:
        self._open: dict[UUID, _OpenRun] = {}
        self._heard = _Heard()
        self._inside_a_vote = False

    def for_votes_inside(self) -> SampleRuns:
        """The same, for the samples of a vote inside this sample.

        They cost what they cost, but it is that vote that says what is to be made of their replies.
        """
        inside = copy(self)
        inside._inside_a_vote = True
        return inside

    @property
    def started(self) -> int:
        return self._heard.started

    @property
    def copied(self) -> bool:
        return 0 < self._heard.calls == self._heard.hits

    def reply_of(self, output: Any) -> Reply:
        """The reply that is the sample's output."""
        return self._completed(reply_of(output))

    def reply_of_error(self, error: Exception) -> Reply | None:
        """The reply that failed with ``error``; None if no model has replied, so that the call itself has failed."""
        reply = error_reply_of(error)
        if reply is None and self._heard.calls:
            reply = Reply(None, error=sentence(Failure.SAMPLER_ERROR, error))
        return None if reply is None else self._completed(reply)

    def _completed(self, reply: Reply) -> Reply:
        """The reply with what the models said of themselves, where the chain has dropped it."""
        heard = self._heard
        if heard.said is not None and _is_blank(reply.content):
            error = heard.said.error or reply.error  # a refusal says more than the parser that found nothing
            if reply.content is None:  # parsers of tool calls return that for calls that they cannot read
                error = error or f"{Failure.EMPTY_REPLY}: the chain returned None"
            reply = replace(reply, content=reply.content if error is None else heard.said.content, error=error)
        return replace(
            reply,
            usage=heard.usage if heard.calls and (heard.usage or heard.hits) else reply.usage,
            finish_reason=reply.finish_reason or heard.finish_reason,
            source=reply.source or heard.source,
        )

    async def close(self, manager: AsyncCallbackManager, error: BaseException) -> None:
        """End every run that a cancellation left open, newest first, however often the caller is cancelled meanwhile.

        Models, tools and retrievers leave theirs open. Runs of worker threads, which go on, end by themselves.
        """
        task = asyncio.create_task(self._close(manager, error))
        _closings.add(task)
        task.add_done_callback(_closings.discard)
        await asyncio.shield(task)

    async def _close(self, manager: AsyncCallbackManager, error: BaseException) -> None:
        handlers = [handler for handler in manager.handlers if handler is not self]
        late = [handler for handler in handlers if _hears_in_threads(handler)]
        closed = self._taken(lambda run: run.kind != "chain")
        await _tell_error(closed, handlers, error)
        if not self._open and not (closed and late):
            return
        # Chains end their own runs, unless they were cancelled while they announced them: those that still unwind
        # (beside the one that was cancelled first) get the time to do so.
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        await asyncio.sleep(_PATIENCE)
        await _tell_error(closed, late, error)
        await _tell_error(self._taken(lambda run: run.kind == "chain"), handlers, error)

    def _taken(self, wanted: Callable[[_OpenRun], bool]) -> list[_OpenRun]:
        """The open runs that are wanted, newest first, which count as ended from now on."""
        here = threading.get_ident()
        taken = [run for run in reversed(list(self._open.values())) if run.thread == here and wanted(run)]
        for run in taken:
            self._open.pop(run.run_id, None)
        return taken

    def _begin(self, kind: str, run_id: UUID, details: dict[str, Any]) -> None:
        parent, tags, metadata = (details.get(name) for name in ("parent_run_id", "tags", "metadata"))
        self._open[run_id] = _OpenRun(kind, run_id, parent, tags or [], metadata or {}, threading.get_ident())

    def _end(self, run_id: UUID) -> None:
        self._open.pop(run_id, None)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **details: Any) -> None:
        self._begin("chain", run_id, details)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **details: Any) -> None:
        self._begin("tool", run_id, details)

    def on_tool_end(self, output: Any, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: UUID, **details: Any) -> None:
        self._begin("retriever", run_id, details)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)

    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **details: Any) -> None:
        self._heard.started += 1
        self._begin("llm", run_id, details)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **details: Any) -> None:
        self._heard.started += 1
        self._begin("llm", run_id, details)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)
        told = error_reply_of(error) if isinstance(error, Exception) else None
        if told is not None:  # a client that raises instead of returning what it has paid for
            self._heard.calls += 1
            self._add(told.usage)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **details: Any) -> None:
        self._end(run_id)
        self._heard.calls += 1
        generation = next((each for group in response.generations for each in group), None)
        message = getattr(generation, "message", None)
        if isinstance(message, BaseMessage):
            self._hear_message(message)
        elif generation is not None:
            info = generation.generation_info or {}
            self._say(Reply(generation.text), info.get("finish_reason"))
            self._add(_tokens_of(response.llm_output))

    def _hear_message(self, message: BaseMessage) -> None:
        if is_free(getattr(message, "usage_metadata", None) or {}):
            self._heard.hits += 1
        self._heard.source = source_of(message)
        self._add(usage_of(message))
        self._say(reply_of(message), finish_reason_of(message))

    def _say(self, reply: Reply, finish_reason: str | None) -> None:
        self._heard.said = None if self._inside_a_vote else reply
        self._heard.finish_reason = None if self._inside_a_vote else finish_reason

    def _add(self, usage: Any) -> None:
        if usage is not None:
            before = self._heard.usage
            self._heard.usage = usage if before is None else add_usage(_counts(before), _counts(usage))


def _is_blank(content: Any) -> bool:
    return content is None or (isinstance(content, str) and not content.strip())


async def _tell_error(runs: list[_OpenRun], handlers: list[BaseCallbackHandler], error: BaseException) -> None:
    for run in runs:
        open_run = _MANAGERS[run.kind](
            run_id=run.run_id,
            parent_run_id=run.parent_run_id,
            handlers=[handler for handler in handlers if _waits_for(handler, run.run_id)],
            inheritable_handlers=[],
            tags=run.tags,
            inheritable_tags=[],
            metadata=run.metadata,
            inheritable_metadata={},
        )
        await getattr(open_run, f"on_{run.kind}_error")(error)


def _waits_for(handler: BaseCallbackHandler, run_id: UUID) -> bool:
    """Whether a handler is to be told of the end of a run.

    A tracer keeps a map of the runs whose start it has been told; a cancellation may have come before that.
    """
    known = getattr(handler, "run_map", None)
    return known is None or str(run_id) in known or run_id in known


def _hears_in_threads(handler: BaseCallbackHandler) -> bool:
    tracer: Any = handler
    plain = not inspect.iscoroutinefunction(tracer.on_chain_start)
    return plain and not tracer.run_inline and hasattr(tracer, "run_map")


def _counts(usage: Any) -> Any:
    """The token counts of a usage, without what ``add_usage`` refuses (prices)."""
    found = {name: _counts(value) if isinstance(value, dict) else value for name, value in usage.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | dict)}


def _tokens_of(llm_output: Any) -> dict[str, int] | None:
    """The usage that a model for plain text reports, under the names that messages use."""
    tokens = (llm_output or {}).get("token_usage") or {}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
    usage = {ours: tokens[theirs] for theirs, ours in names.items() if isinstance(tokens.get(theirs), int)}
    return usage or None
