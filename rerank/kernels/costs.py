"""Costs of words: distance floors from float32 products, quantised costs of a byte each, and exact ones in float64."""

import math

import numpy as np

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.flags import MINIMA, SUMS
from moverank.rerank.kernels.minimum import smaller
from moverank.rerank.kernels.products import products

# Squares of vectors shorter than 1e-15 underflow float32: the loss is below this.
_TINY = np.float32(1e-30)


@compiled(fastmath=MINIMA)
def distances_from_products(first, last, products, norms, query_norms, error, shrink):  # type: ignore[no-untyped-def]
    """Replace the inner products `products` (v, h) by floors of Euclidean distances, in place; all in float32.

    `error` times the square of the sum of both norms is subtracted from the squares; the roots are multiplied by
    `shrink`.
    """
    for i in range(first, last):
        row, norm = products[i], norms[i]
        for j in range(len(query_norms)):
            both = norm + query_norms[j]
            square = (
                norm * norm + query_norms[j] * query_norms[j] - np.float32(2) * row[j] - error * (both * both) - _TINY
            )
            row[j] = shrink * math.sqrt(max(square, np.float32(0)))


@compiled(fastmath=MINIMA)
def row_minima(first, last, cost, nearest):  # type: ignore[no-untyped-def]
    """Fill `nearest` (v,) with the minimum of each row of `cost` (v, h)."""
    for i in range(first, last):
        row = cost[i]
        least = row[0]
        for j in range(1, len(row)):
            least = smaller(least, row[j])
        nearest[i] = least


@compiled(fastmath=MINIMA)
def excess_bytes(first, last, cost, base, inverse, above, base_column):  # type: ignore[no-untyped-def]
    """Fill `above` (v, w) uint8, w >= h columns, with the excess of each `cost` (v, h) over the row's `base` (v,).

    The excess is counted in steps of 1 / `inverse`, rounded down and clipped at 255; the columns from h on are 255.
    `base_column` (v,) int32 is filled with the first column without excess.
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
        base_column[i] = at


# Longer than 40 lines, because each of its 16 parameters takes one.
@compiled()
def quantised_costs(  # type: ignore[no-untyped-def]
    first,
    last,
    size,
    vectors,
    query,
    norms,
    query_norms,
    error,
    shrink,
    query_index,
    far,
    inverse,
    base,
    above,
    base_column,
    floor,
):
    """Fill `base`, `above` and `base_column` with the quantised costs of words: see `excess_bytes`.

    `vectors` is (v, d), `query` (h, d); `error` and `shrink` as in `distances_from_products`, `inverse` as in
    `excess_bytes`. The cost of a word to itself is taken as `far`. `above` may have no rows: then only `base` is
    filled. `floor` (v, h), unless it has no rows, is filled with the float32 costs, 0 where the word is the same. Words
    are processed `size` at a time, so that their costs stay in the CPU cache. One call processes many words, because
    each return to Python may have to wait for the GIL.
    """
    buffer = np.empty((0 if len(floor) > 0 else size, len(query_norms)), np.float32)
    for start in range(first, last, size):
        stop = min(start + size, last)
        costs = floor[start:stop] if len(floor) > 0 else buffer[: stop - start]
        products(vectors[start:stop], query, costs)
        distances_from_products(0, len(costs), costs, norms[start:stop], query_norms, error, shrink)
        for i in range(len(costs)):
            if query_index[start + i] >= 0:
                costs[i, query_index[start + i]] = far
        row_minima(0, len(costs), costs, base[start:stop])
        if len(above) > 0:
            excess_bytes(0, len(costs), costs, base[start:stop], inverse, above[start:stop], base_column[start:stop])
        for i in range(len(costs)):
            if query_index[start + i] >= 0:
                costs[i, query_index[start + i]] = 0


@compiled()
def exact_distances(first, last, sources, targets, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n, m) float64 with distances of `sources` (n, d) and `targets` (m, d), computed from differences."""
    for i in range(first, last):
        for j in range(len(targets)):
            out[i, j] = _distance(sources[i], targets[j])


@compiled()
def exact_arcs(sources, targets, rows, columns):  # type: ignore[no-untyped-def]
    """Return the distances (a,) of `sources` (n, d) and `targets` (m, d) at the arcs `rows` (a,), `columns` (a,)."""
    out = np.empty(len(rows))
    for a in range(len(rows)):
        out[a] = _distance(sources[rows[a]], targets[columns[a]])
    return out


@compiled(fastmath=SUMS)
def _distance(source, target):  # type: ignore[no-untyped-def]
    """Return the distance of two vectors (d,)."""
    square = 0.0
    for x in range(len(source)):
        difference = np.float64(source[x]) - np.float64(target[x])
        square += difference * difference
    return math.sqrt(square)
