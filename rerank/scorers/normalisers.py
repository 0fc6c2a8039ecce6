"""What the translations of a word add up to: work of the vocabulary squared, done once."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.word_vectors import WordVectors, unit_rows

_BLOCK = 1024


def translation_normalisers(
    vectors: NDArray[np.float32], known: NDArray[np.bool_], vocabulary: WordVectors | None = None
) -> NDArray[np.float64]:
    """Return Z_u = sum over the vocabulary's words w of max(cos(w, u), 0) for each word u, (t,) float64.

    The words are `vectors` (t, d) with `known` (t,), and they are the vocabulary themselves where none is given. Z is a
    sum over words, so it grows with a collection: the Z of two vocabularies that share no word add up to that of both.
    A word without a vector translates to itself only and has Z = 1; so it adds nothing to others, and a second
    vocabulary nothing to it: with a `vocabulary` it has 0.
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
    """Return the sums over these vectors themselves: the cosine is symmetric, so half of the blocks are enough."""
    sums = np.zeros(len(vectors))
    for first in range(0, len(vectors), _BLOCK):
        for start in range(first, len(vectors), _BLOCK):
            cosines = _clipped(vectors[first : first + _BLOCK], vectors[start : start + _BLOCK])
            sums[first : first + _BLOCK] += cosines.sum(axis=1)
            if start > first:
                sums[start : start + _BLOCK] += cosines.sum(axis=0)
    return sums


def _sums_over(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return for each vector the sum over the others."""
    sums = np.zeros(len(vectors))
    for first in range(0, len(vectors), _BLOCK):
        for start in range(0, len(others), _BLOCK):
            cosines = _clipped(vectors[first : first + _BLOCK], others[start : start + _BLOCK])
            sums[first : first + _BLOCK] += cosines.sum(axis=1)
    return sums


def _clipped(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return max(cos, 0) of each vector with each other one, (n, m)."""
    cosines: NDArray[np.float64] = unit_rows(vectors) @ unit_rows(others).T
    return np.maximum(cosines, 0.0, out=cosines)
