"""The ratio: how alike two texts are, by the normalised indel similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

__all__ = ["Scorer", "text_ratios"]

Scorer = Callable[[str, str], float]
"""How alike two texts are, from 0 to 1."""


def text_ratios(left: Sequence[str], right: Sequence[str]) -> Matrix:
    """The normalised indel similarity of every text on the left with every text on the right.

    Example:
        >>> text_ratios(["USA"], ["U.S.A.", "USA"]).round(3).tolist()
        [[0.667, 1.0]]
    """
    import numpy as np
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cdist

    return np.asarray(cdist(left, right, scorer=ratio, dtype=np.float64)) / 100.0
