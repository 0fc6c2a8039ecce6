"""Bounds of the Word DistanceRanker's Distance, for many documents at once.

Lower bounds are computed from `cost_floor`, which is never above the exact ground cost, so they are bounds of the exact
distance. What is left is the rounding of the sums, for documents of up to n = 100,000 words, c being the largest cost:

- RWMD: float64 sums of n non-negative terms are off by n 2^-53 of their value: `SUM_MARGIN`.
- One-pass dual: potentials are float32 differences, off by 2^-24 of their value, and so is their sum: `DUAL_MARGIN`.
- QuantisedCost dual: its costs are put together in float32 with two roundings more: `COARSE_MARGIN`.
- Sinkhorn: no potential is larger than c, so sums are off by 2 n 2^-53 c, and the masses of both sides, which agree to
  n 2^-53, add as much again: `ABSOLUTE_MARGIN` times c.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.ground_cost import cost_floor, squared_error, squared_slack, vector_norms, widest
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.runtime.threads import parallel_for

_Array = NDArray[Any]
_Arrays = tuple[_Array, _Array, _Array, _Array, _Array, _Array, _Array]

SUM_MARGIN = 1 - 1e-9
DUAL_MARGIN = 1 - 2.0**-22
COARSE_MARGIN = 1 - 2.0**-21
ABSOLUTE_MARGIN = 1e-10

_STEPS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A query against many bags: `cost` (v, h) is the cost floor, 0 where the word is the same.

    `place` (v,) is the query's place of each word, -1 where it does not have it; `slack` how much the square of a cost
    can be above that of its floor, and `largest` no less than any cost.
    """

    query: Bag
    bags: Bags
    cost: NDArray[np.float32]
    place: NDArray[np.int32]
    slack: float
    largest: float

    @classmethod
    def of(
        cls, query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32] | None = None
    ) -> "Problem":
        """Compute the cost floor of a query and a vocabulary (v, d) with its `norms`."""
        lengths = vector_norms(vectors) if norms is None else norms
        cost = query_cost(query, vectors, lengths)
        largest = widest(lengths, vector_norms(query.vectors))
        slack = squared_slack(largest, vectors.shape[1])
        return cls(query.bag, bags, cost, query.places(len(vectors)), slack, largest)

    def arrays(self, rows: NDArray[np.int64]) -> _Arrays:
        """Return what a kernel needs to look at the documents `rows`."""
        bags = self.bags
        return bags.starts, bags.words, bags.weights, rows, self.cost, self.place, self.query.weights


def query_cost(
    query: QueryBag, vectors: NDArray[np.float32], norms: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the cost floor (v, h) of a vocabulary (v, d) and the query's words; 0 where the word is the same."""
    cost = cost_floor(vectors, query.vectors, norms)
    shared = query.shared(len(vectors))
    cost[query.bag.words[shared], shared] = 0
    return cost


def nearest_costs(cost: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the least cost (v,) of each word of the vocabulary."""
    from moverank.rerank.kernels.costs import row_minima

    nearest = np.empty(len(cost), np.float32)
    parallel_for(lambda first, last: row_minima(first, last, cost, nearest), len(cost))
    return nearest


def document_side(bags: Bags, nearest: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the bound (n,) in which every word moves to the nearest query word: one pass over the bags."""
    from moverank.rerank.kernels.relaxed_sides import document_sides

    bound = np.empty(len(bags))
    packed = (bags.starts, bags.words, bags.weights)
    parallel_for(lambda first, last: document_sides(first, last, *packed, nearest, bound), len(bags))
    bound *= SUM_MARGIN
    return bound


def query_side(bags: Bags, cost: NDArray[np.float32], query: Bag, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the bound (m,) of the documents `rows` (m,) in which every query word moves to their nearest word."""
    from moverank.rerank.kernels.relaxed_sides import query_sides

    bound = np.empty(len(rows))
    packed = (bags.starts, bags.words, rows)
    parallel_for(lambda first, last: query_sides(first, last, *packed, cost, query.weights, bound), len(rows))
    bound *= SUM_MARGIN
    return bound


def coarse_dual(
    coarse: QuantisedCost, query: Bag, bags: Bags, rows: NDArray[np.int64], enough: float = np.inf
) -> NDArray[np.float64]:
    """Return `one_pass_dual` (m,) of the documents `rows` by coarse costs."""
    from moverank.rerank.kernels.duals import coarse_duals

    bound = np.empty(len(rows))
    packed = (bags.starts, bags.words, bags.weights, rows)
    costs = (coarse.base, coarse.above, coarse.step, coarse.where, coarse.place)
    parallel_for(
        lambda first, last: coarse_duals(first, last, *packed, *costs, query.weights, enough, bound), len(rows)
    )
    bound *= COARSE_MARGIN
    return bound


def one_pass_dual(problem: Problem, rows: NDArray[np.int64], enough: float = np.inf) -> NDArray[np.float64]:
    """Return a dual bound (m,) of the documents `rows`, never below RWMD, after mass on shared words was taken off.

    With u_i = min_j C_ij the potentials v_j = min_i (C_ij - u_i) are feasible; the other direction begins with the
    columns, and is left out where the first is above `enough`. Taking off what both bags have on a word changes
    nothing, for the ground cost is a metric.
    """
    from moverank.rerank.kernels.duals import one_pass_duals

    bound, posed = np.empty(len(rows)), problem.arrays(rows)
    parallel_for(lambda first, last: one_pass_duals(first, last, *posed, enough, bound), len(rows))
    bound *= DUAL_MARGIN
    return bound


def sinkhorn(
    problem: Problem, rows: NDArray[np.int64], enough: float = np.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds from below and from above (m,) of the documents `rows`, by Sinkhorn's scaling.

    Potentials made feasible by c-transforms give the lower one, a plan made feasible by rounding the upper one
    (Altschuler et al. 2017), whatever the convergence. Where the lower one is above `enough` after
    half of the steps, it is left at that, and the upper one is infinite.
    """
    from moverank.rerank.kernels.sinkhorn import sinkhorn_bounds

    lower, upper, posed = np.empty(len(rows)), np.empty(len(rows)), problem.arrays(rows)
    choices = (_STEPS, enough, problem.slack)
    parallel_for(lambda first, last: sinkhorn_bounds(first, last, *posed, *choices, lower, upper), len(rows), small=4)
    margin = ABSOLUTE_MARGIN * problem.largest
    return lower * SUM_MARGIN - margin, upper / SUM_MARGIN + margin


def wcd(centroids: NDArray[np.float32], query_centroid: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return a floor (n,) of the distances of float32 centroids (n, d) and the query's (d,): WCD less its error."""
    dim = centroids.shape[1]
    norms, query_norm = np.linalg.norm(centroids, axis=1), np.float32(np.linalg.norm(query_centroid))
    squares = np.square(norms) + np.square(query_norm) - 2 * (centroids @ query_centroid)
    return wcd_floor(squares, norms, query_norm, dim)


def wcd_floor(
    squares: NDArray[np.float32], norms: NDArray[np.float32], query_norm: np.float32, dim: int
) -> NDArray[np.float64]:
    """Turn squared float32 distances (n,) of centroids into bounds of WMD.

    Beside the product's error, each centroid was rounded to float32: its distance moves by at most u |x|, so the sum
    of both norms, twice for safety, is taken off the root.
    """
    error = squared_error(norms, query_norm, dim)
    roots = np.sqrt(np.maximum(squares - error, 0), dtype=np.float64)
    margin = 2.0 * np.finfo(np.float32).eps * (norms + query_norm)
    floor: NDArray[np.float64] = np.maximum(roots * SUM_MARGIN - margin, 0)
    return floor
