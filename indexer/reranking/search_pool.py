"""A pool of texts in memory as a view: what `evaluate` measures is the code that `search` runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import PRIOR
from moverank.indexer.reranking.counted_texts import Texts
from moverank.indexer.search.batch import answer_many
from moverank.indexer.search.counted_query import CountedQuery
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.engine_scores import engine_scores
from moverank.indexer.search.live_segment import LazyFrequencies, LiveSegment
from moverank.indexer.search.live_terms import LiveTerms
from moverank.indexer.search.query import Outcome, Prior, Query, QueryWords
from moverank.indexer.search.sampled_distances import sampled_distances
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.segment import Segment, Terms, keep_words
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.scorers import WordVectors

Ranked = NDArray[np.int64]
"""Rows (m,) of a pool, best first."""


class _PoolFrequencies:
    """The idf of the words of a pool; word ids are indices of its vocabulary plus 1.

    `frequencies` are those of a larger collection; None: the pool's own.
    """

    def __init__(self, pool: Texts, frequencies: DocumentFrequencies | None) -> None:
        self._idf = frequencies.idf(pool.vocabulary.words) if frequencies else pool.idf

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._idf[word_ids - 1]

    def idf_of_query(self, word_ids: NDArray[np.int64], _texts: Sequence[str]) -> NDArray[np.float64]:
        return self.idf(word_ids)


class SearchPool:
    """Ranks the documents of `pool` as `search` does; `priors` are the values of numeric fields.

    `view` has the documents, whose `ids` (n,) increase; `rows` (n,) are their rows in the pool. `directory` is that of
    their collection, which caches distances from a sample. `frequencies` are those of a larger collection which the
    documents represent; None: their own.
    """

    def __init__(
        self,
        pool: Texts,
        priors: dict[str, Prior] | None = None,
        directory: Path | None = None,
        frequencies: DocumentFrequencies | None = None,
    ) -> None:
        self._pool, self._priors = pool, priors or {}
        ids = np.array(pool.ids or range(1, 1 + len(pool)), np.int64)
        self.rows = np.argsort(ids)
        self.ids, self._ids_of_rows = ids[self.rows], ids
        self.view = _view_of(pool.take(self.rows), self.ids, directory, frequencies)

    def rank(
        self,
        ranking: RankingSpec,
        queries: Texts,
        k: int,
        own_rows: NDArray[np.int64],
        progress: Progress,
        wanted: Sequence[NDArray[np.int64]] | None = None,
        placed: Sequence[NDArray[np.int64]] | None = None,
        scores: Sequence[Prior | None] | None = None,
    ) -> Iterator[tuple[Ranked, NDArray[np.float64]]]:
        """Yield the rows (m,) of the `k` best documents for each of `queries`, and what ranks them (m,), increasing.

        `own_rows` (q,) are the rows of the queries themselves, -1 for none, which are excluded. `wanted` are the rows
        of the candidates of each query, all of which are ranked, as by `Collection.rerank`; None: all documents.
        `placed` are the rows whose positions must be exact for each query, see `Query.placed`; None: all. `scores` are
        those of an engine for each query, see `scores_of`. `progress` is called after each query.
        """
        parsed = self.queries(ranking, queries, k, own_rows, wanted, placed, scores)
        if ranking.proximity:
            sampled_distances(self.view, ranking.gamma, ranking.weights, progress)
        for done, (_, outcome) in enumerate(answer_many(self.view, parsed), start=1):
            progress(f"Ranking by {ranking}", done, len(queries), "queries")
            yield self._rows(outcome)

    def _rows(self, outcome: Outcome | None) -> tuple[Ranked, NDArray[np.float64]]:
        if outcome is None:
            return np.empty(0, np.int64), np.empty(0)
        ids = np.concatenate([outcome.ids, outcome.others.ids])
        return self.rows[np.searchsorted(self.ids, ids)], np.concatenate([outcome.values, outcome.others.bounds])

    def scores_of(self, scores: Mapping[str, float]) -> Prior | None:
        """Return an engine's scores, which are given by key, by the ids of this pool; other keys have no effect."""
        row_of = self._pool.row_of
        known = {key: score for key, score in scores.items() if key in row_of}
        rows = np.array([row_of[key] for key in known], np.int64)
        return engine_scores(list(known.values()), list(known), self._ids_of_rows[rows])

    def queries(
        self,
        ranking: RankingSpec,
        queries: Texts,
        k: int,
        own_rows: NDArray[np.int64],
        wanted: Sequence[NDArray[np.int64]] | None = None,
        placed: Sequence[NDArray[np.int64]] | None = None,
        scores: Sequence[Prior | None] | None = None,
    ) -> Iterator[Query | str]:
        """Yield the query for each of `queries`, or why it has none; parameters as in `rank`."""
        fields = [dict(term.options)["field"] for term in ranking.terms if term.name == PRIOR]
        priors = {field: self._priors[field] for field in fields}
        plain = Query(QueryWords.none(self.view.dim), k, None, ranking, bounded=False, priors=priors)
        row_ids = self._ids_of_rows
        for row, own in enumerate(own_rows.tolist()):
            allowed = None if wanted is None else np.sort(row_ids[wanted[row]])
            exact = None if placed is None else row_ids[placed[row]]
            without = None if own < 0 else int(row_ids[own])
            own_query = replace(plain, allowed=allowed, without=without, placed=exact)
            if allowed is not None:
                own_query = replace(own_query, k=max(1, min(k, len(allowed))), whole=True)
            if scores is not None:
                own_query = replace(own_query, engine_scores=scores[row])
            query = self.with_words(own_query, queries, row)
            yield query or f"{queries.keys[row]!r} has no word to rank by"

    def with_words(self, query: Query, queries: Texts, row: int) -> Query | None:
        """Return `query` with the words of the text at `row` of `queries`; None if it has none that it needs."""
        frequencies = self.view.frequencies.get() if query.ranking.weights == "tfidf" else None
        words = _counted(queries, row).weighted(query, frequencies)
        has_words = words.texts if query.needs_bag else words.all_texts
        return replace(query, words=words) if has_words else None


def _counted(texts: Texts, row: int) -> CountedQuery:
    """Return the words of the text at `row` as a query over the vocabulary that it shares with a pool."""
    vocabulary, counts = texts.vocabulary, texts.counts.take(np.array([row]))
    words, positions = np.unique(counts.words, return_inverse=True)
    names = tuple(vocabulary.words[word] for word in words.tolist())
    vectors = WordVectors(vocabulary.vectors[words], vocabulary.known[words])
    own = replace(counts, words=positions.astype(np.int32))
    return CountedQuery(names, words.astype(np.int64) + 1, vectors, own, texts.title_weight)


def _view_of(pool: Texts, ids: NDArray[np.int64], directory: Path | None, outside: DocumentFrequencies | None) -> View:
    """Return a view of the documents of `pool`, whose `ids` (n,) increase."""
    vocabulary, weight = pool.vocabulary, float(pool.title_weight)
    word_ids = np.arange(1, 1 + len(vocabulary.known))
    known_ids = word_ids[vocabulary.known]
    every = len(known_ids) == len(word_ids)
    counts: PartCounts = pool.counts
    segment = Segment(
        *keep_words(ids, counts, word_ids, known_ids),
        known_ids,
        np.ascontiguousarray(vocabulary.vectors if every else vocabulary.vectors[known_ids - 1]),
    )
    frequencies = LazyFrequencies(lambda: _PoolFrequencies(pool, outside))
    live = LiveSegment(segment, np.ones(len(segment.ids), bool), frequencies, weight)
    terms = LiveTerms(Terms(ids, counts, word_ids), np.empty(0, np.int64), segment, weight)

    def texts(of: NDArray[np.int64]) -> list[str]:
        return [vocabulary.words[id_ - 1] for id_ in of.tolist()]

    scores = TermScores([terms], pool.documents, texts, outside)
    segments = (live,) if len(segment.ids) else ()
    view = View(0, segments, 0.0, "tf", frequencies, scores, None, vocabulary.vectors.shape[1], None, directory)
    return replace(view, sampled_content=pool.sample)
