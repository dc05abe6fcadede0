"""consilience for LlamaIndex: votes and consensus as parts of a LlamaIndex program.

    llm = VotingLLM(OpenAI(...), n=5, key="team")                     # wherever an LLM goes
    engine = VoteQueryEngine(index.as_query_engine(), n=5)            # one retrieval, five answers, one decision
    parser = ConsilienceOutputParser(validator=Invoice)               # strict reading of one reply, or of many
    result = await VoteWorkflow(llm, n=5, key="team").run(prompt=...)

An adapter only translates: how replies are read, counted, merged and decided is in ``consilience``.
"""

from typing import Any

from ._abstaining import ParserAbstainError
from ._collecting import SampleEvent, collect_votes, draw_sample
from ._events import VoteEvent
from ._llm import VotingLLM
from ._parser import ConsilienceOutputParser
from ._query_engine import VoteQueryEngine
from ._workflow import SampleRequest, VoteWorkflow

__all__ = [
    "ConsilienceOutputParser",
    "ParserAbstainError",
    "SampleEvent",
    "SampleRequest",
    "VoteEvent",
    "VoteQueryEngine",
    "VoteWorkflow",
    "VotingLLM",
    "collect_votes",
    "draw_sample",
]

try:
    from ._component import VoteComponent
except ModuleNotFoundError as _error:
    if "query_pipeline" not in (_error.name or ""):
        raise

    def __getattr__(name: str) -> Any:
        if name == "VoteComponent":
            raise ImportError(
                "VoteComponent needs query pipelines, which llama-index-core 0.13 removed: "
                "use VoteQueryEngine or VoteWorkflow"
            )
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

else:
    __all__ += ["VoteComponent"]
