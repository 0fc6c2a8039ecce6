"""A query, a bag that may contain words which the searched vocabulary lacks, and the bags that it is compared with."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.weights import FactorBags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.centroid import centroids


@dataclass(frozen=True, slots=True, eq=False)
class QueryBag:
    """A bag with its own word vectors (h, d) float32; words that a vocabulary of v words lacks have ids >= v."""

    bag: Bag
    vectors: NDArray[np.float32]

    def known(self, v: int) -> NDArray[np.intp]:
        """Return the indices in the bag of the words that a vocabulary of `v` words has."""
        return np.flatnonzero(self.bag.words < v)

    def index_of_words(self, v: int) -> NDArray[np.int32]:
        """Return the index (v,) in the bag of each word of the vocabulary, -1 for words that the bag lacks."""
        index = np.full(v, -1, np.int32)
        known = self.known(v)
        index[self.bag.words[known]] = known
        return index

    def centroid(self) -> NDArray[np.float32]:
        """Return the centroid (d,), with the rounding of document centroids."""
        own = Bags.of([Bag(np.arange(len(self.bag), dtype=np.int32), self.bag.weights)])
        centroid: NDArray[np.float32] = centroids(own, self.vectors)[0]
        return centroid


@dataclass(frozen=True, eq=False)
class Comparison:
    """A `query`, the `bags` (n,) that it is compared with, and the `vectors` (v, d) of the words of these.

    `lengths` (v,) of the vectors and `centres` (n, d), the centroids of the bags, are given if already computed.
    """

    query: QueryBag
    bags: Bags | FactorBags
    vectors: NDArray[np.float32]
    lengths: NDArray[np.float32] | None = None
    centres: NDArray[np.float32] | None = None

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """Return the lengths (v,) of the vectors."""
        return vector_norms(self.vectors) if self.lengths is None else self.lengths

    def restricted(self) -> "Comparison":
        """Return the same comparison over the words that the bags use, which are renumbered."""
        query, bags, vectors = self.query, self.bags.weighted(), self.vectors
        v = len(vectors)
        used = np.zeros(v, bool)
        used[bags.words] = True
        new_id = np.cumsum(used, dtype=np.int32) - np.int32(1)
        used_words = np.flatnonzero(used)
        # A query word that the bags use gets its new id; the others get ids beyond the vocabulary, in the same order.
        shared = np.zeros(len(query.bag), bool)
        known = query.known(v)
        shared[known] = used[query.bag.words[known]]
        ids = len(used_words) + np.arange(len(query.bag), dtype=np.int32)
        ids[shared] = new_id[query.bag.words[shared]]
        order = np.argsort(ids)
        return Comparison(
            QueryBag(Bag(ids[order], query.bag.weights[order]), query.vectors[order]),
            Bags(bags.starts, new_id[bags.words], bags.weights),
            vectors[used_words],
            None if self.lengths is None else self.lengths[used_words],
            self.centres,
        )
