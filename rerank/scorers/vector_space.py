"""Distances of normalised vectors of term weights, in work proportional to the postings of the query's terms.

Sato et al. 2022: bag of words is a fair rival of WMD only when vectors and distance have the same norm.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import row_entries
from moverank.rerank.options import Choice
from moverank.rerank.scorers.postings import Postings, totals
from moverank.rerank.scorers.scorer import Statistics, TermCounts

NORM = Choice("norm", "l1", ("l1", "l2"))

# Squared distances below this are taken again from differences: 2 - 2 cos would lose half of the digits.
_NEAR = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class VectorSpace:
    """Documents as vectors of length 1 in `norm`: `postings` with the vectors' entries as values.

    Entry j of document i is `counts_ij * factors_j / lengths_i`, with `factors` (t,) > 0 and `lengths` (n,). A document
    without a term has no direction: it is as far from everything as one that shares no term, 2 or the square root of 2.
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
        """Make vectors of counts times the factors (t,) of their terms."""
        norm = NORM.read(options)
        raw = Postings.of(counts, statistics)
        weights = raw.values * raw.spread(factors)
        lengths = raw.sums(weights) if norm == "l1" else np.sqrt(raw.sums(weights * weights))
        # A length of 0 is that of an empty document, or of counts whose squares fell to 0.
        lengths = np.where(lengths > 0, lengths, np.inf)
        return cls(norm, raw.with_values(weights / lengths[raw.documents]), counts, factors, lengths)

    @property
    def farthest(self) -> float:
        """Return the distance of what shares no term."""
        return 2.0 if self.norm == "l1" else float(np.sqrt(2.0))

    def distances(self, terms: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances (n,) of the documents from the vector of weights (h,) > 0 on terms (h,)."""
        if self.norm == "l1":
            return self._l1(terms, weights / weights.sum())
        return self._l2(terms, weights / np.sqrt(weights @ weights))

    def _l1(self, terms: NDArray[np.int32], query: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |q - x|_1 = sum q + sum x - 2 sum min(q, x): both sum to 1, and only shared terms have a minimum."""
        documents, values, places = self.postings.gather(terms)
        shared = totals(documents, np.minimum(values, query[places]), self.postings.size)
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
        """Return |q - x|^2 of some rows (m,), term by term."""
        starts, entries = row_entries(self.counts.starts, rows)
        row = np.repeat(np.arange(len(rows)), np.diff(starts))
        theirs = self.counts.terms[entries]
        values = self.counts.counts[entries] * self.factors[theirs] / self.lengths[rows][row]
        place = np.full(len(self.factors), -1)
        known = np.flatnonzero(terms >= 0)
        place[terms[known]] = known
        mine = place[theirs]
        differences = values - np.where(mine >= 0, query[mine], 0.0)
        absent = np.ones((len(rows), len(terms)), bool)
        absent[row[mine >= 0], mine[mine >= 0]] = False
        squares: NDArray[np.float64] = totals(row, differences * differences, len(rows)) + absent @ (query * query)
        return squares
