"""Split documents into blocks, so that the costs and the vectors of the words of a block fit into memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import FactorBags
from moverank.rerank.distance.cell_limit import most_cells
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.runtime.deadline import check_time

MATRIX_BYTES = 64 * 2**20
"""The largest size in bytes of a float32 cost matrix, and of the vectors that give the costs."""


def max_words(query: QueryBag) -> int:
    """Return how many words a block may have: its costs and its vectors take at most `MATRIX_BYTES` each.

    The costs of a block also stay within the limit of cells.
    """
    longest: int = max(query.vectors.shape)
    return max(1, min(MATRIX_BYTES // (4 * longest), most_cells() // len(query.bag)))


def word_blocks(bags: Bags | FactorBags, rows: NDArray[np.int64], limit: int) -> Iterator[NDArray[np.int64]]:
    """Split `rows` (m,) of `bags` into consecutive blocks of at most `limit` entries; a longer row is its own block.

    Raises OutOfTime if the time is used up before the last block.
    """
    entries = np.cumsum(bags.starts[rows + 1] - bags.starts[rows])
    start = 0
    while start < len(rows):
        if start:
            check_time()
        before = entries[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(entries, before + limit, "right")))
        yield rows[start:stop]
        start = stop
