"""Lengths of the centroids of bags, without the centroids themselves."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.flags import SUMS
from moverank.rerank.kernels.prefetch import AHEAD, prefetch_row


@compiled(fastmath=SUMS)
def centroid_lengths(first, last, starts, words, weights, vectors, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with the length of each document's centroid over word `vectors` (v, d) float32."""
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
        square = 0.0
        for j in range(dim):
            square += total[j] * total[j]
        out[i] = np.sqrt(square)
