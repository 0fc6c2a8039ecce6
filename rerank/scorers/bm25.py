"""Okapi BM25 (Robertson et al. 1995, TREC-3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Number, Option, check_options
from moverank.rerank.scorers.postings import Postings, grouped_sums
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery

K1 = Number("k1", 1.2, 0, 1000)
B = Number("b", 0.75, 0, 1)
K3 = Number("k3", np.inf, 0, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Bm25:
    """The score is the sum over the query's terms of `idf * tf (k1 + 1) / (tf + k1 (1 - b + b dl / avgdl)) * weight`.

    idf = ln(1 + (N - df + 0.5) / (df + 0.5)) is Lucene's, which is never negative. The weight of a term with the
    count qtf in the query is qtf (k3 + 1) / (qtf + k3): qtf by default (k3 is infinite), 1 with k3 = 0.
    """

    name: ClassVar[str] = "bm25"
    ascending: ClassVar[bool] = False
    needs_vectors: ClassVar[bool] = False
    options: ClassVar[tuple[Option, ...]] = (K1, B, K3)

    postings: Postings
    idf: NDArray[np.float64]
    saturation: NDArray[np.float64]
    k1: float
    k3: float

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """See `Scorer.fit`."""
        return cls.of(Postings.of(counts, statistics), statistics, options)

    @classmethod
    def of(cls, postings: Postings, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """Fit a scorer to `postings` of counts; for the rest see `fit`."""
        check_options(cls.name, cls.options, options, ScorerError)
        k1, b, df = K1.read(options), B.read(options), statistics.document_frequencies
        idf = np.log1p((statistics.documents - df + 0.5) / (df + 0.5))
        return cls(postings, idf, k1 * (1 - b + b * postings.lengths / statistics.average_length), k1, K3.read(options))

    @property
    def unrelated(self) -> float:
        """See `Scorer.unrelated`."""
        return 0.0

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """See `Scorer.score`."""
        weights = query.counts
        if np.isfinite(self.k3):
            weights = weights * (self.k3 + 1) / (weights + self.k3)
        documents, counts, indices = self.postings.gather(query.terms)
        tf = counts * (self.k1 + 1) / (counts + self.saturation[documents])
        return grouped_sums(documents, tf * self.idf[query.terms[indices]] * weights[indices], self.postings.size)
