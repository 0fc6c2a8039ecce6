"""Distances equal those of gensim, where gensim returns a finite one."""

import math
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from moverank import Embedding, Reranker
from tests.rerank.problems import make_vectors

PAIRS = 30


def _compare(vectors: KeyedVectors, longest: int) -> None:
    """Compare pairs of texts of up to `longest` words that have vectors, some repeated, some unknown."""
    rng = np.random.default_rng(30)
    reranker = Reranker(Embedding.of(vectors.index_to_key, vectors.vectors), "none", rank="wmd")
    known = [word for word in vectors.index_to_key if word.isascii() and word.isalnum() and word.islower()]
    compared = 0
    for _ in range(2 * PAIRS):
        one, other = (
            [*rng.choice(known, rng.integers(2, longest)).tolist(), "zzunknown", *known[:2]] for _ in range(2)
        )
        expected = float(vectors.wmdistance(one, other, norm=False))
        if math.isfinite(expected) and compared < PAIRS:
            (hit,) = reranker.rank(" ".join(one), [" ".join(other)]).hits
            assert hit.distance == pytest.approx(expected, rel=1e-6)
            compared += 1
    assert compared == PAIRS


def test_synthetic_vectors() -> None:
    words = [f"w{i}" for i in range(60)]
    vectors = KeyedVectors(20)
    vectors.add_vectors(words, make_vectors(np.random.default_rng(3), len(words), 20, "normal", 0.2))
    _compare(vectors, 25)


@pytest.mark.slow
def test_real_vectors(shared: Path) -> None:
    path = shared / "vectors" / "minilm-words-200d.bin"
    _compare(KeyedVectors.load_word2vec_format(str(path), binary=True, limit=5000), 60)
