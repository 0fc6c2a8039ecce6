"""The inverted file: for each term the documents that hold it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers.scorer import Statistics, TermCounts, check_segment, check_terms


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Where terms are: term j has the postings `starts[j]:starts[j + 1]` of `documents` and `values`.

    `starts` (t + 1,) int64, `documents` (nnz,) int32, increasing for a term, `values` (nnz,) float64. `size` is n, how
    many documents there are, those without a term included.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    values: NDArray[np.float64]
    size: int

    @classmethod
    def of(cls, counts: TermCounts, statistics: Statistics) -> "Postings":
        """Turn counts by document into counts by term; raise ScorerError where the statistics are not theirs."""
        from scipy.sparse import csr_array  # 0.2 s: only for who fits a scorer

        check_segment(counts, statistics)
        shape = len(counts), len(statistics.document_frequencies)
        columns = csr_array((counts.counts, counts.terms, counts.starts), shape=shape).tocsc()
        starts = columns.indptr.astype(np.int64)
        return cls(starts, columns.indices.astype(np.int32, copy=False), columns.data, len(counts))

    def with_values(self, values: NDArray[np.float64]) -> "Postings":
        """Return the same postings with other values (nnz,)."""
        return replace(self, values=values)

    def spread(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give each posting (nnz,) the amount of its term, out of amounts (t,)."""
        return np.repeat(amounts, np.diff(self.starts))

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up values (nnz,) of postings for each document (n,)."""
        return totals(self.documents, values, self.size)

    def gather(self, terms: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """Return the documents, the values and the places in `terms` (h,) of all postings of these terms.

        Terms come in the order given; -1 has no postings.
        """
        check_terms(terms, len(self.starts) - 1)
        places = np.flatnonzero(terms >= 0)
        slices = [slice(self.starts[term], self.starts[term + 1]) for term in terms[places].tolist()]
        if not slices:
            return np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64)
        documents = np.concatenate([self.documents[part] for part in slices])
        values = np.concatenate([self.values[part] for part in slices])
        return documents, values, np.repeat(places, [part.stop - part.start for part in slices])

    def weighted_sums(self, terms: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each document (n,) the sum of its values of terms (h,), each times the weight of its term."""
        documents, values, places = self.gather(terms)
        return totals(documents, values * weights[places], self.size)


def totals(places: NDArray[np.integer[Any]], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Add up values (m,) that have the same place, of places (m,) from 0 to `size` - 1."""
    return np.bincount(places, values, size).astype(np.float64, copy=False)
