"""Distances of normalised vectors of term weights, in time proportional to the postings of the query's terms.

Bag of words is a fair baseline for WMD only if vectors and distance have the same norm (Sato et al. 2022).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import row_entries
from moverank.rerank.options import Choice
from moverank.rerank.scorers.postings import Postings, grouped_sums
from moverank.rerank.scorers.scorer import Statistics, TermCounts

NORM = Choice("norm", "l1", ("l1", "l2"))

_NEAR = 1e-4
"""Squared distances below this are recomputed from differences: 2 - 2 cos loses half of the digits."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorSpace:
    """Documents as vectors of length 1 in `norm`: `postings` with the vectors' entries as values.

    Entry j of document i is `counts_ij * factors_j / lengths_i`, with `factors` (t,) > 0 and `lengths` (n,). A document
    without terms has the largest distance, like a document that shares no term with the query: 2 in L1, the square root
    of 2 in L2.
    """

    norm: str
    postings: Postings
    counts: TermCounts
    factors: NDArray[np.float64]
    lengths: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        counts: TermCounts,
        statistics: Statistics,
        factors: NDArray[np.float64],
        options: Mapping[str, str],
    ) -> Self:
        """Return the vectors of `counts` times the `factors` (t,) of their terms; `options` name the norm.

        Raises ScorerError if the `statistics` do not include the counts.
        """
        norm = NORM.read(options)
        raw = Postings.of(counts, statistics)
        weights = raw.values * raw.by_term(factors)
        lengths = raw.document_sums(weights) if norm == "l1" else np.sqrt(raw.document_sums(weights * weights))
        # A length of 0 belongs to an empty document, or to counts whose squares underflow.
        lengths = np.where(lengths > 0, lengths, np.inf)
        return cls(norm, raw.with_values(weights / lengths[raw.documents]), counts, factors, lengths)

    @property
    def max_distance(self) -> float:
        """Return the largest distance, which a document without a term of the query has."""
        return 2.0 if self.norm == "l1" else float(np.sqrt(2.0))

    def distances(self, terms: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances (n,) of the documents from the vector with `weights` (h,) > 0 of `terms` (h,)."""
        if self.norm == "l1":
            return self._l1(terms, weights / weights.sum())
        return self._l2(terms, weights / np.sqrt(weights @ weights))

    def _l1(self, terms: NDArray[np.int32], query: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |q - x|_1 = sum q + sum x - 2 sum min(q, x): both sum to 1, and only shared terms have min > 0."""
        documents, values, indices = self.postings.gather(terms)
        shared = grouped_sums(documents, np.minimum(values, query[indices]), self.postings.size)
        return np.maximum(2.0 - 2.0 * shared, 0.0)

    def _l2(self, terms: NDArray[np.int32], query: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |q - x|_2, from |q - x|^2 = 2 - 2 cos."""
        squares = 2.0 - 2.0 * self.postings.weighted_sums(terms, query)
        near = np.flatnonzero(squares < _NEAR)
        squares[near] = self._squared_differences(near, terms, query)
        return np.sqrt(squares)

    def _squared_differences(
        self, rows: NDArray[np.int64], terms: NDArray[np.int32], query: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return |q - x|^2 of the documents `rows` (m,), term by term; `query` (h,) is q on `terms` (h,)."""
        starts, entries = row_entries(self.counts.starts, rows)
        row = np.repeat(np.arange(len(rows)), np.diff(starts))
        entry_terms = self.counts.terms[entries]
        values = self.counts.counts[entries] * self.factors[entry_terms] / self.lengths[rows][row]
        query_index = np.full(len(self.factors), -1)
        known = np.flatnonzero(terms >= 0)
        query_index[terms[known]] = known
        indices = query_index[entry_terms]
        shared = indices >= 0
        differences = values - np.where(shared, query[indices], 0.0)
        absent = np.ones((len(rows), len(terms)), bool)
        absent[row[shared], indices[shared]] = False
        squares = grouped_sums(row, differences * differences, len(rows))
        squares += absent @ (query * query)
        return squares
