"""Clusters: which texts are spellings of one thing, and which must never be taken for each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ._ratios import text_ratios

if TYPE_CHECKING:
    from ._ratios import Matrix

__all__ = ["TextMatrix", "cluster_texts", "distinction"]

TextMatrix = Callable[[Sequence[str]], "Matrix"]
"""How alike texts are: a square matrix of values from 0 to 1."""

_NUMBER = re.compile(r"[+\-−–]?\d+(?:[.,:/]\d+)*")
_NEGATIONS = frozenset(
    [
        "no",
        "not",
        "none",
        "never",
        "nor",
        "neither",
        "nobody",
        "nothing",
        "nowhere",
        "without",
        "cannot",
        "non",
        "false",
        "off",
        "nicht",
        "kein",
        "keine",
        "nein",
        "nie",
        "ohne",
        "ne",
        "pas",
        "jamais",
        "sans",
        "sin",
        "nunca",
        "ni",
        "não",
        "sem",
        "mai",
        "senza",
    ]
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MEANINGFUL = frozenset("#%&@*/\\")


def distinction(text: str) -> tuple[tuple[str, ...], ...]:
    """What tells two texts apart however alike they look: numbers with their signs, negations, and symbols.

    Example:
        >>> distinction("C") == distinction("C++"), distinction("USA") == distinction("U.S.A.")
        (False, True)
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    numbers = tuple(_NUMBER.findall(folded))
    words = _WORD.findall(folded)
    negations = tuple(word for word in words if word in _NEGATIONS or word.endswith(("n't", "n’t")))
    symbols = tuple(sorted(sign for sign in folded if sign in _MEANINGFUL or unicodedata.category(sign)[0] == "S"))
    other_digits = tuple(sign for sign in text if sign.isdigit() and not sign.isdecimal())
    return numbers, negations, symbols, other_digits


def cluster_texts(texts: Sequence[str], threshold: float, similarity: TextMatrix | None = None) -> list[list[int]]:
    """Group texts that are alike.

    Average linkage (Sokal and Michener 1958): two groups are joined while the mean similarity between their members
    is at least the threshold, so that a chain of near misses cannot glue two different values together. Texts with
    different ``distinction`` are never in one group.

    Args:
        texts: distinct texts, in an order that does not depend on chance: ties are broken by it.
        threshold: the least mean similarity, 0 to 1.
        similarity: how alike texts are; the normalised indel similarity by default.

    Returns:
        Groups of positions in ``texts``.

    Example:
        >>> cluster_texts(["France", "U.S.A.", "USA"], 0.6)
        [[0], [1, 2]]
    """
    families: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for index, text in enumerate(texts):
        families.setdefault(distinction(text), []).append(index)
    measure = similarity or (lambda family: text_ratios(family, family))
    groups: list[list[int]] = []
    for family in families.values():
        if len(family) == 1:
            groups.append(family)
        else:
            matrix = measure([texts[index] for index in family])
            groups.extend([family[place] for place in group] for group in _average_linkage(matrix, threshold))
    return sorted(groups)


def _average_linkage(matrix: Matrix, threshold: float) -> list[list[int]]:
    import numpy as np

    groups: dict[int, list[int]] = {index: [index] for index in range(len(matrix))}
    # The sum of all similarities between two groups; a joined group adds up the rows of its parts.
    sums = np.array(matrix, dtype=float)
    sizes = np.ones(len(matrix))
    np.fill_diagonal(sums, -np.inf)
    while len(groups) > 1:
        means = sums / np.outer(sizes, sizes)
        first, second = divmod(int(np.argmax(means)), len(matrix))
        if means[first, second] < threshold - 1e-9:
            break
        sums[first] += sums[second]
        sums[:, first] = sums[first]
        sums[second] = sums[:, second] = sums[first, first] = -np.inf
        sizes[first] += sizes[second]
        groups[first] = sorted(groups[first] + groups.pop(second))
    return list(groups.values())
