"""From a query to the nearest documents: first stage, rerank, and what is proven of the result."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.candidates import allowed_rows, candidates, narrowed
from moverank.indexer.search.query import Outcome, Request, Words
from moverank.indexer.search.view import View
from moverank.rerank.distance.cascade import never
from moverank.rerank.ranking import StageCounts, largest_error
from moverank.rerank.reranker import nearest


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Ids and distances, nearest first, the stages' counts, and lower bounds of what was left undone."""

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    counts: StageCounts
    possible: NDArray[np.float64]

    def joined(self, other: "_Found", k: int) -> "_Found":
        """Return the k nearest of both."""
        ids, distances = np.append(self.ids, other.ids), np.append(self.distances, other.distances)
        best = np.lexsort((ids, distances))[:k]
        possible = np.append(self.possible, other.possible)
        return _Found(ids[best], distances[best], self.counts + other.counts, possible)


_NOTHING = _Found(np.empty(0, np.int64), np.empty(0), StageCounts(), np.empty(0))


def search(view: View, words: Words, request: Request, stage_gamma: float) -> Outcome:
    """Find the nearest documents of a view; `stage_gamma` is the gamma that the first stage's centroids have."""
    began = time.monotonic()
    stop = partial(_over, began + request.budget) if request.budget is not None else never
    chosen = [allowed_rows(part, request) for part in view.segments]
    if not narrowed(request, chosen):
        found, floor = _nearest(view, words, chosen, request, stop), np.inf
    else:
        some, floor = candidates(view, words, chosen, request, stage_gamma)
        found = _nearest(view, words, some, request, stop)
        if not (request.own and request.distance != "rwmd"):
            floor = 0.0
        if request.prove and not _proven(found, floor, request.k):
            rest = [np.setdiff1d(rows, near, assume_unique=True) for rows, near in zip(chosen, some, strict=True)]
            found = found.joined(_nearest(view, words, rest, request, stop, found), request.k)
            floor = np.inf
    proven = _proven(found, floor, request.k)
    possible = np.append(found.possible, np.full(request.k if np.isfinite(floor) else 0, floor))
    error = 0.0 if proven else largest_error(found.distances, possible, request.k)
    scope: Literal["collection", "candidates"] = "collection" if proven or np.isinf(floor) else "candidates"
    return Outcome(found.ids, found.distances, proven, scope, found.counts, error, time.monotonic() - began)


def _over(deadline: float) -> bool:
    return time.monotonic() > deadline


def _proven(found: _Found, floor: float, k: int) -> bool:
    """Say whether nothing that is left can be nearer than the last hit: others are not nearer than `floor`."""
    complete = np.isinf(floor) or (len(found.distances) == k and floor >= found.distances[-1])
    return bool(complete and largest_error(found.distances, found.possible, k) == 0.0)


def _nearest(
    view: View,
    words: Words,
    chosen: Sequence[NDArray[np.int64]],
    request: Request,
    stop: Callable[[], bool],
    before: _Found = _NOTHING,
) -> _Found:
    """Rerank the chosen rows of each segment; what is farther than the k-th found `before` is of no interest."""
    found = _NOTHING
    for part, rows in zip(view.segments, chosen, strict=True):
        if not len(rows):
            continue
        known = before.joined(found, request.k).distances
        within = float(known[-1]) if len(known) == request.k else np.inf
        bags = part.bags(rows, request.gamma)
        query, vectors = words.over(part.segment), part.segment.vectors
        near = nearest(query, bags, vectors, request.k, request.distance, within, part.norms, stop)
        ids = part.segment.ids[rows[near.rows]]
        found = found.joined(_Found(ids, near.distances, near.counts, near.possible), request.k)
    return found
