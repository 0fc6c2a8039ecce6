"""Tightness of the bounds of a distance, and the loss from using a bound instead (Kusner et al. 2015, figures 5-7)."""

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
    """Return the mean share of the `true` neighbours (q, k) that are among those `found` (q, m); -1 stands for none."""
    shares = [
        len(set(exact[exact >= 0].tolist()) & set(row.tolist())) / max(1, int(np.count_nonzero(exact >= 0)))
        for row, exact in zip(found, true, strict=True)
    ]
    return float(np.mean(shares))


def prefetched(
    wcd: NDArray[np.float64], rwmd: NDArray[np.float64], distances: NDArray[np.float64], m: int, k: int
) -> tuple[NDArray[np.int64], int]:
    """Return the `k` nearest of the first `m` documents by WCD, and the number of distances that had to be computed.

    Prefetch and prune (Kusner et al. 2015, section 4): compute the first k distances, then, in the order of WCD, those
    whose RWMD is below the k-th distance so far. `wcd`, `rwmd` and `distances` (n,) are those of one query; rows of
    infinite distance are skipped.
    """
    order = [row for row in np.argsort(wcd, kind="stable")[:m].tolist() if np.isfinite(distances[row])]
    best = sorted((float(distances[row]), row) for row in order[:k])
    solved = len(best)
    for row in order[k:]:
        if rwmd[row] < best[-1][0]:
            solved += 1
            best = sorted([*best, (float(distances[row]), row)])[:k]
    return np.array([row for _, row in best], np.int64), solved
