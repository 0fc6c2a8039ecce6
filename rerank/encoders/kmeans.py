"""Centres to start a mixture from: k-means++ and the sums that k-means takes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
_BLOCK = 8192


def spread_centres(points: Points, weights: NDArray[np.float64], count: int, seed: int) -> Points:
    """Draw centres from the points, each with a chance by its weight and its squared distance to the nearest so far.

    Arthur & Vassilvitskii 2007. There are at most `count`, and no more than different points.
    """
    chance = np.random.default_rng(seed)
    centres: list[Points] = []
    masses = weights
    nearest = np.full(len(points), np.inf)
    while len(centres) < count and masses.sum() > 0:
        # The first whose cumulated mass is above the draw: it has mass of its own.
        reached = np.cumsum(masses)
        place = int(np.searchsorted(reached, chance.random() * reached[-1], side="right"))
        centres.append(points[min(place, int(np.flatnonzero(masses)[-1]))])
        np.minimum(nearest, np.square(points - centres[-1]).sum(axis=1), out=nearest)
        masses = weights * nearest
    return np.array(centres)


def nearest_centres(points: Points, centres: Points) -> NDArray[np.intp]:
    """Return the nearest centre (n,) of each point."""
    lengths = np.square(centres).sum(axis=1)
    found = np.empty(len(points), np.intp)
    for first in range(0, len(points), _BLOCK):
        found[first : first + _BLOCK] = (lengths - 2 * points[first : first + _BLOCK] @ centres.T).argmin(axis=1)
    return found


def owned_sums(
    points: Points, weights: NDArray[np.float64], owners: NDArray[np.intp], count: int
) -> tuple[NDArray[np.float64], Points, Points]:
    """Return the sums of weights (K,), of weighted points and of their squares (K, e) over what each centre owns."""
    from scipy.sparse import csr_array

    owned: Any = csr_array((weights, owners, np.arange(len(points) + 1)), shape=(len(points), count)).T
    masses = np.bincount(owners, weights, count).astype(np.float64)
    return masses, owned @ points, owned @ (points * points)
