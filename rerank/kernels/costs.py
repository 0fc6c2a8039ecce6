"""Costs of words: from float32 products to bounded distances, to one byte each, and exact ones in float64."""

import math

import numpy as np
from numba import njit

from moverank.rerank.kernels.flags import MINIMA, SUMS
from moverank.rerank.kernels.minimum import smaller

# Squares of vectors shorter than 1e-15 underflow float32: whatever is lost is less than this.
_TINY = np.float32(1e-30)


@njit(cache=True, nogil=True, fastmath=MINIMA)
def distances_from_products(first, last, products, norms, query_norms, error, shrink):  # type: ignore[no-untyped-def]
    """Turn inner products (v, h) in place into floors of Euclidean distances; all in float32.

    `error` times the square of the sum of both norms is taken off the squares; the roots are multiplied by `shrink`.
    """
    for i in range(first, last):
        row, norm = products[i], norms[i]
        for j in range(len(query_norms)):
            both = norm + query_norms[j]
            square = (
                norm * norm + query_norms[j] * query_norms[j] - np.float32(2) * row[j] - error * (both * both) - _TINY
            )
            row[j] = shrink * math.sqrt(max(square, np.float32(0)))


@njit(cache=True, nogil=True, fastmath=MINIMA)
def row_minima(first, last, cost, nearest):  # type: ignore[no-untyped-def]
    """Fill `nearest` (v,) with the least of each row of `cost` (v, h)."""
    for i in range(first, last):
        row = cost[i]
        least = row[0]
        for j in range(1, len(row)):
            least = smaller(least, row[j])
        nearest[i] = least


@njit(cache=True, nogil=True, fastmath=MINIMA)
def bytes_above(first, last, cost, base, inverse, above, where):  # type: ignore[no-untyped-def]
    """Fill `above` (v, w), w >= h columns, with how much each cost is above the row's `base` (v,).

    In whole numbers up to 255 of a unit whose reciprocal is `inverse`, rounded down; the columns from h on are 255.
    `where` (v,) int32 is the first column that is not above.
    """
    h, w = cost.shape[1], above.shape[1]
    top = np.float32(255)
    for i in range(first, last):
        row, out, least = cost[i], above[i], base[i]
        for j in range(h):
            out[j] = np.uint8(min((row[j] - least) * inverse, top))
        for j in range(h, w):
            out[j] = 255
        at = np.int32(h)
        for j in range(h):
            at = min(at, np.int32(j) if row[j] == least else np.int32(h))
        where[i] = at


@njit(cache=True, nogil=True)
def coarse_costs(  # type: ignore[no-untyped-def]
    first, last, size, vectors, query, norms, query_norms, error, shrink, place, far, inverse, base, above, where, floor
):
    """Fill in what is kept of the costs of words, `size` at a time so that they stay in the cache: see `bytes_above`.

    `vectors` (v, d), `query` (d, h). A word is `far` (cost) from itself; `above` may have no rows. `floor` (v, h) takes
    the costs themselves, 0 where the word is the same, unless it has no rows. One call for many words, for every return
    to Python may have to wait for its lock.
    """
    room = np.empty((0 if len(floor) > 0 else size, len(query_norms)), np.float32)
    for start in range(first, last, size):
        stop = min(start + size, last)
        costs = floor[start:stop] if len(floor) > 0 else room[: stop - start]
        np.dot(vectors[start:stop], query, costs)
        distances_from_products(0, len(costs), costs, norms[start:stop], query_norms, error, shrink)
        for i in range(len(costs)):
            if place[start + i] >= 0:
                costs[i, place[start + i]] = far
        row_minima(0, len(costs), costs, base[start:stop])
        if len(above) > 0:
            bytes_above(0, len(costs), costs, base[start:stop], inverse, above[start:stop], where[start:stop])
        for i in range(len(costs)):
            if place[start + i] >= 0:
                costs[i, place[start + i]] = 0


@njit(cache=True, nogil=True)
def exact_distances(first, last, sources, targets, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n, m) float64 with the distances of float32 vectors (n, d) and (m, d), taken of differences."""
    for i in range(first, last):
        for j in range(len(targets)):
            out[i, j] = _distance(sources[i], targets[j])


@njit(cache=True, nogil=True)
def exact_arcs(sources, targets, rows, columns):  # type: ignore[no-untyped-def]
    """Return what `exact_distances` has at `rows` and `columns` (a,), as (a,)."""
    out = np.empty(len(rows))
    for a in range(len(rows)):
        out[a] = _distance(sources[rows[a]], targets[columns[a]])
    return out


@njit(cache=True, nogil=True, fastmath=SUMS)
def _distance(source, target):  # type: ignore[no-untyped-def]
    """Return the distance of two vectors (d,)."""
    square = 0.0
    for x in range(len(source)):
        apart = np.float64(source[x]) - np.float64(target[x])
        square += apart * apart
    return math.sqrt(square)
