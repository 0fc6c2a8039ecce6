"""Sums over the words of documents: a product with sparse rows, a block of documents at a time."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.scorer import TermCounts


def summed(counts: TermCounts, amounts: NDArray[np.float64], first: int, size: int) -> NDArray[np.float64]:
    """Return the sums by count of amounts (t, h) over the terms of at most `size` documents from `first` on, (m, h).

    Of amounts (t,) they are (m,). A row is summed term by term, so it does not depend on the rows beside it.
    """
    from scipy.sparse import csr_array  # 0.2 s: only for who ranks by a scorer

    starts = counts.starts[first : first + size + 1]
    entries = slice(starts[0], starts[-1])
    parts = counts.counts[entries], counts.terms[entries], starts - starts[0]
    return np.asarray(csr_array(parts, shape=(len(starts) - 1, len(amounts))) @ amounts, np.float64)
