"""`evaluate bounds`: the tightness of each bound, and the loss from ranking by it, or among fewer candidates.

`note_workload` reports the number of distances before an experiment starts.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.method import Figure, Method, Table
from moverank.indexer.plugins.laboratory.trial import Trial
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.values.ranking_spec import own_ranking
from moverank.indexer.values.search_options import Progress
from moverank.rerank.distance.bounds import every_bound
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.evaluation.knn import FIT_SHARE, Split, error_rate
from moverank.rerank.evaluation.tightness import BOUNDS, kept_neighbours, prefetched, tightness
from moverank.rerank.runtime.thread_pool import single_threaded_blas

K = 10
"""Number of nearest neighbours that compare the bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundSample:
    """The `exact` distances (q, n) of the sampled documents `rows` (q,) from all, and every bound (q, n) by name.

    The distance of a document from itself is infinite.
    """

    rows: NDArray[np.int64]
    exact: NDArray[np.float64]
    bounds: dict[str, NDArray[np.float64]]


def sample_bounds(
    texts: Texts, count: int, gamma: float, cache: RowCache, progress: Progress, seed: int = 0
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
    trial = Trial(pool, pool.take(sample), sample, cache, progress)
    exact = trial.distances(own_ranking("", gamma, "tf"), trial.queries)
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
    rows: list[dict[str, Figure]] = []
    true = _first(sample.exact, K)
    for name, table in [*sample.bounds.items(), ("wmd", sample.exact)]:
        row: dict[str, Figure] = {"bound": name, "tightness": tightness(table, sample.exact)}
        row |= {f"true {K} in {m}": kept_neighbours(_first(table, m), true) for m in (K, 10 * K)}
        rows.append(row | _vote_error(texts, sample, _first(table, K)))
    facts = {"documents": sample.exact.shape[1], "queries": len(sample.rows), "gamma": gamma}
    higher = ("tightness", f"true {K} in {K}", f"true {K} in {10 * K}")
    return Table("bounds", tuple(rows), facts, higher=higher, lower=("error",))


def depth_table(texts: Texts, sample: BoundSample, depths: Sequence[int]) -> Table:
    """Return the recall of prefetch and prune with m candidates by WCD, and how many distances it computes.

    `texts` are all documents, `sample` their bounds, and `depths` the values of m; a last row has all documents.
    """
    n = sample.exact.shape[1]
    rows: list[dict[str, Figure]] = []
    true = _first(sample.exact, K)
    for m in sorted({min(depth, n - 1) for depth in [*depths, n]}):
        nearest = np.full((len(sample.rows), K), -1, np.int64)
        solved = []
        for query in range(len(nearest)):
            wcd, rwmd = sample.bounds["wcd"][query], sample.bounds["rwmd"][query]
            found, count = prefetched(wcd, rwmd, sample.exact[query], m, K)
            nearest[query, : len(found)] = found
            solved.append(count)
        row: dict[str, Figure] = {"m": m, "recall": kept_neighbours(nearest, true), "solved": float(np.mean(solved))}
        rows.append(row | _vote_error(texts, sample, nearest))
    facts = {"documents": n, "queries": len(sample.rows), "k": K}
    return Table("prefetch and prune", tuple(rows), facts, higher=("recall",), lower=("error",))


def _first(distances: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the columns (q, k) of the smallest distances."""
    return np.argsort(distances, axis=1, kind="stable")[:, : min(k, distances.shape[1] - 1)]


def _vote_error(texts: Texts, sample: BoundSample, nearest: NDArray[np.int64]) -> dict[str, Figure]:
    """Return the leave-one-out error by the `nearest` documents (q, k), if all documents have a label."""
    if not texts.labels or None in texts.labels:
        return {}
    rows, _ = texts.bags(0.0, None)
    names = sorted({label for label in texts.labels if label is not None})
    labels = np.array([names.index(label) for label in texts.labels if label is not None])
    votes = np.where(nearest >= 0, labels[rows][nearest], -1)
    return {"error": error_rate(votes, labels[sample.rows], nearest.shape[1], len(names))}


LONG_EXPERIMENT = 500_000
"""Number of distances that take a minute or more, although bounds exclude most of them."""

_log = logging.getLogger("moverank")


def note_workload(methods: Sequence[Method], pairs: int, described: str) -> None:
    """Report the number of `pairs` of a query and a document, `described` in words, if ranking all of them takes long.

    Only distances with transport count, most of which bounds exclude. Distances for mutual proximity are reported where
    they are computed.
    """
    count = sum(bool(method.ranking and method.ranking.has_transport) for method in methods)
    if count * pairs >= LONG_EXPERIMENT:
        by = f"by each of {count} methods" if count > 1 else "by one method"
        _log.warning("%s distances %s (%s): bounds exclude most of them", f"{pairs:,}", by, described)


def pairs_of(splits: Sequence[Split], k: int | None) -> int:
    """Return the number of pairs of a test and a training document; without `k`, also of the pairs that choose it."""
    pairs = sum(len(split.test) * len(split.train) for split in splits)
    share = 0.0 if k else FIT_SHARE * (1 - FIT_SHARE)
    return pairs + round(sum(share * len(split.train) ** 2 for split in splits))
