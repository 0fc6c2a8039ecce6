"""A query: a bag that may contain words which the searched vocabulary lacks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
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


def restricted(
    query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32] | None = None
) -> tuple[QueryBag, Bags, NDArray[np.float32], NDArray[np.float32]]:
    """Restrict a vocabulary with `vectors` (v, d) to the words that `bags` use, and renumber those words.

    Returns `query` and `bags` with the new ids, the vectors (w, d) of the words used, and their norms (w,), which are
    taken from `norms` (v,) or else computed.
    """
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
    own = vectors[used_words]
    return (
        QueryBag(Bag(ids[order], query.bag.weights[order]), query.vectors[order]),
        Bags(bags.starts, new_id[bags.words], bags.weights),
        own,
        vector_norms(own) if norms is None else norms[used_words],
    )
