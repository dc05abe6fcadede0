"""consilience for LlamaIndex: votes and consensus as parts of a LlamaIndex program.

    llm = VotingLLM(OpenAI(...), n=5, key="team")                     # wherever an LLM goes
    engine = VoteQueryEngine(index.as_query_engine(), n=5)            # one retrieval, five answers, one decision
    parser = ConsilienceOutputParser(validator=Invoice)               # strict reading of one reply, or of many
    result = await VoteWorkflow(llm, n=5, key="team").run(prompt=...)

An adapter only translates: how replies are read, counted, merged and decided is in ``consilience``. A name is loaded
when it is first used, so that a program pays for what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._abstaining import ParserAbstainError
    from ._collecting import SampleEvent, collect_votes, draw_sample
    from ._component import VoteComponent as VoteComponent
    from ._events import VoteEvent
    from ._llm import VotingLLM
    from ._parser import ConsilienceOutputParser
    from ._query_engine import VoteQueryEngine
    from ._workflow import SampleRequest, VoteWorkflow

# Without VoteComponent: "import *" must work where there are no query pipelines.
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

_HOMES = {
    "ConsilienceOutputParser": "_parser",
    "ParserAbstainError": "_abstaining",
    "SampleEvent": "_collecting",
    "SampleRequest": "_workflow",
    "VoteComponent": "_component",
    "VoteEvent": "_events",
    "VoteQueryEngine": "_query_engine",
    "VoteWorkflow": "_workflow",
    "VotingLLM": "_llm",
    "collect_votes": "_collecting",
    "draw_sample": "_collecting",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if name == "VoteComponent" and "query_pipeline" in (error.name or ""):
            raise ImportError(
                "VoteComponent needs query pipelines, which llama-index-core 0.13 removed: "
                "use VoteQueryEngine or VoteWorkflow"
            ) from None
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
