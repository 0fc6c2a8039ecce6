"""Search by word counts: by a scorer alone, or by a blend of a scorer and a distance."""

import time
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import Blend, ScorerChoice
from moverank.indexer.search.by_distance import search_by_distance
from moverank.indexer.search.candidates import allowed_rows, candidates, needs_candidates
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.view import View
from moverank.rerank.ranking import StageCounts
from moverank.rerank.scorers import SCORERS
from moverank.rerank.scorers.fusion import linear, reciprocal_ranks

POOL = 100
"""Number of best documents of each ranking that a blend combines; 3 k, if that is more."""


def search_by_score(view: View, query: Query, scorer: ScorerChoice) -> Outcome:
    """Rank the documents of `view` by `scorer`, or only the first stage's candidates if `query` has a depth."""
    began = time.monotonic()
    chosen = _candidates(view, query) if query.depth is not None else None
    allowed = query.allowed if chosen is None else chosen
    scores = view.scores.score(scorer, query.gamma, query.words.counted())
    ids, nearness = scores.best(query.k, allowed, query.without)
    counts = StageCounts(candidates=len(view.scores.ids if allowed is None else allowed))
    scope: Literal["collection", "candidates"] = "collection" if chosen is None else "candidates"
    seconds = time.monotonic() - began
    if SCORERS[scorer.name].ascending:
        return Outcome(ids, -nearness, chosen is None, scope, counts, 0.0, seconds)
    no_distances = np.full(len(ids), np.nan)
    return Outcome(ids, no_distances, chosen is None, scope, counts, 0.0, seconds, nearness)


def _candidates(view: View, query: Query) -> NDArray[np.int64] | None:
    """Return the ids of the first stage's candidates; None if these are all documents."""
    chosen = allowed_rows(view, query)
    if not needs_candidates(query, chosen):
        return None
    rows, _ = candidates(view, query, chosen)
    return np.concatenate([part.segment.ids[some] for part, some in zip(view.segments, rows, strict=True)])


def search_by_blend(view: View, query: Query, blend: Blend) -> Outcome:
    """Rank the documents of `view` nearest to `query` and the best by the scorer of `blend` jointly; uncertified.

    Both components are computed for all of them, but documents without any word vector have no distance.
    """
    began = time.monotonic()
    pool = max(POOL, 3 * query.k)
    scores = view.scores.score(blend.scorer, query.gamma, query.words.counted())
    best, _ = scores.best(pool, query.allowed, query.without)
    ids, distances, counts = _near(view, query, pool, best)
    pooled = np.union1d(ids, best)
    nearness = scores.of(pooled)
    if blend.share is None:
        joined = reciprocal_ranks([ids, pooled[np.argsort(-nearness, kind="stable")]])
    else:
        joined = linear([ids, pooled], [-distances, nearness], [1 - blend.share, blend.share])
    hits, joint = joined[0][: query.k], joined[1][: query.k]
    distance_of = dict(zip(ids.tolist(), distances.tolist(), strict=True))
    hit_distances = np.array([distance_of.get(id_, np.nan) for id_ in hits.tolist()])
    hit_scores = (-1.0 if SCORERS[blend.scorer.name].ascending else 1.0) * scores.of(hits)
    parts = {query.distance: hit_distances, blend.scorer.name: hit_scores}
    seconds = time.monotonic() - began
    return Outcome(hits, hit_distances, False, "candidates", counts, 0.0, seconds, joint, parts)


def _near(
    view: View, query: Query, pool: int, others: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], StageCounts]:
    """Return ids and distances of the `pool` nearest documents and of `others` (m,), nearest first."""
    near = search_by_distance(view, replace(query, k=pool))
    missing = np.setdiff1d(others, near.ids)
    if not len(missing):
        return near.ids, near.distances, near.counts
    more = search_by_distance(view, replace(query, k=len(missing), depth=None, allowed=missing))
    ids, distances = np.append(near.ids, more.ids), np.append(near.distances, more.distances)
    order = np.lexsort((ids, distances))
    return ids[order], distances[order], near.counts + more.counts
