"""Weighted sums of word vectors, and the weights of all bags of a collection."""

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


@compiled()
def multiply(first, last, words, weights, values, out):  # type: ignore[no-untyped-def]
    """Fill `out` (t,) with the `weights` (t,) of entries times the `values` (v,) of their `words` (t,)."""
    for entry in range(first, last):
        out[entry] = weights[entry] * values[words[entry]]


@compiled()
def divide(first, last, starts, divisors, weights):  # type: ignore[no-untyped-def]
    """Divide the `weights` (t,) of the entries of each bag i by the bag's one of `divisors` (n,), in place."""
    for i in range(first, last):
        for entry in range(starts[i], starts[i + 1]):
            weights[entry] /= divisors[i]
