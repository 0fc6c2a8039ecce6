"""Answers one or many queries, each in three phases, which shards share."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError, UnknownKey
from moverank.indexer.search.by_distance import DistanceSearch
from moverank.indexer.search.by_score import search_by_known_sum, search_by_score
from moverank.indexer.search.percentiles import Population, SampledValues, percentiles, with_percentiles
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.sum_terms import (
    KnownTerm,
    QueryStatistics,
    SumWeights,
    TermStatistics,
    UnscaledTerm,
    distance_statistics,
    unscaled_terms,
)
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.content_sample import SAMPLE
from moverank.rerank.errors import NoKnownWords, OutOfTime
from moverank.rerank.runtime.deadline import check_time, stopping
from moverank.rerank.runtime.parallel import map_ahead

_Item = TypeVar("_Item")

_LONG_QUERY = 1000  # words: with more, even a search in the sample takes long, and counts against the budget


class Search:
    """The search for `query` in `view` by its ranking: a scorer, a sum that is known for every document, or a distance.

    `run` answers the query. Shards run the phases together, each with the merged results of the phase before:
    `statistics`, which scale the terms of a sum; `bounds`, which give all shards one limit; and `answer`. A query's
    budget does not pay for data that all queries share: they are loaded before. Each phase raises OutOfTime if the time
    is used up before there are hits, or if hits must not be partial.
    """

    def __init__(self, view: View, query: Query) -> None:
        self.view, self.query = view, query
        self._terms: list[UnscaledTerm] = []
        self._known: list[KnownTerm] = []
        self._by_distance: DistanceSearch | None = None
        self._scales: QueryStatistics = ()
        self._began, self._until = 0.0, np.inf

    def run(self) -> Outcome:
        """Return the outcome of the query among the documents of the view alone."""
        self.bounds(self.statistics())
        outcome = self.answer()
        if not self.query.percentiles:
            return outcome
        began, placed = time.monotonic(), outcome.certified and self.query.allowed is None
        found = percentiles(outcome.values, self.sampled, placed=placed)
        outcome = replace(outcome, seconds=outcome.seconds + time.monotonic() - began)
        return with_percentiles(outcome, self.query, found)

    def statistics(self) -> QueryStatistics:
        """Return the statistics of the view's documents that set the scales of the ranking's terms."""
        query, view = self.query, self.view
        with self._stopping():
            is_short = len(query.words.weights) <= _LONG_QUERY
            if query.budget is not None and is_short and query.ranking not in view.computed:
                _prepare(view, query)
        self._began = time.monotonic()
        self._until = self._began + (np.inf if query.budget is None else query.budget)
        with self._stopping():
            if not self.is_unscaled:
                self._terms = unscaled_terms(view, query)
            is_scaled = self._has_distance and not self.is_unscaled
            typical = distance_statistics(view, query) if is_scaled else TermStatistics()
            return (typical, *(term.own for term in self._terms))

    def bounds(self, statistics: QueryStatistics, *, shared: bool = False) -> NDArray[np.float64]:
        """Return upper bounds (m,) of the best documents' values, increasing, at most k.

        `statistics` cover all documents that are searched together; `shared`: other shards take their limit from the
        bounds, which are tighter then.
        """
        self._scales = statistics
        with self._stopping():
            if not self._has_distance:
                self._known = self._scaled(statistics)
                return np.empty(0)
            weights = None if self.query.ranking.plain else self.weights(statistics)
            self._by_distance = DistanceSearch(self.view, self.query, weights, self._began, close=shared)
            return self._by_distance.upper

    def answer(self, limit: float = np.inf) -> Outcome:
        """Return the best documents of the view with values of at most `limit`, which all shards share."""
        scorer = self.query.ranking.single_scorer
        with self._stopping():
            if scorer is not None and self._by_score:
                return search_by_score(self.view, self.query, scorer)
            if self._by_distance:
                return self._by_distance.answer(limit)
            return search_by_known_sum(self.view, self.query, self._known, self._began)

    def sampled(self, limit: float, size: int) -> SampledValues:
        """Return the values up to a `limit` of a sample of at most a `size`, whatever the filter is; after `bounds`.

        Raises OutOfTime if the time is used up.
        """
        population = Population.of(self.view, self.query.without, size)
        ids, sample = population.ids, SampledValues.unranked(population)
        if len(ids) and limit > -np.inf:
            k = len(ids) + 1  # never reached, so that the limit is not computed from the k nearest
            query = replace(self.query, k=k, allowed=ids, depth=None, within=limit, partial=False)
            search = Search(self.view, query)
            search.statistics()  # the terms of these documents, by the scales of the hits
            search.bounds(self._scales)
            found = search.answer(limit)
            sample.values[np.searchsorted(ids, found.ids)] = found.values
        return sample

    def weights(self, statistics: QueryStatistics) -> SumWeights:
        """Return the weights of a sum's terms by the `statistics` of all documents, after the phase `statistics`."""
        return SumWeights.of(self.view, self.query, self._scaled(statistics), statistics[0].median)

    def _scaled(self, statistics: QueryStatistics) -> list[KnownTerm]:
        """Return the terms that are no distances of bags, scaled by the `statistics` of all documents."""
        return [term.scaled(own) for term, own in zip(self._terms, statistics[1:], strict=True)]

    @property
    def is_unscaled(self) -> bool:
        """Return whether a distance or a scorer alone ranks: its bounds depend on no statistics."""
        return self._by_score or self.query.ranking.plain is not None

    @property
    def _by_score(self) -> bool:
        return self.query.ranking.single_scorer is not None and not self.query.whole

    @property
    def _has_distance(self) -> bool:
        return not self._by_score and bool(self.query.ranking.distances and len(self.query.words.weights))

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """End the work of the block when the caller stops it, or the budget is used up."""
        with ExitStack() as stack:
            if self.query.stop:
                stack.enter_context(stopping(self.query.stop))
            if self._until < np.inf:
                stack.enter_context(stopping(lambda: time.monotonic() > self._until))
            yield


def _prepare(view: View, query: Query) -> None:
    """Load the data that all queries with a ranking share, by a search in the sample."""
    Search(view, replace(query, k=SAMPLE // 2, allowed=view.sample, partial=False, budget=None)).run()
    for part in view.segments:
        part.bags(np.flatnonzero(part.live), query.ranking.gamma, query.ranking.weights)
    view.computed.get(query.ranking, lambda: True)


def search_or_error(prepare: Callable[[_Item], Search], item: _Item) -> Search | str:
    """Return the search that `prepare` returns for a text or key, or the message of its error."""
    try:
        return prepare(item)
    except (NoKnownWords, QueryVectorError, UnknownKey) as error:
        return str(error)


def answer_many(searches: Iterable[Search | str]) -> Iterator[tuple[Search | str, Outcome | None]]:
    """Answer queries in parallel, in order; a string, which says why a query has no answer, has the outcome None."""

    def work(search: Search | str) -> Outcome | str | None:
        try:
            return None if isinstance(search, str) else search.run()
        except OutOfTime as error:  # the budget of one query; `check_time` raises if the time of all is used up
            check_time()
            return str(error)

    for search, outcome in map_ahead(work, searches, initialises=lambda search: not isinstance(search, str)):
        yield (outcome, None) if isinstance(outcome, str) else (search, outcome)
