"""The step of an agent: n responses to one request of its model, and what the core is to read of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain.agents.structured_output import StructuredOutputError
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda

from consilience import Reply, Sample, extract_json, sample_index

from ._replies import finish_reason_of, reply_of, text_of

__all__ = ["ModelStep", "message_in"]

Handler = Callable[[Any], Any]
AsyncHandler = Callable[[Any], Awaitable[Any]]


class ModelStep:
    """One step of an agent, asked n times. It keeps every response, so that the winner can be given back whole.

    Args:
        request: what the agent asks its model.
        vary: with "seed" each call gets ``seed=i`` among its model settings.
        reading: how the core will read the replies: its options ``repair`` and ``allow_nan``.
        records_only: whether a tool call or words are failed samples, because only records can be merged.
    """

    def __init__(
        self,
        request: ModelRequest,
        *,
        vary: str | None = None,
        reading: Mapping[str, Any],
        records_only: bool = False,
    ) -> None:
        self.request = request
        self._responses: dict[int, ModelResponse] = {}
        self._vary = vary
        self._reading = reading
        self._records_only = records_only

    def sampled(self, handler: Handler) -> Runnable[Any, Any]:
        """The call of the model as a runnable, for ``VoteRunnable`` to sample."""

        def model_call(_: Any) -> Any:
            index = _running_sample()
            try:
                return self._landed(index, handler(self._request_of(index)))
            except StructuredOutputError as error:
                return _refused(getattr(error, "ai_message", None), str(error))

        return RunnableLambda(model_call)

    def asampled(self, handler: AsyncHandler) -> Runnable[Any, Any]:
        """The same for asyncio."""

        async def model_call(_: Any) -> Any:
            index = _running_sample()
            try:
                return self._landed(index, await handler(self._request_of(index)))
            except StructuredOutputError as error:
                return _refused(getattr(error, "ai_message", None), str(error))

        return RunnableLambda(model_call)

    def response_of(self, sample: Sample) -> ModelResponse:
        """The response that a sample was read from."""
        return self._responses[sample.index]

    def actions(self, samples: Iterable[Sample]) -> list[Any]:
        """What the core is to read of the same samples where tool calls and words are answers, too."""
        return [
            # A call that was given up may still have landed here, later: it has no reply.
            sample if sample.raw is None or sample.index not in self._responses else self._action(sample)
            for sample in samples
        ]

    def _action(self, sample: Sample) -> Reply:
        return reply_of(self._read(self._responses[sample.index]))

    def _request_of(self, index: int) -> ModelRequest:
        if self._vary != "seed":
            return self.request
        return self.request.override(model_settings={**self.request.model_settings, "seed": index})

    def _landed(self, index: int, response: Any) -> Any:
        if isinstance(response, AIMessage):  # what other middleware may give back
            response = ModelResponse(result=[response])
        self._responses[index] = response
        message = message_in(response)
        if self._records_only and response.structured_response is None and message is not None:
            if message.tool_calls:
                return _refused(message, "the model calls a tool: there is no record to merge")
            if not self._holds_record(message):
                return _refused(message, "the model answers in words: there is no record to merge")
        return self._read(response)

    def _read(self, response: ModelResponse) -> Any:
        message = message_in(response)
        if message is None:
            return None
        if response.structured_response is not None:
            return _parsed(message, response.structured_response)
        if self.request.response_format is not None:
            for each in response.result:
                if isinstance(each, ToolMessage):  # the agent's answer to structured output that does not fit
                    return _refused(message, str(each.text))
        return message if self._holds_record(message) else _parsed(message, _words(message))

    def _holds_record(self, message: AIMessage) -> bool:
        """Whether there is more to the message than words; what was cut off or is empty, the core itself rejects."""
        if message.tool_calls or message.invalid_tool_calls:
            return True
        text = text_of(message)
        if not text.strip() or finish_reason_of(message) == "length":
            return True
        # An object: words are full of brackets, such as [1] for a footnote.
        return extract_json(text, _is_object, **self._reading) is not None


def message_in(response: ModelResponse) -> AIMessage | None:
    """What the model said in a response."""
    return next((each for each in response.result if isinstance(each, AIMessage)), None)


def _words(message: AIMessage) -> dict[str, Any]:
    """A reply in words in the form of a tool call: the tool is no tool at all."""
    return {"name": None, "args": {"text": text_of(message)}}


def _parsed(message: AIMessage, record: Any) -> dict[str, Any]:
    """A record with the message that it was read from, in the form of ``include_raw=True``."""
    return {"raw": message, "parsed": record, "parsing_error": None}


def _refused(message: AIMessage | None, why: str) -> dict[str, Any]:
    return {"raw": message or AIMessage(""), "parsed": None, "parsing_error": OutputParserException(why)}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _running_sample() -> int:
    index = sample_index()
    assert index is not None, "only the core draws samples"
    return index
