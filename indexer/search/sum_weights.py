"""The weights of a sum for the documents of a view."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import Term
from moverank.indexer.search.known_parts import Charged, KnownPart, offsets, sample_median
from moverank.indexer.search.live_segment import LiveSegment
from moverank.indexer.search.query import Query
from moverank.indexer.search.sampled_distances import QueryProximity
from moverank.indexer.search.view import View
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.relaxed import exact_wcd, rwmd_floor
from moverank.rerank.distance.weighted_sum import WeightedSum

_Floats = NDArray[np.float64]


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
        if self.proximity:
            total = replace(total, proximity=self.proximity.of_rows(part, rows))
        for term in self.ranking.distances:
            weights, rest = self._line(term, part, rows)
            if term.name == "wcd":
                rest = rest + weights * self._wcd(part, rows, query)
                total = total.plus("wmd", np.zeros(len(rows)), rest)
            else:
                total = total.plus(term.distance, weights, rest)
        return total.plus("wmd", np.zeros(len(rows)), offsets(self.known, part.segment.ids[rows]))

    def _line(self, term: Term, part: LiveSegment, rows: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
        """Return what a distance x of each of `rows` (m,) is multiplied by (m,), and what is added (m,)."""
        weights = np.full(len(rows), term.weight / (1.0 if term.proximity else self.typical))
        if not term.mu:
            return weights, np.zeros(len(rows))
        lengths = part.lengths[rows]
        shares = lengths / (lengths + term.mu)
        return weights * shares, term.weight * (1 - shares)

    def _wcd(self, part: LiveSegment, rows: NDArray[np.int64], query: QueryBag) -> _Floats:
        return exact_wcd(query, part.bags(rows, self.ranking.gamma, self.ranking.weights), part.segment.vectors)

    def without_bag(self, ids: NDArray[np.int64]) -> _Floats:
        """Return the totals (m,) of documents without a bag, `ids` (m,)."""
        return sum(map(_far, self.ranking.distances)) + offsets(self.known, ids)

    def charged(self, view: View, query: Query, ids: NDArray[np.int64], components: _Floats) -> dict[Term, Charged]:
        """Return what each distance charges the hits `ids` (k,), whose `components` (k, 3) are those of `Nearest`."""
        transport, document, side = components.T
        values = {
            "wmd": transport,
            "pwmd": transport,
            "rwmd": np.maximum(document, side),
            "chamfer": document + side,
            "cover": side,
            "wcd": np.full(len(ids), np.nan),
        }
        costs = {term: np.full(len(ids), _far(term)) for term in self.ranking.distances}
        for part in view.segments:
            rows, found = lookup(ids, part.segment.ids)
            hits = np.flatnonzero(found)
            hits = hits[part.live[rows[hits]]]
            hits = hits[np.argsort(rows[hits])]  # `bags` takes rows in increasing order
            own = rows[hits]
            for term in self.ranking.distances:
                if term.name == "wcd":
                    values["wcd"][hits] = self._wcd(part, own, query.words.over(part.segment.word_ids))
                moved = values[term.name][hits]
                if term.proximity and self.proximity:
                    moved = self.proximity.of_rows(part, own).costs(np.arange(len(own)), moved)
                weights, rest = self._line(term, part, own)
                costs[term][hits] = weights * moved + rest
        return {
            term: Charged(values[term.name], costs[term], None if term.proximity else self.typical, 0.0)
            for term in self.ranking.distances
        }


def _far(term: Term) -> float:
    """Return what a distance costs a document without a bag: both sides of Chamfer's are typical."""
    return (2.0 if term.name == "chamfer" else 1.0) * term.weight


def typical_distance(view: View, query: Query) -> float:
    """Return the median RWMD of the documents in a sample; see `sample_median`.

    The same documents are sampled whatever the filter and the depth are, so that totals do not depend on these.
    """
    sampled, distances = view.sampled_bags(query.ranking.gamma, query.ranking.weights), np.empty(0)
    if len(sampled.bags):
        distances = rwmd_floor(query.words.over(sampled.word_ids), sampled.bags, sampled.vectors, sampled.norms)
    return sample_median(view, query, sampled.ids, distances)
