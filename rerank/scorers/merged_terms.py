"""Counts of terms of which several become one, as words become stems."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.postings import Postings
from moverank.rerank.scorers.scorer import TermCounts


def merged_terms(counts: TermCounts, new: NDArray[np.int32], count: int) -> Postings:
    """Return the postings of counts with term `new[t]` (t,) in the place of each term t, `count` terms in all."""
    from moverank.rerank.kernels.transposition import transposed

    starts, documents, values = transposed(counts.starts, new[counts.terms], counts.counts, count)
    return Postings(starts, documents, values, len(counts))
