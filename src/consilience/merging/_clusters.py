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

_APOSTROPHES = "'’‘ʼʹ‛′`´"
_DASHES = "-‐‑‒–—−﹣"
_FOLDED = str.maketrans(dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_DASHES, "-") | dict.fromkeys("“”„″", '"'))

# A sign may stand apart ("- 5"), behind ("500-", as some ledgers have it) or be a pair of brackets.
# Spaces belong to it behind a sign only: a match that could start at every space of a long run would take its square.
_NUMBER = re.compile(r"(?:[+-]\s*)?\d+(?:[.,:/]\d+)*(?:\s*[+-](?!\s*\w))?|\(\s*\d+(?:[.,:/]\d+)*\s*\)")
_PRIMES = re.compile(r"""(?<=\d)\s?(?:''|['"])(?!\w)""")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")

_NEGATION_WORDS = (
    "no not none never nor neither nobody nothing nowhere without cannot non false off except unless "
    "aint arent cant couldnt darent didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt shant shouldnt "
    "wasnt werent wont wouldnt "
    "nicht nichts nein nie niemals niemand nirgends ohne weder kein keine keinem keinen keiner keinerlei keines keins "
    "ne pas jamais sans rien aucun aucune aucuns aucunes nul nulle ni "
    "sin nunca jamás tampoco nada nadie ningun ningún ninguno ninguna ningunos ningunas "
    "não nao nem sem nenhum nenhuma ninguém "
    "mai senza niente nulla né nessun nessuno nessuna "
    "niet niets geen nooit zonder "
    "minus negative negativ moins menos meno"  # a sign in words
)
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_HARMLESS = frozenset(""".,;:!?¡¿'"«»‹›()[]{}-_…·、。「」『』・""")
"""Punctuation that two spellings of one thing may differ in."""


def distinction(text: str) -> tuple[tuple[str, ...], ...]:
    """What tells two texts apart however alike they look: numbers with their signs, negations, and symbols.

    Example:
        >>> distinction("C") == distinction("C++"), distinction("USA") == distinction("U.S.A.")
        (False, True)
    """
    # Apostrophes before compatibility forms, in which a stand-alone accent would fall apart.
    folded = unicodedata.normalize("NFKC", text.translate(_FOLDED)).translate(_FOLDED).casefold()
    numbers = tuple("".join(number.split()) for number in _NUMBER.findall(folded))
    primes = tuple(mark.strip().replace("''", '"') for mark in _PRIMES.findall(folded))
    words = [(word, word.replace("'", "")) for word in _WORD.findall(folded)]
    negations = tuple(bare for word, bare in words if bare in _NEGATIONS or _is_contracted(word))
    symbols = tuple(sorted(sign for sign in folded if unicodedata.category(sign)[0] in "SP" and sign not in _HARMLESS))
    other_digits = tuple(sign for sign in text if sign.isdigit() and not sign.isdecimal())
    return numbers, primes, negations, symbols, other_digits


def _is_contracted(word: str) -> bool:
    """Whether a word holds a negation that has lost a vowel: "isn't", "n'est"."""
    return word.endswith("n't") or word.startswith("n'")


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
    means = sums.copy()
    # The best partner of every group, the first of equals, so that not every two groups are looked at again each time.
    partner = means.argmax(axis=1)
    best = means.max(axis=1)
    while len(groups) > 1:
        first = int(best.argmax())
        if best[first] < threshold - 1e-9:
            break
        second = int(partner[first])
        sums[first] += sums[second]
        sums[:, first] = sums[first]
        sums[second] = sums[:, second] = sums[first, first] = -np.inf
        sizes[first] += sizes[second]
        groups[first] = sorted(groups[first] + groups.pop(second))
        means[first] = means[:, first] = sums[first] / (sizes[first] * sizes)
        means[second] = means[:, second] = best[second] = -np.inf
        closer = (means[:, first] > best) | ((means[:, first] == best) & (partner >= first))
        lost = ~closer & ((partner == first) | (partner == second)) & (best > -np.inf)
        best[closer], partner[closer] = means[closer, first], first
        for stale in (first, *np.flatnonzero(lost)):
            partner[stale] = means[stale].argmax()
            best[stale] = means[stale, partner[stale]]
    return list(groups.values())
