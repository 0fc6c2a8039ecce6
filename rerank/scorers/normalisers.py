"""The normalisers of the translation model, whose cost is quadratic in the vocabulary."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.word_vectors import WordVectors
from moverank.rerank.words.unit_length import unit_rows

_BLOCK = 1024


def translation_normalisers(
    vectors: NDArray[np.float32], known: NDArray[np.bool_], vocabulary: WordVectors | None = None
) -> NDArray[np.float64]:
    """Return Z_u = sum over the words w of the vocabulary of max(cos(w, u), 0) for each word u, (t,) float64.

    The words u have `vectors` (t, d); `known` (t,) tells which of them have one. They are themselves the vocabulary
    unless a `vocabulary` is given. Z is additive over vocabularies without a common word. A word without a vector
    translates only to itself, with Z = 1, and adds nothing to other words; over a given `vocabulary` its Z is 0.
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
            sums[first : first + _BLOCK] += _clipped(rows, others[start : start + _BLOCK]).sum(axis=1)
    return sums


def _clipped(rows: NDArray[np.float64], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return max(cos, 0) (n, m) of unit rows (n, d) and vectors (m, d)."""
    cosines: NDArray[np.float64] = rows @ unit_rows(vectors).T
    return np.maximum(cosines, 0.0, out=cosines)
