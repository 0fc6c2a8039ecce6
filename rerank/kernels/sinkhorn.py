"""Lower and upper bounds by Sinkhorn's scaling: any feasible potentials give a lower bound, any plan an upper one.

The plan is near a scaled kernel (Altschuler et al. 2017, algorithm 2).
"""

import math

import numpy as np

from moverank.rerank.kernels.compiled import MINIMA, SUMS, compiled
from moverank.rerank.kernels.costs import smaller
from moverank.rerank.kernels.duals import without_overlap
from moverank.rerank.kernels.products import four_products, inner_product

# Covers the float32 rounding of the root of c^2 + slack: product, sum and root are off by less than 2^-23.
_RAISED = 1 + 2.0**-22


@compiled(error_model="numpy")
def rounded_cost(local, kernel, left, right, f, slack):  # type: ignore[no-untyped-def]
    """Return the cost of the scaled kernel after rounding it to a plan, infinity where scaling overflowed.

    The columns are scaled once more, in float64, so that none exceeds its mass by more than rounding.
    """
    n, m = local.shape
    g, raised_slack = np.zeros(m), np.float32(slack * _RAISED)
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
        total = inner_product(g, kernel[p])
        factor = min(np.float64(f[p]), left[p] / total) if total > 0.0 else 0.0
        cost += _send(kernel[p], g, factor, local[p], raised_slack, sent)
        rest = max(left[p] - factor * total, 0.0)
        short[p] = rest
        missing += rest
    over, lacking = 0.0, 0.0
    for c in range(m):
        over = max(over, sent[c] - right[c])
        sent[c] = max(right[c] - sent[c], 0.0)
        lacking += sent[c]
    # A column may exceed its mass by rounding only: otherwise this is not a plan.
    if not (over < 1e-12):
        return np.inf
    if missing > 0.0 and lacking > 0.0:
        for p in range(n):
            cost += _fill(sent, short[p] / lacking, local[p], raised_slack)
    return cost * _RAISED


@compiled(fastmath=SUMS)
def _send(row, g, factor, costs, slack, sent):  # type: ignore[no-untyped-def]
    """Move the mass of a row, add it to `sent` (m,) of the columns, and return its cost."""
    cost = 0.0
    for c in range(len(g)):
        mass = factor * row[c] * g[c]
        sent[c] += mass
        cost += mass * math.sqrt(costs[c] * costs[c] + slack)
    return cost


@compiled(fastmath=SUMS)
def _fill(lacking, share, costs, slack):  # type: ignore[no-untyped-def]
    """Return the cost of moving a share of the mass that each column lacks."""
    cost = 0.0
    for c in range(len(lacking)):
        cost += lacking[c] * share * math.sqrt(costs[c] * costs[c] + slack)
    return cost


# exp(x) ~ (1 + x / 2^8)^(2^8): eight products, which vectorise, unlike a call of the exponential function.
_SQUARINGS = 8
# Regularisations of `near_potentials`, relative to the one-pass dual.
_REGULARISATIONS = (0.03, 0.01)
# The rows of the kernel are padded with zeros to whole SIMD vectors: a remainder loop would double the time.
_LANES = 32


@compiled(error_model="numpy")
def sinkhorn_bounds(  # type: ignore[no-untyped-def]
    first,
    last,
    starts,
    words,
    weights,
    rows,
    cost,
    query_index,
    query_weights,
    regularisations,
    steps,
    thresholds,
    slack,
    lower,
    upper,
):
    """Fill `lower` and `upper` (m,) with bounds of the distance, from Sinkhorn's scaling in stages.

    Stage i scales `steps[i]` times with `regularisations[i]`, relative to the one-pass dual: a strong regularisation
    converges fast, a weaker one then refines the potentials. A stage with the regularisation of the stage before
    continues with the same kernel.

    `lower` is the largest dual value of the potentials after a stage, made feasible by c-transforms. Once it exceeds
    the document's entry of `thresholds` (m,), the remaining stages are skipped, and `upper` is infinite. Otherwise
    `upper` is the cost of the plan made feasible by rounding (Altschuler et al. 2017, algorithm 2), each cost c raised
    to sqrt(c^2 + `slack`), never below the exact one.
    """
    h = cost.shape[1]
    for r in range(first, last):
        start, stop = starts[rows[r]], starts[rows[r] + 1]
        word_rows, left = np.empty(stop - start, np.int32), np.empty(stop - start)
        columns, right = np.empty(h, np.int32), np.empty(h)
        n, m = without_overlap(words, weights, start, stop, query_index, query_weights, word_rows, left, columns, right)
        lower[r], upper[r] = 0.0, 0.0
        if n == 0 or m == 0:
            continue
        local = np.empty((n, m), np.float32)
        for p in range(n):
            row = cost[word_rows[p]]
            for c in range(m):
                local[p, c] = row[columns[c]]
        left, right = left[:n], right[:m]
        left32, right32 = left.astype(np.float32), right.astype(np.float32)
        u, v = _one_pass(local)
        unit = _mean_cost(u, v, left, right)
        upper[r] = np.inf
        for stage in range(len(steps)):
            scale = unit * regularisations[stage]
            if stage == 0 or regularisations[stage] != regularisations[stage - 1]:
                kernel_u, (kernel, f, g) = u, _unscaled(local, u, v, scale)
            _scale(kernel, left32, right32, steps[stage], f, g)
            fine_u, fine_v = _c_transforms(local, _row_potentials(kernel_u, f, scale))
            lower[r] = max(lower[r], _dual_value(fine_u, fine_v, left, right))
            if lower[r] > thresholds[r]:
                break
            u, v = fine_u.astype(np.float32), fine_v.astype(np.float32)
        if lower[r] <= thresholds[r]:
            upper[r] = rounded_cost(local, kernel, left, right, f, slack)


@compiled(error_model="numpy")
def near_potentials(cost, left, right, steps):  # type: ignore[no-untyped-def]
    """Return feasible, near-optimal potentials (n,), (m,) of `cost` (n, m) float64, by twice `steps` of scaling."""
    local = cost.astype(np.float32)
    u, v = _one_pass(local)
    unit = _mean_cost(u, v, left, right)
    for regularisation in _REGULARISATIONS:
        kernel, f, g = _unscaled(local, u, v, unit * regularisation)
        _scale(kernel, left.astype(np.float32), right.astype(np.float32), steps, f, g)
        fine_u, fine_v = _c_transforms(cost, _row_potentials(u, f, unit * regularisation))
        u, v = fine_u.astype(np.float32), fine_v.astype(np.float32)
    return fine_u, fine_v


@compiled()
def _unscaled(local, u, v, scale):  # type: ignore[no-untyped-def]
    """Return the kernel (n, w) of potentials, and the factors, all 1, of its rows (n,) and its columns (w,)."""
    kernel = _kernel(local, u, v, np.float32(1.0 / scale))
    return kernel, np.ones(len(u), np.float32), np.ones(kernel.shape[1], np.float32)


@compiled()
def _row_potentials(u, f, scale):  # type: ignore[no-untyped-def]
    """Return the potentials (n,) of the rows after scaling; a factor that over- or underflowed changes nothing."""
    row_potentials = np.empty(len(u))
    for p in range(len(u)):
        step = scale * math.log(f[p]) if 0.0 < f[p] < np.inf else 0.0
        row_potentials[p] = u[p] + step
    return row_potentials


@compiled(fastmath=MINIMA)
def _c_transforms(cost, row_potentials):  # type: ignore[no-untyped-def]
    """Return the potentials (n,) and (m,) of both c-transforms, feasible for any potentials of the rows (n,).

    Potentials are free up to a constant: the chosen constant keeps both sides within the largest cost, and sums
    accurate.
    """
    n, m = cost.shape
    u, v = np.empty(n), np.full(m, np.inf)
    for p in range(n):
        row, potential = cost[p], row_potentials[p]
        for c in range(m):
            v[c] = smaller(v[c], row[c] - potential)
    lowest = np.inf
    for c in range(m):  # not `v.min()`, for which loading the compiled code would import numba's array functions
        lowest = smaller(lowest, v[c])
    for c in range(m):
        v[c] -= lowest
    for p in range(n):
        row = cost[p]
        least = np.inf
        for c in range(m):
            least = smaller(least, row[c] - v[c])
        u[p] = least
    return u, v


@compiled(fastmath=MINIMA)
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


@compiled(error_model="numpy")
def _mean_cost(u, v, left, right):  # type: ignore[no-untyped-def]
    """Return the dual value of the potentials per unit of mass: the unit of the regularisation."""
    total, mass = 0.0, 0.0
    for p in range(len(u)):
        total += left[p] * u[p]
        mass += left[p]
    for c in range(len(v)):
        total += right[c] * v[c]
    return max(total / mass, 1e-30)


@compiled(fastmath=SUMS)
def _kernel(local, u, v, sharp):  # type: ignore[no-untyped-def]
    """Return approximately exp((u + v - cost) * sharp) (n, w), w >= m columns: the columns from m on are 0."""
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


@compiled(fastmath=SUMS, error_model="numpy")
def _scale(kernel, left, right, steps, f, g):  # type: ignore[no-untyped-def]
    """Scale the rows of the kernel (n, w) to `left`, then its columns to `right`, `steps` times.

    `f` (n,) receives the factors of the rows; `g` (w,) has the initial factors of the columns, and receives the final
    ones. Four rows at a time share each load and store of the columns, and do not wait for each other's sums.
    """
    n, w = kernel.shape
    sums = np.empty(w, np.float32)
    fours = n - n % 4
    for _ in range(steps):
        sums[:] = np.float32(0)
        for p in range(0, fours, 4):
            one, two, three, four = kernel[p], kernel[p + 1], kernel[p + 2], kernel[p + 3]
            first, second, third, fourth = four_products(g, kernel, p)
            first, second = left[p] / first, left[p + 1] / second
            third, fourth = left[p + 2] / third, left[p + 3] / fourth
            f[p], f[p + 1], f[p + 2], f[p + 3] = first, second, third, fourth
            for c in range(w):
                sums[c] += one[c] * first + two[c] * second + three[c] * third + four[c] * fourth
        for p in range(fours, n):
            row, total = kernel[p], np.float32(0)
            for c in range(w):
                total += row[c] * g[c]
            factor = left[p] / total
            f[p] = factor
            for c in range(w):
                sums[c] += row[c] * factor
        for c in range(len(right)):
            g[c] = right[c] / sums[c]


@compiled()
def _dual_value(u, v, left, right):  # type: ignore[no-untyped-def]
    """Return the dual value of potentials."""
    value = 0.0
    for p in range(len(u)):
        value += left[p] * u[p]
    for c in range(len(v)):
        value += right[c] * v[c]
    return value
