"""Searches one state of a collection."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from math import isinf
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.candidate_rankings import RerankTask, StoredCandidates, rerank_many
from moverank.indexer.search.deduplication import deduplicate, separated, visiting_order
from moverank.indexer.search.differences import Facts, stored_facts
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.explanations import StoredBag, explain_document, explain_exclusion, explain_words
from moverank.indexer.search.grouping import check_not_by_share, check_not_grouped, grouped, ranking_or_problem
from moverank.indexer.search.highlights import Matcher, places_of
from moverank.indexer.search.hits import StoredHits, ranking_of
from moverank.indexer.search.locating import Locator, stopping_query, stored_factors, stored_texts
from moverank.indexer.search.near_documents import Deduplication, Pairs
from moverank.indexer.search.occurrences import WordSpans, occurrences, respelled_spans, spans_by_word
from moverank.indexer.search.pairs import Neighbours, PairSource, find_neighbours
from moverank.indexer.search.phases import Search, answer_many, search_or_error
from moverank.indexer.search.query import Outcome, Query, QueryWords
from moverank.indexer.search.query_parser import QueryParser
from moverank.indexer.search.sampled_distances import sampled_distances
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader
from moverank.indexer.values.arguments import optional_number
from moverank.indexer.values.pair_options import DedupeOptions, PairSearch
from moverank.indexer.values.queries import QueryText, Scores, StoredKey, query_document
from moverank.indexer.values.ranked_texts import whole_texts
from moverank.indexer.values.ranking_spec import VECTOR, RankingSpec, check_rules, distance_of, resolve
from moverank.indexer.values.search_options import Progress, SearchOptions, silent
from moverank.indexer.values.settings import Settings
from moverank.rerank.distance.explain import Explanation, WhyNot
from moverank.rerank.distance.ground_cost import nearest_words
from moverank.rerank.errors import NoKnownWords, OutOfTime, TooLarge
from moverank.rerank.ranking import Flow, Ranking
from moverank.rerank.scorers import Statistics
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.term_rules import is_ngrams

Request = QueryText | StoredKey | QueryWords
"""A text, a record, a stored document, or the words of a document that may be stored elsewhere."""


class Searcher:
    """Searches the state of `reader`; `settings` and `embedding` are the collection's.

    `open_files` opens the view of all documents at the first search that needs it. `fields` are the names of fields in
    other shards.

    `search`, `similar`, `rerank`, `pairs`, `explain`, `why_not` and `document_frequencies` may be called by several
    threads at a time.
    """

    def __init__(
        self,
        reader: Reader,
        settings: Settings,
        embedding: Embedding,
        open_files: Callable[[], View],
        fields: Collection[str] = (),
    ) -> None:
        self._reader, self._settings, self._embedding = reader, settings, embedding
        self._open_files, self._fields_of_shards = open_files, fields
        self._opening = RLock()
        self._check_ranking: Callable[[RankingSpec], None] = lambda _: None

    @property
    def view(self) -> View:
        """Return the view of all documents, which is opened if necessary."""
        return self._files.view

    @cached_property
    def _all_documents(self) -> QueryParser:
        view = self._open_files()
        return QueryParser(self._reader, view, self._settings, self._embedding, self._fields_of_shards)

    @property
    def _files(self) -> QueryParser:
        with self._opening:
            return self._all_documents

    def allow(self, check: Callable[[RankingSpec], None]) -> None:
        """Call `check` with the ranking of each search: it raises an error for a ranking that is not allowed."""
        self._check_ranking = check

    def _ranking_of(self, options: SearchOptions) -> RankingSpec:
        """Return the ranking of a search; raises an error for a ranking that is not allowed."""
        ranking = resolve(options.ranking, options.gamma, self._settings.ranking)
        self._check_ranking(ranking)
        return ranking

    def _resolved(self, options: SearchOptions) -> tuple[QueryParser, Query]:
        """Return the parser of queries for all documents, and a query without words."""
        ranking, files = self._ranking_of(options), self._files
        return files, files.resolve(options, ranking)

    def query(self, options: SearchOptions) -> Query:
        """Return a query without words among all documents."""
        return self._resolved(options)[1]

    def check(self, options: SearchOptions) -> None:
        """Check the files that searches with these options read; DamagedFile names a damaged one."""
        _, query = self._resolved(options)
        by_vectors = any(term.name == VECTOR for term in query.ranking.terms)
        index = query.depth is not None or by_vectors
        # If few documents pass a filter, their vectors are compared without the index.
        vectors = by_vectors or query.allowed is not None
        self.view.check(index=index, terms=bool(query.ranking.scorers or (index and query.joined)), vectors=vectors)

    def prepare(self, options: SearchOptions, progress: Progress) -> None:
        """Compute the data of all documents that searches with these options need, unless it is cached."""
        _, query = self._resolved(replace(options, where=None))
        self._prepare(query.ranking, progress)

    def _prepare(self, ranking: RankingSpec, progress: Progress) -> None:
        if ranking.proximity:
            sampled_distances(self.view, ranking.gamma, ranking.weights, progress)

    def answer(self, request: QueryText | StoredKey, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text, a record, or a stored document, which is excluded."""
        if options.group_by is not None:
            return grouped(partial(self.answer, request), options, self._reader.field_names)
        files, query = self._resolved(options)
        search = files.search(self._with_words(request, query, options), options)
        return self.ranking(search, search.run(), options)

    def neighbours(self, k: int, gamma: float | None, progress: Progress) -> Neighbours:
        """Find the exact `k` nearest neighbours of every document; `gamma`, `progress`: see `Collection.neighbours`."""
        rank, gamma = distance_of(None, optional_number("gamma", gamma), self._settings.ranking)
        _, query = self._resolved(SearchOptions(k=k, exact=True, rank=rank, gamma=gamma))
        return find_neighbours(self._reader, self.view, query, progress)

    def pairs(self, search: PairSearch, options: SearchOptions) -> Pairs:
        """Find the nearest pairs of documents."""
        return self._pair_source(options, far=search.far).pairs(search)

    def dedupe(self, search: PairSearch, options: SearchOptions, keep: DedupeOptions) -> Deduplication:
        """Choose the documents to keep."""
        source = self._pair_source(options, far=search.far)
        order_of = partial(visiting_order, keep, self._reader, self.view.scores, self._fields_of_shards)
        order_of(np.empty(0, np.int64))  # errors are raised before the work
        flows_of = partial(self._flows, self._files.documents, source.ranking) if keep.explained else None
        return deduplicate(source, search, keep, order_of, flows_of)

    def duplicates_among(self, new: NDArray[np.int64], within: float, progress: Progress) -> dict[int, str]:
        """Return the keys, by id, of the documents among `new` (m,) to remove, all older documents being kept.

        New documents are visited after the others, in the order of their ids; the distance must be WMD. A copy of an
        earlier new document is always removed: a document near that one is near the copy, too. Documents that state
        something else are no copies; see `differences.stated`.
        """
        rank, gamma = distance_of(None, None, self._settings.ranking)
        options = SearchOptions(rank=rank, gamma=gamma)
        source = self._pair_source(options, far=self._ranking_of(options).can_have_far_words)
        found, copies = source.find_of(new, PairSearch(within, progress=progress))
        order = np.lexsort((found.ids, np.isin(found.ids, new)))
        removals, _, _ = separated(found, order, source.facts(found.documents))
        return self._reader.keys([*removals.first.tolist(), *copies.tolist()])

    def _pair_source(self, options: SearchOptions, *, far: bool) -> PairSource:
        """Return the documents that pass a filter, to compare their pairs; `far` as in `PairSource`."""
        files, query = self._resolved(options)
        if not far:
            self._prepare(query.ranking, silent)  # as in `_answer_many`

        def named(ids: Sequence[int]) -> dict[int, tuple[str, str, Sequence[str]]]:
            shown, words = self._reader.shown(ids), self._reader.unknown_words(ids)
            return {id_: (shown[id_].key, shown[id_].title, words[id_]) for id_ in ids}

        def search_of(id_: int, hits: int, limit: float) -> Search | str:
            options = replace(query, k=max(1, hits), within=limit, depth=None, prove=True, partial=False)
            key = self._reader.keys([id_])[id_]
            return search_or_error(lambda key: Search(files.view, files.similar(key, options)), key)

        size = AnswerSize(options.most_characters)

        def facts(ids: Sequence[int]) -> dict[int, Facts]:
            size.add_texts(self._reader, ids)
            return stored_facts(self._reader, ids, self._settings.tokenizer)

        about = self._reader.keys, named, facts, far, query.allowed, query.why_empty, search_of, size
        return PairSource(files.view, query.ranking, *about)

    def rerank(
        self, text: QueryText, keys: Sequence[str], k: int | None, scores: Scores | None, options: SearchOptions
    ) -> Ranking:
        """Rank the documents `keys`; see `Collection.rerank`. Raises NoKnownWords and UnknownKey."""
        files, plain = self._resolved(options)
        size = AnswerSize(options.most_characters)
        candidates = StoredCandidates.of(self._reader, keys, scores, size if options.full else None)
        query = self._with_words(text, candidates.restrict(plain, k), options)
        search = Search(files.view, query)
        return self._reranked(options, size, k, candidates, search, search.run())

    def _reranked(
        self,
        options: SearchOptions,
        size: AnswerSize,
        k: int | None,
        candidates: StoredCandidates,
        search: Search,
        outcome: Outcome,
    ) -> Ranking:
        """Return the ranking of candidates; the first `k` (None: all) have what `options` request."""
        ranking = candidates.ranking(outcome, search.query)
        if not options.is_located:
            return ranking
        first, ids = candidates.first(ranking, k)
        located = self._locator(search, outcome, options, size).of_stored(self._reader, ids, first)
        return replace(ranking, hits=(*located, *ranking.hits[len(located) :]))

    def rerank_many(self, tasks: Iterable[RerankTask], k: int | None, options: SearchOptions) -> Iterator[Ranking]:
        """Rank the documents of each of many queries; see `Collection.rerank_many`."""
        files, plain = self._resolved(options)
        self._prepare(plain.ranking, silent)  # as in `_answer_many`
        size = AnswerSize(None)

        def prepared(text: QueryText, candidates: StoredCandidates) -> Search:
            return Search(files.view, self._with_words(text, candidates.restrict(plain, k), options))

        ranked = partial(self._reranked, options, size, k)
        yield from rerank_many(self._reader, tasks, prepared, ranked, size if options.full else None)

    def document_frequencies(self, rules: AbstractSet[str]) -> DocumentFrequencies:
        """Return in how many documents each word occurs, and each term of some `rules`; UsageError for others."""
        check_rules(rules)
        scores = self.view.scores
        words, statistics = scores.frequencies(0.0, None)
        mean, found = statistics.average_length if statistics.tokens else None, _by_name(words, statistics)
        terms = {rule: scores.frequencies(0.0, rule) for rule in rules}
        by_rule = {rule: _by_name(*own) for rule, own in terms.items()}
        means = {rule: own.average_length for rule, (_, own) in terms.items() if own.tokens}
        lengths = {rule: length for rule, length in means.items() if is_ngrams(rule) or length != mean}
        return DocumentFrequencies(statistics.documents, found, mean, by_rule, lengths)

    def explain(self, request: Request, key: str, options: SearchOptions) -> Explanation:
        """Return the exact distance of a query from the document `key` by a ranking, and its flows.

        `options.highlight`: with the places of words, as many as the size of an answer allows.
        """
        search = self.begun(request, options)
        explanation = explain_document(search, self.stored(search.query, key, options))
        return AnswerSize(options.most_characters).cut(explanation)

    def why_not(self, request: Request, key: str, options: SearchOptions) -> WhyNot:
        """Return the stage at which a search for a query with `options` excludes the document `key`."""
        check_not_by_share(options)
        search = self.begun(request, options)
        return explain_exclusion(search, self.stored(search.query, key, options))

    def stored(self, query: Query, key: str, options: SearchOptions) -> StoredBag:
        """Return the stored document `key` as it is explained for a query; UnknownKey if there is none.

        It has the places of words if `options` request them, there is time, and no text is beyond the size of an
        answer.
        """
        document = StoredBag.of(self._files.documents, query, key)
        if options.highlight:
            with stopping_query(query), suppress(OutOfTime, TooLarge):
                size, own = AnswerSize(options.most_characters), query.words.spans()
                size.add_texts(self._reader, [document.id])
                matcher = Matcher(own, query.ranking, partial(nearest_words, self._embedding))
                found = occurrences(stored_texts(self._reader, document.id), self._settings.tokenizer)
                highlights, spans = places_of(found, matcher, frozenset(document.words.texts), size.most_highlights)
                return replace(document, query_spans=own, spans=spans, highlights=highlights)
        return document

    def _flows(self, documents: DocumentWords, ranking: RankingSpec, one: int, other: int) -> tuple[Flow, ...]:
        """Return the flows from one document to another, by their ids; none if one of them has no bag."""
        try:
            return explain_words(documents.bag(one, ranking), documents.bag(other, ranking)).flows
        except NoKnownWords:
            return ()

    def _spans(self, request: QueryText | StoredKey, most: int | None) -> WordSpans:
        """Return the places of the words of a request, whose document is stored if it is a key.

        Raises TooLarge for a stored document of more than `most` characters.
        """
        if isinstance(request, StoredKey):
            id_ = self._reader.known([request.key])[request.key].id
            AnswerSize(most).add_texts(self._reader, [id_])
            texts = stored_texts(self._reader, id_)
        else:
            texts = whole_texts(query_document(request))
        return spans_by_word(occurrences(texts, self._settings.tokenizer))

    def begun(self, request: Request, options: SearchOptions) -> Search:
        """Return the search of all documents for a request."""
        check_not_grouped(options)
        ranking, files = self._ranking_of(options), self._files
        query = files.resolve(options, ranking)
        return files.search(self._with_words(request, query, options), options)

    def portable(self, key: str, options: SearchOptions) -> QueryWords:
        """Return the words of a stored document as the query of a search in other collections."""
        ranking, files = self._ranking_of(options), self._files
        query = self._with_words(StoredKey(key), files.resolve(options, ranking), options)
        with stopping_query(query), suppress(OutOfTime):
            return replace(query.words, spans=partial(dict, query.words.spans()))
        return replace(query.words, spans=dict)

    def ranking(self, search: Search, outcome: Outcome, options: SearchOptions) -> Ranking:
        """Return the ranking for an outcome, with the stored data of its hits."""
        documents = DocumentWords(self._reader, search.view, self._embedding.dim)
        size = AnswerSize(options.most_characters)
        stored = StoredHits.of(self._reader, documents, outcome, search.query, options, size)
        ranking = ranking_of(stored, outcome, search.query, self._settings.tokenizer)
        if not options.is_located:
            return ranking
        locator = self._locator(search, outcome, options, size)
        return replace(ranking, hits=locator.of_stored(self._reader, outcome.ids.tolist(), ranking.hits))

    def _locator(self, search: Search, outcome: Outcome, options: SearchOptions, size: AnswerSize) -> Locator:
        """Return the locator, which completes the hits of a search by places in their texts."""
        factors = stored_factors(self._reader, search.view, search.query)
        given = (self._settings.tokenizer, self._embedding, factors, size, outcome.seconds)
        return Locator(search.query, options, *given)

    def _with_words(self, request: Request, query: Query, options: SearchOptions) -> Query:
        """Return the query with the words of a request; their places are found later, if `options` request places."""
        files = self._files
        if isinstance(request, QueryWords):
            query = files.portable(request, query)
        elif isinstance(request, StoredKey):
            query = files.similar(request.key, query)
        else:
            query = files.text(request, query)
        if options.explained and query.ranking.has_transport and isinf(query.within):
            documents = files.view.documents_with_bag if query.allowed is None else len(query.allowed)
            least = min(query.k, documents) * (len(query.words.weights) + 1)  # a hit has a word, too
            AnswerSize(options.most_characters).add_bags(least)
        if not options.highlight or isinstance(request, QueryWords):
            return query
        words, spans = query.words, partial(self._spans, request, options.most_characters)
        return replace(query, words=replace(words, spans=cache(lambda: respelled_spans(spans(), words.respelled))))

    def answer_many(self, requests: Iterable[QueryText | StoredKey], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many queries, in order."""
        if options.group_by is not None:
            yield from (ranking_or_problem(self.answer, request, options) for request in requests)
            return
        files, query = self._resolved(options)
        self._prepare(query.ranking, silent)  # here: waiting for pool tasks inside the pool deadlocks

        def prepared(request: QueryText | StoredKey) -> Search:
            return files.search(self._with_words(request, query, options), options)

        for search, outcome in answer_many(search_or_error(prepared, request) for request in requests):
            if isinstance(search, str) or outcome is None:
                yield Ranking((), certified=False, scope="collection", problem=str(search))
            else:
                yield self.ranking(search, outcome, options)


def _by_name(terms: Sequence[str], statistics: Statistics) -> dict[str, int]:
    return dict(zip(terms, statistics.document_frequencies.tolist(), strict=True))
