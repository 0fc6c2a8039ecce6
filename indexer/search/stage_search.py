"""Compares a query with the documents of a segment by the vectors of the first stage: encoded ones, or given ones."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError
from moverank.indexer.given_vectors import Space
from moverank.indexer.ranking_term import Weights
from moverank.indexer.search.live_segment import LiveSegment
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Encoder

Costs = tuple[NDArray[np.int64], NDArray[np.float32] | NDArray[np.float64]]
"""Rows (m,) of a segment, and what orders them by nearness (m,): squared distances, or negated inner products."""


class StageSearch(Protocol):
    """Finds the nearest documents by one kind of vectors."""

    @property
    def is_bound(self) -> bool:
        """Return whether distances of vectors are lower bounds of the WMD of the same bags."""
        ...

    def vector(self, query: Query) -> NDArray[np.float32]:
        """Return the vector (dim,) of a query."""
        ...

    def with_vector(self, part: LiveSegment, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of `rows` (n,) that have a vector."""
        ...

    def costs(self, part: LiveSegment, rows: NDArray[np.int64], vector: NDArray[np.float32]) -> Costs:
        """Compare all `rows` (n,) of a segment, which have vectors, with that of a query."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSearch:
    """Compares vectors by an `encoder` of bags that are weighted by `gamma` and `weights`.

    Vectors of encoders whose metric is the inner product have unit length: their distances have the same order.
    """

    encoder: Encoder
    gamma: float
    weights: Weights

    @property
    def is_bound(self) -> bool:
        """See `StageSearch.is_bound`."""
        return isinstance(self.encoder, Centroid) and self.encoder.is_bound

    def vector(self, query: Query) -> NDArray[np.float32]:
        """See `StageSearch.vector`."""
        return query.words.encoded(self.encoder)

    def with_vector(self, _part: LiveSegment, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `StageSearch.with_vector`."""
        return rows

    def costs(self, part: LiveSegment, rows: NDArray[np.int64], vector: NDArray[np.float32]) -> Costs:
        """See `StageSearch.costs`."""
        return rows, np.square(part.encoded(self.encoder, rows, self.gamma, self.weights) - vector).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class GivenSearch:
    """Compares given vectors in their `space`."""

    space: Space
    is_bound: bool = False

    def vector(self, query: Query) -> NDArray[np.float32]:
        """See `StageSearch.vector`; QueryVectorError if the query has none."""
        if query.vector is None:
            raise QueryVectorError(NO_VECTOR)
        return query.vector

    def with_vector(self, part: LiveSegment, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `StageSearch.with_vector`."""
        return rows[np.isin(rows, part.given.rows)] if part.given else rows[:0]

    def costs(self, part: LiveSegment, rows: NDArray[np.int64], vector: NDArray[np.float32]) -> Costs:
        """See `StageSearch.costs`."""
        return part.given.costs(rows, vector, self.space) if part.given else (rows[:0], np.empty(0))


NO_CANDIDATES = "search all documents, without --depth and the term vector"
NO_VECTOR = (
    "the query has no vector, which the first stage `given` compares: give one (--query-vector, or `vector` in the "
    f"records of --queries), or {NO_CANDIDATES}"
)


def stage_search(view: View) -> StageSearch:
    """Return the search by the vectors of a view's first stage."""
    if view.space is not None:
        return GivenSearch(view.space)
    return EncodedSearch(view.encoder(), view.gamma, view.weights)
