"""The first stage of a search: the documents that may be hits, and the candidates among them.

A query is compared with the documents of a segment by encoded vectors, or by given ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError
from moverank.indexer.search.query import Query
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.view import View
from moverank.indexer.values.given_vectors import Space
from moverank.indexer.values.ranking_spec import Weights
from moverank.rerank.bags.bag import lookup
from moverank.rerank.distance.bounds import wcd_from_squares
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.scorers.fusion import reciprocal_ranks

VectorCosts = tuple[NDArray[np.int64], NDArray[np.float32] | NDArray[np.float64]]
"""Rows (m,) of a segment, and their costs (m,): squared distances, or negated inner products."""


class VectorSearch(Protocol):
    """Finds the nearest documents by one kind of vectors."""

    @property
    def is_bound(self) -> bool:
        """Return whether distances of vectors are lower bounds of the WMD of the same bags."""
        ...

    def vector(self, query: Query) -> NDArray[np.float32]:
        """Return the vector (dim,) of a query."""
        ...

    def with_vector(self, part: LiveSegment, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep the `rows` (n,) that have a vector."""
        ...

    def costs(self, part: LiveSegment, rows: NDArray[np.int64], vector: NDArray[np.float32]) -> VectorCosts:
        """Compare the vectors of `rows` (n,) of a segment with a query's `vector` (dim,); each row has one."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSearch:
    """Compares vectors which `encoder` computes from bags, weighted by `gamma` and `weights`.

    Vectors of encoders whose metric is the inner product have unit length: their distances have the same order.
    """

    encoder: Encoder
    gamma: float
    weights: Weights

    @property
    def is_bound(self) -> bool:
        """See `VectorSearch.is_bound`."""
        return isinstance(self.encoder, Centroid) and self.encoder.is_bound

    def vector(self, query: Query) -> NDArray[np.float32]:
        """See `VectorSearch.vector`."""
        return query.words.encoded(self.encoder)

    def with_vector(self, _part: LiveSegment, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `VectorSearch.with_vector`."""
        return rows

    def costs(self, part: LiveSegment, rows: NDArray[np.int64], vector: NDArray[np.float32]) -> VectorCosts:
        """See `VectorSearch.costs`."""
        return rows, np.square(part.encoded(self.encoder, rows, self.gamma, self.weights) - vector).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class GivenSearch:
    """Compares given vectors in their `space`."""

    space: Space
    is_bound: bool = False

    def vector(self, query: Query) -> NDArray[np.float32]:
        """See `VectorSearch.vector`; QueryVectorError if the query has none."""
        if query.words.vector is None:
            raise QueryVectorError(NO_VECTOR)
        return query.words.vector

    def with_vector(self, part: LiveSegment, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `VectorSearch.with_vector`."""
        return rows[np.isin(rows, part.given.rows)] if part.given else rows[:0]

    def costs(self, part: LiveSegment, rows: NDArray[np.int64], vector: NDArray[np.float32]) -> VectorCosts:
        """See `VectorSearch.costs`."""
        return part.given.costs(rows, vector, self.space) if part.given else (rows[:0], np.empty(0))


NO_CANDIDATES = "search all documents, without --depth and the term vector"
NO_VECTOR = (
    "the query has no vector, which the first stage `given` compares: give one (--query-vector, or `vector` in the "
    f"records of --queries), or {NO_CANDIDATES}"
)


def vector_search(view: View) -> VectorSearch:
    """Return the search by the vectors of a view's first stage."""
    if view.space is not None:
        return GivenSearch(view.space)
    return EncodedSearch(view.encoder(), view.gamma, view.weights)


SegmentRows = list[NDArray[np.int64]]
"""Rows (m,) of each segment of a view."""


def is_candidate(view: View, query: Query, id_: int) -> bool:
    """Return whether the search for `query` in `view` computes the distance or a bound of the document `id_`."""
    chosen = allowed_rows(view, query)
    if needs_candidates(query, chosen) and not query.prove:
        chosen, _ = candidates(view, query, chosen)
    return any(id_ in part.segment.ids[rows] for part, rows in zip(view.segments, chosen, strict=True))


def allowed_rows(view: View, query: Query) -> SegmentRows:
    """Return the rows of documents that may be hits."""
    return [np.flatnonzero(part.live & query.may_hit(part.segment.ids)) for part in view.segments]


def needs_candidates(query: Query, chosen: Sequence[NDArray[np.int64]]) -> bool:
    """Return whether the first stage is needed: more rows are `chosen` than the query's depth."""
    return query.depth is not None and query.depth < sum(map(len, chosen))


def candidates(view: View, query: Query, chosen: SegmentRows) -> tuple[SegmentRows, float]:
    """Reduce the `chosen` rows of `view` to the depth of `query`: the nearest by the first stage's vectors.

    A joined scorer's best documents are fused with the nearest by reciprocal rank: documents with a rare word of the
    query are not lost, but the distances of the others have no bound.

    Returns the rows of each segment, and a lower bound of the WMD of every other row: 0 if none is known, as for all
    vectors except centroids of the same bags.
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
    """Return the live rows of a segment, increasing, whose ids are among `ids`, increasing."""
    rows, present = lookup(ids, part.segment.ids)
    rows = rows[present]
    return rows[part.live[rows]]


def _nearest(view: View, query: Query, chosen: SegmentRows, depth: int) -> tuple[NDArray[np.int64], float]:
    """Return the ids of the `depth` nearest rows by vectors, nearest first, and a lower bound of the others' WMD."""
    search = vector_search(view)
    vector = search.vector(query)
    found = [_nearest_rows(part, rows, search, vector, depth) for part, rows in zip(view.segments, chosen, strict=True)]
    costs = np.concatenate([own for _, own in found])
    order = np.argsort(costs, kind="stable")[:depth]
    exact = search.is_bound and all(part.first_stage is None or part.first_stage.exact for part in view.segments)
    floor = 0.0
    if exact and len(order):
        longest = max(float(part.norms.max(initial=0)) for part in view.segments)
        last = costs[order[-1:]].astype(np.float32)
        norm = np.float32(np.linalg.norm(vector))
        floor = float(wcd_from_squares(last, np.array([longest], np.float32), norm, len(vector))[0])
    ids = np.concatenate([part.segment.ids[rows] for part, (rows, _) in zip(view.segments, found, strict=True)])
    return ids[order], floor


def _nearest_rows(
    part: LiveSegment, rows: NDArray[np.int64], search: VectorSearch, vector: NDArray[np.float32], depth: int
) -> VectorCosts:
    """Return up to `depth` of a segment's rows that are nearest to the query's `vector`, and their costs.

    The tail has no index: it is short, so every distance is computed.
    """
    rows = search.with_vector(part, rows)
    if part.first_stage is None or len(rows) <= depth:
        return search.costs(part, rows, vector)
    allowed = np.zeros(len(part.segment.ids), bool)
    allowed[rows] = True
    found = part.first_stage.nearest(vector, depth, lambda ids: allowed[np.searchsorted(part.segment.ids, ids)])
    return np.searchsorted(part.segment.ids, found.ids), found.costs
