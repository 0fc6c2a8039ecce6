"""Documents of many vectors each, such as the token vectors of a late-interaction model, by earth mover's distance."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.errors import BagError
from moverank.rerank.falling_scores import falling_scores
from moverank.rerank.ranking import Hit, Nearest, Ranking, StageCounts
from moverank.rerank.words.embedding import unusable_rows


class VectorWeights(NamedTuple):
    """The weights (n,) of a query's vectors, and (m_i,) of each document's: 0 or more, scaled to sum to 1."""

    query: ArrayLike
    documents: Sequence[ArrayLike]


class _VectorSet(NamedTuple):
    """Vectors (m, d) float32 with their weights (m,) > 0, which sum to 1."""

    vectors: NDArray[np.float32]
    weights: NDArray[np.float64]


def rank_vectors(
    query: ArrayLike,
    documents: Sequence[ArrayLike],
    weights: VectorWeights | tuple[ArrayLike, Sequence[ArrayLike]] | None = None,
    k: int | None = None,
) -> Ranking:
    """Rank documents [(m_i, d)] by the exact earth mover's distance of their vectors from `query` (n, d).

    The ground cost is the Euclidean distance of float32 vectors. `weights`: the weights of the vectors; None: all
    vectors of a set weigh the same. The first `k` hits (None: all) are exact, and certified among these documents;
    later ones may have been pruned: see `Hit.exact`. A hit's key is the index of the document, as is `Hit.candidate`.
    Documents without a vector come last, and are `wordless`. Raises BagError for a query without a vector, for vectors
    that are not finite or of different dimensions, and for invalid weights.
    """
    if k is not None and k < 1:
        raise BagError(f"k must be 1 or more, not {k}")
    given = None if weights is None else VectorWeights(*weights)
    if given is not None and len(given.documents) != len(documents):
        raise BagError(f"give weights for each of the {len(documents)} documents, not for {len(given.documents)}")
    own = _vector_set("the query", query, None if given is None else given.query)
    sets = [
        _vector_set(f"document {i}", one, None if given is None else given.documents[i])
        for i, one in enumerate(documents)
    ]
    dim = own.vectors.shape[1]
    if not len(own.vectors):
        raise BagError("the query has no vector")
    for i, one in enumerate(sets):
        if len(one.vectors) and one.vectors.shape[1] != dim:
            raise BagError(f"the query has {dim} dimensions, document {i} {one.vectors.shape[1]}")
    rows = [i for i, one in enumerate(sets) if len(one.vectors)]
    return _ranking(_nearest(own, [sets[i] for i in rows], k or max(1, len(rows))), rows, len(sets))


def _vector_set(name: str, vectors: ArrayLike, weights: ArrayLike | None) -> _VectorSet:
    """Return the vectors whose weight is above 0; BagError calls them `name`."""
    try:
        with np.errstate(over="ignore"):
            matrix = np.ascontiguousarray(vectors, np.float32)
        amounts = np.ones(len(matrix)) if weights is None else np.ascontiguousarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise BagError(f"{name} must be a matrix of numbers with a vector in each row: {error}") from error
    if not matrix.size:
        return _VectorSet(np.empty((0, 0), np.float32), np.empty(0))
    if matrix.ndim != 2:
        raise BagError(f"{name} must be a matrix with a vector in each row, not of shape {matrix.shape}")
    if len(unusable_rows(matrix)):
        raise BagError(f"vector {unusable_rows(matrix)[0]} of {name} has a number that is not finite, or beyond 1e15")
    if amounts.shape != matrix.shape[:1] or not (np.all(amounts >= 0) and np.isfinite(amounts.sum())):
        raise BagError(f"the weights of {name} must be {len(matrix)} finite numbers of 0 or more")
    used = np.flatnonzero(amounts)
    if not len(used):
        raise BagError(f"one of the weights of {name} must be above 0")
    return _VectorSet(matrix[used], amounts[used] / amounts[used].sum())


def _nearest(query: _VectorSet, sets: Sequence[_VectorSet], k: int) -> Nearest:
    """Find the `k` nearest of `sets`; each vector is a word of its own."""
    if not sets:
        return Nearest(np.empty(0, np.int64), np.empty(0), StageCounts())
    starts = np.concatenate([[0], np.cumsum([len(one.vectors) for one in sets])]).astype(np.int64)
    words = np.arange(starts[-1], dtype=np.int32)
    bags = Bags(starts, words, np.concatenate([one.weights for one in sets]))
    own = Bag(np.arange(starts[-1], starts[-1] + len(query.vectors), dtype=np.int32), query.weights)
    return nearest(QueryBag(own, query.vectors), bags, np.concatenate([one.vectors for one in sets]), k)


def _ranking(found: Nearest, rows: Sequence[int], n: int) -> Ranking:
    """Return the ranking of `n` documents; only the documents `rows` were compared."""
    last = float(found.distances[-1]) if len(found.distances) else 0.0
    rest = np.setdiff1d(np.arange(len(rows)), found.rows)
    bounds = np.maximum(found.lower[rest], last) if len(rest) else np.empty(0)
    order = np.argsort(bounds, kind="stable")
    ranked = np.concatenate([found.rows, rest[order]]).astype(np.int64)
    values = np.concatenate([found.distances, bounds[order]])
    places = [rows[row] for row in ranked.tolist()] + sorted(set(range(n)) - set(rows))
    scores = falling_scores(values, n - len(rows)).tolist()
    hits = []
    for position, (place, score) in enumerate(zip(places, scores, strict=True)):
        has_vectors = position < len(values)
        distance = float(values[position]) if has_vectors else np.nan
        exact = has_vectors and bool(position < len(found.rows) or found.known[ranked[position]])
        hits.append(Hit(str(place), distance, scored=score, candidate=place, exact=exact, wordless=not has_vectors))
    return Ranking(tuple(hits), certified=True, scope="candidates", counts=found.counts, ranked_by="wmd")
