"""Search by a distance: first stage, reranking, and certificate."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.candidates import allowed_rows, candidates, needs_candidates
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.view import View
from moverank.rerank.distance.best_first import never_stop
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.ranking import StageCounts, largest_error


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Ids and distances, nearest first, the stages' counts, and lower bounds for documents that were not solved."""

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    counts: StageCounts
    unsolved_bounds: NDArray[np.float64]

    def merged(self, other: "_Found", k: int) -> "_Found":
        """Return the k nearest of both."""
        ids, distances = np.append(self.ids, other.ids), np.append(self.distances, other.distances)
        best = np.lexsort((ids, distances))[:k]
        unsolved_bounds = np.append(self.unsolved_bounds, other.unsolved_bounds)
        return _Found(ids[best], distances[best], self.counts + other.counts, unsolved_bounds)


_NOTHING = _Found(np.empty(0, np.int64), np.empty(0), StageCounts(), np.empty(0))


def search_by_distance(view: View, query: Query) -> Outcome:
    """Find the documents of a view nearest to a query."""
    began = time.monotonic()
    stop = partial(_over, began + query.budget) if query.budget is not None else never_stop
    chosen = allowed_rows(view, query)
    if not needs_candidates(query, chosen):
        found, floor = _nearest(view, query, chosen, stop), np.inf
    else:
        some, floor = candidates(view, query, chosen)
        found = _nearest(view, query, some, stop)
        if not (query.bounded and query.distance != "rwmd"):
            floor = 0.0
        if query.prove and not _proven(found, floor, query.k):
            rest = [np.setdiff1d(rows, near, assume_unique=True) for rows, near in zip(chosen, some, strict=True)]
            found = found.merged(_nearest(view, query, rest, stop, found), query.k)
            floor = np.inf
    proven = _proven(found, floor, query.k)
    unsolved_bounds = np.append(found.unsolved_bounds, np.full(query.k if np.isfinite(floor) else 0, floor))
    error = 0.0 if proven else largest_error(found.distances, unsolved_bounds, query.k)
    scope: Literal["collection", "candidates"] = "collection" if proven or np.isinf(floor) else "candidates"
    return Outcome(found.ids, found.distances, proven, scope, found.counts, error, time.monotonic() - began)


def _over(deadline: float) -> bool:
    return time.monotonic() > deadline


def _proven(found: _Found, floor: float, k: int) -> bool:
    """Return whether no other document can be nearer than the last hit; none of them is nearer than `floor`."""
    complete = np.isinf(floor) or (len(found.distances) == k and floor >= found.distances[-1])
    return bool(complete and largest_error(found.distances, found.unsolved_bounds, k) == 0.0)


def _nearest(
    view: View,
    query: Query,
    chosen: Sequence[NDArray[np.int64]],
    stop: Callable[[], bool],
    before: _Found = _NOTHING,
) -> _Found:
    """Return the k nearest of the chosen rows of each segment, none farther than the k-th found `before`."""
    found = _NOTHING
    for part, rows in zip(view.segments, chosen, strict=True):
        if not len(rows):
            continue
        known = before.merged(found, query.k).distances
        within = float(known[-1]) if len(known) == query.k else np.inf
        bags = part.bags(rows, query.gamma)
        bag, vectors = query.words.over(part.segment), part.segment.vectors
        near = nearest(bag, bags, vectors, query.k, query.distance, within, part.norms, stop)
        ids = part.segment.ids[rows[near.rows]]
        found = found.merged(_Found(ids, near.distances, near.counts, near.unsolved_bounds), query.k)
    return found
