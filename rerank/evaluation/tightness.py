"""How tight the bounds of a distance are, and what taking one for it costs (Kusner et al. 2015, figures 5-7)."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.errors import EvaluationError

BOUNDS = ("wcd", "rwmd_query", "rwmd_document", "rwmd", "dual", "sinkhorn")
"""Lower bounds by name, the loosest first."""


def every_bound(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
    """Return each of `BOUNDS` (n,) of the distances of a query from bags over word vectors (v, d).

    `sinkhorn` is the better of that bound and the dual, as the cascade has it. `upper` is Sinkhorn's upper bound.
    """
    own, some, words, norms = restricted(query, bags, vectors)
    problem, rows = Problem.of(own, some, words, norms), np.arange(len(bags))
    itself = Bags.of([Bag(np.arange(len(query.bag), dtype=np.int32), query.bag.weights)])
    document = bounds.document_side(some, bounds.nearest_costs(problem.cost))
    asked = bounds.query_side(some, problem.cost, problem.query, rows)
    dual = bounds.one_pass_dual(problem, rows)
    lower, upper = bounds.sinkhorn(problem, rows)
    return {
        "wcd": bounds.wcd(centroids(bags, vectors), centroids(itself, query.vectors)[0]),
        "rwmd_query": asked,
        "rwmd_document": document,
        "rwmd": np.maximum(document, asked),
        "dual": dual,
        "sinkhorn": np.maximum(lower, dual),
        "upper": upper,
    }


def tightness(bound: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """Return the mean of bound / distance over all pairs that are apart; 1 where none is (figure 5, left)."""
    if bound.shape != distances.shape:
        raise EvaluationError(f"there must be a bound for each distance, not {bound.shape} for {distances.shape}")
    apart = np.isfinite(distances) & (distances > 0)
    return float(np.mean(bound[apart] / distances[apart])) if apart.any() else 1.0


def kept_neighbours(found: NDArray[np.int64], true: NDArray[np.int64]) -> float:
    """Return the share of the true neighbours (q, k) that are among those found (q, m); -1 is none."""
    shares = [
        len(set(real[real >= 0].tolist()) & set(got.tolist())) / max(1, int(np.count_nonzero(real >= 0)))
        for got, real in zip(found, true, strict=True)
    ]
    return float(np.mean(shares))


def prefetched(
    wcd: NDArray[np.float64], rwmd: NDArray[np.float64], distances: NDArray[np.float64], m: int, k: int
) -> tuple[NDArray[np.int64], int]:
    """Return the k nearest of the m first by WCD, and how many of their distances had to be computed.

    Prefetch and prune of Kusner et al. 2015, section 4: the k first are computed, then of the others, in the order of
    WCD, those whose RWMD is below the k-th distance so far. Arrays are (n,) of one query; infinite means no document.
    """
    order = [place for place in np.argsort(wcd, kind="stable")[:m].tolist() if np.isfinite(distances[place])]
    best = sorted((float(distances[place]), place) for place in order[:k])
    solved = len(best)
    for place in order[k:]:
        if rwmd[place] < best[-1][0]:
            solved += 1
            best = sorted([*best, (float(distances[place]), place)])[:k]
    return np.array([place for _, place in best], np.int64), solved
