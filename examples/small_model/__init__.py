"""What the demo is made of: a small real model, two tasks for it, the screen and the report."""

from .fields import field_verdict, merge_replies, record_verdict, show_consensus
from .model import Endpoint, FewShotSampler, LocalModel, derived_seed, serve
from .report import Score, show_case, show_summary
from .screen import PlainScreen, Screen, TerminalScreen, open_screen
from .tasks import ORDERS, REVIEWS, TASKS, Case, Order, Task

__all__ = [
    "ORDERS",
    "REVIEWS",
    "TASKS",
    "Case",
    "Endpoint",
    "FewShotSampler",
    "LocalModel",
    "Order",
    "PlainScreen",
    "Score",
    "Screen",
    "Task",
    "TerminalScreen",
    "derived_seed",
    "field_verdict",
    "merge_replies",
    "open_screen",
    "record_verdict",
    "serve",
    "show_case",
    "show_consensus",
    "show_summary",
]
