"""Parts of k-means that initialise a mixture: k-means++ seeding, assignment and sums by cluster."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
_BLOCK = 8192


def spread_centres(points: Points, weights: NDArray[np.float64], count: int, seed: int) -> Points:
    """Return at most `count` distinct centres drawn from `points` (n, e) by k-means++ (Arthur & Vassilvitskii 2007).

    The probability of a point is proportional to its weight, of `weights` (n,), times its squared distance to the
    nearest centre so far. There are no more centres than distinct points. `seed` makes the draws reproducible.
    """
    generator = np.random.default_rng(seed)
    centres: list[Points] = []
    masses = weights
    nearest = np.full(len(points), np.inf)
    while len(centres) < count and masses.sum() > 0:
        # The first point whose cumulated mass exceeds the draw has a mass above zero.
        cumulated = np.cumsum(masses)
        row = int(np.searchsorted(cumulated, generator.random() * cumulated[-1], side="right"))
        centres.append(points[min(row, int(np.flatnonzero(masses)[-1]))])
        np.minimum(nearest, np.square(points - centres[-1]).sum(axis=1), out=nearest)
        masses = weights * nearest
    return np.array(centres)


def nearest_centres(points: Points, centres: Points) -> NDArray[np.intp]:
    """Return for each of `points` (n, e) the index (n,) of the nearest of `centres` (K, e)."""
    squares = np.square(centres).sum(axis=1)
    nearest = np.empty(len(points), np.intp)
    for first in range(0, len(points), _BLOCK):
        nearest[first : first + _BLOCK] = (squares - 2 * points[first : first + _BLOCK] @ centres.T).argmin(axis=1)
    return nearest


def cluster_sums(
    points: Points, weights: NDArray[np.float64], clusters: NDArray[np.intp], count: int
) -> tuple[NDArray[np.float64], Points, Points]:
    """Return the sums of weights (K,), of weighted points and of their squares (K, e) for each of `count` = K clusters.

    `points` (n, e) have `weights` (n,) and belong to `clusters` (n,), from 0 to K - 1.
    """
    from scipy.sparse import csr_array

    members: Any = csr_array((weights, clusters, np.arange(len(points) + 1)), shape=(len(points), count)).T
    masses = np.bincount(clusters, weights, count).astype(np.float64)
    return masses, members @ points, members @ (points * points)
