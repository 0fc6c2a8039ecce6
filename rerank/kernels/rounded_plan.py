"""The cost of a plan near a scaled kernel (Altschuler et al. 2017, algorithm 2): an upper bound of the distance."""

import math

import numpy as np

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.flags import SUMS
from moverank.rerank.kernels.inner_product import inner_product

# A factor for what float32 takes off the root of c^2 + slack: its product, sum and root are off by less than 2^-23.
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
    """Return the cost of moving a share of what each column lacks."""
    cost = 0.0
    for c in range(len(lacking)):
        cost += lacking[c] * share * math.sqrt(costs[c] * costs[c] + slack)
    return cost
