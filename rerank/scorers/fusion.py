"""Fusion of several candidate lists, and the normalisers of the translation model.

Word vectors find paraphrases, word counts find rare words and names. Ranks can be added whatever the scores are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.scorers.word_vectors import WordVectors
from moverank.rerank.words.embedding import unit_rows

_RANK_OFFSET = 60
"""The constant of Cormack et al. 2009: a larger one reduces the advantage of the first ranks."""


def reciprocal_ranks(rankings: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fuse `rankings` of ids, each (n_i,) and best first, into one: ids (n,) and scores (n,), best first.

    The score is the sum of 1 / (60 + rank) over the rankings that contain the id (reciprocal rank fusion, Cormack et
    al. 2009). Equal scores are in the order of ids.
    """
    shares = np.concatenate([1.0 / (_RANK_OFFSET + 1.0 + np.arange(len(ranking))) for ranking in rankings])
    distinct, groups = np.unique(np.concatenate(rankings), return_inverse=True)
    sums = np.bincount(groups, shares, len(distinct)).astype(np.float64, copy=False)
    order = np.argsort(-sums, kind="stable")
    return distinct[order], sums[order]


_BLOCK = 1024


def translation_normalisers(
    vectors: NDArray[np.float32], known: NDArray[np.bool_], vocabulary: WordVectors | None = None
) -> NDArray[np.float64]:
    """Return Z_u = sum over the words w of the vocabulary of max(cos(w, u), 0) for each word u, (t,) float64.

    The words u have `vectors` (t, d); `known` (t,) marks the words that have one. Without a `vocabulary`, they are the
    vocabulary. Z is additive over vocabularies without a common word. A word without a vector translates only to
    itself, with Z = 1, and adds nothing to other words; over a given `vocabulary` its Z is 0.
    """
    usable = np.flatnonzero(WordVectors(vectors, known).lengths() > 0)
    if vocabulary is None:
        sums = np.ones(len(known))
        sums[usable] = _sums_within(vectors[usable])
    else:
        sums = np.zeros(len(known))
        sums[usable] = _sums_over(vectors[usable], vocabulary.vectors[vocabulary.lengths() > 0])
    return sums


def _sums_within(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sums (n,) over pairs of `vectors` (n, d); by symmetry half of the blocks are enough."""
    sums = np.zeros(len(vectors))
    for first in range(0, len(vectors), _BLOCK):
        rows = unit_rows(vectors[first : first + _BLOCK])
        for start in range(first, len(vectors), _BLOCK):
            check_time()
            cosines = _clipped(rows, vectors[start : start + _BLOCK])
            sums[first : first + _BLOCK] += cosines.sum(axis=1)
            if start > first:
                sums[start : start + _BLOCK] += cosines.sum(axis=0)
    return sums


def _sums_over(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sums (n,) of vectors (n, d) over others (m, d)."""
    sums = np.zeros(len(vectors))
    for first in range(0, len(vectors), _BLOCK):
        rows = unit_rows(vectors[first : first + _BLOCK])
        for start in range(0, len(others), _BLOCK):
            check_time()
            sums[first : first + _BLOCK] += _clipped(rows, others[start : start + _BLOCK]).sum(axis=1)
    return sums


def _clipped(rows: NDArray[np.float64], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return max(cos, 0) (n, m) of unit rows (n, d) and vectors (m, d)."""
    cosines: NDArray[np.float64] = rows @ unit_rows(vectors).T
    return np.maximum(cosines, 0.0, out=cosines)
