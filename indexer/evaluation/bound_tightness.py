"""`evaluate bounds`: how tight each bound is, what is lost by taking it for the distance, and by fewer candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_ranker import DistanceRanker
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.progress import Progress
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.evaluation.knn import error
from moverank.rerank.evaluation.tightness import BOUNDS, every_bound, kept_neighbours, prefetched, tightness
from moverank.rerank.runtime.threads import single_threaded_blas

K = 10


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Exact distances (q, n) of sampled documents from all, and every bound of them by name; own places infinite."""

    rows: NDArray[np.int64]
    exact: NDArray[np.float64]
    bounds: dict[str, NDArray[np.float64]]


def compare(
    texts: Texts, queries: int, gamma: float, kept: DistanceCache, progress: Progress, seed: int = 0
) -> Measured:
    """Compute all distances and all bounds of a sample of documents that have a bag."""
    rows, bags = texts.bags(gamma, None)
    if len(rows) <= K:
        raise UsageError(f"bounds are compared over more than {K} documents with a known word: there are {len(rows)}")
    pool = texts.take(rows)
    sample = np.sort(np.random.default_rng(seed).permutation(len(pool))[:queries])
    mover = DistanceRanker("pwmd" if gamma else "wmd", pool, gamma, None, kept)
    exact = np.array(list(mover.distances(pool.take(sample), progress)))
    every: dict[str, list[NDArray[np.float64]]] = {name: [] for name in BOUNDS}
    vectors = texts.vocabulary.vectors
    for done, row in enumerate(sample.tolist(), start=1):
        bag = bags[row]
        with single_threaded_blas():
            found = every_bound(QueryBag(bag, vectors[bag.words]), bags, vectors)
        for name, told in every.items():
            told.append(found[name])
        progress("Computing bounds", done, len(sample), "queries")
    itself = np.arange(len(sample)), sample
    exact[itself] = np.inf
    bounds = {name: np.array(told) for name, told in every.items()}
    for table in bounds.values():
        table[itself] = np.inf
    return Measured(rows[sample], exact, bounds)


def bounds_table(texts: Texts, measured: Measured, gamma: float) -> Table:
    """Tell of each bound how tight it is, how many of the true ten neighbours it finds, and its kNN error."""
    rows: list[dict[str, Value]] = []
    true = _first(measured.exact, K)
    for name, table in [*measured.bounds.items(), ("wmd", measured.exact)]:
        row: dict[str, Value] = {"bound": name, "tightness": tightness(table, measured.exact)}
        row |= {f"true {K} in {m}": kept_neighbours(_first(table, m), true) for m in (K, 10 * K)}
        rows.append(row | _errors(texts, measured, table))
    facts = {"documents": measured.exact.shape[1], "queries": len(measured.rows), "gamma": gamma}
    higher = ("tightness", f"true {K} in {K}", f"true {K} in {10 * K}")
    return Table("bounds", tuple(rows), facts, higher=higher, lower=("error",))


def depth_table(texts: Texts, measured: Measured, depths: Sequence[int]) -> Table:
    """Tell what prefetch and prune finds with m candidates by WCD, and how many distances it has to compute."""
    n = measured.exact.shape[1]
    rows: list[dict[str, Value]] = []
    true = _first(measured.exact, K)
    for m in sorted({min(depth, n - 1) for depth in [*depths, n]}):
        found = np.full((len(measured.rows), K), -1, np.int64)
        solved = []
        for query in range(len(found)):
            wcd, rwmd = measured.bounds["wcd"][query], measured.bounds["rwmd"][query]
            near, count = prefetched(wcd, rwmd, measured.exact[query], m, K)
            found[query, : len(near)] = near
            solved.append(count)
        row: dict[str, Value] = {"m": m, "recall": kept_neighbours(found, true), "solved": float(np.mean(solved))}
        rows.append(row | _vote_errors(texts, measured, found))
    facts = {"documents": n, "queries": len(measured.rows), "k": K}
    return Table("prefetch and prune", tuple(rows), facts, higher=("recall",), lower=("error",))


def _first(distances: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the places (q, k) of the smallest distances."""
    return np.argsort(distances, axis=1, kind="stable")[:, : min(k, distances.shape[1] - 1)]


def _errors(texts: Texts, measured: Measured, table: NDArray[np.float64]) -> dict[str, Value]:
    return _vote_errors(texts, measured, _first(table, K))


def _vote_errors(texts: Texts, measured: Measured, places: NDArray[np.int64]) -> dict[str, Value]:
    """Return the leave-one-out error of the ten nearest, where all documents have a label."""
    if not texts.labels or None in texts.labels:
        return {}
    rows, _ = texts.bags(0.0, None)
    names = sorted({label for label in texts.labels if label is not None})
    labels = np.array([names.index(label) for label in texts.labels if label is not None])
    votes = np.where(places >= 0, labels[rows][places], -1)
    return {"error": error(votes, labels[measured.rows], places.shape[1], len(names))}
