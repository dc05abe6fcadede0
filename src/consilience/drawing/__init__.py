"""Drawing: prompts out, replies in, many at once; no rule about votes is known here.

``draw_in_tasks`` is imported from ``_tasks`` where it is used: to import asyncio takes as long as the whole library.
"""

from ._calls import Call, Drawing, Ledger, Outcome
from ._flight import sample_index
from ._limiters import check_limiter
from ._retry import retrying
from ._samplers import is_async_sampler, require_sync_sampler
from ._threads import draw_in_threads

__all__ = [
    "Call",
    "Drawing",
    "Ledger",
    "Outcome",
    "check_limiter",
    "draw_in_threads",
    "is_async_sampler",
    "require_sync_sampler",
    "retrying",
    "sample_index",
]
