"""Searches candidates that the database chooses by their vectors: no document is kept on this machine."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from threading import RLock
from typing import TypeVar

import numpy as np

from moverank.indexer.errors import QueryVectorError
from moverank.indexer.filters import field_tests, matching_ids, why_none_passes
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.progress import Progress
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.ranking_spec import RankingSpec, resolve
from moverank.indexer.ranking_term import COSINE, PRIOR
from moverank.indexer.search.batch import answer
from moverank.indexer.search.candidate_view import CandidateReader
from moverank.indexer.search.grouping import grouped, one_by_one
from moverank.indexer.search.hits import StoredHits, ranking_of
from moverank.indexer.search.ignored_words import ignored_words
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.query_parser import QueryParser, parsed_or_error
from moverank.indexer.search.stage_search import NO_VECTOR
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.database_stage import DatabaseStage
from moverank.indexer.store import FieldTest, Reader
from moverank.rerank.distance.bounds import wcd_from_squares
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.ranking import Ranking
from moverank.rerank.runtime.look_ahead import map_ahead
from moverank.rerank.words.embedding import Embedding

_Item = TypeVar("_Item")
_Parse = Callable[[_Item, Query], Query]
_Candidates = tuple[Query, View]

COUNTED = ("bow", "tfidf", "bm25")
"""Scorers whose statistics of the whole collection are numbers of documents, and the mean length."""

_RECENT = 8
"""Number of filters whose accepted values are kept in memory."""


def suits_candidates(ranking: RankingSpec) -> bool:
    """Return whether documents can be ranked without any others: see the manual's page `postgresql`."""
    gammas = {term.gamma or 0.0 for term in ranking.scorers}
    return (
        ranking.proximity is None
        and len(gammas) <= 1
        and all(
            term.is_distance or term.name in (COSINE, PRIOR) or (term.scorer and term.name in COUNTED)
            for term in ranking.terms
        )
    )


class DatabaseSearcher:
    """Searches the state of `reader`, whose first stage is `stage`; `settings` and `embedding` are the collection's.

    One thread at a time reads the database, under the lock `database`.
    """

    def __init__(self, reader: Reader, stage: DatabaseStage, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._stage, self._settings, self._embedding = reader, stage, settings, embedding
        self._candidates = CandidateReader(reader, stage, settings, embedding)
        self._tests: dict[str, tuple[FieldTest, ...]] = {}
        self.database = RLock()

    def suits(self, options: SearchOptions) -> bool:
        """Return whether the database chooses the candidates of searches with these options."""
        if options.depth is None or options.exact:
            return False
        return suits_candidates(resolve(options.ranking, options.gamma, self._settings.ranking))

    def check(self, options: SearchOptions) -> None:
        """Check the options; there are no files to check."""
        self._resolved(options)

    def prepare(self, options: SearchOptions, _progress: Progress) -> None:
        """Check the options: rankings that suit need nothing of all documents."""
        self.check(options)

    def search(self, text: QueryText, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a text or a record."""
        return grouped(lambda chosen: self._answer(text, self._parse_text, chosen), options, self._reader.field_names)

    def similar(self, key: str, options: SearchOptions) -> Ranking:
        """Find the documents nearest to a stored one, which is excluded."""
        return grouped(lambda chosen: self._answer(key, self._parse_key, chosen), options, self._reader.field_names)

    def search_many(self, texts: Iterable[QueryText], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many texts or records."""
        if options.group_by is not None:
            return one_by_one(self.search, texts, options)
        return self._answer_many(texts, self._parse_text, options)

    def similar_many(self, keys: Iterable[str], options: SearchOptions) -> Iterator[Ranking]:
        """Find the documents nearest to each of many stored ones."""
        if options.group_by is not None:
            return one_by_one(self.similar, keys, options)
        return self._answer_many(keys, self._parse_key, options)

    def _resolved(self, options: SearchOptions) -> tuple[Query, tuple[FieldTest, ...]]:
        """Return a query without words, and the filter."""
        query = self._parser(self._candidates.view(())).resolve(replace(options, where=None))
        query = replace(query, joined=None)  # the database finds no documents by their words
        if options.where is None:
            return query, ()
        name = repr(options.where)
        if name not in self._tests:
            found = field_tests(self._reader, options.where)
            if len(self._tests) == _RECENT:
                del self._tests[next(iter(self._tests))]
            self._tests[name] = found
        return query, self._tests[name]

    def _parser(self, view: View) -> QueryParser:
        return QueryParser(self._reader, view, self._settings, self._embedding)

    def _parse_text(self, text: QueryText, query: Query) -> Query:
        return self._parser(self._candidates.view(())).text(text, query)

    def _parse_key(self, key: str, query: Query) -> Query:
        """Return the query of a stored document, which is read alone."""
        id_ = self._parser(self._candidates.view(())).documents.id(key)
        return self._parser(self._candidates.view([id_], _gamma(query))).similar(key, query)

    def _chosen(self, query: Query, tests: tuple[FieldTest, ...], where: Where | None) -> _Candidates:
        """Return a query for the candidates, and the view of these; `tests` are the filter `where`."""
        encoder, depth = self._stage.encoder, query.depth or 0
        vector = query.vector if encoder is None else query.words.encoded(encoder)
        if vector is None:
            raise QueryVectorError(NO_VECTOR)
        ids, costs = self._reader.nearest(self._stage.record.table, vector, depth, tests, query.without)
        if where and not len(ids) and not len(matching_ids(self._reader, where)):
            query = replace(query, why_empty=why_none_passes(self._reader, where))
        floor = np.inf if query.why_empty else 0.0
        if query.ranking.plain and encoder is not None and len(ids) < depth:
            floor = np.inf  # these are all documents that have a bag
        elif self._is_bound and len(ids):
            norm, last = np.float32(np.linalg.norm(vector)), np.float32(costs[-1])
            longest = np.array([norm + last], np.float32)  # of a centroid at that distance
            floor = float(wcd_from_squares(np.array([last * last]), longest, norm, len(vector))[0])
        gamma = _gamma(query)
        words = query.words.ids if gamma is None else query.words.terms[gamma].ids
        view = self._candidates.view(ids.tolist(), gamma, words, floor)
        if query.words.ignored is not None and any(term.stem for term in query.ranking.counted):
            known = set(query.words.all_texts) - set(query.words.unknown or ())
            counted = (query.words.all_texts, known, query.ranking, self._reader.occurring, view.scores)
            query = replace(query, words=replace(query.words, ignored=ignored_words(*counted)))
        view.prepared.add(query.ranking)  # a budget is that of the candidates alone
        return replace(query, depth=None), view

    @property
    def _is_bound(self) -> bool:
        """Return whether the distance of the last candidate is a lower bound of the WMD of all others."""
        encoder, record = self._stage.encoder, self._stage.record
        return isinstance(encoder, Centroid) and encoder.is_bound and record.exact and record.table.kind == "vector"

    def _answer(self, item: _Item, parse: _Parse[_Item], options: SearchOptions) -> Ranking:
        with self.database:
            plain, tests = self._resolved(options)
            query, view = self._chosen(parse(item, plain), tests, options.where)
        outcome = answer(view, query)
        with self.database:
            return self._ranking(outcome, query, view, options)

    def _ranking(self, outcome: Outcome, query: Query, view: View, options: SearchOptions) -> Ranking:
        stored = StoredHits.of(self._reader, self._parser(view).documents, outcome, query, options)
        return ranking_of(stored, outcome, query)

    def _answer_many(self, items: Iterable[_Item], parse: _Parse[_Item], options: SearchOptions) -> Iterator[Ranking]:
        plain, tests = self._resolved(options)

        def chosen() -> Iterator[_Candidates | str]:
            for item in items:
                query = parsed_or_error(lambda one: self._chosen(parse(one, plain), tests, options.where), item)
                yield query

        def work(found: _Candidates | str) -> Outcome | None:
            return None if isinstance(found, str) else answer(found[1], found[0])

        for found, outcome in map_ahead(work, chosen(), initialises=lambda found: not isinstance(found, str)):
            if isinstance(found, str) or outcome is None:
                yield Ranking((), certified=False, scope="collection", problem=str(found))
            else:
                yield self._ranking(outcome, *found, options)


def _gamma(query: Query) -> float | None:
    """Return the gamma by which the scorers of a ranking weigh parts, which is one; see `suits_candidates`."""
    return next(iter(query.gammas_of_scorers), None)
