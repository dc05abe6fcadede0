"""consilience for LangChain: votes and consensus as parts of a chain.

    prompt | VoteRunnable(model | parser, n=5, key="team") | next_step
    prompt | ConsensusRunnable(model.with_structured_output(Invoice), n=5) | next_step
    chain.map() | TallyRunnable(key="team")

What is sampled is the first argument. Without a decision there is a result with the reason, an ``AbstainError``, or a
branch that takes over (``on_abstain=``, ``AbstainRouter``).
"""

import typing as _typing
from importlib.util import find_spec as _find_spec

from ._cache import CachedSamplesWarning
from ._consensus import ConsensusRunnable
from ._router import AbstainRouter
from ._tally import TallyRunnable
from ._vote import VoteRunnable

if _typing.TYPE_CHECKING:
    from ._middleware import ConsensusMiddleware, VoteMiddleware

__all__ = [
    "AbstainRouter",
    "CachedSamplesWarning",
    "ConsensusMiddleware",
    "ConsensusRunnable",
    "TallyRunnable",
    "VoteMiddleware",
    "VoteRunnable",
]

_FOR_AGENTS = ("ConsensusMiddleware", "VoteMiddleware")

if _find_spec("langchain") is None:
    # Then ``from langchain_consilience import *`` leaves them out; asked for by name, they say what to install.
    __all__.remove("ConsensusMiddleware")
    __all__.remove("VoteMiddleware")


def __getattr__(name: str) -> _typing.Any:
    """Import what needs the extra ``agents`` when it is asked for: langchain itself is no dependency, and heavy."""
    if name not in _FOR_AGENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import _middleware
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("langchain", "langgraph"):
            raise
        raise ImportError(f'{name} needs langchain: pip install "langchain-consilience[agents]"') from error
    return getattr(_middleware, name)
