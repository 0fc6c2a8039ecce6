"""Costs of words: floors from float32 products, quantised costs of a byte each, and exact costs in float64.

Both sides of the relaxed Word Mover's Distance are minima of costs (Kusner et al. 2015, section 4). `smaller` is a
minimum that LLVM vectorises: numba's own `min` is a comparison and a select, from which current LLVM makes masked
stores and a scalar search for the least element of a row, five times slower. Integers are not affected.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from moverank.rerank.kernels.compiled import MINIMA, SUMS, compiled
from moverank.rerank.kernels.products import row_products


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two floats of one type, neither of them NaN."""
    return min(a, b)


@intrinsic
def _minimum(_context: Any, a: Any, b: Any) -> Any:
    """Call LLVM's minimum intrinsic."""
    if not isinstance(a, types.Float) or a != b:
        return None

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        minimum = builder.module.declare_intrinsic("llvm.minnum", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(minimum, arguments)

    return a(a, b), code


@overload(smaller, jit_options={"fastmath": MINIMA})
def _compiled_smaller(_a, _b):  # type: ignore[no-untyped-def]  # as the lambda has none
    return lambda _a, _b: _minimum(_a, _b)  # type: ignore[call-arg]  # numba passes the context


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
        row_products(vectors[start:stop], query, costs)
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
