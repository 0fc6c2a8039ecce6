"""Both sides of the relaxed Word Mover's Distance (Kusner et al. 2015, section 4)."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.flags import MINIMA
from moverank.rerank.kernels.minimum import smaller


@compiled()
def document_sides(first, last, starts, words, weights, nearest, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with each document's cost when every word moves to the nearest query word, at `nearest` (v,)."""
    for i in range(first, last):
        cost = 0.0
        for entry in range(starts[i], starts[i + 1]):
            cost += weights[entry] * nearest[words[entry]]
        out[i] = cost


@compiled(fastmath=MINIMA)
def query_sides(first, last, starts, words, rows, cost, query_weights, out):  # type: ignore[no-untyped-def]
    """Fill `out` (m,) with the cost when every query word moves to the nearest word of each document `rows` (m,)."""
    h = cost.shape[1]
    least = np.empty(h, np.float32)
    for r in range(first, last):
        least[:] = np.float32(np.inf)
        for entry in range(starts[rows[r]], starts[rows[r] + 1]):
            word = words[entry]
            for j in range(h):
                least[j] = smaller(least[j], cost[word, j])
        total = 0.0
        for j in range(h):
            total += query_weights[j] * least[j]
        out[r] = total
