"""Every bound of the distances of one query: `why_not` reports them, `rerank.evaluation.tightness` measures them."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.encoders.centroid import centroids


def every_bound(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
    """Return each bound (n,) of the distances of `query` from `bags` (n,) over word `vectors` (v, d), by name.

    The lower bounds are "wcd", "rwmd_document", "rwmd_query", "rwmd", "dual" and "sinkhorn", which is the larger of
    Sinkhorn's lower bound and the dual, as in the cascade. "upper" is Sinkhorn's upper bound.
    """
    own, numbered, word_vectors, norms = restricted(query, bags, vectors)
    problem, rows = Problem.of(own, numbered, word_vectors, norms), np.arange(len(bags))
    document_side = bounds.document_side(numbered, bounds.nearest_costs(problem.cost))
    query_side = bounds.query_side(numbered, problem.cost, problem.query, rows)
    dual = bounds.one_pass_dual(problem, rows)
    lower, upper = bounds.sinkhorn(problem, rows)
    return {
        "wcd": bounds.wcd(centroids(bags, vectors), query.centroid()),
        "rwmd_document": document_side,
        "rwmd_query": query_side,
        "rwmd": np.maximum(document_side, query_side),
        "dual": dual,
        "sinkhorn": np.maximum(lower, dual),
        "upper": upper,
    }
