"""The fingerprint of the settings of a consensus."""

from __future__ import annotations

from ..voting._fingerprint import Fingerprint
from ._settings import MERGING_OPTIONS, ConsensusSettings

__all__ = ["fingerprint"]

fingerprint = Fingerprint(
    ["n", "early_stop", "validator", "repair", "allow_nan", "prefer", *MERGING_OPTIONS], ConsensusSettings()
)
"""A hash of the options that decide, equal in every process."""
