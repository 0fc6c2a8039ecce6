"""The k nearest bags by any of the distances."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import FactorBags
from moverank.rerank.distance.cascade import FEW_DOCUMENTS, Cascade
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.partial_order import PartialOrder, Places
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.relaxed import nearest_by_sides, nearest_by_wcd
from moverank.rerank.distance.weighted_sum import WeightedSum, plain
from moverank.rerank.errors import BagError
from moverank.rerank.ranking import Distance, Nearest, StageCounts


class NearestSearch(Protocol):
    """The search for the nearest bags in two phases, so that searches among other bags get one limit with it."""

    def upper_bounds(self, *, close: bool = False) -> NDArray[np.float64]:
        """Return upper bounds of the values that rank the nearest rows, increasing, at most `k`; `close`: finer."""
        ...

    def answer(self, limit: float = np.inf) -> Nearest:
        """Return the nearest rows, none of them above the `limit` of all searches."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Finished:
    """A search that needs one phase: `found` are its rows."""

    found: Nearest

    def upper_bounds(self, *, close: bool = False) -> NDArray[np.float64]:
        _ = close  # they are exact
        return self.found.distances

    def answer(self, _limit: float = np.inf) -> Nearest:
        return self.found


def nearest(
    query: QueryBag, bags: Bags | FactorBags, vectors: NDArray[np.float32], k: int, *options: Any, **named: Any
) -> Nearest:
    """Return the exact `k` nearest of `bags` (n,) to `query`; see `nearest_search`, whose parameters it has."""
    return nearest_search(query, bags, vectors, k, *options, **named).answer()


def nearest_search(
    query: QueryBag,
    bags: Bags | FactorBags,
    vectors: NDArray[np.float32],
    k: int,
    distance: Distance = "wmd",
    within: float = np.inf,
    norms: NDArray[np.float32] | None = None,
    total: WeightedSum | None = None,
    places: Places | None = None,
    centres: NDArray[np.float32] | None = None,
    *,
    partial: bool = False,
) -> NearestSearch:
    """Begin to find the exact `k` nearest of `bags` (n,) to `query` over word `vectors` (v, d) by a cascade of bounds.

    `distance` names the distance; "wmd" and "pwmd" differ only in the weights of the bags. With `total`, the weights of
    a sum for each bag, its totals rank instead of the distance. Equal distances keep the order of their rows. Rows
    known to be farther than `within` are not computed, so fewer than `k` may be returned. `norms` (v,) are the lengths
    of the vectors, if already computed. `centres` (n, d) are the centroids of the bags for WCD, if already computed.

    `partial`: when the time of this thread's work is used up, the search returns the rows so far, perhaps fewer than
    `k`, and `Nearest.unsolved_bounds` bound the other rows.

    With `places`, only these need to be exact in the order of the `k` rows: the distances of rows that are not `known`
    are lower bounds. `within` must be infinite then.

    Raises BagError if `k` is below 1, and OutOfTime, here and in both phases, if the time is used up and there are no
    rows, or they must not be partial.
    """
    if k < 1:
        raise BagError(f"k must be 1 or more, not {k}")
    if not len(bags):
        return _Finished(Nearest(np.empty(0, np.int64), np.empty(0), StageCounts()))
    few, by_wcd = len(bags.words) < len(vectors) or len(bags) <= FEW_DOCUMENTS, distance == "wcd" and total is None
    if few or by_wcd:
        bags = bags.weighted()
        if few:  # some words are certainly or probably unused: a smaller vocabulary saves time
            query, bags, vectors, norms = restricted(query, bags, vectors, norms)
        if by_wcd:
            return _Finished(nearest_by_wcd(query, bags, vectors, k, within, centres, partial=partial))
    lengths = vector_norms(vectors) if norms is None else norms
    if total is None and distance not in ("wmd", "pwmd"):
        total = plain(distance, len(bags))
    if total is not None and not total.has_transport:
        return _Finished(nearest_by_sides(query, bags, vectors, lengths, k, total, within, partial=partial))
    if places is not None and np.isinf(within):
        return PartialOrder(query, bags, vectors, lengths, k, places, total)
    return Cascade(query, bags, vectors, lengths, k, within, total, partial=partial)


def all_distances(
    query: QueryBag,
    bags: Bags,
    vectors: NDArray[np.float32],
    distance: Distance = "wmd",
    norms: NDArray[np.float32] | None = None,
) -> NDArray[np.float64]:
    """Return the exact distances (n,) of all of `bags` (n > 0) from `query`; parameters as in `nearest`."""
    found = nearest(query, bags, vectors, len(bags), distance, norms=norms)
    distances = np.empty(len(bags))
    distances[found.rows] = found.distances
    return distances
