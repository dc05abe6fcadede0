"""Merging: several revisions in, one record out, field by field."""

from ._analytics import WorkflowAnalyticsCollector
from ._comparators import Comparator, Exact, Ignore, Keyed, Normalized, Ordered, Similar, Tolerance, Unordered
from ._consensus import aconsensus, consensus
from ._constraints import Constraint, constraint
from ._fields import Candidate, FieldConsensus
from ._merge import JSONConsensus, merge
from ._options import Status
from ._paths import Path, flatten, unflatten
from ._resolvers import (
    OMIT,
    Conflict,
    NumericResolver,
    Resolver,
    SimilarityClusterResolver,
    by_path,
    by_type,
    default_conflict_resolver,
    prefer_leading_resolver,
    prefer_most_common_resolver,
)
from ._result import ConsensusReason, ConsensusResult, ReviewItem
from ._settings import ConsensusSettings

__all__ = [
    "OMIT",
    "Candidate",
    "Comparator",
    "Conflict",
    "ConsensusReason",
    "ConsensusResult",
    "ConsensusSettings",
    "Constraint",
    "Exact",
    "FieldConsensus",
    "Ignore",
    "JSONConsensus",
    "Keyed",
    "Normalized",
    "NumericResolver",
    "Ordered",
    "Path",
    "Resolver",
    "ReviewItem",
    "Similar",
    "SimilarityClusterResolver",
    "Status",
    "Tolerance",
    "Unordered",
    "WorkflowAnalyticsCollector",
    "aconsensus",
    "by_path",
    "by_type",
    "consensus",
    "constraint",
    "default_conflict_resolver",
    "flatten",
    "merge",
    "prefer_leading_resolver",
    "prefer_most_common_resolver",
    "unflatten",
]
