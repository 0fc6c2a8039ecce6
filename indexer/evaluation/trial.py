"""Rankings of the queries of an experiment by one method: best lists, or all distances with mutual proximity."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.distance_ranker import DistanceRanker
from moverank.indexer.evaluation.method import Method
from moverank.indexer.evaluation.rankers import Ranker, nearest_of
from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.reranking.counted_texts import Texts
from moverank.indexer.reranking.search_pool import Ranked, SearchPool
from moverank.indexer.search.query import Prior
from moverank.rerank.distance.mutual_proximity import DistanceMoments, empirical_proximity, fitted_proximity
from moverank.rerank.evaluation.judgments import Judgments

SAMPLE = 200
"""Number of documents to whose distances a distribution is fitted."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What is ranked: a pool of documents, queries, and the row (q,) in the pool of each query itself, -1 if none.

    `cache` stores distances; `progress` is called after each step. `candidates` are the keys of the documents that are
    ranked for each query, None: all. `placed` are the rows (m,) of the documents of each query whose positions must be
    exact, with the first `PLACES`: the order of the others may be that of bounds; None: all. `priors` are the values of
    numeric fields. `directory` is that of the collection of the pool. `scores` are those that an engine gave to
    documents, by query and key, for the term `vector`.
    """

    pool: Texts
    queries: Texts
    own_rows: NDArray[np.int64]
    cache: DistanceCache
    progress: Progress
    candidates: Mapping[str, Sequence[str]] | None = None
    placed: Sequence[NDArray[np.int64]] | None = None
    priors: Mapping[str, Prior] = field(default_factory=dict)
    directory: Path | None = None
    scores: Mapping[str, Mapping[str, float]] | None = None

    @cached_property
    def search(self) -> SearchPool:
        """Return the pool as `search` sees it."""
        return SearchPool(self.pool, dict(self.priors), self.directory)

    @cached_property
    def wanted(self) -> NDArray[np.bool_] | None:
        """Return whether each document is a candidate of each query (q, n); None: all are."""
        if self.candidates is None:
            return None
        wanted = np.zeros((len(self.queries), len(self.pool)), bool)
        row_of = self.pool.row_of
        for row, query in enumerate(self.queries.keys):
            wanted[row, [row_of[key] for key in self.candidates.get(query, ()) if key in row_of]] = True
        return wanted

    def of_queries(self, rows: Sequence[int] | NDArray[np.int64]) -> "Trial":
        """Return the trial of the queries at `rows` (m,) only, all of whose positions are exact."""
        return replace(self, queries=self.queries.take(rows), own_rows=self.own_rows[rows], placed=None)

    def ranked(self, ranking: RankingSpec, k: int) -> Iterator[tuple[Ranked, NDArray[np.float64]]]:
        """Yield the rows (m,) of the `k` best documents for each query, and what ranks them; see `SearchPool.rank`."""
        wanted = None if self.wanted is None else [np.flatnonzero(row) for row in self.wanted]
        scores = None
        if self.scores is not None:
            scores = [self.search.scores_of(self.scores.get(query, {})) for query in self.queries.keys]
        return self.search.rank(ranking, self.queries, k, self.own_rows, self.progress, wanted, self.placed, scores)


def best_of(method: Method, trial: Trial, k: int) -> list[Ranked]:
    """Return the rows (at most `k`,) of the best documents for each query of a trial, best first.

    A query itself is left out, and so are documents that are no candidates or cannot be ranked. Equal values are in the
    order of the documents.
    """
    return [rows for rows, _ in best_with_values(method, trial, k)]


def best_with_values(method: Method, trial: Trial, k: int) -> list[tuple[Ranked, NDArray[np.float64]]]:
    """Return the rows of `best_of`, and what ranks them (at most `k`,): smaller is better."""
    if method.ranking is not None and method.proximity is None:
        return list(trial.ranked(method.ranking, k))
    distances = distances_of(method, trial)
    nearest = nearest_of(distances, len(trial.queries), min(k, len(trial.pool)))
    found = [rows[rows >= 0] for rows in nearest]
    return [(rows, of_query[rows]) for rows, of_query in zip(found, distances, strict=True)]


def run_of(best: Sequence[Ranked], trial: Trial) -> dict[str, list[str]]:
    """Return the ranked keys of each query; candidates that cannot be ranked are last, in the order given."""
    run, keys = dict[str, list[str]](), trial.pool.keys
    for query, own_row, rows in zip(trial.queries.keys, trial.own_rows.tolist(), best, strict=True):
        run[query] = [keys[row] for row in rows.tolist()]
        if trial.candidates is not None:
            found = {*run[query], *([keys[own_row]] if own_row >= 0 else [])}
            run[query] += [key for key in trial.candidates.get(query, ()) if key not in found]
    return run


def placing_relevant(trial: Trial, *several: Judgments) -> Trial:
    """Return a trial whose rankings need to be exact only for measures by one of `several` judgments.

    All measures depend on the positions of the relevant documents alone, and hubness on the first `PLACES` documents.
    """
    row_of, rows = trial.pool.row_of, []
    for query in trial.queries.keys:
        grades = (grade for judgments in several for grade in judgments.grades.get(query, {}).items())
        relevant = {row_of[key] for key, grade in grades if grade > 0 and key in row_of}
        rows.append(np.array(sorted(relevant), np.int64))
    return replace(trial, placed=rows)


def distances_of(method: Method, trial: Trial) -> NDArray[np.float64]:
    """Return the distances (q, n) of queries from documents by a method.

    The distance of a query from itself is infinite, and so are those of documents that are no candidates. Mutual
    proximity is computed for all documents.
    """
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
