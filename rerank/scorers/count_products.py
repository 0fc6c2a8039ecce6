"""Products of a matrix of counts with amounts of terms, a block of documents at a time."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.scorer import TermCounts


def count_products(counts: TermCounts, amounts: NDArray[np.float64], first: int, size: int) -> NDArray[np.float64]:
    """Return `counts @ amounts` for at most `size` documents from row `first` on.

    The product is (m, h) if `amounts` of the terms are (t, h), and (m,) if they are (t,). The bits of a row do not
    depend on the other rows.
    """
    from scipy.sparse import csr_array  # 0.2 s

    starts = counts.starts[first : first + size + 1]
    entries = slice(starts[0], starts[-1])
    block = counts.counts[entries], counts.terms[entries], starts - starts[0]
    return np.asarray(csr_array(block, shape=(len(starts) - 1, len(amounts))) @ amounts, np.float64)
