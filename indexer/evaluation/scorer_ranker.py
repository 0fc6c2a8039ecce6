"""Ranks by any scorer of `rerank.scorers`."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.rankers import ExhaustiveRanker
from moverank.indexer.progress import Progress
from moverank.indexer.reranking.counted_texts import Texts
from moverank.rerank.runtime.threads import single_threaded_blas
from moverank.rerank.scorers import Statistics, TermCounts, TermQuery, WordVectors, choose


class ScorerRanker(ExhaustiveRanker):
    """Ranks a `pool` by the scorer `name` with `options`; counts are weighted by `gamma`.

    The distance is the score, negated if high scores are better.
    """

    def __init__(self, name: str, options: Mapping[str, str], pool: Texts, gamma: float = 0.0) -> None:
        self._kind, self._gamma, self._vocabulary = choose(name, options), gamma, pool.vocabulary
        starts, words, amounts = pool.ranked_counts(gamma)
        size = len(pool.vocabulary.known)
        self._frequencies = np.bincount(words, minlength=size).astype(np.int64)
        self._totals = np.bincount(words, amounts, minlength=size).astype(np.float64)
        used = self._frequencies > 0
        self._term = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        counts = TermCounts(starts, self._term[words], amounts, self._word_vectors(np.flatnonzero(used)))
        statistics = Statistics(len(pool), float(amounts.sum()), self._frequencies[used], self._totals[used])
        with single_threaded_blas():
            self._scorer = self._kind.fit(counts, statistics, options)
        self._sign = 1.0 if self._kind.ascending else -1.0

    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        starts, words, amounts = queries.ranked_counts(self._gamma)
        for row in range(len(queries)):
            progress("Scoring", row + 1, len(queries), "queries")
            entries = slice(starts[row], starts[row + 1])
            with single_threaded_blas():
                yield self._sign * self._scorer.score(self._query(words[entries], amounts[entries]))

    def _query(self, words: NDArray[np.int32], amounts: NDArray[np.float64]) -> TermQuery:
        frequencies, totals = self._frequencies[words], self._totals[words]
        return TermQuery(self._term[words], amounts, frequencies, totals, self._word_vectors(words))

    def _word_vectors(self, words: NDArray[np.int32] | NDArray[np.int64]) -> WordVectors | None:
        """Return the vectors of words; None if the scorer needs none."""
        if not self._kind.needs_vectors:
            return None
        return WordVectors(self._vocabulary.vectors[words], self._vocabulary.known[words])
