"""`evaluate bounds`: the tightness of each bound, and the loss by ranking with it, or among fewer candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_ranker import DistanceRanker
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.progress import Progress
from moverank.indexer.reranking.counted_texts import Texts
from moverank.rerank.distance.every_bound import every_bound
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.evaluation.knn import error_rate
from moverank.rerank.evaluation.tightness import BOUNDS, kept_neighbours, prefetched, tightness
from moverank.rerank.runtime.threads import single_threaded_blas

K = 10
"""Number of nearest neighbours by which bounds are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundSample:
    """The `exact` distances (q, n) of the sampled documents `rows` (q,) from all, and every bound (q, n) by name.

    The distance of a document from itself is infinite.
    """

    rows: NDArray[np.int64]
    exact: NDArray[np.float64]
    bounds: dict[str, NDArray[np.float64]]


def sample_bounds(
    texts: Texts, count: int, gamma: float, cache: DistanceCache, progress: Progress, seed: int = 0
) -> BoundSample:
    """Compute all distances and bounds of a random sample of the documents that have a bag.

    `texts` are all documents, `count` the size of the sample, and `gamma` the sensitivity to rank. `cache` stores
    distances, `progress` is called after each step. `seed` draws the sample. Raises UsageError for too few documents.
    """
    rows, bags = texts.bags(gamma, None)
    if len(rows) <= K:
        raise UsageError(f"bounds are compared over more than {K} documents with a known word: there are {len(rows)}")
    pool = texts.take(rows)
    sample = np.sort(np.random.default_rng(seed).permutation(len(pool))[:count])
    ranker = DistanceRanker("pwmd" if gamma else "wmd", pool, gamma, None, cache)
    exact = np.array(list(ranker.distances(pool.take(sample), progress)))
    bounds: dict[str, list[NDArray[np.float64]]] = {name: [] for name in BOUNDS}
    vectors = texts.vocabulary.vectors
    for done, row in enumerate(sample.tolist(), start=1):
        bag = bags[row]
        with single_threaded_blas():
            of_query = every_bound(QueryBag(bag, vectors[bag.words]), bags, vectors)
        for name, values in bounds.items():
            values.append(of_query[name])
        progress("Computing bounds", done, len(sample), "queries")
    tables = {name: np.array(values) for name, values in bounds.items()}
    for table in (exact, *tables.values()):
        table[np.arange(len(sample)), sample] = np.inf
    return BoundSample(rows[sample], exact, tables)


def bounds_table(texts: Texts, sample: BoundSample, gamma: float) -> Table:
    """Return each bound's tightness, the share of the true ten neighbours that it finds, and its kNN error.

    `texts` are all documents, `sample` their bounds at `gamma`.
    """
    rows: list[dict[str, Value]] = []
    true = _first(sample.exact, K)
    for name, table in [*sample.bounds.items(), ("wmd", sample.exact)]:
        row: dict[str, Value] = {"bound": name, "tightness": tightness(table, sample.exact)}
        row |= {f"true {K} in {m}": kept_neighbours(_first(table, m), true) for m in (K, 10 * K)}
        rows.append(row | _vote_error(texts, sample, _first(table, K)))
    facts = {"documents": sample.exact.shape[1], "queries": len(sample.rows), "gamma": gamma}
    higher = ("tightness", f"true {K} in {K}", f"true {K} in {10 * K}")
    return Table("bounds", tuple(rows), facts, higher=higher, lower=("error",))


def depth_table(texts: Texts, sample: BoundSample, depths: Sequence[int]) -> Table:
    """Return the recall of prefetch and prune with m candidates by WCD, and how many distances it computes.

    `texts` are all documents, `sample` their bounds, and `depths` the values of m, besides all documents.
    """
    n = sample.exact.shape[1]
    rows: list[dict[str, Value]] = []
    true = _first(sample.exact, K)
    for m in sorted({min(depth, n - 1) for depth in [*depths, n]}):
        nearest = np.full((len(sample.rows), K), -1, np.int64)
        solved = []
        for query in range(len(nearest)):
            wcd, rwmd = sample.bounds["wcd"][query], sample.bounds["rwmd"][query]
            found, count = prefetched(wcd, rwmd, sample.exact[query], m, K)
            nearest[query, : len(found)] = found
            solved.append(count)
        row: dict[str, Value] = {"m": m, "recall": kept_neighbours(nearest, true), "solved": float(np.mean(solved))}
        rows.append(row | _vote_error(texts, sample, nearest))
    facts = {"documents": n, "queries": len(sample.rows), "k": K}
    return Table("prefetch and prune", tuple(rows), facts, higher=("recall",), lower=("error",))


def _first(distances: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the columns (q, k) of the smallest distances."""
    return np.argsort(distances, axis=1, kind="stable")[:, : min(k, distances.shape[1] - 1)]


def _vote_error(texts: Texts, sample: BoundSample, nearest: NDArray[np.int64]) -> dict[str, Value]:
    """Return the leave-one-out error of the nearest (q, k), if all documents have a label."""
    if not texts.labels or None in texts.labels:
        return {}
    rows, _ = texts.bags(0.0, None)
    names = sorted({label for label in texts.labels if label is not None})
    labels = np.array([names.index(label) for label in texts.labels if label is not None])
    votes = np.where(nearest >= 0, labels[rows][nearest], -1)
    return {"error": error_rate(votes, labels[sample.rows], nearest.shape[1], len(names))}
