"""The first stage: selects the documents that may be hits, and the candidates among them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.live_segment import LiveSegment
from moverank.indexer.search.query import Query
from moverank.indexer.search.stage_search import Costs, StageSearch, stage_search
from moverank.indexer.search.view import View
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.distance.bounds import wcd_from_squares
from moverank.rerank.scorers.fusion import reciprocal_ranks

Rows = list[NDArray[np.int64]]
"""Rows (m,) of each segment of a view."""


def is_candidate(view: View, query: Query, id_: int) -> bool:
    """Return whether the search for `query` in `view` computes the distance or a bound of the document `id_`."""
    chosen = allowed_rows(view, query)
    if needs_candidates(query, chosen) and not query.prove:
        chosen, _ = candidates(view, query, chosen)
    return any(id_ in part.segment.ids[rows] for part, rows in zip(view.segments, chosen, strict=True))


def allowed_rows(view: View, query: Query) -> Rows:
    """Return the rows of documents that may be hits."""
    chosen = []
    for part in view.segments:
        live = part.live
        if query.allowed is not None:
            live = live & np.isin(part.segment.ids, query.allowed)
        if query.without is not None:
            live = live & (part.segment.ids != query.without)
        chosen.append(np.flatnonzero(live))
    return chosen


def needs_candidates(query: Query, chosen: Sequence[NDArray[np.int64]]) -> bool:
    """Return whether the first stage is needed: more rows are `chosen` than the query's depth."""
    return query.depth is not None and query.depth < sum(map(len, chosen))


def candidates(view: View, query: Query, chosen: Rows) -> tuple[Rows, float]:
    """Reduce the `chosen` rows of `view` to the depth of `query`: the nearest by the first stage's vectors.

    With a joined scorer, these and as many best documents of the scorer are fused by reciprocal rank: documents with a
    rare word of the query are not lost, but there is no bound for the distances of the others.

    Returns the rows of each segment, and a lower bound of the WMD of every other row: 0 without one, as with any
    vectors but centroids of the same bags.
    """
    depth = query.depth or 0
    nearest, floor = _nearest(view, query, chosen, depth)
    if query.joined is not None:
        gamma = query.ranking.gamma
        scores = view.scores.score(query.joined, gamma, query.words.terms[gamma])
        best, _ = scores.best(depth, query.allowed, query.without)
        nearest, floor = reciprocal_ranks([nearest, best])[0][:depth], 0.0
    return [_live_rows(part, np.sort(nearest)) for part in view.segments], floor


def _live_rows(part: LiveSegment, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the live rows of a segment, increasing, with one of `ids`, increasing."""
    rows, present = lookup(ids, part.segment.ids)
    rows = rows[present]
    return rows[part.live[rows]]


def _nearest(view: View, query: Query, chosen: Rows, depth: int) -> tuple[NDArray[np.int64], float]:
    """Return the ids of the `depth` nearest by vectors, nearest first, and a lower bound of the WMD of all others."""
    stage = stage_search(view)
    vector = stage.vector(query)
    found = [_nearest_rows(part, rows, stage, vector, depth) for part, rows in zip(view.segments, chosen, strict=True)]
    costs = np.concatenate([own for _, own in found])
    order = np.argsort(costs, kind="stable")[:depth]
    exact = stage.is_bound and all(part.stage is None or part.stage.exact for part in view.segments)
    floor = 0.0
    if exact and len(order):
        longest = max(float(part.norms.max(initial=0)) for part in view.segments)
        last = costs[order[-1:]].astype(np.float32)
        norm = np.float32(np.linalg.norm(vector))
        floor = float(wcd_from_squares(last, np.array([longest], np.float32), norm, len(vector))[0])
    ids = np.concatenate([part.segment.ids[rows] for part, (rows, _) in zip(view.segments, found, strict=True)])
    return ids[order], floor


def _nearest_rows(
    part: LiveSegment, rows: NDArray[np.int64], stage: StageSearch, vector: NDArray[np.float32], depth: int
) -> Costs:
    """Return up to `depth` of a segment's rows, and what orders them by the distance from the query's vector.

    The tail has no index: it is short, so every distance is computed.
    """
    rows = stage.with_vector(part, rows)
    if part.stage is None or len(rows) <= depth:
        return stage.costs(part, rows, vector)
    allowed = np.zeros(len(part.segment.ids), bool)
    allowed[rows] = True
    found = part.stage.nearest(vector, depth, lambda ids: allowed[np.searchsorted(part.segment.ids, ids)])
    return np.searchsorted(part.segment.ids, found.ids), found.costs
