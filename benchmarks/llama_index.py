"""What the LlamaIndex adapter costs: over the calls of the inner LLM at 50 ms each, and to import.

.venvs/llama_index-newest/bin/python -m benchmarks.llama_index
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks._measuring import verdict

CALL = 0.05
N = 5
REPEATS = 7
REPLY = '{"team": "billing"}'

IMPORTS = """
import sys, time
import llama_index.core
start = time.perf_counter()
import llama_index_consilience
bare = time.perf_counter() - start
llama_index_consilience.VotingLLM
print(bare, time.perf_counter() - start)
"""


def least(run: Callable[[], Any]) -> float:
    """The least seconds of several runs: what others take of the machine comes on top."""
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def sleeping_llm() -> Any:
    """An LLM of LlamaIndex that answers after 50 ms."""
    from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
    from llama_index.core.llms import CustomLLM
    from llama_index.core.llms.callbacks import llm_completion_callback

    class SleepingLLM(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        @llm_completion_callback()
        def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:  # noqa: ARG002
            time.sleep(CALL)
            return CompletionResponse(text=REPLY)

        @llm_completion_callback()
        async def acomplete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:  # noqa: ARG002
            await asyncio.sleep(CALL)
            return CompletionResponse(text=REPLY)

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

    return SleepingLLM()


def overhead() -> None:
    """Print each form of calling against the inner LLM's own calls."""
    from llama_index.core import Document, MockEmbedding, Settings, SummaryIndex, set_global_tokenizer

    from llama_index_consilience import VoteQueryEngine, VotingLLM

    set_global_tokenizer(str.split)
    llm = sleeping_llm()
    Settings.llm, Settings.embed_model = llm, MockEmbedding(embed_dim=2)
    in_turn = VotingLLM(llm, n=N, key="team")
    at_once = VotingLLM(llm, n=N, key="team", concurrency=N)
    engine = SummaryIndex.from_documents([Document(text="a mill")]).as_query_engine(llm=llm)
    voting_engine = VoteQueryEngine(engine, n=N, key="team")
    voting_at_once = VoteQueryEngine(engine, n=N, key="team", concurrency=N)

    async def own_queries() -> None:
        await asyncio.gather(*(engine.aquery("?") for _ in range(N)))

    calls = least(lambda: [llm.complete("?") for _ in range(N)])
    queries = least(lambda: [engine.query("?") for _ in range(N)])
    longest = least(lambda: asyncio.run(llm.acomplete("?")))
    gathered = least(lambda: asyncio.run(own_queries()))
    print(
        f"{N} calls of {CALL * 1000:.0f} ms, least of {REPEATS} runs. Own: the same calls or queries by themselves.\n"
    )
    rows: list[tuple[str, Callable[[], Any], float, float]] = [
        ("VotingLLM.complete, in turn", lambda: in_turn.complete("?"), calls, 1.10),
        ("VotingLLM.complete, 5 threads", lambda: at_once.complete("?"), longest, 1.10),
        ("VotingLLM.acomplete, 5 tasks", lambda: asyncio.run(at_once.acomplete("?")), longest, 1.05),
        ("VoteQueryEngine.query, in turn", lambda: voting_engine.query("?"), queries, 1.10),
        ("VoteQueryEngine.aquery, 5 tasks", lambda: asyncio.run(voting_at_once.aquery("?")), gathered, 1.05),
    ]
    print(f"{'':34}{'ms':>8}{'own ms':>9}{'ratio':>8}{'limit':>8}")
    for name, run, own, limit in rows:
        took = least(run)
        ratio = took / own
        print(f"{name:34}{took * 1000:8.1f}{own * 1000:9.1f}{ratio:8.3f}{limit:8.2f}  {verdict(ratio <= limit)}")


def imports() -> None:
    """Print what importing adds to llama_index.core's own import, with compiled files at hand."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        runs = []
        for _ in range(4):
            done = subprocess.run(
                [sys.executable, "-c", IMPORTS], env=environment, capture_output=True, encoding="utf-8", check=True
            )
            runs.append(tuple(float(number) * 1000 for number in done.stdout.split()))
    bare, first = (min(column) for column in zip(*runs, strict=True))
    print(f"\nimport llama_index_consilience adds {bare:.1f} ms (at most 50) {verdict(bare <= 50)}")
    print(f"with its first name, which loads the core: {first:.1f} ms")


def main() -> None:
    if importlib.util.find_spec("llama_index_consilience") is None:
        print("skipped: needs .venvs/llama_index-newest/bin/python -m benchmarks.llama_index")
        return
    overhead()
    imports()


if __name__ == "__main__":
    main()
