"""The k nearest bags by any of the distances."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.idf_bags import IdfBags
from moverank.rerank.distance.best_first import never_stop
from moverank.rerank.distance.cascade import FEW_DOCUMENTS, Cascade, Share
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.partial_order import PartialOrder, Places
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.relaxed import nearest_by_sides, nearest_by_wcd
from moverank.rerank.distance.weighted_sum import WeightedSum, plain
from moverank.rerank.errors import BagError
from moverank.rerank.ranking import Distance, Nearest, StageCounts


def nearest(
    query: QueryBag,
    bags: Bags | IdfBags,
    vectors: NDArray[np.float32],
    k: int,
    distance: Distance = "wmd",
    within: float = np.inf,
    norms: NDArray[np.float32] | None = None,
    stop: Callable[[], bool] = never_stop,
    total: WeightedSum | None = None,
    places: Places | None = None,
    share: Share | None = None,
) -> Nearest:
    """Find the exact `k` nearest of `bags` (n,) to `query` over word `vectors` (v, d) by a cascade of bounds.

    `distance` names the distance; "wmd" and "pwmd" differ only in the weights of the bags. With `total`, the weights of
    a sum for each bag, its totals rank instead of the distance. Equal distances keep the order of their rows. Rows
    known to be farther than `within` are not computed, so fewer than `k` may be returned. `norms` (v,) are the lengths
    of the vectors, if already computed. `stop` is polled where transport problems are solved: once it returns True, the
    search ends as soon as it has k distances, and `Nearest.unsolved_bounds` bound the other rows. `share` lowers the
    limit to that of searches among other bags, so that fewer than `k` rows may be returned.

    With `places`, only these need to be exact in the order of the `k` rows: the distances of rows that are not `known`
    are lower bounds. `within` must be infinite then.

    Raises BagError if `k` is below 1.
    """
    if k < 1:
        raise BagError(f"k must be 1 or more, not {k}")
    if not len(bags):
        return Nearest(np.empty(0, np.int64), np.empty(0), StageCounts())
    few, by_wcd = len(bags.words) < len(vectors) or len(bags) <= FEW_DOCUMENTS, distance == "wcd" and total is None
    if few or by_wcd:
        bags = bags.weighted()
        if few:  # some words are certainly or probably unused: a smaller vocabulary saves time
            query, bags, vectors, norms = restricted(query, bags, vectors, norms)
        if by_wcd:
            return nearest_by_wcd(query, bags, vectors, k, within)
    lengths = vector_norms(vectors) if norms is None else norms
    if total is None and distance not in ("wmd", "pwmd"):
        total = plain(distance, len(bags))
    if total is not None and not total.has_transport:
        return nearest_by_sides(query, bags, vectors, lengths, k, total, within)
    if places is not None and np.isinf(within):
        return PartialOrder(query, bags, vectors, lengths, k, places, stop, total).run()
    return Cascade(query, bags, vectors, lengths, k, within, stop, total, share).run()


def all_distances(
    query: QueryBag,
    bags: Bags,
    vectors: NDArray[np.float32],
    distance: Distance = "wmd",
    norms: NDArray[np.float32] | None = None,
) -> NDArray[np.float64]:
    """Return the exact distances (n,) of all of `bags` (n > 0) from `query`; the parameters are those of `nearest`."""
    found = nearest(query, bags, vectors, len(bags), distance, norms=norms)
    distances = np.empty(len(bags))
    distances[found.rows] = found.distances
    return distances
