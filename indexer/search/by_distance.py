"""Search by distances of bags, or by a sum with one: first stage, reranking, and certificate."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.candidates import allowed_rows, candidates, needs_candidates
from moverank.indexer.search.certificate import Certificate, certificate
from moverank.indexer.search.known_parts import charged_by, known_parts, scales_of
from moverank.indexer.search.ordering import best_first
from moverank.indexer.search.peers import ALONE
from moverank.indexer.search.query import PLACES, Others, Outcome, Query
from moverank.indexer.search.sum_weights import SumWeights
from moverank.indexer.search.view import View
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.partial_order import Places
from moverank.rerank.ranking import StageCounts


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Ids and what ranks them, best first, the stages' counts, and lower bounds for documents that were not solved.

    `components` (k, 3) are those of `Nearest`. `all_rows` are all documents that were compared, if the query requests
    them.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    counts: StageCounts = field(default_factory=StageCounts)
    unsolved_bounds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    components: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))
    all_rows: Others = field(default_factory=Others.none)

    def merged(self, other: "_Found", k: int) -> "_Found":
        """Return the k best of both; equal ones in the order of ids."""
        ids, values = np.append(self.ids, other.ids), np.append(self.values, other.values)
        best, values = best_first(values, ids, k)
        unsolved_bounds = np.append(self.unsolved_bounds, other.unsolved_bounds)
        components = np.concatenate([self.components, other.components])[best]
        every = self.all_rows
        if len(other.all_rows.ids):
            every = every.plus(other.all_rows.ids, other.all_rows.bounds, other.all_rows.exact)
        return _Found(ids[best], values, self.counts + other.counts, unsolved_bounds, components, every)

    def within(self, limit: float) -> "_Found":
        """Return those whose values are not above `limit`."""
        few = int(np.searchsorted(self.values, limit, side="right"))
        return replace(self, ids=self.ids[:few], values=self.values[:few], components=self.components[:few])

    def certificate(self, floor: float, query: Query) -> Certificate:
        """Return what is proven about these; the value of no document that was not compared is below `floor`."""
        return certificate(self.values, self.unsolved_bounds, floor, query.k, query.within)


_NOTHING = _Found(np.empty(0, np.int64), np.empty(0))


def search_by_distance(view: View, query: Query) -> Outcome:
    """Find the documents of a view that are best by the query's ranking, which has a distance of bags."""
    began = time.monotonic()
    stop = query.stop if query.budget is None else partial(_over, began + query.budget, query.stop)
    chosen = allowed_rows(view, query)
    known = known_parts(view, query)
    weights = None if query.ranking.plain else SumWeights.of(view, query, known)
    loose = _NOTHING if weights is None else _without_bag(view, query, weights)
    rank = partial(_best, view, query, weights, stop, loose)
    if not needs_candidates(query, chosen):
        found, floor = rank(chosen), _bounded(view.floor, query)
    else:
        some, floor = candidates(view, query, chosen)
        found, floor = rank(some), _bounded(floor, query)
        if query.prove and not found.within(query.within).certificate(floor, query).proven:
            rest = [np.setdiff1d(rows, near, assume_unique=True) for rows, near in zip(chosen, some, strict=True)]
            found = found.merged(rank(rest, found), query.k)
            floor = np.inf
    if weights is not None:
        found = found.merged(loose, query.k)
    found = found.within(query.within)
    proven, error = found.certificate(floor, query)
    scope: Literal["collection", "candidates"] = "collection" if proven or np.isinf(floor) else "candidates"
    proof = (proven, scope, found.counts, error, time.monotonic() - began)
    others = found.all_rows.beside(found.ids, float(found.values[-1]) if len(found.values) else 0.0)
    bounds: dict[str, Any] = {"unsolved_bounds": found.unsolved_bounds, "floor": floor}
    if weights is None:
        return Outcome(found.ids, found.values, *proof, others=others, terms=scales_of(query), **bounds)
    bounds |= charged_by(query, known, found.ids, weights.charged(view, query, found.ids, found.components))
    distances = found.components[:, 0] if query.ranking.has_transport else np.full(len(found.ids), np.nan)
    return Outcome(found.ids, distances, *proof, totals=found.values, others=others, **bounds)


def _bounded(floor: float, query: Query) -> float:
    """Return a lower bound of the other documents' values from one of their WMD, infinite if there are none."""
    bounded = query.bounded and query.ranking.plain in ("wmd", "pwmd", "wcd")
    return floor if bounded or np.isinf(floor) else 0.0


def _over(deadline: float, stop: Callable[[], bool]) -> bool:
    return time.monotonic() > deadline or stop()


def _best(
    view: View,
    query: Query,
    weights: SumWeights | None,
    stop: Callable[[], bool],
    loose: _Found,
    chosen: Sequence[NDArray[np.int64]],
    before: _Found = _NOTHING,
) -> _Found:
    """Return the k best of the chosen rows of each segment, none worse than the k-th found `before`.

    `loose` are the documents without a bag.
    """
    found, ranking = _NOTHING, query.ranking
    share = None if query.peers is ALONE else query.peers.limits
    for part, rows in zip(view.segments, chosen, strict=True):
        if not len(rows):
            continue
        known = before.merged(found, query.k).values
        within = min(query.within, float(known[-1]) if len(known) == query.k else np.inf)
        bags = part.bags_of_most(rows, ranking.gamma, ranking.weights)
        bag, vectors = query.words.over(part.segment.word_ids), part.segment.vectors
        total = weights.of_rows(part, rows, bag) if weights else None
        distance = ranking.plain or ranking.distances[0].distance
        places = _places(query, part.segment.ids[rows], loose) if len(view.segments) == 1 else None
        near = nearest(bag, bags, vectors, query.k, distance, within, part.norms, stop, total, places, share)
        ids = part.segment.ids[rows[near.rows]]
        components = near.components if len(near.components) else np.full((len(ids), 3), np.nan)
        every = Others(part.segment.ids[rows], near.lower, near.known) if query.whole else Others.none()
        new = _Found(ids, near.distances, near.counts, near.unsolved_bounds, components, every)
        found = found.merged(new, query.k)
    return found


def _places(query: Query, ids: NDArray[np.int64], loose: _Found) -> Places | None:
    """Return the exact places of a query among the documents `ids` (n,), increasing; None for all."""
    if query.placed is None:
        return None
    values = loose.values[np.isin(loose.ids, query.placed)]
    return Places(np.flatnonzero(np.isin(ids, query.placed)), PLACES, values)


def _without_bag(view: View, query: Query, weights: SumWeights) -> _Found:
    """Return the documents without a bag that share a word with the query: their totals are known."""
    related = [part for part in weights.known if part.related is not None]
    if not related:
        return _NOTHING
    ids = view.without_bag[np.any([part.is_related(view.without_bag) for part in related], axis=0)]
    if query.allowed is not None:
        ids = ids[np.isin(ids, query.allowed)]
    ids = ids[ids != query.without] if query.without is not None else ids
    totals = weights.without_bag(ids)
    every = Others(ids, totals, np.ones(len(ids), bool)) if query.whole else Others.none()
    return _Found(ids, totals, StageCounts(), np.empty(0), np.full((len(ids), 3), np.nan), every)
