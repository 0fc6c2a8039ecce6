"""Searches one view of a collection."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from moverank.indexer import arguments
from moverank.indexer.arguments import finite_number
from moverank.indexer.errors import UsageError
from moverank.indexer.options import SearchOptions
from moverank.indexer.progress import Progress, silent
from moverank.indexer.ranked_texts import QueryText, StoredKey
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import VECTOR
from moverank.indexer.search.batch import answer, answer_many
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.engine_scores import Scores
from moverank.indexer.search.explanations import (
    StoredBag,
    check_bounded,
    explain_document,
    explain_elsewhere,
    why_not,
    why_not_below,
    why_not_elsewhere,
)
from moverank.indexer.search.grouping import check_not_grouped, grouped, one_by_one
from moverank.indexer.search.hits import StoredHits, ranking_of
from moverank.indexer.search.neighbours import Neighbours, find_neighbours
from moverank.indexer.search.pairs import (
    FoundPairs,
    Pair,
    Pairs,
    check_pair_ranking,
    find_pairs,
    is_wmd,
    pairs_by_searches,
)
from moverank.indexer.search.peers import Peers
from moverank.indexer.search.query import Outcome, PortableQuery, Query
from moverank.indexer.search.query_parser import QueryParser, parsed_or_error
from moverank.indexer.search.rerank_tasks import RerankTask, rerank_many
from moverank.indexer.search.sampled_distances import sampled_distances
from moverank.indexer.search.stored_candidates import StoredCandidates
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Ranking
from moverank.rerank.scorers import Statistics
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.stems import LANGUAGES

Request = QueryText | PortableQuery
"""What a search is for."""

_Item = TypeVar("_Item")
"""A text, a record or a key."""


class Searcher:
    """Searches `view`; `reader` sees the same state, `settings` and `embedding` are the collection's.

    `search`, `similar`, `rerank`, `pairs`, `explain`, `why_not` and `document_frequencies` may be called by several
    threads at a time: one of them reads the database, under the lock `database`, while others compute distances. Two
    searchers with one `reader` have one lock. `fields`: of documents in other shards.
    """

    def __init__(
        self,
        reader: Reader,
        view: View,
        settings: Settings,
        embedding: Embedding,
        database: Any = None,
        fields: Collection[str] = (),
    ) -> None:
        self._reader, self._view = reader, view
        self._parser = QueryParser(reader, view, settings, embedding, fields)
        self.database = database or RLock()

    def check(self, options: SearchOptions) -> None:
        """Check the files that searches with these options read; DamagedFile names a damaged one."""
        query = self._parser.resolve(options)
        by_vectors = any(term.name == VECTOR for term in query.ranking.terms)
        stage = query.depth is not None or by_vectors
        # Of few documents that pass a filter, all vectors are compared without the index.
        vectors = by_vectors or query.allowed is not None
        self._view.check(stage=stage, terms=bool(query.ranking.scorers or (stage and query.joined)), vectors=vectors)

    def prepare(self, options: SearchOptions, progress: Progress) -> None:
        """Compute what searches with these options need of all documents, unless it is cached."""
        self._prepare(self._parser.resolve(replace(options, where=None)).ranking, progress)

    def _prepare(self, ranking: RankingSpec, progress: Progress) -> None:
        if ranking.proximity:
            sampled_distances(self._view, ranking.gamma, ranking.weights, progress)

    def search(self, text: QueryText, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text or a record."""
        return grouped(lambda chosen: self._answer(text, self._parser.text, chosen), options, self._fields)

    def similar(self, key: str, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a stored one, which is excluded."""
        return grouped(lambda chosen: self._answer(key, self._parser.similar, chosen), options, self._fields)

    def search_many(self, texts: Iterable[QueryText], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many texts or records."""
        if options.group_by is not None:
            return one_by_one(self.search, arguments.items("queries", texts), options)
        return self._answer_many(texts, self._parser.text, options)

    def similar_many(self, keys: Iterable[str], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many stored ones."""
        if options.group_by is not None:
            return one_by_one(self.similar, arguments.items("keys", keys), options)
        return self._answer_many(keys, self._parser.similar, options)

    def _fields(self) -> list[str]:
        with self.database:
            return self._reader.field_names()

    def neighbours(self, k: int, gamma: float | None, progress: Progress) -> Neighbours:
        """Find the exact `k` nearest neighbours of every document; `gamma`, `progress`: see `Collection.neighbours`."""
        used = self._view.gamma if gamma is None else finite_number("gamma", gamma)
        rank = "pwmd" if used else "wmd"
        query = self._parser.resolve(SearchOptions(k=k, exact=True, rank=rank, gamma=used or None))
        return find_neighbours(self._reader, self._view, query, progress)

    def pairs(
        self, within: float, k: int | None, options: SearchOptions, progress: Progress, *, far: bool = False
    ) -> Pairs:
        """Find the nearest pairs of documents; see `Collection.pairs`."""
        with self.database:
            query = self._parser.resolve(options)
        if is_wmd(query.ranking) or far:
            check_pair_ranking(query.ranking)
            found = find_pairs(self._view, query.ranking, within, k, query.allowed, progress, far=far)
        else:
            found = self._pairs_by_searches(query, within, k, progress)
        with self.database:
            documents = np.union1d(found.first, found.second).tolist()
            shown, words = self._reader.shown(documents), self._reader.unknown_words(documents)
        ids = zip(found.first.tolist(), found.second.tolist(), found.distances.tolist(), strict=True)
        pairs = tuple(
            Pair.of(
                (shown[one].key, shown[other].key),
                (shown[one].title, shown[other].title),
                distance,
                words[one],
                words[other],
            )
            for one, other, distance in ids
        )
        return Pairs(pairs, found.compared, found.counts, str(query.ranking), query.why_empty)

    def _pairs_by_searches(self, query: Query, within: float, k: int | None, progress: Progress) -> FoundPairs:
        """Find the nearest pairs by a sum; see `pairs_by_searches`."""
        self._prepare(query.ranking, silent)  # as in `_answer_many`
        ids = np.sort(self._view.scores.ids)
        ids = ids if query.allowed is None else ids[np.isin(ids, query.allowed)]
        with self.database:
            keys = self._reader.keys(ids.tolist())

        def query_of(id_: int, hits: int, limit: float) -> Query | str:
            options = replace(query, k=max(1, hits), within=limit, depth=None, prove=True)
            with self.database:
                return parsed_or_error(lambda key: self._parser.similar(key, options), keys[id_])

        return pairs_by_searches(self._view, ids, query_of, within, k, progress)

    def rerank(
        self, text: QueryText, keys: Sequence[str], k: int | None, scores: Scores | None, options: SearchOptions
    ) -> Ranking:
        """Rank the documents `keys`; see `Collection.rerank`. Raises NoKnownWords and UnknownKey."""
        with self.database:
            candidates = StoredCandidates.of(self._reader, keys, scores, full=options.full)
            query = self._parser.text(text, candidates.restrict(self._parser.resolve(options), k))
        return candidates.ranking(answer(self._view, query), query)

    def rerank_many(self, tasks: Iterable[RerankTask], k: int | None, options: SearchOptions) -> Iterator[Ranking]:
        """Rank the documents of each of many queries; see `Collection.rerank_many`."""
        plain = self._parser.resolve(options)
        self._prepare(plain.ranking, silent)  # as in `_answer_many`
        yield from rerank_many(self._reader, self._view, self._parser, tasks, k, plain, full=options.full)

    def document_frequencies(self, languages: AbstractSet[str]) -> DocumentFrequencies:
        """Return in how many documents each word occurs, and each stem of some `languages`; UsageError for others."""
        for language in languages - {*LANGUAGES}:
            raise UsageError(f"there are no stems for {language!r}: choose {', '.join(LANGUAGES)}")
        scores = self._view.scores
        with self.database:
            words, statistics = scores.frequencies(0.0, None)
            stems = {language: _by_name(*scores.frequencies(0.0, language)) for language in languages}
        mean = statistics.average_length if statistics.tokens else None
        return DocumentFrequencies(statistics.documents, _by_name(words, statistics), mean, stems)

    def explain(self, text: QueryText | StoredKey, key: str, options: SearchOptions) -> Explanation:
        """Return the exact distance of a query from the document `key` by a ranking, and its flows."""
        with self.database:
            query = self._parsed(text, options)
            document = StoredBag.of(self._parser.documents, query, key)
        return _with_words(explain_document(self._view, query, document), query)

    def has(self, key: str) -> bool:
        """Return whether there is a document with a key."""
        with self.database:
            return bool(self._reader.known([key]))

    def explanation(self, query: Query, key: str | None) -> Explanation | None:
        """Return the explanation of the document `key` for a query that other shards have, too; None if it is there."""
        if key is None:
            explain_elsewhere(self._view, query)
            return None
        with self.database:
            document = StoredBag.of(self._parser.documents, query, key)
        return _with_words(explain_document(self._view, query, document), query)

    def exclusion(self, query: Query, key: str | None, kth: float, *, hit: bool) -> WhyNot | None:
        """Return why the document `key` is not among the hits of all shards; None if it is in another shard."""
        check_bounded(query.ranking)
        if key is None:
            why_not_elsewhere(self._view, query)
            return None
        with self.database:
            document = StoredBag.of(self._parser.documents, query, key)
        return why_not_below(self._view, query, document, kth, hit=hit)

    def why_not(self, text: QueryText | StoredKey, key: str, options: SearchOptions) -> WhyNot:
        """Return the stage at which a search for a query with `options` excludes the document `key`."""
        with self.database:
            query = self._parsed(text, options)
            document = StoredBag.of(self._parser.documents, query, key)
        return why_not(self._view, query, document)

    def _parsed(self, text: QueryText | StoredKey, options: SearchOptions) -> Query:
        """Return the query with the words of a text, a record or a stored document."""
        check_not_grouped(options)
        query = self._parser.resolve(options)
        return self._parser.similar(text.key, query) if isinstance(text, StoredKey) else self._parser.text(text, query)

    def _answer(self, item: _Item, parse: Callable[[_Item, Query], Query], options: SearchOptions) -> Ranking:
        with self.database:
            query = parse(item, self._parser.resolve(options))
        return self.ranking(query, answer(self._view, query), options)

    def query(self, request: Request, options: SearchOptions, peers: Peers) -> Query:
        """Return the query for a text, a record, or the words of a document, searched together with `peers`."""
        check_not_grouped(options)
        with self.database:
            query = replace(self._parser.resolve(options, sharded=True), peers=peers)
            if isinstance(request, PortableQuery):
                return self._parser.portable(request, query)
            return self._parser.text(request, query)

    def portable(self, key: str, options: SearchOptions) -> PortableQuery:
        """Return the words of a stored document as the query of a search in other collections."""
        with self.database:
            query = self._parser.similar(key, self._parser.resolve(options, sharded=True))
        return PortableQuery(key, query.words, query.vector)

    def answer(self, query: Query) -> Outcome:
        """Return the numeric outcome of a query."""
        return answer(self._view, query)

    def ranking(self, query: Query, outcome: Outcome, options: SearchOptions) -> Ranking:
        """Return the ranking for an outcome, with what is stored about its hits."""
        with self.database:
            stored = StoredHits.of(self._reader, self._parser.documents, outcome, query, options)
        return ranking_of(stored, outcome, query)

    def _answer_many(
        self, items: Iterable[_Item], parse: Callable[[_Item, Query], Query], options: SearchOptions
    ) -> Iterator[Ranking]:
        query = self._parser.resolve(options)
        self._prepare(query.ranking, silent)  # here, as threads of the pool must not wait for others
        queries = (parsed_or_error(lambda one: parse(one, query), item) for item in arguments.items("queries", items))
        for parsed, outcome in answer_many(self._view, queries):
            if isinstance(parsed, str) or outcome is None:
                yield Ranking((), certified=False, scope="collection", problem=str(parsed))
            else:
                stored = StoredHits.of(self._reader, self._parser.documents, outcome, parsed, options)
                yield ranking_of(stored, outcome, parsed)


def _with_words(explanation: Explanation, query: Query) -> Explanation:
    """Return an explanation with the words of the query that have no vector, and those that have no effect."""
    words = query.words
    return replace(explanation, unknown_words=words.unknown or (), ignored_words=words.ignored or ())


def _by_name(terms: Sequence[str], statistics: Statistics) -> dict[str, int]:
    return dict(zip(terms, statistics.document_frequencies.tolist(), strict=True))
