"""Answers one or many queries."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from moverank.indexer.search.by_distance import search_by_distance
from moverank.indexer.search.by_score import search_by_known_sum, search_by_score
from moverank.indexer.search.peers import ALONE
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.content_sample import SAMPLE
from moverank.rerank.runtime.look_ahead import map_ahead


def answer(view: View, query: Query) -> Outcome:
    """Answer a query by its ranking: a scorer, a sum that is known for every document, or one with a distance.

    The budget of a query is that of its search: what is loaded once for all queries is loaded before.
    """
    if query.budget is not None and query.ranking not in view.prepared:
        _search(view, replace(query, k=SAMPLE // 2, allowed=view.sample, budget=None, peers=ALONE))
        for part in view.segments:
            part.bags(np.flatnonzero(part.live), query.ranking.gamma, query.ranking.weights)
        view.prepared.add(query.ranking)
    return _search(view, query)


def _search(view: View, query: Query) -> Outcome:
    scorer = query.ranking.single_scorer
    if scorer is not None and not query.whole:
        return search_by_score(view, query, scorer)
    if query.ranking.distances and len(query.words.weights):
        return search_by_distance(view, query)
    return search_by_known_sum(view, query)


def answer_many(view: View, queries: Iterable[Query | str]) -> Iterator[tuple[Query | str, Outcome | None]]:
    """Answer queries in order, in parallel; a string, the error of an invalid query, has the outcome None."""

    def work(query: Query | str) -> Outcome | None:
        return None if isinstance(query, str) else answer(view, query)

    return map_ahead(work, queries, initialises=lambda query: not isinstance(query, str))
