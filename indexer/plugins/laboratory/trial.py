"""Rankings of the queries of an experiment by one method: best lists, or all distances with mutual proximity."""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.method import Method
from moverank.indexer.reranking.pool import PoolQueries, RankedRows, SearchPool
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search.query import Prior
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.indexer.values.search_options import Progress
from moverank.rerank.distance.mutual_proximity import DistanceMoments, empirical_proximity, fitted_proximity
from moverank.rerank.evaluation.measures import Judgments

SAMPLE = 200
"""Number of documents in a sample, to whose distances a distribution is fitted."""

LONG = 100_000
"""Number of distances that take about a minute, and are reported before."""

SYMMETRIC = ("wmd", "pwmd", "rwmd", "chamfer", "wcd")
"""The symmetric distances."""

_log = logging.getLogger("moverank")


@dataclass(frozen=True, eq=False)
class Trial:
    """The documents and queries of an experiment."""

    pool: Texts
    """The documents that are ranked."""
    queries: Texts
    own_rows: NDArray[np.int64]
    """The row (q,) of each query in the pool, -1 for a query that is no document."""
    cache: RowCache
    """A cache of distances."""
    progress: Progress
    """Called after each step."""
    candidates: Mapping[str, Sequence[str]] | None = None
    """The keys of the documents that are ranked for each query; None: all."""
    placed: Sequence[NDArray[np.int64]] | None = None
    """The rows (m,) of the documents of each query whose positions must be exact, besides the first `PLACES`: bounds
    may order the others; None: all."""
    priors: Mapping[str, Prior] = field(default_factory=dict)
    """The values of numeric fields."""
    directory: Path | None = None
    """The directory of the collection."""
    scores: Mapping[str, Mapping[str, float]] | None = None
    """The scores of an engine by query and key, for the term `vector`."""

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

    def pool_queries(self) -> PoolQueries:
        """Return the queries in the form that the pool ranks."""
        wanted = None if self.wanted is None else [np.flatnonzero(row) for row in self.wanted]
        scores = None
        if self.scores is not None:
            scores = [self.search.scores_of(self.scores.get(query, {})) for query in self.queries.keys]
        return PoolQueries(self.queries, self.own_rows, wanted, self.placed, scores)

    def ranked(self, ranking: RankingSpec, k: int) -> Iterator[tuple[RankedRows, NDArray[np.float64]]]:
        """Yield the rows (m,) of the `k` best documents for each query, and their values; see `SearchPool.rank`."""
        return self.search.rank(ranking, self.pool_queries(), k, self.progress)

    def distances(self, ranking: RankingSpec, queries: Texts) -> NDArray[np.float64]:
        """Return the distances (m, n) of some `queries` from all documents; distances of bags are cached.

        If the queries are the documents and the distance is symmetric, each pair is computed once.
        """
        n, symmetric = len(self.pool), ranking.plain in SYMMETRIC and queries.digest == self.pool.digest

        def compute(rows: NDArray[np.int64]) -> Iterable[NDArray[np.float64]]:
            count = sum(n - row for row in rows.tolist()) if symmetric else len(rows) * n
            if ranking.distances and count >= LONG:
                name = ranking.distances[0].name.upper()
                _log.warning("%s distances by %s are to be computed", f"{count:,}", name)
            wanted = [np.arange(row, n) for row in rows.tolist()] if symmetric else None
            return self.search.distances(ranking, PoolQueries(queries.take(rows), wanted=wanted), self.progress)

        cache = self.cache if ranking.distances else RowCache()
        found = cache.rows(f"distances-{self._name(ranking, queries)}", (len(queries), n), np.float64, compute)
        return np.minimum(found, found.T) if symmetric else found

    def nearest(self, method: Method, k: int) -> NDArray[np.int64]:
        """Return the rows (q, k) of the best documents for each query by a method, best first, and -1 for none.

        Rankings by a distance of bags are cached.
        """

        def compute(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
            for best, _ in best_with_values(method, self.of_queries(rows), k):
                yield np.pad(best, (0, k - len(best)), constant_values=-1)

        ranking, cached = method.ranking, RowCache()
        if ranking is None or method.proximity or not ranking.distances:
            return cached.rows("", (len(self.queries), k), np.int64, compute)
        name = f"nearest-{self._name(ranking, self.queries, self.own_rows.astype('<i8').tobytes())}-{k}"
        return self.cache.rows(name, (len(self.queries), k), np.int64, compute)

    def _name(self, ranking: RankingSpec, queries: Texts, more: bytes = b"") -> str:
        """Return a name that identifies a ranking, the documents, and queries."""
        total = hashlib.sha256(repr((str(ranking), ranking.gamma, ranking.weights, self.pool.documents)).encode())
        total.update(self.pool.digest + queries.digest + more)
        return total.hexdigest()[:24]


def best_of(method: Method, trial: Trial, k: int) -> list[RankedRows]:
    """Return the rows (at most `k`,) of the best documents for each query of a trial, best first.

    A query itself is left out, and so are documents that are no candidates or cannot be ranked. Equal values are in the
    order of the documents.
    """
    return [rows for rows, _ in best_with_values(method, trial, k)]


def best_with_values(method: Method, trial: Trial, k: int) -> Iterator[tuple[RankedRows, NDArray[np.float64]]]:
    """Yield the rows of `best_of`, and their values (at most `k`,): smaller is better."""
    if method.ranking is None:
        yield from _smallest(_random(trial), trial, k)
    elif method.proximity:
        yield from _smallest(_mutual_proximity(method.proximity, method.ranking, trial), trial, k)
    else:
        yield from trial.ranked(method.ranking, k)


def _random(trial: Trial) -> Iterator[NDArray[np.float64]]:
    """Yield the places (n,) of the documents in a random order for each query, with a fixed seed."""
    generator = np.random.default_rng(0)
    for row in range(len(trial.queries)):
        trial.progress("Drawing", row + 1, len(trial.queries), "queries")
        yield generator.permutation(len(trial.pool)).astype(np.float64)


def _smallest(
    values: Iterable[NDArray[np.float64]], trial: Trial, k: int
) -> Iterator[tuple[RankedRows, NDArray[np.float64]]]:
    """Yield the rows of the `k` smallest finite `values` (n,) for each query, of documents that may be ranked."""
    for query, (own, row) in enumerate(zip(trial.own_rows.tolist(), values, strict=True)):
        allowed = row if trial.wanted is None else np.where(trial.wanted[query], row, np.inf)
        if own >= 0:
            allowed[own] = np.inf
        order = np.argsort(allowed, kind="stable")[:k]
        order = order[np.isfinite(allowed[order])]
        yield order, allowed[order]


def run_of(best: Sequence[RankedRows], trial: Trial) -> dict[str, list[str]]:
    """Return the ranked keys of each query; candidates that cannot be ranked are last, in the order given."""
    run, keys = dict[str, list[str]](), trial.pool.keys
    for query, own_row, rows in zip(trial.queries.keys, trial.own_rows.tolist(), best, strict=True):
        run[query] = [keys[row] for row in rows.tolist()]
        if trial.candidates is not None:
            found = {*run[query], *([keys[own_row]] if own_row >= 0 else [])}
            run[query] += [key for key in trial.candidates.get(query, ()) if key not in found]
    return run


def placing_relevant(trial: Trial, *several: Judgments) -> Trial:
    """Return a trial whose rankings are exact only as far as measures by one of `several` judgments need.

    All measures depend on the positions of the relevant documents alone, and hubness on the first `PLACES` documents.
    """
    row_of, rows = trial.pool.row_of, []
    for query in trial.queries.keys:
        grades = (grade for judgments in several for grade in judgments.grades.get(query, {}).items())
        relevant = {row_of[key] for key, grade in grades if grade > 0 and key in row_of}
        rows.append(np.array(sorted(relevant), np.int64))
    return replace(trial, placed=rows)


def _mutual_proximity(kind: str, ranking: RankingSpec, trial: Trial) -> NDArray[np.float64]:
    """Return 1 - mutual proximity (q, n) of the queries and all documents of a trial, infinity for a query itself."""
    distances = trial.distances(ranking, trial.queries)
    in_pool = np.flatnonzero(trial.own_rows >= 0)
    distances[in_pool, trial.own_rows[in_pool]] = np.inf
    if kind == "empirical":
        among = trial.distances(ranking, trial.pool)
        np.fill_diagonal(among, np.inf)
        return empirical_proximity(distances, among)
    sample = _sample(trial.pool)
    sampled = trial.distances(ranking, trial.pool.take(sample))
    sampled[np.arange(len(sample)), sample] = np.inf
    sides = DistanceMoments.of(distances), DistanceMoments.of(sampled.T)
    return fitted_proximity(distances, *sides, "gaussian" if kind == "gaussian" else "gamma")


def _sample(pool: Texts) -> NDArray[np.int64]:
    """Sample rows of the pool by key: after additions, most of the sample stays, and its distances are cached."""
    order = sorted(range(len(pool)), key=lambda row: hashlib.blake2b(pool.keys[row].encode()).digest())
    return np.sort(np.array(order[:SAMPLE], np.int64))
