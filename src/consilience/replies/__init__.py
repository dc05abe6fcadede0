"""Reading replies: from the text of a model to candidate records."""

from ._candidates import Candidate
from ._extraction import Reading, Repair, check_repair, extract_json, iter_json_candidates, read
from ._reply import Reply
from ._validation import (
    Rejected,
    Validator,
    all_of,
    as_validator,
    field_in,
    from_jsonschema,
    from_pydantic,
    validate,
)

__all__ = [
    "Candidate",
    "Reading",
    "Rejected",
    "Repair",
    "Reply",
    "Validator",
    "all_of",
    "as_validator",
    "check_repair",
    "extract_json",
    "field_in",
    "from_jsonschema",
    "from_pydantic",
    "iter_json_candidates",
    "read",
    "validate",
]
