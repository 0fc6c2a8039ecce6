"""Many bags, weighted by idf only where a search needs them: most documents are pruned by a mean of their words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.weights import with_idf

ENTRIES = 1 << 22
"""From this many entries, weights of all bags take long to compute and keep."""


@dataclass(frozen=True, slots=True, eq=False)
class IdfBags:
    """The bags `without` idf (n,), the `idf` (v,) of their words, and the `sums` (n,) of each bag's weights by idf.

    A bag taken from it is that of `with_idf`.
    """

    without: Bags
    idf: NDArray[np.float64]
    sums: NDArray[np.float64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Return where each bag begins (n + 1,)."""
        return self.without.starts

    @property
    def words(self) -> NDArray[np.int32]:
        """Return the words (nnz,) of all bags."""
        return self.without.words

    def __len__(self) -> int:
        return len(self.without)

    def __getitem__(self, index: int) -> Bag:
        return self.take(np.array([index], np.int64))[0]

    def take(self, rows: NDArray[np.int64]) -> Bags:
        """Return only the bags `rows` (m,), in that order, weighted."""
        return with_idf(self.without.take(rows), self.idf)

    def only(self, rows: NDArray[np.int64]) -> "IdfBags":
        """Return only the bags `rows` (m,), in that order, not yet weighted."""
        return IdfBags(self.without.take(rows), self.idf, self.sums[rows])

    def weighted(self) -> Bags:
        """Return all bags, weighted."""
        return with_idf(self.without, self.idf)
