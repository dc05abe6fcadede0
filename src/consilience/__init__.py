"""Several noisy answers of language models in; one decision or a reasoned abstention out.

    from consilience import vote

    result = vote(sampler, "I was charged twice.", n=5, key="team")
    result.value if result.decided else result.reason

The stages of a vote, each with its own room: prompts become replies (drawing), replies become records (reading),
records become votes (judging), votes are counted and decided (quorum, ties, abstention).
"""

from ._errors import AbstainError, ConsilienceError, MissingExtraError, SettingsError
from ._version import __version__
from .drawing import retrying
from .evidence import (
    ConsolidatedClaim,
    ConsolidatedTriple,
    Consolidation,
    Contradiction,
    NoisyORConsolidator,
    ProvenanceRecord,
    consolidate,
)
from .replies import (
    Reply,
    all_of,
    extract_json,
    field_in,
    from_jsonschema,
    from_pydantic,
    iter_json_candidates,
)
from .voting import (
    Failure,
    Paraphrases,
    Reason,
    Sample,
    StoppingRule,
    TallyState,
    VoteResult,
    VoteSettings,
    avote,
    ballot,
    coerce_confidence,
    tally,
    vote,
    when_settled,
)

__all__ = [
    "AbstainError",
    "ConsilienceError",
    "ConsolidatedClaim",
    "ConsolidatedTriple",
    "Consolidation",
    "Contradiction",
    "Failure",
    "MissingExtraError",
    "NoisyORConsolidator",
    "Paraphrases",
    "ProvenanceRecord",
    "Reason",
    "Reply",
    "Sample",
    "SettingsError",
    "StoppingRule",
    "TallyState",
    "VoteResult",
    "VoteSettings",
    "__version__",
    "all_of",
    "avote",
    "ballot",
    "coerce_confidence",
    "consolidate",
    "extract_json",
    "field_in",
    "from_jsonschema",
    "from_pydantic",
    "iter_json_candidates",
    "retrying",
    "tally",
    "vote",
    "when_settled",
]
