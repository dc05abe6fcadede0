"""The similarity: how alike two values are, from 0 to 1, computed in whole matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

__all__ = ["Scorer", "kind_of", "similarity_matrix", "text_ratios"]

Scorer = Callable[[str, str], float]
"""How alike two texts are, from 0 to 1."""

_MISSING = object()


def kind_of(value: Any) -> str:
    """``"object"``, ``"list"`` or ``"scalar"``."""
    return "object" if type(value) is dict else "list" if type(value) is list else "scalar"


def text_ratios(left: Sequence[str], right: Sequence[str]) -> Matrix:
    """The normalised indel similarity of every text on the left with every text on the right."""
    import numpy as np
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import cdist

    return np.asarray(cdist(left, right, scorer=ratio, dtype=np.float32), dtype=np.float64) / 100.0


_DEEPEST = 30
"""Below this depth values are equal or not: what is nested deeper says little about what an item is."""


def similarity_matrix(left: Sequence[Any], right: Sequence[Any], depth: int = 0) -> Matrix:
    """Compare every value on the left with every value on the right.

    Objects are as alike as their fields are on average, a field that only one side has counting 0; lists as their
    best pairing is; texts by the normalised indel similarity; all else is equal (1) or not (0). Equal values are
    compared once.

    Args:
        left: JSON values.
        right: JSON values.
        depth: how deep inside the values compared these are.

    Returns:
        A matrix with a row for each value on the left and a column for each on the right, values from 0 to 1.

    Example:
        >>> similarity_matrix(["USA"], ["U.S.A.", "USA", 1]).round(3).tolist()
        [[0.667, 1.0, 0.0]]
    """
    import numpy as np

    if depth > _DEEPEST:
        return _equality(left, right)
    result = np.zeros((len(left), len(right)))
    for kind in _COMPARE:
        rows = [index for index, value in enumerate(left) if kind_of(value) == kind]
        columns = [index for index, value in enumerate(right) if kind_of(value) == kind]
        if rows and columns:
            block: Matrix = _COMPARE[kind]([left[index] for index in rows], [right[index] for index in columns], depth)
            result[np.ix_(rows, columns)] = block
    return result


def _equality(left: Sequence[Any], right: Sequence[Any]) -> Matrix:
    import numpy as np

    codes: dict[str, int] = {}
    row_codes = [codes.setdefault(canonical_text(value), len(codes)) for value in left]
    column_codes = [codes.setdefault(canonical_text(value), len(codes)) for value in right]
    return np.asarray(np.array(row_codes)[:, None] == np.array(column_codes)[None, :], dtype=np.float64)


def _compare_scalars(left: list[Any], right: list[Any], _depth: int) -> Matrix:
    result = _equality(left, right)
    row_texts = {value: None for value in left if type(value) is str}
    column_texts = {value: None for value in right if type(value) is str}
    if not (row_texts and column_texts) or row_texts.keys() == column_texts.keys() == {next(iter(row_texts))}:
        return result
    ratios = text_ratios(list(row_texts), list(column_texts))
    return _spread(ratios, result, left, right, row_texts, column_texts)


def _spread(
    ratios: Matrix, result: Matrix, left: list[Any], right: list[Any], row_texts: Any, column_texts: Any
) -> Matrix:
    """Write the ratios of distinct texts to every place where those texts stand."""
    import numpy as np

    row_of = {text: index for index, text in enumerate(row_texts)}
    column_of = {text: index for index, text in enumerate(column_texts)}
    rows = [index for index, value in enumerate(left) if type(value) is str]
    columns = [index for index, value in enumerate(right) if type(value) is str]
    block = ratios[np.ix_([row_of[left[index]] for index in rows], [column_of[right[index]] for index in columns])]
    result[np.ix_(rows, columns)] = block
    return result


def _compare_objects(left: list[dict[str, Any]], right: list[dict[str, Any]], depth: int) -> Matrix:
    import numpy as np

    total = np.zeros((len(left), len(right)))
    common = np.zeros((len(left), len(right)))
    for key in dict.fromkeys(key for record in left for key in record):
        rows = [index for index, record in enumerate(left) if key in record]
        columns = [index for index, record in enumerate(right) if key in record]
        if columns:
            place = np.ix_(rows, columns)
            ours, theirs = [left[index][key] for index in rows], [right[index][key] for index in columns]
            total[place] += similarity_matrix(ours, theirs, depth + 1)
            common[place] += 1
    sizes_left = np.array([len(record) for record in left])[:, None]
    sizes_right = np.array([len(record) for record in right])[None, :]
    union = sizes_left + sizes_right - common
    return np.where(union == 0, 1.0, total / np.maximum(union, 1))


def _compare_lists(left: list[list[Any]], right: list[list[Any]], depth: int) -> Matrix:
    import numpy as np

    return np.array([[_best_pairing(one, other, depth) for other in right] for one in left])


def _best_pairing(left: list[Any], right: list[Any], depth: int) -> float:
    if not left or not right:
        return float(not left and not right)
    from scipy.optimize import linear_sum_assignment

    matrix = similarity_matrix(left, right, depth + 1)
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    return float(matrix[rows, columns].sum()) / max(len(left), len(right))


_COMPARE: dict[str, Callable[[list[Any], list[Any], int], Matrix]] = {
    "scalar": _compare_scalars,
    "object": _compare_objects,
    "list": _compare_lists,
}
