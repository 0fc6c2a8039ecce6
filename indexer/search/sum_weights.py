"""The weights of a sum for the documents of a view."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.search.known_parts import KnownPart, offsets, sample_median
from moverank.indexer.search.live_segment import LiveSegment
from moverank.indexer.search.query import Query
from moverank.indexer.search.sampled_distances import QueryProximity
from moverank.indexer.search.view import View
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.relaxed import exact_wcd, rwmd_floor
from moverank.rerank.distance.weighted_sum import WeightedSum


@dataclass(frozen=True, slots=True, eq=False)
class SumWeights:
    """A `ranking` by a sum, its `known` parts, which are no distances, and the query's `typical` distance, the unit.

    Distances are divided by the typical one: vectors of any length give the same sum, in which 1 is what a document
    costs that has nothing to do with the query, as for scores. A distance with `mu` counts by s = n / (n + mu) for a
    document of n tokens, and 1 - s is added: short documents are drawn to the typical distance, as Dirichlet smoothing
    draws them to the collection (Zhai & Lafferty 2001). A document without a bag is at the typical distance. Mutual
    `proximity` has its own scale, from 0 to 1.
    """

    ranking: RankingSpec
    known: list[KnownPart]
    typical: float
    proximity: QueryProximity | None = None

    @classmethod
    def of(cls, view: View, query: Query, known: list[KnownPart]) -> "SumWeights":
        """Return the weights for a query; `known` are its parts that are no distances."""
        return cls(query.ranking, known, typical_distance(view, query), QueryProximity.of(view, query))

    def of_rows(self, part: LiveSegment, rows: NDArray[np.int64], query: QueryBag) -> WeightedSum:
        """Return the weights of `rows` (m,) of a segment, for the bag of the `query` over its vocabulary."""
        total = WeightedSum.zeros(len(rows))
        for term in self.ranking.distances:
            weights, rest = np.full(len(rows), term.weight / self.typical), np.zeros(len(rows))
            if term.proximity and self.proximity:
                weights = np.full(len(rows), term.weight)
                total = replace(total, proximity=self.proximity.of_rows(part, rows))
            if term.mu:
                lengths = part.lengths[rows]
                shares = lengths / (lengths + term.mu)
                weights, rest = weights * shares, term.weight * (1 - shares)
            if term.name == "wcd":
                bags = part.bags(rows, self.ranking.gamma, self.ranking.weights)
                rest = rest + weights * exact_wcd(query, bags, part.segment.vectors)
                total = total.plus("wmd", np.zeros(len(rows)), rest)
            else:
                total = total.plus(term.distance, weights, rest)
        return total.plus("wmd", np.zeros(len(rows)), offsets(self.known, part.segment.ids[rows]))

    def without_bag(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the totals (m,) of documents without a bag, `ids` (m,)."""
        sides = sum((2 if term.name == "chamfer" else 1) * term.weight for term in self.ranking.distances)
        return sides + offsets(self.known, ids)


def typical_distance(view: View, query: Query) -> float:
    """Return the median RWMD of the documents in a sample; see `sample_median`.

    The same documents are sampled whatever the filter and the depth are, so that totals do not depend on these.
    """
    sampled, distances = view.sampled_bags(query.ranking.gamma, query.ranking.weights), np.empty(0)
    if len(sampled.bags):
        distances = rwmd_floor(query.words.over(sampled.word_ids), sampled.bags, sampled.vectors, sampled.norms)
    return sample_median(view, query, sampled.ids, distances)
