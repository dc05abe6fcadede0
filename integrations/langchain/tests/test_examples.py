"""The examples that need no model: they run as programs, and print what they are meant to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_triage() -> None:
    shown = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "triage.py"], capture_output=True, text=True, check=True, timeout=120
    )
    assert shown.stdout.splitlines() == [
        "I was charged twice for order #1042.",
        "  -> billing",
        "My parcel is late and I want my money back.",
        "  -> refunds",
        "hello??",
        "  -> ask a human: none of 5 samples was valid; most often: no_json: the reply holds no JSON object or array",
    ]
