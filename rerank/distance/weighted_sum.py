"""Rankings by a weighted sum: the Word Mover's Distance, both sides of RWMD, and a number known for each document.

Every weight is 0 or more, and sums and products of floats are monotonic: a total computed from lower bounds of the
distances is never above the one computed from the distances, whatever the rounding. Mutual proximity, which may replace
the Word Mover's Distance, is monotonic up to a margin.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.distance.ground_cost import exact_minima
from moverank.rerank.distance.mutual_proximity import MARGIN, MutualProximity
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.errors import BagError
from moverank.rerank.ranking import Distance

_Floats = NDArray[np.float64]


class Sides(NamedTuple):
    """Both sides of RWMD (m,): every word of a document moves to the nearest query word, and the reverse."""

    document: _Floats
    query: _Floats


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSum:
    """The weights (n,) of a sum for each of n documents.

    The total of a document is `transport * WMD + document_side * D + query_side * Q + rwmd * max(D, Q) + offset`, with
    D and Q the sides of RWMD. With a `proximity` of the query and the documents, 1 - MP takes the place of WMD. Raises
    BagError for different lengths, and for a negative or infinite weight.
    """

    transport: _Floats
    document_side: _Floats
    query_side: _Floats
    rwmd: _Floats
    offset: _Floats
    proximity: MutualProximity | None = None

    def __post_init__(self) -> None:
        for weights in self._weights():
            if weights.shape != self.offset.shape or not (np.all(weights >= 0) and np.all(np.isfinite(weights))):
                raise BagError("the weights of a sum are as many finite numbers of 0 or more as there are documents")

    def _weights(self) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats]:
        return self.transport, self.document_side, self.query_side, self.rwmd, self.offset

    @classmethod
    def zeros(cls, n: int) -> "WeightedSum":
        """Return the sum that is 0 for each of `n` documents."""
        nothing = np.zeros(n)
        return cls(nothing, nothing, nothing, nothing, nothing)

    def plus(self, distance: Distance, weights: _Floats, offset: _Floats) -> "WeightedSum":
        """Add `weights` (n,) times a distance, and `offset` (n,); BagError for "wcd", which is no side of RWMD."""
        added = replace(self, offset=self.offset + offset)
        if distance in ("wmd", "pwmd"):
            return replace(added, transport=self.transport + weights)
        if distance == "rwmd":
            return replace(added, rwmd=self.rwmd + weights)
        if distance not in ("chamfer", "cover"):
            raise BagError(f"{distance} is no part of a sum of transport and relaxed distances")
        if distance == "chamfer":
            added = replace(added, document_side=self.document_side + weights)
        return replace(added, query_side=self.query_side + weights)

    @property
    def has_transport(self) -> bool:
        """Return whether the WMD of any document matters."""
        return bool(np.any(self.transport))

    @property
    def has_query_side(self) -> bool:
        """Return whether the query's side of any document matters."""
        return bool(np.any(self.query_side) or np.any(self.rwmd))

    @property
    def has_sides(self) -> bool:
        """Return whether any side of RWMD matters."""
        return self.has_query_side or bool(np.any(self.document_side))

    def total(self, rows: NDArray[np.int64], distances: _Floats, sides: Sides) -> _Floats:
        """Return the totals (m,) of the documents `rows` (m,) from their `distances` (m,) and `sides`."""
        moved = distances if self.proximity is None else self.proximity.costs(rows, distances)
        total = self.transport[rows] * moved + self.document_side[rows] * sides.document
        total += self.query_side[rows] * sides.query
        total += self.rwmd[rows] * np.maximum(sides.document, sides.query)
        total += self.offset[rows]
        return total

    def lower(self, rows: NDArray[np.int64], distances: _Floats, sides: Sides) -> _Floats:
        """Return lower bounds (m,) of the totals of `rows` (m,) from lower bounds of `distances` (m,) and `sides`."""
        return self.total(rows, distances, sides) - self._margin(rows)

    def upper(self, rows: NDArray[np.int64], distances: _Floats, sides: Sides) -> _Floats:
        """Return upper bounds (m,) of the totals of `rows` (m,) from upper bounds of `distances` (m,) and `sides`."""
        return self.total(rows, distances, sides) + self._margin(rows)

    def _margin(self, rows: NDArray[np.int64]) -> _Floats | float:
        return 0.0 if self.proximity is None else MARGIN * self.transport[rows]

    def exact(
        self, row: int, distance: float, query: QueryBag, words: NDArray[np.float32], weights: _Floats
    ) -> tuple[float, float, float]:
        """Return the total of the document `row` at this `distance`, and its sides of RWMD, nan if they do not matter.

        `words` (m, d) and `weights` (m,) belong to its bag.
        """
        document, side = exact_sides(query, words, weights) if self.has_sides else (np.nan, np.nan)
        sides = Sides(*(np.nan_to_num(np.array([value])) for value in (document, side)))
        return float(self.total(np.array([row]), np.array([distance]), sides)[0]), document, side

    def thresholds(self, rows: NDArray[np.int64], limit: float, sides: Sides) -> _Floats:
        """Return the distance (m,) above which the total of each of `rows` (m,) is about above `limit`."""
        if self.proximity is not None:  # 1 - MP has no inverse: any distance may matter
            return np.full(len(rows), np.inf)
        rest = limit - self.total(rows, np.zeros(len(rows)), sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            thresholds = rest / self.transport[rows]
        return np.where(np.isnan(thresholds), np.inf, thresholds)


def plain(distance: Distance, n: int) -> WeightedSum:
    """Return the sum of `n` documents that is the distance itself; BagError for "wcd"."""
    return WeightedSum.zeros(n).plus(distance, np.ones(n), np.zeros(n))


def exact_sides(query: QueryBag, words: NDArray[np.float32], weights: _Floats) -> tuple[float, float]:
    """Return the document's and the query's side of RWMD; `words` (m, d) and `weights` (m,) are the document's."""
    by_query_word, by_document_word = exact_minima(query.vectors, words)
    return float(weights @ by_document_word), float(query.bag.weights @ by_query_word)
