"""Bounds from both sides by Sinkhorn's scaling: any potentials give a lower bound, any plan an upper one."""

import math

import numpy as np
from numba import njit

from moverank.rerank.kernels.duals import without_overlap
from moverank.rerank.kernels.flags import MINIMA, SUMS
from moverank.rerank.kernels.minimum import smaller

# exp(x) ~ (1 + x / 2^8)^(2^8): eight products, which vectorise, where the true exponential does not.
_SQUARINGS = 8
# A coarse regularisation comes near quickly, a finer one from there nearer: each relative to the one-pass dual.
_SHARPNESS = (0.03, 0.01)
# The kernel's rows are filled up with zeros: what is left over after whole vectors takes as long as all of these.
_LANES = 32


@njit(cache=True, nogil=True, error_model="numpy")
def sinkhorn_bounds(  # type: ignore[no-untyped-def]
    first, last, starts, words, weights, rows, cost, place, query_weights, steps, enough, slack, lower, upper
):
    """Fill `lower` and `upper` (m,) with bounds of the distance, from twice `steps` of Sinkhorn's scaling.

    `lower` is the dual value of the potentials, made feasible by c-transforms; half of the steps have to do where it is
    above `enough`, and `upper` is infinity then. `upper` is the cost of the plan, made feasible by rounding (Altschuler
    et al. 2017, algorithm 2), each cost c raised to sqrt(c^2 + slack), which is never below the exact one.
    """
    h = cost.shape[1]
    for r in range(first, last):
        start, stop = starts[rows[r]], starts[rows[r] + 1]
        kept, left = np.empty(stop - start, np.int32), np.empty(stop - start)
        columns, right = np.empty(h, np.int32), np.empty(h)
        n, m = without_overlap(words, weights, start, stop, place, query_weights, kept, left, columns, right)
        lower[r], upper[r] = 0.0, 0.0
        if n == 0 or m == 0:
            continue
        local = np.empty((n, m), np.float32)
        for p in range(n):
            row = cost[kept[p]]
            for c in range(m):
                local[p, c] = row[columns[c]]
        left, right = left[:n], right[:m]
        u, v = _one_pass(local)
        unit = _mean_cost(u, v, left, right)
        upper[r] = np.inf
        for sharpness in _SHARPNESS:
            kernel, f, moved = _moved_by_scaling(local, left, right, u, v, unit * sharpness, steps)
            fine_u, fine_v = _completed(local, moved)
            lower[r] = max(lower[r], _dual_value(fine_u, fine_v, left, right))
            if lower[r] > enough:
                break
            u, v = fine_u.astype(np.float32), fine_v.astype(np.float32)
        if lower[r] <= enough:
            upper[r] = _rounded_cost(local, kernel, left, right, f, slack)


@njit(cache=True, nogil=True, error_model="numpy")
def near_potentials(cost, left, right, steps):  # type: ignore[no-untyped-def]
    """Return feasible potentials (n,) and (m,) of a cost (n, m) float64, near the best by Sinkhorn's scaling."""
    local = cost.astype(np.float32)
    u, v = _one_pass(local)
    unit = _mean_cost(u, v, left, right)
    for sharpness in _SHARPNESS:
        _, _, moved = _moved_by_scaling(local, left, right, u, v, unit * sharpness, steps)
        fine_u, fine_v = _completed(cost, moved)
        u, v = fine_u.astype(np.float32), fine_v.astype(np.float32)
    return fine_u, fine_v


@njit(cache=True, nogil=True)
def _moved_by_scaling(local, left, right, u, v, scale, steps):  # type: ignore[no-untyped-def]
    """Scale the kernel that potentials make; return it, its rows' factors (n,), and the rows' potentials (n,) by these.

    A factor that the scaling has spoilt leaves its row's potential as it was.
    """
    f = np.ones(len(left), np.float32)
    kernel = _kernel(local, u, v, np.float32(1.0 / scale))
    _scale(kernel, left.astype(np.float32), right.astype(np.float32), steps, f)
    moved = np.empty(len(u))
    for p in range(len(u)):
        step = scale * math.log(f[p]) if 0.0 < f[p] < np.inf else 0.0
        moved[p] = u[p] + step
    return kernel, f, moved


@njit(cache=True, nogil=True, fastmath=MINIMA)
def _completed(cost, moved):  # type: ignore[no-untyped-def]
    """Complete the rows' potentials (n,) by both c-transforms: the result is feasible, whatever they were.

    Potentials are free up to a constant: this one keeps both sides within the largest cost, and sums exact.
    """
    n, m = cost.shape
    u, v = np.empty(n), np.full(m, np.inf)
    for p in range(n):
        row, potential = cost[p], moved[p]
        for c in range(m):
            v[c] = smaller(v[c], row[c] - potential)
    v -= v.min()
    for p in range(n):
        row = cost[p]
        least = np.inf
        for c in range(m):
            least = smaller(least, row[c] - v[c])
        u[p] = least
    return u, v


@njit(cache=True, nogil=True, fastmath=MINIMA)
def _one_pass(local):  # type: ignore[no-untyped-def]
    """Return the feasible potentials (n,) and (m,) of one pass: each row and each column has a tight entry."""
    n, m = local.shape
    u, v = np.empty(n, np.float32), np.full(m, np.inf, np.float32)
    for p in range(n):
        row = local[p]
        least = np.float32(np.inf)
        for c in range(m):
            least = smaller(least, row[c])
        u[p] = least
        for c in range(m):
            v[c] = smaller(v[c], row[c] - least)
    return u, v


@njit(cache=True, nogil=True, error_model="numpy")
def _mean_cost(u, v, left, right):  # type: ignore[no-untyped-def]
    """Return the mean cost that potentials stand for: the unit of the regularisation."""
    total, mass = 0.0, 0.0
    for p in range(len(u)):
        total += left[p] * u[p]
        mass += left[p]
    for c in range(len(v)):
        total += right[c] * v[c]
    return max(total / mass, 1e-30)


@njit(cache=True, nogil=True, fastmath=SUMS)
def _kernel(local, u, v, sharp):  # type: ignore[no-untyped-def]
    """Return exp((u + v - cost) sharp) (n, w), nearly, w >= m columns: those from m on are 0."""
    n, m = local.shape
    kernel = np.zeros((n, -(-m // _LANES) * _LANES), np.float32)
    share = np.float32(sharp / 2**_SQUARINGS)
    for p in range(n):
        row, out = local[p], kernel[p]
        for c in range(m):
            x = max(np.float32(1) + (u[p] + v[c] - row[c]) * share, np.float32(0))
            for _ in range(_SQUARINGS):
                x *= x
            out[c] = x
    return kernel


@njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")
def _scale(kernel, left, right, steps, f):  # type: ignore[no-untyped-def]
    """Scale the kernel's rows to `left` and its columns to `right`, in turn; `f` (n,) becomes the rows' factors."""
    n, w = kernel.shape
    g, sums = np.ones(w, np.float32), np.empty(w, np.float32)
    for _ in range(steps):
        sums[:] = np.float32(0)
        for p in range(n):
            row = kernel[p]
            total = np.float32(0)
            for c in range(w):
                total += row[c] * g[c]
            factor = left[p] / total
            f[p] = factor
            for c in range(w):
                sums[c] += row[c] * factor
        for c in range(len(right)):
            g[c] = right[c] / sums[c]


@njit(cache=True, nogil=True)
def _dual_value(u, v, left, right):  # type: ignore[no-untyped-def]
    """Return the value of potentials."""
    value = 0.0
    for p in range(len(u)):
        value += left[p] * u[p]
    for c in range(len(v)):
        value += right[c] * v[c]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _rounded_cost(local, kernel, left, right, f, slack):  # type: ignore[no-untyped-def]
    """Return the cost of the scaled kernel after rounding it to a plan, infinity where the scaling has spoilt it.

    The columns are scaled once more, in float64, so that none has more than its mass but for rounding.
    """
    n, m = local.shape
    g = np.zeros(m)
    for p in range(n):
        row, scaled = kernel[p], np.float64(f[p])
        for c in range(m):
            g[c] += row[c] * scaled
    for c in range(m):
        g[c] = right[c] / g[c]
        if not (g[c] < 1e100):  # so that no product below overflows
            return np.inf
    cost, missing = 0.0, 0.0
    short, sent = np.empty(n), np.zeros(m)
    for p in range(n):
        total = _dot(kernel[p], g)
        factor = min(np.float64(f[p]), left[p] / total) if total > 0.0 else 0.0
        cost += _send(kernel[p], g, factor, local[p], slack, sent)
        rest = max(left[p] - factor * total, 0.0)
        short[p] = rest
        missing += rest
    over, lacking = 0.0, 0.0
    for c in range(m):
        over = max(over, sent[c] - right[c])
        sent[c] = max(right[c] - sent[c], 0.0)
        lacking += sent[c]
    # A column may be overfull by rounding only: more than that is no plan.
    if not (over < 1e-12):
        return np.inf
    if missing > 0.0 and lacking > 0.0:
        for p in range(n):
            cost += _fill(sent, short[p] / lacking, local[p], slack)
    return cost


@njit(cache=True, nogil=True, fastmath=SUMS)
def _dot(row, g):  # type: ignore[no-untyped-def]
    """Return the product of a row and the columns' factors."""
    total = 0.0
    for c in range(len(g)):
        total += row[c] * g[c]
    return total


@njit(cache=True, nogil=True, fastmath=SUMS)
def _send(row, g, factor, costs, slack, sent):  # type: ignore[no-untyped-def]
    """Send a row's mass, add it to the columns' `sent` (m,), and return what it costs."""
    cost = 0.0
    for c in range(len(g)):
        mass = factor * row[c] * g[c]
        sent[c] += mass
        cost += mass * math.sqrt(np.float64(costs[c]) * np.float64(costs[c]) + slack)
    return cost


@njit(cache=True, nogil=True, fastmath=SUMS)
def _fill(lacking, share, costs, slack):  # type: ignore[no-untyped-def]
    """Return what it costs to fill up all columns by a share of what they lack."""
    cost = 0.0
    for c in range(len(lacking)):
        cost += lacking[c] * share * math.sqrt(np.float64(costs[c]) * np.float64(costs[c]) + slack)
    return cost
