"""Both sides of the relaxed Word DistanceRanker's Distance (Kusner et al. 2015, section 4)."""

import numpy as np
from numba import njit

from moverank.rerank.kernels.flags import MINIMA
from moverank.rerank.kernels.minimum import smaller


@njit(cache=True, nogil=True)
def document_sides(first, last, starts, words, weights, nearest, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with each document's cost where every word moves to the `nearest` (v,) query word."""
    for i in range(first, last):
        moved = 0.0
        for entry in range(starts[i], starts[i + 1]):
            moved += weights[entry] * nearest[words[entry]]
        out[i] = moved


@njit(cache=True, nogil=True, fastmath=MINIMA)
def query_sides(first, last, starts, words, rows, cost, query_weights, out):  # type: ignore[no-untyped-def]
    """Fill `out` (m,) with the cost where every query word moves to the nearest word of the documents `rows` (m,)."""
    h = cost.shape[1]
    least = np.empty(h, np.float32)
    for r in range(first, last):
        least[:] = np.float32(np.inf)
        for entry in range(starts[rows[r]], starts[rows[r] + 1]):
            row = cost[words[entry]]
            for j in range(h):
                least[j] = smaller(least[j], row[j])
        moved = 0.0
        for j in range(h):
            moved += query_weights[j] * least[j]
        out[r] = moved
