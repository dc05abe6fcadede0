"""consilience for LangChain: votes and consensus as parts of a chain.

prompt | VoteRunnable(model | parser, n=5, key="team") | next_step
"""

from ._cache import CachedSamplesWarning
from ._vote import VoteRunnable

__all__ = ["CachedSamplesWarning", "VoteRunnable"]
