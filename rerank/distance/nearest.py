"""The k nearest bags by any of the distances."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import FactorBags
from moverank.rerank.distance.best_first import Wanted
from moverank.rerank.distance.cascade import FEW_DOCUMENTS, Cascade
from moverank.rerank.distance.partial_order import PartialOrder
from moverank.rerank.distance.query_bag import Comparison, QueryBag
from moverank.rerank.distance.relaxed import nearest_by_sides, nearest_by_wcd
from moverank.rerank.distance.weighted_sum import plain
from moverank.rerank.errors import BagError
from moverank.rerank.ranking import Distance, Nearest, StageCounts


class NearestSearch(Protocol):
    """The search for the nearest bags in two phases, so that searches among other bags can share one limit with it."""

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
    query: QueryBag,
    bags: Bags | FactorBags,
    vectors: NDArray[np.float32],
    k: int,
    distance: Distance = "wmd",
    *,
    norms: NDArray[np.float32] | None = None,
    **others: Any,
) -> Nearest:
    """Return the exact `k` nearest of `bags` (n,) to `query`; see `nearest_search`.

    `norms` (v,) are the lengths of the vectors, if already computed; `others` are fields of `Wanted`.
    """
    return nearest_search(Comparison(query, bags, vectors, norms), Wanted(k, distance, **others)).answer()


def nearest_search(compared: Comparison, wanted: Wanted) -> NearestSearch:
    """Begin to find the exact nearest of the `compared` bags by a cascade of bounds.

    Equal distances keep the order of their rows. Raises BagError if `wanted.k` is below 1, and OutOfTime, here and in
    both phases, if the time is used up and there are no rows, or they must not be partial.
    """
    if wanted.k < 1:
        raise BagError(f"k must be 1 or more, not {wanted.k}")
    n, total = len(compared.bags), wanted.total
    if not n:
        return _Finished(Nearest(np.empty(0, np.int64), np.empty(0), StageCounts()))
    if len(compared.bags.words) < len(compared.vectors) or n <= FEW_DOCUMENTS:
        compared = compared.restricted()  # some words are certainly or probably unused: it saves time
    if total is None and wanted.distance == "wcd":
        return _Finished(nearest_by_wcd(compared, wanted))
    if total is None and wanted.distance not in ("wmd", "pwmd"):
        total = plain(wanted.distance, n)
    if total is not None and not total.has_transport:
        return _Finished(nearest_by_sides(compared, wanted, total))
    if wanted.places is not None and np.isinf(wanted.within):
        return PartialOrder(compared, wanted, wanted.places)
    return Cascade(compared, wanted)


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
