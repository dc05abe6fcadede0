"""A sampler for any endpoint that speaks OpenAI's chat protocol: a hosted model, vLLM, llama.cpp, Ollama, LM Studio.

    pip install consilience openai
    export OPENAI_BASE_URL=https://api.openai.com/v1
    export OPENAI_MODEL=gpt-4o-mini
    export OPENAI_API_KEY=...
    python examples/openai_compatible.py "I was charged twice for order #1042."

The client reads address and key from the environment by itself. Copy ``chat_sampler`` (or ``async_chat_sampler``) into
your program; both take whatever else the endpoint understands, such as ``temperature`` or ``response_format``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import openai

from consilience import Reply, VoteSettings, field_in, vote

Prompt = str | list[dict[str, Any]]
"""A question, or a conversation as a list of messages."""

SAME_FOR_EVERY_CALL = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
"""Errors to name in ``raise_on``: the next call would meet them too, so they should end the vote and be seen."""


def chat_sampler(client: openai.OpenAI, model: str, **options: Any) -> Callable[[Prompt], Reply]:
    """A sampler for ``vote``."""

    def sample(prompt: Prompt) -> Reply:
        return _reply(client.chat.completions.create(model=model, messages=_messages(prompt), **options))

    return sample


def async_chat_sampler(client: openai.AsyncOpenAI, model: str, **options: Any) -> Callable[[Prompt], Awaitable[Reply]]:
    """A sampler for ``avote``."""

    async def sample(prompt: Prompt) -> Reply:
        return _reply(await client.chat.completions.create(model=model, messages=_messages(prompt), **options))

    return sample


def _messages(prompt: Prompt) -> Any:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


def _reply(completion: Any) -> Reply:
    choice, usage = completion.choices[0], completion.usage
    return Reply(
        choice.message.content or "",
        usage=usage and {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens},
        source=completion.model,
        finish_reason=choice.finish_reason,
    )


TEAMS = ["billing", "shipping", "technical"]

INSTRUCTION = f"""Which team handles this ticket: {", ".join(TEAMS)}?
Answer with one JSON object such as {{"team": "billing"}} and nothing else.

Ticket: """


def main(ticket: str) -> None:
    settings = VoteSettings(
        n=5,
        key="team",
        validator=field_in("team", TEAMS, ignore_case=True),
        min_agreement=0.6,
        early_stop=True,
        concurrency=5,
        timeout=60,
        raise_on=SAME_FOR_EVERY_CALL,
    )
    with openai.OpenAI() as client:
        sampler = chat_sampler(client, os.environ["OPENAI_MODEL"], temperature=0.8, max_tokens=30)
        result = vote(sampler, INSTRUCTION + ticket, settings=settings)
    print(result.explain())
    print(f"tokens: {dict(result.usage or {})}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "I was charged twice for order #1042.")
