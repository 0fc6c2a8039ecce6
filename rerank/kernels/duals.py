"""One-pass dual values of documents, after removing the mass that both bags have on a word.

Costs are indexed in place, `cost[word, j]`: for a view of a row, numba counts references, which takes as long as the
bound.
"""

import numpy as np

from moverank.rerank.kernels.compiled import MINIMA, compiled
from moverank.rerank.kernels.costs import smaller
from moverank.rerank.kernels.products import AHEAD, inner_product, prefetch_entry, prefetch_row


@compiled()
def without_overlap(  # type: ignore[no-untyped-def]
    words, weights, start, stop, query_index, query_weights, rows, left, columns, right
):
    """Remove the mass that both bags have on the same word; return how many words of each have mass left.

    The document has the entries from `start` to `stop` of `words` and `weights`. Fills `rows` and `left` with its
    remaining words and their mass, `columns` and `right` with the query's.
    """
    h = len(query_weights)
    for j in range(h):
        right[j] = query_weights[j]
    n = 0
    for entry in range(start, stop):
        rest, j = weights[entry], query_index[words[entry]]
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


# One function, because the loops over bytes take twice the time in separate functions.
@compiled()
def quantised_duals(  # type: ignore[no-untyped-def]
    first,
    last,
    starts,
    words,
    weights,
    rows,
    base,
    above,
    step,
    base_column,
    query_index,
    query_weights,
    thresholds,
    out,
):
    """Fill `out` (m,) with a dual value of the documents `rows` (m,): u_i = min_j C_ij, v_j = min_i (C_ij - u_i).

    `base` (v,) float32 is the least cost of each word, `above` (v, w) uint8 times `step` the excess of each column over
    it, and `base_column` (v,) its column: a row is searched for another minimum only if that column has no mass left.
    Where the value does not exceed the document's one of `thresholds` (m,), the second direction is computed, too, and
    the larger value is kept.
    """
    h, w = len(query_weights), above.shape[1]
    slack, removed, right = np.empty(w, np.uint8), np.empty(w, np.uint8), np.empty(h)
    for r in range(first, last):
        start, stop = starts[rows[r]], starts[rows[r] + 1]
        slack[:] = 255
        removed[:] = 0  # 255 marks a column without mass
        right[:] = query_weights
        columns_left, value = h, 0.0
        for entry in range(start, stop):
            j = query_index[words[entry]]
            if j >= 0:
                right[j] -= min(weights[entry], right[j])
                if right[j] <= 0.0:
                    right[j] = 0.0
                    removed[j] = 255
                    columns_left -= 1
        for entry in range(start, stop if columns_left else start):
            word = words[entry]
            if entry + AHEAD < stop:
                ahead = words[entry + AHEAD]
                prefetch_row(above, ahead)
                prefetch_entry(base, ahead)
                prefetch_entry(base_column, ahead)
            left = _mass_left(weights[entry], query_index[word], query_weights)
            if left <= 0.0:
                continue
            if removed[base_column[word]] == 0:
                for j in range(w):
                    slack[j] = min(slack[j], above[word, j])
                value += left * base[word]
                continue
            u = _least_left(above, word, removed)
            _lower_slack(above, word, u, slack)
            value += left * (base[word] + u * step)
        if columns_left:
            value += inner_product(right, slack) * step
        if columns_left and value <= thresholds[r]:
            entries = (words[start:stop], weights[start:stop])
            value = max(value, _columns_first(*entries, base, above, step, query_index, query_weights, removed, right))
        out[r] = value


@compiled()
def _least_left(above, word, removed):  # type: ignore[no-untyped-def]
    """Return the least excess of a word over the columns that are not `removed` (w,), at most 255."""
    u = np.uint8(255)
    for j in range(len(removed)):
        u = min(u, above[word, j] | removed[j])
    return u


@compiled()
def _lower_slack(above, word, u, slack):  # type: ignore[no-untyped-def]
    """Lower `slack` (w,) to the excess of a word over `u`; values of removed columns wrap around, and are unused."""
    for j in range(len(slack)):
        slack[j] = min(slack[j], np.uint8(above[word, j] - u))


@compiled()
def _mass_left(weight, column, query_weights):  # type: ignore[no-untyped-def]
    """Return the mass that remains on a document's word, which the query has in `column`, -1 for none."""
    return weight - min(weight, query_weights[column]) if column >= 0 else weight


@compiled(fastmath=MINIMA)
def _columns_first(words, weights, base, above, step, query_index, query_weights, removed, right):  # type: ignore[no-untyped-def]
    """Return the dual value of one document that begins with the minima of the columns, in float32."""
    h, w, unit = len(query_weights), above.shape[1], np.float32(step)
    least = np.full(w, np.inf, np.float32)
    for entry in range(len(words)):
        word = words[entry]
        if _mass_left(weights[entry], query_index[word], query_weights) > 0.0:
            word_base = base[word]
            for j in range(w):
                least[j] = smaller(least[j], word_base + above[word, j] * unit)
    value = 0.0
    for j in range(w):
        if j < h and removed[j] == 0:
            value += right[j] * least[j]
        else:
            least[j] = np.float32(-np.inf)  # excludes the column from the minima of the rows
    for entry in range(len(words)):
        word = words[entry]
        left = _mass_left(weights[entry], query_index[word], query_weights)
        if left > 0.0:
            word_base, u = base[word], np.float32(np.inf)
            for j in range(w):
                u = smaller(u, word_base + above[word, j] * unit - least[j])
            value += left * u
    return value


@compiled(fastmath=MINIMA)
def one_pass_duals(  # type: ignore[no-untyped-def]
    first, last, starts, words, weights, rows, cost, query_index, query_weights, thresholds, out
):
    """Fill `out` (m,) with a dual value of each problem without shared mass, the larger of both directions.

    The second direction is skipped where the first exceeds the document's one of `thresholds` (m,).
    """
    h = cost.shape[1]
    inf = np.float32(np.inf)
    for r in range(first, last):
        start, stop = starts[rows[r]], starts[rows[r] + 1]
        word_rows, left = np.empty(stop - start, np.int32), np.empty(stop - start)
        columns, right = np.empty(h, np.int32), np.empty(h)
        n, m = without_overlap(words, weights, start, stop, query_index, query_weights, word_rows, left, columns, right)
        if n == 0 or m == 0:
            out[r] = 0.0
            continue
        # Columns without mass are not part of the problem, and are infinitely far in the minima of the rows.
        removed = np.full(h, inf, np.float32)
        for c in range(m):
            removed[columns[c]] = 0.0
        slack, least = np.full(h, inf, np.float32), np.full(h, inf, np.float32)
        value = 0.0
        for p in range(n):
            if p + AHEAD < n:
                prefetch_row(cost, word_rows[p + AHEAD])
            word, u = word_rows[p], inf
            for j in range(h):
                u = smaller(u, cost[word, j] + removed[j])
            value += left[p] * u
            for j in range(h):
                least[j] = smaller(least[j], cost[word, j])
                slack[j] = smaller(slack[j], cost[word, j] - u)
        for c in range(m):
            value += right[c] * slack[columns[c]]
        if value <= thresholds[r]:
            value = max(value, _other_direction(cost, word_rows, left, n, columns, right, m, least, removed))
        out[r] = value


@compiled(fastmath=MINIMA)
def _other_direction(cost, word_rows, left, n, columns, right, m, least, removed):  # type: ignore[no-untyped-def]
    """Return the dual value that begins with the minima of the columns, `least` (h,)."""
    value = 0.0
    for c in range(m):
        value += right[c] * least[columns[c]]
    for j in range(len(least)):
        least[j] -= removed[j]
    for p in range(n):
        word, u = word_rows[p], np.float32(np.inf)
        for j in range(len(least)):
            u = smaller(u, cost[word, j] - least[j])
        value += left[p] * u
    return value


@compiled(fastmath=MINIMA)
def c_transform(first, last, cost, potentials, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with min_j (C_ij - u_j) of `cost` (n, h) float64 and the `potentials` u (h,)."""
    for i in range(first, last):
        least = np.inf
        for j in range(len(potentials)):
            least = smaller(least, cost[i, j] - potentials[j])
        out[i] = least
