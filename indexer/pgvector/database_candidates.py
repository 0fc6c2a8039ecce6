"""Candidates that the database chooses by their vectors: this machine keeps no document.

The bags of candidates are read by two statements; texts are not.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError
from moverank.indexer.filters import field_tests, matching_ids, why_none_passes
from moverank.indexer.options import SearchOptions
from moverank.indexer.pgvector.fits import Fit
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.ranking_spec import COSINE, PRIOR, RankingSpec
from moverank.indexer.search.candidates import NO_VECTOR
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Query
from moverank.indexer.search.query_parser import QueryParser, ignored_words
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.sized_cache import SizedCache
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.segment import Segment, Terms
from moverank.indexer.store import Reader, StoredWord
from moverank.indexer.word_factors import WordFactors
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.distance.bounds import wcd_from_squares
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN

COUNTED = ("bow", "tfidf", "bm25")
"""Scorers whose only statistics of the collection are document frequencies and the mean length."""

_Ids = NDArray[np.int64]
_NO_WORDS, _NO_WORD = np.empty(0, np.int64), StoredWord(0, "", 0, UNKNOWN)


class DatabaseCandidates:
    """Documents in the state of `reader` whose candidates the table of a `fit` yields.

    `settings` and `embedding` are the collection's.
    """

    def __init__(self, reader: Reader, fit: Fit, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._fit, self._settings, self._embedding = reader, fit, settings, embedding
        self._words, self._tests = CachedWords(reader, embedding), SizedCache()
        self._revision, self._documents = reader.revision(), reader.document_count()

    def suits(self, ranking: RankingSpec) -> bool:
        """Return whether a document's value depends on that document alone: the database may choose candidates."""
        gammas = {term.gamma or 0.0 for term in ranking.scorers}
        return (
            ranking.proximity is None
            and len(gammas) <= 1
            and all(
                term.is_distance or term.name in (COSINE, PRIOR) or (term.scorer and term.name in COUNTED)
                for term in ranking.terms
            )
        )

    def resolve(self, options: SearchOptions, ranking: RankingSpec) -> Query:
        """Return a query without words."""
        query = self._without_documents.resolve(replace(options, where=None), ranking)
        return replace(query, joined=None)  # the database finds no documents by their words

    def text(self, text: QueryText, query: Query) -> Query:
        """Return the query with the words of a text or a record."""
        return self._without_documents.text(text, query)

    def similar(self, key: str, query: Query) -> Query:
        """Return the query with the words of a stored document; no other document is read."""
        id_ = self._without_documents.documents.id(key)
        return self._parser([id_], query).similar(key, query)

    @cached_property
    def _without_documents(self) -> QueryParser:
        """Return the parser of options, and of queries that are not stored; it keeps the words it has read."""
        return self._parser(())

    def _parser(self, ids: Sequence[int], query: Query | None = None) -> QueryParser:
        """Return the parser for a view of the documents `ids`, weighted as for a query."""
        view = self._view(ids, _gamma(query) if query else None)
        return QueryParser(self._reader, view, self._settings, self._embedding)

    def search(self, query: Query, options: SearchOptions) -> Search:
        """Return the search for a query with words among the candidates for it, which are read now."""
        fit, depth, where = self._fit, query.depth or 0, options.where
        vector = query.vector if fit.encoder is None else query.words.encoded(fit.encoder)
        if vector is None:
            raise QueryVectorError(NO_VECTOR)
        tests = self._tests.get(repr(where), lambda: field_tests(self._reader, where)) if where is not None else ()
        ids, costs = fit.record.table.nearest(self._reader.rows, vector, depth, tests, query.without)
        if where and not len(ids) and not len(matching_ids(self._reader, where)):
            query = replace(query, why_empty=why_none_passes(self._reader, where))
        floor = np.inf if query.why_empty else 0.0
        if query.ranking.plain and fit.encoder is not None and len(ids) < depth:
            floor = np.inf  # the candidates are all documents that have a bag
        elif fit.is_bound and len(ids):
            norm, last = np.float32(np.linalg.norm(vector)), np.float32(costs[-1])
            longest = np.array([norm + last], np.float32)  # norm of a centroid at that distance
            floor = float(wcd_from_squares(np.array([last * last]), longest, norm, len(vector))[0])
        gamma = _gamma(query)
        words = query.words.ids if gamma is None else query.words.terms[gamma].ids
        view = self._view(ids.tolist(), gamma, words, floor)
        if query.words.ignored is not None and query.ranking.rules:
            known = set(query.words.all_texts) - set(query.words.unknown or ())
            occurring = {word.word for word in self._reader.words(query.words.all_texts) if word.frequency}
            counted = (query.words.all_texts, known, query.ranking, occurring, view.scores)
            query = replace(query, words=replace(query.words, ignored=ignored_words(*counted)))
        view.computed.get(query.ranking, lambda: True)  # the budget of a search covers only the candidates
        return Search(view, replace(query, depth=None))

    def _view(
        self, ids: Sequence[int], gamma: float | None = None, query: _Ids = _NO_WORDS, floor: float = 0.0
    ) -> View:
        """Return a view of the documents `ids`; for `floor` see `View`.

        `gamma` weighs the parts of documents for scorers, None without scorers. The scorers take their statistics from
        the whole collection, also for words of a `query` (h,) that no candidate has.
        """
        parts = self._reader.counted_parts_of(ids) if len(ids) else []
        terms = Terms.stored(parts, query[query > 0])
        segment = Segment.of(terms, *self._words.known(terms.word_ids))
        own, larger = self._settings, None if gamma is None else self._statistics(terms.word_ids, gamma)
        factors = WordFactors.by(self._embedding, self._idf, self._words.texts)
        part = LiveSegment(segment, _NO_WORDS, factors, float(own.title_weight))
        view = View.of([part], self._documents, factors, self._words.texts, self._embedding.dim, larger)
        about = replace(view, revision=self._revision, gamma=own.gamma, weights=own.weights)
        return replace(about, space=self._fit.space, floor=floor)

    def _idf(self, word_ids: _Ids, _texts: Sequence[str] | None) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id in the whole collection; a word in no document gets the largest."""
        return inverse_document_frequency(self._words.frequencies(word_ids), self._documents)

    def _statistics(self, words: _Ids, gamma: float) -> DocumentFrequencies:
        """Return the statistics of the whole collection for some words (t,)."""
        tokens = self._fit.record.weighted_tokens(gamma, self._settings.title_weight)
        mean = tokens / self._documents if tokens else None
        numbers = self._words.frequencies(words).tolist()
        return DocumentFrequencies(self._documents, dict(zip(self._words.texts(words), numbers, strict=True)), mean)


def _gamma(query: Query) -> float | None:
    """Return the only gamma by which the scorers of a ranking weigh parts; see `DatabaseCandidates.suits`."""
    return next(iter(query.gammas_of_scorers), None)


class CachedWords:
    """Words by id in the state of `reader`: texts, numbers of documents, and vectors in `embedding`."""

    def __init__(self, reader: Reader, embedding: Embedding) -> None:
        self._reader, self._embedding = reader, embedding
        self._words: dict[int, StoredWord] = {}

    def frequencies(self, ids: _Ids) -> _Ids:
        """Return the numbers of documents (n,) that have the words `ids` (n,); 0 for an id of no word."""
        return np.array([word.frequency for word in self._read(ids)], np.int64)

    def texts(self, ids: _Ids) -> list[str]:
        """Return the words (n,) of ids (n,)."""
        return [word.word for word in self._read(ids)]

    def known(self, ids: _Ids) -> tuple[_Ids, NDArray[np.float32]]:
        """Return the ids (v,) among `ids` (n,), increasing, whose words have a vector, and the vectors (v, d)."""
        rows = np.array([word.row for word in self._read(ids)], np.int64)
        known = rows != UNKNOWN
        return ids[known], self._embedding.gather(self.texts(ids[known]), rows[known])

    def _read(self, ids: _Ids) -> list[StoredWord]:
        """Return the words `ids` (n,), read unless they are cached; a damaged database may have lost some."""
        numbers, cached = ids.tolist(), self._words
        missing = [id_ for id_ in numbers if id_ > 0 and id_ not in cached]
        if missing:
            cached.update({word.id: word for word in self._reader.words_of(missing)})
        return [cached.get(id_, _NO_WORD) for id_ in numbers]
