"""Weighted sums of word vectors."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.products import AHEAD, prefetch_row


@compiled()
def weighted_sums(first, last, starts, words, weights, vectors, sums):  # type: ignore[no-untyped-def]
    """Fill rows of `sums` (n, d) with the sums of the vectors (v, d) float32 of a document's words by their weights.

    The vectors are added up in float64, in the order of the words, and rounded once if `sums` is float32.
    """
    dim, end = vectors.shape[1], starts[last]
    total = np.empty(dim)
    for i in range(first, last):
        total[:] = 0.0
        for entry in range(starts[i], starts[i + 1]):
            if entry + AHEAD < end:
                prefetch_row(vectors, words[entry + AHEAD])
            word, weight = words[entry], weights[entry]
            for j in range(dim):
                total[j] += weight * vectors[word, j]
        for j in range(dim):
            sums[i, j] = total[j]
