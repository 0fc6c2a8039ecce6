"""Search by distances of bags, or by a sum that contains one: first stage, reranking, and certificate.

One certificate covers the hits of one search, or of the searches of all shards.
"""

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.candidates import SegmentRows, allowed_rows, candidates, needs_candidates
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.query import PLACES, Others, Outcome, Query
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.sum_terms import SumWeights, charged_by, scales_of
from moverank.indexer.search.view import View
from moverank.rerank.distance.best_first import Places, Wanted
from moverank.rerank.distance.nearest import NearestSearch, nearest_search
from moverank.rerank.distance.query_bag import Comparison
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.ranking import StageCounts, largest_error

_Floats = NDArray[np.float64]

_MOST_CENTRES = 2**24  # float32 numbers of cached centroids: 64 MiB


class Certificate(NamedTuple):
    """Whether a list is `proven` to hold the best documents, and its `largest_error`, 0 if it is; see `Ranking`."""

    proven: bool
    largest_error: float


def certificate(values: _Floats, unsolved_bounds: _Floats, floor: float, k: int, within: float) -> Certificate:
    """Return the certificate of at most `k` hits with increasing `values` (m,), none above `within`.

    `unsolved_bounds` (u,) are lower bounds of the values of documents that were compared, but not solved; the k
    smallest of each shard suffice. `floor` is a lower bound for all documents that were not compared: inf if there are
    none, -inf if no bound is known.

    A list of k hits is proven if no other document can be nearer than its last hit; a shorter list, if all other
    documents are beyond `within`. The error bounds how much farther the last hit is than the true one at its position;
    for a shorter list, how far below `within` a missing document can be. Documents without a known bound do not count.
    """
    lowest = min(floor, float(unsolved_bounds.min(initial=np.inf)))
    full = len(values) == k
    if lowest == np.inf or (lowest >= values[-1] if full else lowest > within):
        return Certificate(proven=True, largest_error=0.0)
    uncompared = np.full(max(1, len(values)) if np.isfinite(floor) else 0, floor)
    bounds = np.concatenate([unsolved_bounds, uncompared])
    if not full and np.isfinite(within):
        return Certificate(proven=False, largest_error=max(0.0, within - float(bounds.min(initial=within))))
    error = largest_error(values, bounds, len(values)) if len(values) else 0.0
    return Certificate(proven=False, largest_error=error)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best documents, best first, and bounds of the others."""

    ids: NDArray[np.int64]  # (k,)
    values: NDArray[np.float64]  # (k,), increasing
    counts: StageCounts = field(default_factory=StageCounts)
    # (u,) lower bounds for documents that were compared, but not solved
    unsolved_bounds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    components: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))  # (k, 3), see `Nearest`
    all_rows: Others = field(default_factory=Others.none)  # all compared documents, if the query requests them

    def merged(self, other: "Found", k: int) -> "Found":
        """Return the k best documents of both; ties in the order of ids."""
        ids, values = np.append(self.ids, other.ids), np.append(self.values, other.values)
        best, values = smallest_first(values, ids, k)
        unsolved_bounds = np.append(self.unsolved_bounds, other.unsolved_bounds)
        components = np.concatenate([self.components, other.components])[best]
        every = self.all_rows
        if len(other.all_rows.ids):
            every = every.plus(other.all_rows.ids, other.all_rows.bounds, other.all_rows.exact)
        return Found(ids[best], values, self.counts + other.counts, unsolved_bounds, components, every)

    def within(self, limit: float) -> "Found":
        """Keep the documents with values of at most `limit`."""
        few = int(np.searchsorted(self.values, limit, side="right"))
        return replace(self, ids=self.ids[:few], values=self.values[:few], components=self.components[:few])

    def proven(self, floor: float, query: Query) -> bool:
        """Return whether these are the hits; `floor` is a lower bound of the values of documents not compared."""
        return certificate(self.values, self.unsolved_bounds, floor, query.k, query.within).proven

    def outcome(self, query: Query, floor: float, began: float) -> Outcome:
        """Return the outcome of a search that `began` at a time of the monotonic clock; values are its distances."""
        proven, error = certificate(self.values, self.unsolved_bounds, floor, query.k, query.within)
        last = float(self.values[-1]) if len(self.values) else 0.0
        return Outcome(
            self.ids,
            self.values,
            proven,
            "collection" if proven or floor == np.inf else "candidates",
            self.counts,
            error,
            time.monotonic() - began,
            terms=scales_of(query),
            others=self.all_rows.beside(self.ids, last),
            unsolved_bounds=self.unsolved_bounds,
            floor=floor,
        )


_NOTHING = Found(np.empty(0, np.int64), np.empty(0))


class _Begun(NamedTuple):
    """The search among some `rows` of a segment."""

    part: LiveSegment
    rows: NDArray[np.int64]
    search: NearestSearch


class DistanceSearch:
    """The begun search for `query` in `view` by its ranking, which has a distance of bags.

    `weights` belong to a sum, None for a distance alone. The search `began` at a time of the monotonic clock. `upper`
    are upper bounds of the best documents' values, increasing, at most k; `close`: tighter bounds.
    """

    def __init__(
        self, view: View, query: Query, weights: SumWeights | None, began: float, *, close: bool = False
    ) -> None:
        self._view, self._query, self._weights, self._began = view, query, weights, began
        self._chosen = allowed_rows(view, query)
        self._loose = _NOTHING if weights is None else _without_bag(view, query, weights)
        self._near, self._floor = None, np.inf
        if needs_candidates(query, self._chosen):
            self._near, self._floor = candidates(view, query, self._chosen)
        rows = self._chosen if self._near is None else self._near
        self._begun, self.upper = self._begin(rows, _NOTHING, close=close)

    def answer(self, limit: float) -> Outcome:
        """Return the best documents with values of at most `limit`."""
        query, weights, floor = self._query, self._weights, _bounded(self._floor, self._query)
        found = self._finish(self._begun, _NOTHING, limit)
        near = self._near if query.prove else None
        if near is not None and not found.within(query.within).proven(floor, query):
            pairs = zip(self._chosen, near, strict=True)
            others, _ = self._begin([np.setdiff1d(rows, some, assume_unique=True) for rows, some in pairs], found)
            found = found.merged(self._finish(others, found, limit), query.k)
            floor = np.inf
        if weights is None:
            return found.within(query.within).outcome(query, floor, self._began)
        found = found.merged(self._loose, query.k).within(query.within)
        outcome = replace(found.outcome(query, floor, self._began), totals=found.values)
        charged = weights.charged(self._view, query, found.ids, found.components)
        distances = found.components[:, 0] if query.ranking.has_transport else np.full(len(found.ids), np.nan)
        return charged_by(replace(outcome, distances=distances), query, weights.known, charged)

    def _begin(self, chosen: SegmentRows, before: Found, *, close: bool = False) -> tuple[list[_Begun], _Floats]:
        """Begin to search the chosen rows of each segment for documents not worse than the k-th found `before`.

        Also returns upper bounds of the best values, also of values `before`, increasing, at most k.
        """
        view, query, ranking = self._view, self._query, self._query.ranking
        upper, begun = before.values, list[_Begun]()
        for number, (part, rows) in enumerate(zip(view.segments, chosen, strict=True)):
            if not len(rows):
                continue
            bag, vectors = query.words.over(part.segment.word_ids), part.segment.vectors
            one_segment = len(view.segments) == 1
            compared = Comparison(
                bag,
                part.bags_of_most(rows, ranking.gamma, ranking.weights),
                vectors,
                part.norms,
                _centres(view, number, query, rows),
            )
            wanted = Wanted(
                query.k,
                ranking.plain or "wmd",
                min(query.within, _kth(upper, query.k)),
                self._weights.of_rows(part, rows, bag) if self._weights else None,
                _places(query, part.segment.ids[rows], self._loose) if one_segment else None,
                partial=query.partial,
            )
            search = nearest_search(compared, wanted)
            begun.append(_Begun(part, rows, search))
            upper = np.sort(np.append(upper, search.upper_bounds(close=close)))[: query.k]
        return begun, upper

    def _finish(self, begun: list[_Begun], before: Found, limit: float) -> Found:
        """Return the k best of the searched rows, none worse than the k-th found `before` or than `limit`."""
        found, query = _NOTHING, self._query
        while begun:
            part, rows, search = begun.pop(0)  # so that it is freed with its bounds
            near = search.answer(min(limit, _kth(before.merged(found, query.k).values, query.k)))
            ids = part.segment.ids[rows[near.rows]]
            components = near.components if len(near.components) else np.full((len(ids), 3), np.nan)
            every = Others(part.segment.ids[rows], near.lower, near.known) if query.whole else Others.none()
            new = Found(ids, near.distances, near.counts, near.unsolved_bounds, components, every)
            found = found.merged(new, query.k)
        return found


def _kth(values: _Floats, k: int) -> float:
    """Return the k-th of increasing `values`; infinite if there are fewer."""
    return float(values[k - 1]) if len(values) >= k else np.inf


def _bounded(floor: float, query: Query) -> float:
    """Convert a lower bound of other documents' WMD to one of their values; inf (no other documents) stays."""
    bounded = query.bounded and query.ranking.plain in ("wmd", "pwmd", "wcd")
    return floor if bounded or np.isinf(floor) else 0.0


def _centres(view: View, number: int, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return the cached centroids (m, d) of `rows` (m,) of a segment.

    None unless WCD alone ranks, `rows` are at least half of the segment, and the segment is not large.
    """
    part, ranking = view.segments[number], query.ranking
    every = len(part.segment.ids)
    if ranking.plain != "wcd" or 2 * len(rows) < every or every * view.dim > _MOST_CENTRES:
        return None

    def compute() -> NDArray[np.float32]:
        return centroids(part.bags(np.arange(every), ranking.gamma, ranking.weights), part.segment.vectors)

    kept = view.computed.get(("centres", number, ranking.gamma, ranking.weights), compute)
    return kept if len(rows) == every else kept[rows]


def _places(query: Query, ids: NDArray[np.int64], loose: Found) -> Places | None:
    """Return which places of a query must be exact among the documents `ids` (n,), increasing; None: all."""
    if query.placed is None:
        return None
    values = loose.values[np.isin(loose.ids, query.placed)]
    return Places(np.flatnonzero(np.isin(ids, query.placed)), PLACES, values)


def _without_bag(view: View, query: Query, weights: SumWeights) -> Found:
    """Return the documents without a bag that share a word with the query: their totals are known."""
    related = [part for part in weights.known if part.related is not None]
    if not related:
        return _NOTHING
    ids = view.without_bag[np.any([part.is_related(view.without_bag) for part in related], axis=0)]
    ids = ids[query.may_hit(ids)]
    totals = weights.without_bag(ids)
    every = Others(ids, totals, np.ones(len(ids), bool)) if query.whole else Others.none()
    return Found(ids, totals, StageCounts(), np.empty(0), np.full((len(ids), 3), np.nan), every)
