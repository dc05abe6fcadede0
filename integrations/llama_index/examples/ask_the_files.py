"""Questions about a handful of text files, answered by a small real model that may say "I don't know".

Everything runs on this machine: the texts are found with the word vectors of the package ``wordllama``, and read by
SmolLM2-135M-Instruct, behind an OpenAI-compatible server on loopback. Each question retrieves one text, once, and lets
the model answer five times. Where the text holds the answer, the five agree; where it does not, they make up five.

    make .venvs/llama_index-newest/.installed
    .venvs/llama_index-newest/bin/python integrations/llama_index/examples/ask_the_files.py
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "examples"))

from llama_index.core import Document, VectorStoreIndex, set_global_tokenizer
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai_like import OpenAILike
from small_model import Endpoint, serve

from consilience import sample_index
from llama_index_consilience import VoteQueryEngine

ANSWERED = {
    "Who built Norvik Mill?": "Anders Holm",
    "Who is the headmistress of the school?": "Ingrid Vold",
    "How many pupils has the school?": "64",
    "How long does the crossing take?": "40 minutes",
    "Who was the keeper of Norvik Light?": "Marta Lind",
}
UNANSWERED = ("How deep is the lake?", "How many rooms has the hotel?", "How much does a horse weigh?")

PROMPT = PromptTemplate(
    """Text: Hall Farm lies on the hill. It has 30 cows. It was founded in 1790 by Peter Dahl. The milk is sold there.
Question: How many cows has Hall Farm?
Answer: 30
Question: Who founded Hall Farm?
Answer: Peter Dahl

Text: The bakery opens at six. Its baker is Olga Rask. A loaf of bread costs 8 crowns. It was built in 1955 of brick.
Question: When was the bakery built?
Answer: 1955
Question: What does a loaf cost?
Answer: 8 crowns

Text: The library has 5000 books. It is closed on Monday. A tour takes 15 minutes. The tower is 90 metres high.
Question: On which day is the library closed?
Answer: Monday
Question: How high is the tower?
Answer: 90 metres

Text: {context_str}
Question: {query_str}
Answer:"""
)


class WordVectors(BaseEmbedding):
    """Embeddings that come inside a package: the mean of word vectors, 16 MB in all."""

    _model: Any = PrivateAttr()

    def __init__(self) -> None:
        super().__init__(model_name="wordllama")
        import wordllama

        # The package looks for its own tokenizer in a folder of another name, unless it is told where it lies.
        home = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = self._model.embed(text, norm=True)[0].tolist()
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class SeededLLM(OpenAILike):
    """A model whose samples can be drawn again: the seed of each is its number in the vote."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return super().complete(prompt, formatted, **{"seed": sample_index() or 0, **kwargs})

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return await super().acomplete(prompt, formatted, **{"seed": sample_index() or 0, **kwargs})


def index_of(folder: Path = HERE / "texts") -> VectorStoreIndex:
    """An index of the text files of a folder."""
    set_global_tokenizer(str.split)  # LlamaIndex's own may have to be fetched
    texts = [
        Document(text=path.read_text(encoding="utf-8").strip(), metadata={"file": path.name})
        for path in sorted(folder.glob("*.txt"))
    ]
    for document in texts:
        document.excluded_llm_metadata_keys = document.excluded_embed_metadata_keys = ["file"]
    return VectorStoreIndex.from_documents(texts, embed_model=WordVectors())


def voting_engine(index: VectorStoreIndex, endpoint: Endpoint, **options: Any) -> VoteQueryEngine:
    """An engine that answers five times from one text, and says so when the answers do not agree."""
    llm = SeededLLM(
        model=endpoint.model,
        api_base=endpoint.base_url,
        api_key=endpoint.api_key,
        is_chat_model=False,
        context_window=2048,
        max_tokens=12,
        temperature=0.5,
        additional_kwargs={"stop": ["\n"]},
    )
    engine = index.as_query_engine(llm=llm, similarity_top_k=1, text_qa_template=PROMPT)
    return VoteQueryEngine(engine, n=5, normalize="text", min_agreement=0.6, **options)


def main() -> None:
    """Ask all questions, and show the answers, the votes and the file that was read."""
    logging.disable(logging.INFO)  # wordllama and httpx say more than is needed here
    index = index_of()
    with serve() as endpoint:
        engine = voting_engine(index, endpoint)
        for question in (*ANSWERED, *UNANSWERED):
            response = engine.query(question)
            result = response.metadata["vote"]
            votes = ", ".join(f"{value!r} {count}" for value, count in result.counts)
            print(f"{question}\n  {response.response}")
            print(f"  votes: {votes} ({response.source_nodes[0].metadata['file']})")


if __name__ == "__main__":
    main()
