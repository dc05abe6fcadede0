"""Evidence: what many sightings of one thing are worth, and where they were made."""

from ._consolidation import ConsolidatedClaim, ConsolidatedTriple, Consolidation, Contradiction
from ._consolidator import NoisyORConsolidator, consolidate
from ._noisy_or import noisy_or
from ._provenance import ProvenanceRecord

__all__ = [
    "ConsolidatedClaim",
    "ConsolidatedTriple",
    "Consolidation",
    "Contradiction",
    "NoisyORConsolidator",
    "ProvenanceRecord",
    "consolidate",
    "noisy_or",
]
