"""Tightness of the bounds of a distance, and the loss from using a bound instead (Kusner et al. 2015, figures 5-7).

Hubness: some documents are among the nearest neighbours of very many others (Radovanović et al. 2010).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

BOUNDS = ("wcd", "rwmd_query", "rwmd_document", "rwmd", "dual", "sinkhorn")
"""Names of the lower bounds of `rerank.distance.every_bound`, in the order in which they are reported."""


def tightness(bound: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """Return the mean of bound / distance over all pairs with a finite distance > 0; 1 if there is none.

    `bound` and `distances` must have one shape, else EvaluationError is raised (Kusner et al. 2015, figure 5, left).
    """
    if bound.shape != distances.shape:
        raise EvaluationError(f"there must be a bound for each distance, not {bound.shape} for {distances.shape}")
    positive = np.isfinite(distances) & (distances > 0)
    return float(np.mean(bound[positive] / distances[positive])) if positive.any() else 1.0


def kept_neighbours(found: NDArray[np.int64], true: NDArray[np.int64]) -> float:
    """Return the mean share of the `true` neighbours (q, k) among the neighbours `found` (q, m); -1 stands for none."""
    shares = [
        len(set(exact[exact >= 0].tolist()) & set(row.tolist())) / max(1, int(np.count_nonzero(exact >= 0)))
        for row, exact in zip(found, true, strict=True)
    ]
    return float(np.mean(shares))


def prefetched(
    wcd: NDArray[np.float64], rwmd: NDArray[np.float64], distances: NDArray[np.float64], m: int, k: int
) -> tuple[NDArray[np.int64], int]:
    """Return the `k` nearest of the first `m` documents by WCD, and the number of distances that had to be computed.

    Prefetch and prune (Kusner et al. 2015, section 4): compute the first k distances, then, in the order of WCD, each
    distance whose RWMD is below the k-th distance so far. `wcd`, `rwmd` and `distances` (n,) belong to one query; rows
    of infinite distance are skipped.
    """
    order = [row for row in np.argsort(wcd, kind="stable")[:m].tolist() if np.isfinite(distances[row])]
    best = sorted((float(distances[row]), row) for row in order[:k])
    solved = len(best)
    for row in order[k:]:
        if rwmd[row] < best[-1][0]:
            solved += 1
            best = sorted([*best, (float(distances[row]), row)])[:k]
    return np.array([row for _, row in best], np.int64), solved


def k_occurrences(neighbours: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return how often (n,) each of `n` documents is among the k nearest: `neighbours` (m, k), -1 for none.

    Raises EvaluationError for a neighbour that is not below `n`.
    """
    counts: NDArray[np.int64] = np.bincount(neighbours[neighbours >= 0], minlength=n).astype(np.int64)
    if len(counts) > n:
        raise EvaluationError(f"there is a neighbour {len(counts) - 1} but only {n} documents")
    return counts


def skewness(counts: NDArray[np.int64]) -> float:
    """Return E((N_k - mean)^3) / deviation^3 of `counts` N_k (n,): far above 0 with hubs, 0 if all are equal."""
    centred = counts - counts.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean(centred**3)) / deviation**3 if deviation > 0 else 0.0


def hubness(neighbours: Sequence[NDArray[np.int64]], n: int, k: int = 10) -> float:
    """Return the skewness of `k`-occurrence among `n` documents.

    `neighbours` are the rows (at least k,) of the documents nearest to each query, nearest first; fewer than k if a
    query has no more neighbours. Raises EvaluationError if there is no document, or `k` is below 1.
    """
    if min(k, n) < 1:
        raise EvaluationError("hubness needs a document and a k of 1 or more")
    return skewness(k_occurrences(np.concatenate([np.empty(0, np.int64), *(rows[:k] for rows in neighbours)]), n))
