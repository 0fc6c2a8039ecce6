"""Rankings by a weighted sum: the Word Mover's Distance, both sides of RWMD, and a number known for each document.

Every weight is 0 or more, and sums and products of floats are monotonic: a total computed from lower bounds of the
distances is never above the one computed from the distances, whatever the rounding.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.distance.ground_cost import exact_minima
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
    D and Q the sides of RWMD. Raises BagError for different lengths, and for a negative or infinite weight.
    """

    transport: _Floats
    document_side: _Floats
    query_side: _Floats
    rwmd: _Floats
    offset: _Floats

    def __post_init__(self) -> None:
        for weights in self._weights():
            if weights.shape != self.offset.shape or not (np.all(weights >= 0) and np.all(np.isfinite(weights))):
                raise BagError("the weights of a sum are as many finite numbers of 0 or more as there are documents")

    def _weights(self) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats]:
        return self.transport, self.document_side, self.query_side, self.rwmd, self.offset

    @classmethod
    def zeros(cls, n: int) -> "WeightedSum":
        """Return the sum that is 0 for each of `n` documents."""
        return cls(*(np.zeros(n) for _ in range(5)))

    def plus(self, distance: Distance, weights: _Floats, offset: _Floats) -> "WeightedSum":
        """Add `weights` (n,) times a distance, and `offset` (n,); BagError for "wcd", which is no side of RWMD."""
        transport, document_side, query_side, rwmd, before = self._weights()
        if distance in ("wmd", "pwmd"):
            transport = transport + weights
        elif distance == "rwmd":
            rwmd = rwmd + weights
        elif distance in ("chamfer", "cover"):
            document_side = document_side + weights if distance == "chamfer" else document_side
            query_side = query_side + weights
        else:
            raise BagError(f"{distance} is no part of a sum of transport and relaxed distances")
        return WeightedSum(transport, document_side, query_side, rwmd, before + offset)

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
        """Return the totals (m,) of the documents `rows` (m,) from their `distances` (m,) and `sides`, or bounds."""
        total = self.transport[rows] * distances + self.document_side[rows] * sides.document
        total += self.query_side[rows] * sides.query
        total += self.rwmd[rows] * np.maximum(sides.document, sides.query)
        total += self.offset[rows]
        return total

    def exact(
        self, row: int, distance: float, query: QueryBag, words: NDArray[np.float32], weights: _Floats
    ) -> tuple[float, float, float]:
        """Return the total of the document `row` at this `distance`, and its sides of RWMD, nan if they do not matter.

        `words` (m, d) and `weights` (m,) are those of its bag.
        """
        document, side = exact_sides(query, words, weights) if self.has_sides else (np.nan, np.nan)
        sides = Sides(*(np.nan_to_num(np.array([value])) for value in (document, side)))
        return float(self.total(np.array([row]), np.array([distance]), sides)[0]), document, side

    def thresholds(self, rows: NDArray[np.int64], limit: float, sides: Sides) -> _Floats:
        """Return the distance (m,) above which the total of each of `rows` (m,) is about above `limit`."""
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
