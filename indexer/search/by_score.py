"""Rankings by word counts: alone, or with a say in the order that a distance gives."""

import time
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import Blend, ScorerChoice
from moverank.indexer.search.by_distance import search
from moverank.indexer.search.candidates import allowed_rows, candidates, narrowed
from moverank.indexer.search.query import Outcome, Request, Words
from moverank.indexer.search.view import View
from moverank.rerank.ranking import StageCounts
from moverank.rerank.scorers import SCORERS
from moverank.rerank.scorers.fusion import linear, reciprocal_ranks

POOL = 100
"""So many of the nearest, and of the best by words, are put in a joint order; three for each hit, if that is more."""


def scored(view: View, words: Words, request: Request, scorer: ScorerChoice, stage_gamma: float) -> Outcome:
    """Rank the documents, or the candidates where the request has a depth, by a scorer."""
    began = time.monotonic()
    allowed = _candidates(view, words, request, stage_gamma) if request.depth is not None else None
    among = request.allowed if allowed is None else allowed
    terms = words.counted()
    ids, nearness = view.scoring.score(scorer, request.gamma, terms).best(request.k, among, request.without)
    counts = StageCounts(candidates=len(view.scoring.ids if among is None else among))
    scope: Literal["collection", "candidates"] = "collection" if allowed is None else "candidates"
    seconds = time.monotonic() - began
    if SCORERS[scorer.name].ascending:
        return Outcome(ids, -nearness, allowed is None, scope, counts, 0.0, seconds)
    none = np.full(len(ids), np.nan)
    return Outcome(ids, none, allowed is None, scope, counts, 0.0, seconds, nearness)


def _candidates(view: View, words: Words, request: Request, stage_gamma: float) -> NDArray[np.int64] | None:
    """Return the ids of the first stage's candidates, None where it has nothing to choose."""
    chosen = [allowed_rows(part, request) for part in view.segments]
    if not narrowed(request, chosen):
        return None
    rows, _ = candidates(view, words, chosen, request, stage_gamma)
    return np.concatenate([part.segment.ids[some] for part, some in zip(view.segments, rows, strict=True)])


def blended(view: View, words: Words, request: Request, blend: Blend, stage_gamma: float) -> Outcome:
    """Put the nearest by the distance and the best by the scorer in a joint order, which proves nothing.

    All of them have both parts, but documents without any word vector, which no distance finds.
    """
    began = time.monotonic()
    pool = max(POOL, 3 * request.k)
    scores = view.scoring.score(blend.scorer, request.gamma, words.counted())
    best, _ = scores.best(pool, request.allowed, request.without)
    ids, distances, counts = _near(view, words, request, stage_gamma, pool, best)
    every = np.union1d(ids, best)
    nearness = scores.of(every)
    if blend.share is None:
        joined = reciprocal_ranks([ids, every[np.argsort(-nearness, kind="stable")]])
    else:
        joined = linear([ids, every], [-distances, nearness], [1 - blend.share, blend.share])
    hits, joint = joined[0][: request.k], joined[1][: request.k]
    distance_of = dict(zip(ids.tolist(), distances.tolist(), strict=True))
    far = np.array([distance_of.get(id_, np.nan) for id_ in hits.tolist()])
    own = (-1.0 if SCORERS[blend.scorer.name].ascending else 1.0) * scores.of(hits)
    parts = {request.distance: far, blend.scorer.name: own}
    seconds = time.monotonic() - began
    return Outcome(hits, far, False, "candidates", counts, 0.0, seconds, joint, parts)


def _near(
    view: View, words: Words, request: Request, stage_gamma: float, pool: int, others: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], StageCounts]:
    """Return ids and distances of the `pool` nearest documents and of some others, nearest first."""
    near = search(view, words, replace(request, k=pool), stage_gamma)
    missing = np.setdiff1d(others, near.ids)
    if not len(missing):
        return near.ids, near.distances, near.counts
    more = search(view, words, replace(request, k=len(missing), depth=None, allowed=missing), stage_gamma)
    ids, distances = np.append(near.ids, more.ids), np.append(near.distances, more.distances)
    order = np.lexsort((ids, distances))
    return ids[order], distances[order], near.counts + more.counts
