"""The options of judging and counting, as fields: what a vote and a tally have in common."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

__all__ = ["JudgingOptions"]


class JudgingOptions(BaseModel):
    """The core's options about judging and deciding, with its defaults; the core checks them."""

    key: Any = None
    validator: Any = None
    normalize: Any = None
    min_valid: float = 0.5
    min_agreement: float = 0.5
    count_failures: bool = True
    abstain_on_tie: bool = True
    confidence_field: str | None = None
    weights: Any = None
    max_weight: float = 1.0
    min_sources: int = 1
    one_vote_per_source: bool = False
    repair: Any = False
    allow_nan: bool = True
    prefer: Literal["first", "last"] = "first"
    on_sample: Any = None
