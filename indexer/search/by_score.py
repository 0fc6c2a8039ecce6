"""Search by values that one pass computes for every document: a scorer, or a sum without a distance of bags."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.by_distance import Found
from moverank.indexer.search.candidates import allowed_rows, candidates, needs_candidates
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.sum_terms import KnownTerm, charged_by, offsets, related_ids
from moverank.indexer.search.view import View
from moverank.indexer.values.ranking_spec import PRIOR, ScorerChoice
from moverank.rerank.ranking import StageCounts


def search_by_score(view: View, query: Query, scorer: ScorerChoice) -> Outcome:
    """Rank the documents of `view` by `scorer`, or only the first stage's candidates if `query` has a depth."""
    began = time.monotonic()
    chosen = _candidates(view, query) if query.depth is not None else None
    allowed = query.allowed if chosen is None else chosen
    gamma = query.ranking.terms[0].gamma or 0.0
    scores = view.scores.score(scorer, gamma, query.words.terms[gamma])
    ids, nearness = scores.best(query.k, allowed, query.without)
    if np.isfinite(query.within):
        ids, nearness = ids[-nearness <= query.within], nearness[-nearness <= query.within]
    counts = StageCounts(candidates=len(view.scores.ids if allowed is None else allowed))
    ascending = scorer.kind.ascending
    floor = _floor(chosen, 0.0 if ascending else -np.inf)
    outcome = Found(ids, -nearness, counts).outcome(query, floor, began)
    return outcome if ascending else replace(outcome, distances=np.full(len(ids), np.nan), scores=nearness)


def search_by_known_sum(view: View, query: Query, parts: list[KnownTerm], began: float) -> Outcome:
    """Rank the documents of `view` by the terms of a sum, `parts`, none of which is a distance of bags.

    If all terms compare words, or if the query has no word with a vector, only documents that share a word with the
    query are ranked; but all documents if the query requests the `whole` ranking.
    """
    chosen = _candidates(view, query) if query.depth is not None else None
    by_words = all(part.related is not None for part in parts if part.term.name != PRIOR)
    ids = related_ids(parts)
    if query.whole or (not by_words and len(query.words.weights)):
        ids = np.unique(np.concatenate([part.ids for part in parts if query.whole or part.term.name != PRIOR]))
    ids = ids[query.may_hit(ids)]
    ids = ids if chosen is None else ids[np.isin(ids, chosen)]
    totals = offsets(parts, ids)
    best, totals = smallest_first(totals, ids, len(ids) if query.whole else query.k)
    few = int(np.searchsorted(totals, query.within, side="right"))
    best, totals = best[:few], totals[:few]
    found = Found(ids[best], totals, StageCounts(candidates=len(ids)))
    outcome = found.outcome(query, _floor(chosen, 0.0), began)
    return charged_by(replace(outcome, distances=np.full(len(best), np.nan), totals=totals), query, parts)


def _candidates(view: View, query: Query) -> NDArray[np.int64] | None:
    """Return the ids of the first stage's candidates; None if these are all documents."""
    chosen = allowed_rows(view, query)
    if not needs_candidates(query, chosen):
        return None
    rows, _ = candidates(view, query, chosen)
    return np.concatenate([part.segment.ids[some] for part, some in zip(view.segments, rows, strict=True)])


def _floor(chosen: NDArray[np.int64] | None, least: float) -> float:
    """Return a lower bound of the values of documents that were not compared: `least`, inf if there are none."""
    return np.inf if chosen is None else least
