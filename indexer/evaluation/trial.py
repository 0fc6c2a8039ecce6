"""Distances of all queries from all documents by one method, with mutual proximity and blends."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_ranker import DistanceRanker
from moverank.indexer.evaluation.method import Method
from moverank.indexer.evaluation.rankers import Ranker
from moverank.indexer.progress import Progress
from moverank.rerank.distance.mutual_proximity import DistanceMoments, empirical_proximity, fitted_proximity

SAMPLE = 200
"""Number of documents to whose distances a distribution is fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What is ranked: a pool of documents, queries, and the row (q,) in the pool of each query itself, -1 if none.

    `cache` stores distances; `progress` is called after each step. `wanted` (q, n): whether to rank each document for
    each query, None: all.
    """

    pool: Texts
    queries: Texts
    own_rows: NDArray[np.int64]
    cache: DistanceCache
    progress: Progress
    wanted: NDArray[np.bool_] | None = None


def distances_of(method: Method, trial: Trial) -> NDArray[np.float64]:
    """Return the distances (q, n) of queries from documents by a method.

    The distance of a query from itself is infinite, and so are those that are not wanted. Mutual proximity is computed
    for all documents, wanted or not.
    """
    if method.parts:
        tables = [weight * _standardised(distances_of(part, trial)) for weight, part in method.parts]
        return np.asarray(np.sum(tables, axis=0))
    ranker = method.ranker(trial.pool, trial.cache)
    if isinstance(ranker, DistanceRanker) and method.proximity is None:
        rows = ranker.distances(trial.queries, trial.progress, trial.wanted)
    else:
        rows = ranker.distances(trial.queries, trial.progress)
    distances = np.array(list(rows)).reshape(len(trial.queries), len(trial.pool))
    in_pool = np.flatnonzero(trial.own_rows >= 0)
    distances[in_pool, trial.own_rows[in_pool]] = np.inf
    if method.proximity is not None:
        distances = _mutual_proximity(method.proximity, ranker, distances, trial)
    return distances if trial.wanted is None else np.where(trial.wanted, distances, np.inf)


def _mutual_proximity(kind: str, ranker: Ranker, distances: NDArray[np.float64], trial: Trial) -> NDArray[np.float64]:
    """Return 1 - mutual proximity (q, n) for the distances (q, n) of a trial."""
    pool, n = trial.pool, len(trial.pool)

    def distances_from(texts: Texts) -> NDArray[np.float64]:
        return np.array(list(ranker.distances(texts, trial.progress)))

    if kind == "empirical":
        among = distances_from(pool)
        among[np.eye(n, dtype=bool)] = np.inf
        return empirical_proximity(distances, among)
    sample = _sample(pool)
    sampled = distances_from(pool.take(sample))
    sampled[np.arange(len(sample)), sample] = np.inf
    sides = DistanceMoments.of(distances), DistanceMoments.of(sampled.T)
    return fitted_proximity(distances, *sides, "gaussian" if kind == "gaussian" else "gamma")


def _sample(pool: Texts) -> NDArray[np.int64]:
    """Sample rows of the pool by key: after additions most of the sample is the same, and its distances are cached."""
    order = sorted(range(len(pool)), key=lambda row: hashlib.blake2b(pool.keys[row].encode()).digest())
    return np.sort(np.array(order[:SAMPLE], np.int64))


def _standardised(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each query's distances to mean 0 and deviation 1; unranked documents get the worst one."""
    spread = DistanceMoments.of(distances)
    scaled: NDArray[np.float64] = (distances - spread.mean[:, None]) / np.maximum(spread.deviation, 1e-300)[:, None]
    finite = np.isfinite(scaled)
    worst = np.where(finite, scaled, -np.inf).max(axis=1, keepdims=True, initial=0.0)
    return np.where(finite, scaled, worst)
