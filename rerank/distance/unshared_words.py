"""A lower bound of WMD by the words of a bag that the other bag lacks, for many pairs of bags at once.

Mass on such a word moves at least to the nearest other word. That cost is computed once for each word, against the
words of all bags of a pool, so a pair takes no more than a product of sparse rows. The bound excludes nearly all pairs
that are no near duplicates.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.bounds import SUM_MARGIN
from moverank.rerank.distance.ground_cost import cost_floor, vector_norms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PORTION = 512  # words whose costs are computed together
SHARES = (0.5, 0.75, 1.0)
"""Shares of each bag whose words are computed, one after another: the common words suffice to exclude most pairs."""

_Floats = NDArray[np.float64]


class NearestOthers:
    """Lower bounds of the cost of words to the nearest other word of a pool, which are kept once they are computed.

    The pool has the words `texts` (v,) with `vectors` (v, d).
    """

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._places = {text: place for place, text in enumerate(texts)}
        self._vectors, self._norms = vectors, vector_norms(vectors)
        self._known: dict[str, float] = {}

    def costs(self, bags: Bags, texts: Sequence[str], vectors: NDArray[np.float32], share: float = 1.0) -> _Floats:
        """Return the bounds (n,) of the words of `bags`, which have `texts` (n,) and `vectors` (n, d).

        The bound of a rare word may be 0: the most common words, so many that they have this `share` of the mass of
        each bag, are computed.
        """
        common = _common(bags, len(texts), share)
        new = np.array([i for i in common.tolist() if texts[i] not in self._known], np.int64)
        for some in np.array_split(new, range(_PORTION, len(new), _PORTION)):
            names = [texts[i] for i in some.tolist()]
            costs = cost_floor(vectors[some], self._vectors, query_norms=self._norms)
            own = [(row, self._places[name]) for row, name in enumerate(names) if name in self._places]
            costs[tuple(np.array(own, np.int64).reshape(-1, 2).T)] = np.inf
            self._known.update(zip(names, costs.min(axis=1, initial=np.inf).tolist(), strict=True))
        return np.array([self._known.get(text, 0.0) for text in texts])


def _common(bags: Bags, n: int, share: float) -> NDArray[np.int64]:
    """Return the most common of `n` words, which have at least this `share` of each bag."""
    rank = np.empty(n, np.int64)
    rank[np.argsort(-np.bincount(bags.words, bags.weights, n), kind="stable")] = np.arange(n)
    rows = np.repeat(np.arange(len(bags)), np.diff(bags.starts))
    order = np.lexsort((rank[bags.words], rows))
    weights = bags.weights[order]
    before = np.cumsum(weights) - weights - rows  # each bag sums to 1
    return np.unique(bags.words[order[before < share]]).astype(np.int64)


def unshared_cost(bags: Bags, others: Bags, least: _Floats) -> _Floats:
    """Return lower bounds (n, m) of the cost to move the mass of `bags` (n,) on words that `others` (m,) lack.

    `least` (v,) are lower bounds of the cost of each word to any other word of `others`. Each bound is also one of the
    side of `bags` of RWMD.
    """
    finite = np.where(np.isfinite(least), least, 0.0)  # there is no other word: whoever has a word shares it
    costs = _sparse(bags, bags.weights * finite[bags.words], len(least))
    present = _sparse(others, np.ones(len(others.words)), len(least))
    whole: _Floats = costs.sum(axis=1)[:, None]
    unshared: _Floats = SUM_MARGIN * whole - (costs @ present.T).toarray()
    return np.maximum(unshared, 0)


def _sparse(bags: Bags, values: _Floats, columns: int) -> "csr_array[np.float64, tuple[int, int]]":
    """Return values (nnz,) of the words of bags as sparse rows (n, columns)."""
    from scipy.sparse import csr_array

    return csr_array((values, bags.words, bags.starts), shape=(len(bags), columns))
