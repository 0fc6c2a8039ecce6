"""The inverted file: the documents that contain each term, products of its counts with amounts, and merged terms."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.scorers.scorer import Statistics, TermCounts, check_segment, check_terms
from moverank.rerank.words.term_rules import WordTerms


@dataclass(frozen=True, eq=False)
class Postings:
    """Postings by term: term j has the slice `starts[j]:starts[j + 1]` of `documents` and `values`.

    `starts` (t + 1,) int64, `documents` (nnz,) int32, increasing within a term, `values` (nnz,) float64. `size` is n,
    the number of documents, including documents without terms. Sums over them are computed once.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    values: NDArray[np.float64]
    size: int

    @classmethod
    def of(cls, counts: TermCounts, statistics: Statistics) -> "Postings":
        """Return the transpose of counts by document; raises ScorerError if the statistics do not include them."""
        check_segment(counts, statistics)
        return cls.transposed(counts, len(statistics.document_frequencies))

    @classmethod
    def transposed(cls, counts: TermCounts, terms: int, new: WordTerms | None = None) -> "Postings":
        """Return the transpose of unchecked counts of `terms` terms by document.

        The terms `new` of each counted word take its place, and the counts of words with the same term are added up.
        """
        rows = counts.starts, counts.terms, counts.counts
        if new is not None:
            one_each = np.all(new.lengths == 1)
            rows = (
                (rows[0], new.terms[rows[1]], rows[2]) if one_each else kernels.replaced(*rows, new.starts, new.terms)
            )
        starts, documents, values = kernels.transposed(*rows, terms)
        return cls(starts, documents, values, len(counts))

    @cached_property
    def amounts(self) -> NDArray[np.float64]:
        """Return the sum of the values of each term (t,)."""
        terms = len(self.starts) - 1
        return grouped_sums(np.repeat(np.arange(terms), np.diff(self.starts)), self.values, terms)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Return the sum of the values of each document (n,)."""
        return self.document_sums(self.values)

    @cached_property
    def sizes(self) -> NDArray[np.int32]:
        """Return the number of different terms of each document (n,)."""
        return np.bincount(self.documents, minlength=self.size).astype(np.int32)

    def by_document(self) -> TermCounts:
        """Return the counts by document, without word vectors."""
        return TermCounts(*kernels.transposed(self.starts, self.documents, self.values, self.size))

    def with_values(self, values: NDArray[np.float64]) -> "Postings":
        """Return the same postings with other values (nnz,)."""
        return replace(self, values=values)

    def by_term(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each posting (nnz,) the amount of its term, from amounts (t,)."""
        return np.repeat(amounts, np.diff(self.starts))

    def document_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each document (n,) the sum of the values (nnz,) of its postings."""
        return grouped_sums(self.documents, values, self.size)

    def gather(self, terms: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """Return all postings of `terms` (h,), term by term: documents, values, and the term's index in `terms`.

        The term -1 has no postings. Raises ScorerError for an id that does not exist.
        """
        check_terms(terms, len(self.starts) - 1)
        indices = np.flatnonzero(terms >= 0)
        slices = [slice(self.starts[term], self.starts[term + 1]) for term in terms[indices].tolist()]
        if not slices:
            return np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64)
        documents = np.concatenate([self.documents[part] for part in slices])
        values = np.concatenate([self.values[part] for part in slices])
        return documents, values, np.repeat(indices, [part.stop - part.start for part in slices])

    def weighted_sums(self, terms: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each document (n,) the sum over `terms` (h,) of value times weight, with `weights` (h,)."""
        documents, values, indices = self.gather(terms)
        return grouped_sums(documents, values * weights[indices], self.size)


def grouped_sums(groups: NDArray[np.integer[Any]], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the sums (size,) of `values` (m,) by group; `groups` (m,) are from 0 to `size` - 1."""
    return np.bincount(groups, values, size).astype(np.float64, copy=False)


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
