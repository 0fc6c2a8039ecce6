"""Dual values of one pass, after the mass that both bags have on a word was taken off."""

import numpy as np
from numba import njit

from moverank.rerank.kernels.flags import MINIMA, SUMS
from moverank.rerank.kernels.minimum import smaller


@njit(cache=True, nogil=True)
def without_overlap(words, weights, start, stop, place, query_weights, rows, left, columns, right):  # type: ignore[no-untyped-def]
    """Take the mass that both bags have on the same word off both sides; return how many words are left of each.

    Fills `rows` and `left` with the document's words and what is left of them, `columns` and `right` with the query's.
    """
    h = len(query_weights)
    for j in range(h):
        right[j] = query_weights[j]
    n = 0
    for entry in range(start, stop):
        rest, j = weights[entry], place[words[entry]]
        if j >= 0:
            common = min(rest, right[j])
            rest -= common
            right[j] -= common
        if rest > 0.0:
            rows[n] = words[entry]
            left[n] = rest
            n += 1
    m = 0
    for j in range(h):
        if right[j] > 0.0:
            columns[m] = j
            right[m] = right[j]
            m += 1
    return n, m


@njit(cache=True, nogil=True)
def coarse_duals(  # type: ignore[no-untyped-def]
    first, last, starts, words, weights, rows, base, above, step, where, place, query_weights, enough, out
):
    """Fill `out` (m,) with a dual value of the documents `rows`: u_i is a row's least cost, v_j = min_i (C_ij - u_i).

    `nearest` (v,) float32 is the least cost of each word, `above` (v, w) uint8 times `step` by how much each column is
    above it, and `where` (v,) its column: only where that has no mass left is the row searched for another.
    Where the value is not above `enough`, the other direction is tried, too.
    """
    h, w = len(query_weights), above.shape[1]
    slack, gone, right = np.empty(w, np.uint8), np.empty(w, np.uint8), np.empty(h)
    for r in range(first, last):
        start, stop = starts[rows[r]], starts[rows[r] + 1]
        slack[:] = 255
        gone[:] = 0
        right[:] = query_weights
        there, value = h, 0.0
        for entry in range(start, stop):
            j = place[words[entry]]
            if j >= 0:
                right[j] -= min(weights[entry], right[j])
                if right[j] <= 0.0:
                    right[j] = 0.0
                    gone[j] = 255
                    there -= 1
        for entry in range(start, stop if there else start):
            word = words[entry]
            left = _left(weights[entry], place[word], query_weights)
            if left <= 0.0:
                continue
            # Loops over bytes stay here: called, they would take twice the time.
            row = above[word]
            if gone[where[word]] == 0:
                for j in range(w):
                    slack[j] = min(slack[j], row[j])
                value += left * base[word]
                continue
            u = np.uint8(255)
            for j in range(w):
                u = min(u, row[j] | gone[j])
            # A column below u is gone: the slack that wraps around there is not asked for.
            for j in range(w):
                slack[j] = min(slack[j], np.uint8(row[j] - u))
            value += left * (base[word] + u * step)
        if there:
            value += _weighed(right, slack) * step
        if there and value <= enough:
            entries = (words[start:stop], weights[start:stop])
            value = max(value, _columns_first(*entries, base, above, step, place, query_weights, gone, right))
        out[r] = value


@njit(cache=True, nogil=True, fastmath=SUMS)
def _weighed(right, slack):  # type: ignore[no-untyped-def]
    """Return the sum of bytes by weight."""
    value = 0.0
    for j in range(len(right)):
        value += right[j] * slack[j]
    return value


@njit(cache=True, nogil=True)
def _left(weight, column, query_weights):  # type: ignore[no-untyped-def]
    """Return what a document has left of a word, when the query has it in a column, or in none (-1)."""
    return weight - min(weight, query_weights[column]) if column >= 0 else weight


@njit(cache=True, nogil=True, fastmath=MINIMA)
def _columns_first(words, weights, base, above, step, place, query_weights, gone, right):  # type: ignore[no-untyped-def]
    """Return the dual value of one document that begins with the columns' minima, in float32."""
    h, w, unit = len(query_weights), above.shape[1], np.float32(step)
    least = np.full(w, np.inf, np.float32)
    for entry in range(len(words)):
        if _left(weights[entry], place[words[entry]], query_weights) > 0.0:
            row, first = above[words[entry]], base[words[entry]]
            for j in range(w):
                least[j] = smaller(least[j], first + row[j] * unit)
    value = 0.0
    for j in range(w):
        if j < h and gone[j] == 0:
            value += right[j] * least[j]
        else:
            least[j] = np.float32(-np.inf)  # out of the problem: as far away as can be for the rows' minima
    for entry in range(len(words)):
        left = _left(weights[entry], place[words[entry]], query_weights)
        if left > 0.0:
            row, first, u = above[words[entry]], base[words[entry]], np.float32(np.inf)
            for j in range(w):
                u = smaller(u, first + row[j] * unit - least[j])
            value += left * u
    return value


@njit(cache=True, nogil=True, fastmath=MINIMA)
def one_pass_duals(first, last, starts, words, weights, rows, cost, place, query_weights, enough, out):  # type: ignore[no-untyped-def]
    """Fill `out` (m,) with a dual value of each problem without overlap, the larger of both directions.

    The second direction is left out where the first is above `enough` already.
    """
    h = cost.shape[1]
    inf = np.float32(np.inf)
    for r in range(first, last):
        start, stop = starts[rows[r]], starts[rows[r] + 1]
        kept, left = np.empty(stop - start, np.int32), np.empty(stop - start)
        columns, right = np.empty(h, np.int32), np.empty(h)
        n, m = without_overlap(words, weights, start, stop, place, query_weights, kept, left, columns, right)
        if n == 0 or m == 0:
            out[r] = 0.0
            continue
        # Columns without mass are out of the problem: as far away as can be for the rows' minima.
        gone = np.full(h, inf, np.float32)
        for c in range(m):
            gone[columns[c]] = 0.0
        slack, least = np.full(h, inf, np.float32), np.full(h, inf, np.float32)
        value = 0.0
        for p in range(n):
            row = cost[kept[p]]
            u = inf
            for j in range(h):
                u = smaller(u, row[j] + gone[j])
            value += left[p] * u
            for j in range(h):
                least[j] = smaller(least[j], row[j])
                slack[j] = smaller(slack[j], row[j] - u)
        for c in range(m):
            value += right[c] * slack[columns[c]]
        if value <= enough:
            value = max(value, _other_direction(cost, kept, left, n, columns, right, m, least, gone))
        out[r] = value


@njit(cache=True, nogil=True, fastmath=MINIMA)
def _other_direction(cost, kept, left, n, columns, right, m, least, gone):  # type: ignore[no-untyped-def]
    """Return the dual value that begins with the columns' minima `least` (h,)."""
    value = 0.0
    for c in range(m):
        value += right[c] * least[columns[c]]
    for j in range(len(least)):
        least[j] -= gone[j]
    for p in range(n):
        row = cost[kept[p]]
        u = np.float32(np.inf)
        for j in range(len(least)):
            u = smaller(u, row[j] - least[j])
        value += left[p] * u
    return value
