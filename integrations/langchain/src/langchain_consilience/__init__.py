"""consilience for LangChain: votes and consensus as parts of a chain.

    prompt | VoteRunnable(model | parser, n=5, key="team") | next_step
    prompt | ConsensusRunnable(model.with_structured_output(Invoice), n=5) | next_step
    chain.map() | TallyRunnable(key="team")

What is sampled is the first argument. Without a decision there is a result with the reason, an ``AbstainError``, or a
branch that takes over (``on_abstain=``, ``AbstainRouter``).
"""

from ._cache import CachedSamplesWarning
from ._consensus import ConsensusRunnable
from ._router import AbstainRouter
from ._tally import TallyRunnable
from ._vote import VoteRunnable

__all__ = ["AbstainRouter", "CachedSamplesWarning", "ConsensusRunnable", "TallyRunnable", "VoteRunnable"]
