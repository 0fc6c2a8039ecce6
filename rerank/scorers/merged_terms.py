"""Counts of terms of which several become one, as words become stems."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.scorer import TermCounts


def merged_terms(counts: TermCounts, new: NDArray[np.int32], count: int) -> TermCounts:
    """Return the counts with term `new[t]` (t,) in the place of each term t, `count` terms in all, without vectors."""
    from moverank.rerank.kernels.transposition import transposed

    postings = transposed(counts.starts, new[counts.terms], counts.counts, count)
    return TermCounts(*transposed(*postings, len(counts)))  # transposed twice, the terms of a row are increasing
