"""The ratio: how alike two texts are, by the normalised indel similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

__all__ = ["Scorer", "paired_ratios", "text_ratios"]

Scorer = Callable[[str, str], float]
"""How alike two texts are, from 0 to 1."""

_LONG = 50_000
"""So many characters together take longer to compare than to look up."""

_LONG_TEXT = 5_000
"""Texts of so many characters on average are compared two by two, which skips what they begin and end with alike."""


def text_ratios(left: Sequence[str], right: Sequence[str]) -> Matrix:
    """The normalised indel similarity of every text on the left with every text on the right.

    Example:
        >>> text_ratios(["USA"], ["U.S.A.", "USA"]).round(3).tolist()
        [[0.667, 1.0]]
    """
    import numpy as np
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cdist

    if left is right and sum(map(len, left)) > _LONG:
        return _each_pair_once(left)
    if sum(map(len, left)) + sum(map(len, right)) > _LONG_TEXT * (len(left) + len(right)):
        pairs = [(one, other) for one in left for other in right]
        return paired_ratios([one for one, _ in pairs], [other for _, other in pairs]).reshape(len(left), len(right))
    return np.asarray(cdist(left, right, scorer=ratio, dtype=np.float64)) / 100.0


def paired_ratios(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
    """The same of every text on the left with the text at its place on the right.

    Example:
        >>> paired_ratios(["USA", "rum"], ["U.S.A.", "rum"]).round(3).tolist()
        [0.667, 1.0]
    """
    import numpy as np
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cpdist

    return np.asarray(cpdist(left, right, scorer=ratio, dtype=np.float64)) / 100.0


def _each_pair_once(texts: Sequence[str]) -> Matrix:
    """The same for long texts with themselves, of which even equal ones take their time."""
    import numpy as np

    result = np.eye(len(texts))
    ones, others = np.triu_indices(len(texts), 1)
    if len(ones):
        left, right = [texts[one] for one in ones.tolist()], [texts[other] for other in others.tolist()]
        result[ones, others] = result[others, ones] = paired_ratios(left, right)
    return result
