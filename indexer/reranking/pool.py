"""A pool of texts in memory, ranked as `search` ranks a collection: by `evaluate`, `tune` and `Reranker`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search.counted_query import CountedQuery
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.engine_scores import engine_scores
from moverank.indexer.search.phases import Search, answer_many
from moverank.indexer.search.query import Prior, Query, QueryWords
from moverank.indexer.search.sampled_distances import sampled_distances
from moverank.indexer.search.segments import LiveSegment, counted_idf
from moverank.indexer.search.sum_terms import distance_statistics, known_terms
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.segment import Segment, Terms
from moverank.indexer.values.ranking_spec import PRIOR, RankingSpec, ScorerChoice
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.word_factors import OfWords, WordFactors
from moverank.rerank.distance.relaxed import sides_floor
from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.scorers import WordVectors

RankedRows = NDArray[np.int64]
"""Rows (m,) of a pool, best first."""
Costs = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class PoolQueries:
    """Queries that rank a pool; `wanted`, `placed` and `scores` have an item for each query."""

    texts: Texts  # (q,), over the vocabulary of the pool
    own_rows: NDArray[np.int64] | None = None  # (q,) the queries' own rows in the pool, excluded; -1 or None: no row
    wanted: Sequence[NDArray[np.int64]] | None = None  # rows of candidates, all of which are ranked; None: all rows
    placed: Sequence[NDArray[np.int64]] | None = None  # rows with exact positions, see `Query.placed`; None: all rows
    scores: Sequence[Prior | None] | None = None  # an engine's scores, see `SearchPool.scores_of`

    def __len__(self) -> int:
        return len(self.texts)


class SearchPool:
    """Ranks the documents of `pool` as `search` does; `priors` are the values of numeric fields.

    `view` has the documents, whose `ids` (n,) increase; `rows` (n,) are their rows in the pool. `directory` is their
    collection's, which caches distances from a sample. `frequencies` belong to a larger collection, which the
    documents represent; None: the documents' own.
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
        self, ranking: RankingSpec, queries: PoolQueries, k: int, progress: Progress
    ) -> Iterator[tuple[RankedRows, NDArray[np.float64]]]:
        """Yield the rows (m,) of the `k` best documents for each query, and their values (m,), increasing.

        `progress` is called after each query.
        """
        if ranking.proximity:
            sampled_distances(self.view, ranking.gamma, ranking.weights, progress)
        own = self._queries(ranking, queries, k)
        searches = (query if isinstance(query, str) else Search(self.view, query) for query in own)
        for done, (_, outcome) in enumerate(answer_many(searches), start=1):
            progress(f"Ranking by {ranking}", done, len(queries), "queries")
            if outcome is None:
                yield np.empty(0, np.int64), np.empty(0)
                continue
            ids = np.concatenate([outcome.ids, outcome.others.ids])
            yield self._rows_of(ids), np.concatenate([outcome.values, outcome.others.bounds])

    def distances(
        self, ranking: RankingSpec, queries: PoolQueries, progress: Progress
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the values (n,) of the documents for each of `queries`, infinity if a document cannot be ranked.

        Scores are negated. Documents that share no word with a query have a score, too, although they are never ranked.
        `progress` is called after each query.
        """
        scorer = ranking.single_scorer
        if scorer is None:
            found = self.rank(ranking, queries, len(self.rows), progress)
        else:
            found = self._scores(ranking, scorer, queries, progress)
        for rows, values in found:
            distances = np.full(len(self.rows), np.inf)
            distances[rows] = values
            yield distances

    def _scores(
        self, ranking: RankingSpec, scorer: ScorerChoice, queries: PoolQueries, progress: Progress
    ) -> Iterator[tuple[RankedRows, NDArray[np.float64]]]:
        """Yield the rows (n,) of all documents for each query, and their negated scores (n,)."""
        gamma = ranking.terms[0].gamma or 0.0

        def work(query: Query | str) -> tuple[RankedRows, NDArray[np.float64]]:
            if isinstance(query, str):
                return np.empty(0, np.int64), np.empty(0)
            scored = self.view.scores.score(scorer, gamma, query.words.terms[gamma])
            return self._rows_of(scored.ids), -scored.nearness

        for done, (_, scored) in enumerate(map_ahead(work, self._queries(ranking, queries, 1), _has_words), start=1):
            progress(f"Ranking by {ranking}", done, len(queries), "queries")
            yield scored

    def costs(self, ranking: RankingSpec, queries: PoolQueries, progress: Progress) -> tuple[Costs, Costs]:
        """Return the costs (4, q, n) of RWMD, cover, cosine and a scorer, and the lengths (n,) of the documents.

        `ranking` is a sum of WMD, cosine and the scorer; RWMD replaces WMD, as a tight lower bound that needs no
        transport problem. A document that a term cannot rank costs 1. `progress` is called after each query.
        """
        n, lengths = len(self.rows), np.ones(len(self.rows), np.float32)
        for part in self.view.segments:
            lengths[self._rows_of(part.segment.ids)] = part.lengths
        costs = np.ones((4, len(queries), n), np.float32)

        def work(numbered: tuple[int, Query | str]) -> None:
            number, query = numbered
            if isinstance(query, str):
                return
            for i, (ids, values) in enumerate(_costs_of(self.view, query)):
                costs[i, number, self._rows_of(ids)] = values

        numbered = enumerate(self._queries(ranking, queries, 1))
        for done, _ in enumerate(map_ahead(work, numbered, lambda one: _has_words(one[1])), start=1):
            progress("Comparing", done, len(queries), "queries")
        return costs, lengths

    def scores_of(self, scores: Mapping[str, float]) -> Prior | None:
        """Return an engine's scores, given by key, by the ids of this pool; other keys have no effect."""
        row_of = self._pool.row_of
        known = {key: score for key, score in scores.items() if key in row_of}
        rows = np.array([row_of[key] for key in known], np.int64)
        return engine_scores(list(known.values()), list(known), self._ids_of_rows[rows])

    def _rows_of(self, ids: NDArray[np.int64]) -> RankedRows:
        """Return the rows (m,) of the documents `ids` (m,)."""
        return self.rows[np.searchsorted(self.ids, ids)]

    def _queries(self, ranking: RankingSpec, queries: PoolQueries, k: int) -> Iterator[Query | str]:
        """Yield the search for the `k` best documents for each query, or why it has none."""
        fields = [dict(term.options)["field"] for term in ranking.terms if term.name == PRIOR]
        priors = {field: self._priors[field] for field in fields}
        plain = Query(QueryWords.none(self.view.dim), k, None, ranking, bounded=False, priors=priors)
        ids = self._ids_of_rows
        for row, key in enumerate(queries.texts.keys):
            query = plain
            if queries.own_rows is not None and queries.own_rows[row] >= 0:
                query = replace(query, without=int(ids[queries.own_rows[row]]))
            if queries.wanted is not None:
                allowed = np.sort(ids[queries.wanted[row]])
                query = replace(query, allowed=allowed, k=max(1, min(k, len(allowed))), whole=True)
            if queries.placed is not None:
                query = replace(query, placed=ids[queries.placed[row]])
            if queries.scores is not None:
                query = replace(query, engine_scores=queries.scores[row])
            yield self.with_words(query, queries.texts, row) or f"{key!r} has no word to rank by"

    def with_words(self, query: Query, queries: Texts, row: int) -> Query | None:
        """Return `query` with the words of the text at `row` of `queries`; None if none can be used."""
        words = _counted(queries, row).weighted(query, self.view.factors)
        has_words = words.texts if query.needs_bag else words.all_texts
        return replace(query, words=words) if has_words else None


def _has_words(query: Query | str) -> bool:
    """Return whether a query can be answered."""
    return not isinstance(query, str)


def _costs_of(view: View, query: Query) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield ids and costs of RWMD, cover, and the terms of a ranking that are no distances."""
    nothing = np.empty(0, np.int64), np.empty(0)
    if len(query.words.weights) and view.segments:
        (part,) = view.segments
        bags = part.bags(np.arange(len(part.segment.ids)), query.ranking.gamma, query.ranking.weights)
        sides = sides_floor(query.words.over(part.segment.word_ids), bags, part.segment.vectors)
        typical = distance_statistics(view, query).median
        yield part.segment.ids, np.maximum(*sides) / typical
        yield part.segment.ids, sides.query / typical
    else:
        yield from (nothing, nothing)
    for known in known_terms(view, query):
        yield known.ids, known.costs


def _counted(texts: Texts, row: int) -> CountedQuery:
    """Return the words of the text at `row` as a query over the vocabulary that it shares with a pool."""
    vocabulary, counts = texts.vocabulary, texts.counts.take(np.array([row]))
    words, positions = np.unique(counts.words, return_inverse=True)
    names = tuple(vocabulary.words[word] for word in words.tolist())
    vectors = WordVectors(vocabulary.vectors[words], vocabulary.known[words])
    own = replace(counts, words=positions.astype(np.int32))
    return CountedQuery(names, words.astype(np.int64) + 1, vectors, own, texts.title_weight)


def _view_of(pool: Texts, ids: NDArray[np.int64], directory: Path | None, outside: DocumentFrequencies | None) -> View:
    """Return a view of the documents of `pool`, whose `ids` (n,) increase; ids of words are their indices plus 1.

    `outside` are the frequencies of a larger collection; None: the pool's own.
    """
    vocabulary = pool.vocabulary
    word_ids = np.arange(1, 1 + len(vocabulary.known))
    known = vocabulary.known
    vectors = np.ascontiguousarray(vocabulary.vectors if known.all() else vocabulary.vectors[known])
    segment = Segment.of(Terms(ids, pool.counts, word_ids), word_ids[known], vectors)

    def texts(of: NDArray[np.int64]) -> list[str]:
        return [vocabulary.words[id_ - 1] for id_ in of.tolist()]

    parts = list[LiveSegment]()
    idf: OfWords = (lambda ids, own: outside.idf(own or texts(ids))) if outside else counted_idf(parts, pool.documents)
    factors = WordFactors(idf, lambda weights, ids, _: vocabulary.factors_of(weights)[ids - 1])
    parts.append(LiveSegment(segment, np.empty(0, np.int64), factors, float(pool.title_weight)))
    view = View.of(parts, pool.documents, factors, texts, vocabulary.vectors.shape[1], outside)
    return replace(view, directory=directory, sampled_content=pool.sample)
