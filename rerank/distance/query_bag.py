"""A query: a bag whose words may be unknown to the vocabulary that is searched."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.ground_cost import vector_norms


@dataclass(frozen=True, slots=True, eq=False)
class QueryBag:
    """A bag with its own word vectors (h, d) float32: ids that the vocabulary does not have are v or more."""

    bag: Bag
    vectors: NDArray[np.float32]

    def shared(self, v: int) -> NDArray[np.intp]:
        """Return the places in the bag of words that a vocabulary of v words has."""
        return np.flatnonzero(self.bag.words < v)

    def places(self, v: int) -> NDArray[np.int32]:
        """Return the place (v,) in the bag of each word of the vocabulary, -1 where the bag does not have it."""
        place = np.full(v, -1, np.int32)
        shared = self.shared(v)
        place[self.bag.words[shared]] = shared
        return place


def restricted(
    query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32] | None = None
) -> tuple[QueryBag, Bags, NDArray[np.float32], NDArray[np.float32]]:
    """Restrict a vocabulary (v, d) to the words that the bags use; also return the vectors and their `norms`.

    The norms are computed where they are not at hand.
    """
    v = len(vectors)
    used = np.zeros(v, bool)
    used[bags.words] = True
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    kept = np.flatnonzero(used)
    # A query word keeps its identity where the bags have it; any other gets an id beyond, in the same order.
    same = np.zeros(len(query.bag), bool)
    shared = query.shared(v)
    same[shared] = used[query.bag.words[shared]]
    ids = len(kept) + np.arange(len(query.bag), dtype=np.int32)
    ids[same] = place[query.bag.words[same]]
    order = np.argsort(ids)
    own = vectors[kept]
    return (
        QueryBag(Bag(ids[order], query.bag.weights[order]), query.vectors[order]),
        Bags(bags.starts, place[bags.words], bags.weights),
        own,
        vector_norms(own) if norms is None else norms[kept],
    )
