"""Bounds of the Word Mover's Distance, for many documents at once, and the margin of each bound.

All lower bounds are computed from `cost_floor`, which is never above the exact ground cost, so in exact arithmetic they
are bounds of the exact distance. The margin of a bound, a factor or a difference, covers the rounding of its sums. For
documents of up to n = 100,000 words, with c the largest cost:

- RWMD: a float64 sum of n non-negative terms has a relative error of at most n 2^-53: `SUM_MARGIN`, a factor.
- One-pass dual: potentials are float32 differences, of relative error 2^-24, and so is their sum: `DUAL_MARGIN`, a
  factor.
- Quantised dual: its costs are assembled in float32 with two more roundings: `QUANTISED_MARGIN`, a factor.
- Sinkhorn: no potential exceeds c, so sums are off by at most 2 n 2^-53 c; the masses of both sides, equal up to
  n 2^-53, add as much again: the lower bound is multiplied by `SUM_MARGIN`, and `ABSOLUTE_MARGIN` times c is
  subtracted; the upper bound is divided by `SUM_MARGIN`, and `ABSOLUTE_MARGIN` times c is added.
- RWMD over near words: savings are subtracted from a sum of at most r, the largest `radius` of a word, both off by at
  most n 2^-53 r: the sum is multiplied by `SUM_MARGIN`, and `ABSOLUTE_MARGIN` times r is subtracted.
- WCD: see `wcd_from_squares`.

The margins of the cost floor itself are those of `ground_cost.product_margins`; that of mutual proximity is in
`mutual_proximity`.

`every_bound` returns all bounds of a query by name, for `why_not` and for `rerank.evaluation.tightness`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.weights import FactorBags
from moverank.rerank.distance.cell_limit import reserved_cells
from moverank.rerank.distance.ground_cost import cost_ceiling, cost_floor, squared_error, squared_slack, vector_norms
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import Comparison, QueryBag
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.runtime.thread_pool import parallel_for

_Array = NDArray[Any]
Threshold = float | NDArray[np.float64]
"""A value above which a bound need not be raised: the same for all documents, or one for each (m,)."""

_Arrays = tuple[_Array, _Array, _Array, _Array, _Array, _Array, _Array]

SUM_MARGIN = 1 - 1e-9
DUAL_MARGIN = 1 - 2.0**-22
QUANTISED_MARGIN = 1 - 2.0**-21
ABSOLUTE_MARGIN = 1e-10

_WEIGHTED = 1 << 16  # bags that are multiplied by factors together

# The work of a kernel between two checks of the time: some hundredths of a second.
_ENTRIES = 1 << 23  # entries of bags, or numbers of vectors, that the kernel reads
_CELLS = 1 << 25  # cells of cost matrices that the kernel reads
_SCALED_CELLS = 1 << 20  # cells that Sinkhorn's scaling reads in dozens of steps

_Stages = tuple[NDArray[np.float64], NDArray[np.int64]]  # regularisations of Sinkhorn's scaling, and steps with each


def _stages(*stages: tuple[float, int]) -> _Stages:
    return np.array([stage[0] for stage in stages]), np.array([stage[1] for stage in stages])


# Of the documents that a stage prunes, 90 % fall in its first two iterations.
_STAGES = _stages((0.03, 2), (0.03, 10), (0.01, 12))
_FINE_STAGES = _stages((0.03, 12), (0.01, 24), (0.003, 48))


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A query against many bags: `cost` (v, h) is the cost floor, 0 where the word is the same.

    `query_index` (v,) is the column of each word in `cost`, -1 for words that the query lacks; the square of an exact
    cost exceeds the square of its floor by at most `slack`; no exact cost is above `largest`.
    """

    query: Bag
    bags: Bags
    cost: NDArray[np.float32]
    query_index: NDArray[np.int32]
    slack: float
    largest: float

    @classmethod
    def of(
        cls, query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32] | None = None
    ) -> "Problem":
        """Compute the cost floor of `query` over word vectors (v, d) of the vocabulary of `bags`.

        `norms` (v,) are the lengths of `vectors`, if already computed.
        """
        lengths = vector_norms(vectors) if norms is None else norms
        cost = query_cost(query, vectors, lengths)
        largest = cost_ceiling(lengths, vector_norms(query.vectors))
        slack = squared_slack(largest, vectors.shape[1])
        return cls(query.bag, bags, cost, query.index_of_words(len(vectors)), slack, largest)

    def arrays(self, rows: NDArray[np.int64]) -> _Arrays:
        """Return the arguments of a kernel that bounds the documents `rows`."""
        bags = self.bags
        return bags.starts, bags.words, bags.weights, rows, self.cost, self.query_index, self.query.weights


def query_cost(
    query: QueryBag, vectors: NDArray[np.float32], norms: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the cost floor (v, h) of `vectors` (v, d) and the words of `query`, 0 where the word is the same.

    `norms` (v,) are the lengths of the vectors, if already computed.
    """
    cost = cost_floor(vectors, query.vectors, norms)
    known = query.known(len(vectors))
    cost[query.bag.words[known], known] = 0
    return cost


def nearest_costs(cost: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the minimum (v,) of each row of `cost` (v, h): the cost of each word to the nearest query word."""
    nearest = np.empty(len(cost), np.float32)
    most = max(1, _CELLS // max(1, cost.shape[1]))
    parallel_for(lambda first, last: kernels.row_minima(first, last, cost, nearest), len(cost), most=most)
    return nearest


def _for_each(threshold: Threshold, count: int) -> NDArray[np.float64]:
    """Return the threshold (`count`,) of each document, in a new array: for a read-only one, kernels compile again."""
    return np.full(count, threshold, np.float64)


def inner_products(vectors: NDArray[np.float32], one: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inner products (n,) of `vectors` (n, d) and `one` (d,); each depends on its own vector alone."""
    out, packed = np.empty(len(vectors)), np.ascontiguousarray(vectors)
    most = max(1, _ENTRIES // max(1, len(one)))
    parallel_for(lambda first, last: kernels.products_with_one(first, last, packed, one, out), len(vectors), most=most)
    return out


def factor_bags(bags: Bags, factors: NDArray[np.float64]) -> FactorBags:
    """Return `bags` to be multiplied by the `factors` (v,) of their words."""
    return FactorBags(bags, factors, bag_means(bags, factors))


def bag_means(bags: Bags | FactorBags, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the mean (n,) of the `values` (v,) of each bag's words, weighted as in the bag."""
    if isinstance(bags, FactorBags):
        return bag_means(bags.without, bags.factors * values) / bags.sums
    means = np.empty(len(bags))
    packed = (bags.starts, bags.words, bags.weights)
    most = bags.portion(_ENTRIES)
    parallel_for(lambda first, last: kernels.document_sides(first, last, *packed, values, means), len(bags), most=most)
    return means


def centroid_lengths(bags: Bags | FactorBags, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the lengths (n,) of the centroids of `bags` over word `vectors` (v, d), summed in float64."""
    if isinstance(bags, FactorBags):
        rows = np.arange(len(bags))
        blocks = (rows[start : start + _WEIGHTED] for start in range(0, len(rows), _WEIGHTED))
        return np.concatenate([np.empty(0), *(centroid_lengths(bags.take(block), vectors) for block in blocks)])
    lengths, packed = np.empty(len(bags)), (bags.words, bags.weights, np.ascontiguousarray(vectors))

    def fill(first: int, last: int) -> None:
        sums = np.empty((last - first, vectors.shape[1]))
        kernels.weighted_sums(0, last - first, bags.starts[first : last + 1], *packed, sums)
        lengths[first:last] = np.linalg.norm(sums, axis=1)

    parallel_for(fill, len(bags), most=bags.portion(_ENTRIES // max(1, vectors.shape[1])))
    return lengths


def document_side(bags: Bags | FactorBags, nearest: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return RWMD's document side (n,): every word moves to the nearest query word, at a cost of `nearest` (v,)."""
    bound = bag_means(bags, nearest)
    bound *= SUM_MARGIN
    return bound


def query_side(bags: Bags, cost: NDArray[np.float32], query: Bag, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return RWMD's query side (m,) of the documents `rows` (m,): every word of `query` moves to their nearest word.

    `cost` (v, h) is the cost floor of the vocabulary of `bags`.
    """
    bound = np.empty(len(rows))
    packed = (bags.starts, bags.words, rows)
    inputs, most = (cost, query.weights), bags.portion(_CELLS // len(query), rows)
    parallel_for(lambda first, last: kernels.query_sides(first, last, *packed, *inputs, bound), len(rows), most=most)
    bound *= SUM_MARGIN
    return bound


def quantised_dual(
    cost: QuantisedCost, query: Bag, bags: Bags | FactorBags, rows: NDArray[np.int64], threshold: Threshold = np.inf
) -> NDArray[np.float64]:
    """Return `one_pass_dual` (m,) of `query` and the documents `rows` (m,) of `bags`, from the quantised `cost`.

    The second direction is skipped where the first exceeds `threshold`.
    """
    if isinstance(bags, FactorBags):
        bags, rows = bags.take(rows), np.arange(len(rows))
    bound = np.empty(len(rows))
    packed = (bags.starts, bags.words, bags.weights, rows)
    costs = (cost.base, cost.above, cost.step, cost.base_column, cost.query_index)
    thresholds = _for_each(threshold, len(rows))
    most = bags.portion(_CELLS // len(query), rows)
    parallel_for(
        lambda first, last: kernels.quantised_duals(first, last, *packed, *costs, query.weights, thresholds, bound),
        len(rows),
        most=most,
    )
    bound *= QUANTISED_MARGIN
    return bound


def one_pass_dual(problem: Problem, rows: NDArray[np.int64], threshold: Threshold = np.inf) -> NDArray[np.float64]:
    """Return a dual bound (m,) of the documents `rows` (m,) of `problem`, after removing shared mass.

    With u_i = min_j C_ij the potentials v_j = min_i (C_ij - u_i) are feasible. The second direction begins with the
    columns, and is skipped where the first exceeds `threshold`; the larger value of both directions is never below
    RWMD. Removing the mass that both bags have on a word does not change the distance, because the ground cost is a
    metric.
    """
    bound, arrays, thresholds = np.empty(len(rows)), problem.arrays(rows), _for_each(threshold, len(rows))
    most = problem.bags.portion(_CELLS // len(problem.query), rows)
    parallel_for(
        lambda first, last: kernels.one_pass_duals(first, last, *arrays, thresholds, bound), len(rows), most=most
    )
    bound *= DUAL_MARGIN
    return bound


def sinkhorn(
    problem: Problem, rows: NDArray[np.int64], threshold: Threshold = np.inf, *, fine: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper bounds (m,) of the documents `rows` (m,) of `problem`, by Sinkhorn's scaling.

    Potentials made feasible by c-transforms give the lower bound, a plan made feasible by rounding the upper bound
    (Altschuler et al. 2017): both hold without convergence. Where the lower bound exceeds `threshold`, steps that
    remain are skipped, and the upper bound is infinite. `fine` bounds take several times as long. Raises TooLarge if
    a document and the query have more words than `limit_cells` allows.
    """
    lower, upper, arrays = np.empty(len(rows)), np.empty(len(rows)), problem.arrays(rows)
    choices = (*(_FINE_STAGES if fine else _STAGES), _for_each(threshold, len(rows)), problem.slack)
    lengths, h = problem.bags.starts[rows + 1] - problem.bags.starts[rows], len(problem.query)

    def work(first: int, last: int) -> None:
        with reserved_cells(int(lengths[first:last].max(initial=0)), h):
            kernels.sinkhorn_bounds(first, last, *arrays, *choices, lower, upper)

    parallel_for(work, len(rows), small=4, most=problem.bags.portion(_SCALED_CELLS // h, rows))
    margin = ABSOLUTE_MARGIN * problem.largest
    return lower * SUM_MARGIN - margin, upper / SUM_MARGIN + margin


def wcd(centroids: NDArray[np.float32], query_centroid: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return WCD minus its margin (n,): the distances of float32 `centroids` (n, d) from `query_centroid` (d,)."""
    dim = centroids.shape[1]
    norms, query_norm = np.linalg.norm(centroids, axis=1), np.float32(np.linalg.norm(query_centroid))
    squares = np.square(norms) + np.square(query_norm) - 2 * (centroids @ query_centroid)
    return wcd_from_squares(squares, norms, query_norm, dim)


def wcd_from_squares(
    squares: NDArray[np.float32], norms: NDArray[np.float32], query_norm: np.float32, dim: int
) -> NDArray[np.float64]:
    """Return lower bounds of WMD (n,) from `squares` (n,), squared float32 distances of centroids of `dim` numbers.

    `norms` (n,) and `query_norm` are the lengths of the centroids. The error of the product is subtracted from the
    squares. Rounding a centroid x to float32 moves it by at most u |x|, u the unit roundoff: the margin that is
    subtracted from the root is four times u times the sum of both norms.
    """
    error = squared_error(norms, query_norm, dim)
    roots = np.sqrt(np.maximum(squares - error, 0), dtype=np.float64)
    margin = 2.0 * np.finfo(np.float32).eps * (norms + query_norm)
    lower: NDArray[np.float64] = np.maximum(roots * SUM_MARGIN - margin, 0)
    return lower


def every_bound(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
    """Return each bound (n,) of the distances of `query` from `bags` (n,) over word `vectors` (v, d), by name.

    The lower bounds are "wcd", "rwmd_document", "rwmd_query", "rwmd", "dual" and "sinkhorn", which is the larger of
    Sinkhorn's lower bound and the dual, as in the cascade. "upper" is Sinkhorn's upper bound.
    """
    some = Comparison(query, bags, vectors).restricted()
    numbered, rows = some.bags.weighted(), np.arange(len(bags))
    problem = Problem.of(some.query, numbered, some.vectors, some.norms)
    of_documents = document_side(numbered, nearest_costs(problem.cost))
    of_query = query_side(numbered, problem.cost, problem.query, rows)
    dual = one_pass_dual(problem, rows)
    lower, upper = sinkhorn(problem, rows)
    return {
        "wcd": wcd(centroids(bags, vectors), query.centroid()),
        "rwmd_document": of_documents,
        "rwmd_query": of_query,
        "rwmd": np.maximum(of_documents, of_query),
        "dual": dual,
        "sinkhorn": np.maximum(lower, dual),
        "upper": upper,
    }
