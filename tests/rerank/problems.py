"""Search problems that are hard for bounds: ties, duplicates, zero and equal vectors, extreme weights and scales."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.ranking import StageCounts
from moverank.rerank.testing.sample_documents import VECTORS, WEIGHTS, make_bag, make_vectors, make_weights

__all__ = [
    "VECTORS",
    "WEIGHTS",
    "Problem",
    "check_counts",
    "make_bag",
    "make_vectors",
    "make_weights",
    "many_bags",
    "problems",
    "rwmd",
]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A query, at least one bag to rank, and the vectors of the vocabulary."""

    query: QueryBag
    bags: list[Bag]
    vectors: NDArray[np.float32]

    @property
    def packed(self) -> Bags:
        return Bags.of(self.bags)

    @property
    def rounding(self) -> float:
        """The resolution of float64: the masses of both bags agree up to some units in the last place."""
        everything = np.concatenate([self.vectors, self.query.vectors]).astype(np.float64)
        widest = 2 * float(np.linalg.norm(everything, axis=1).max())
        return 1e-14 * widest


@st.composite
def problems(draw: st.DrawFn, longest: int = 8) -> Problem:
    """Draw a problem; some query words are unknown to the vocabulary, some bags equal the query or each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    v, d, n = draw(st.integers(1, 40)), draw(st.integers(1, 12)), draw(st.integers(1, 12))
    unknown = draw(st.integers(0, 3))
    scale = draw(st.sampled_from([1e-3, 1.0, 1e3]))
    everything = make_vectors(rng, v + unknown, d, draw(st.sampled_from(VECTORS)), scale)
    kind = draw(st.sampled_from(WEIGHTS))
    query = make_bag(rng, v + unknown, kind, longest)
    # With few distinct words in the bags the search restricts the vocabulary to them.
    used = draw(st.integers(1, v))
    bags = [make_bag(rng, used, kind, longest) for _ in range(n)]
    for row in range(n):
        if draw(st.booleans()):
            bags[row] = bags[draw(st.integers(0, n - 1))]
    if query.words[-1] < v and draw(st.booleans()):
        bags[draw(st.integers(0, n - 1))] = query
    return Problem(QueryBag(query, everything[query.words]), bags, everything[:v])


def many_bags(seed: int, kind: str, weights: str = "normal", n: int = 120) -> Problem:
    """Make so many bags that every stage prunes some; a few bags occur twice, so that there are ties."""
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, 60, 8, kind, 1.0)
    bags = [make_bag(rng, 60, weights, 12) for _ in range(n)]
    bags[n // 2 :: 7] = bags[0 : len(bags[n // 2 :: 7])]
    query = make_bag(rng, 60, weights, 12)
    return Problem(QueryBag(query, vectors[query.words]), bags, vectors)


def rwmd(bags: Bags, cost: NDArray[np.float32], query: Bag) -> NDArray[np.float64]:
    """Return the larger of both sides of RWMD (n,)."""
    query_side = bounds.query_side(bags, cost, query, np.arange(len(bags)))
    return np.maximum(bounds.document_side(bags, bounds.nearest_costs(cost)), query_side)


def check_counts(counts: StageCounts, n: int, *, transport: bool) -> None:
    """Check that the counts of a search add up to its `n` candidates; without `transport`, nothing is solved."""
    assert counts.candidates == n
    assert min(counts.to_dict().values()) >= 0
    if transport:
        assert counts.candidates == counts.rwmd + counts.dual + counts.sinkhorn + counts.solved
    else:
        assert counts.solved == 0
