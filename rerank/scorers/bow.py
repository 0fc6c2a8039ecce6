"""Bag of words: the distance of normalised counts, or of normalised tf-idf vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Option, check_options
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery
from moverank.rerank.scorers.vector_space import NORM, VectorSpace


@dataclass(frozen=True, slots=True, eq=False)
class Bow:
    """The distance of counts scaled to length 1, in L1 (0 to 2) or L2 (0 to the square root of 2).

    The length has the same norm as the distance. L2 is sqrt(2 - 2 cos), so it ranks as the cosine (Sato et al. 2022).
    """

    name: ClassVar[str] = "bow"
    ascending: ClassVar[bool] = True
    needs_vectors: ClassVar[bool] = False
    options: ClassVar[tuple[Option, ...]] = (NORM,)

    space: VectorSpace

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """See `Scorer.fit`."""
        check_options(cls.name, cls.options, options, ScorerError)
        return cls(VectorSpace.of(counts, statistics, np.ones(len(statistics.document_frequencies)), options))

    @property
    def unrelated(self) -> float:
        """See `Scorer.unrelated`."""
        return self.space.max_distance

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """See `Scorer.score`; a query term that the segment does not contain keeps its share of the query."""
        return self.space.distances(query.terms, query.counts)


@dataclass(frozen=True, slots=True, eq=False)
class Tfidf(Bow):
    """The distance of counts times idf scaled to length 1, in L1 or L2.

    The idf is smoothed, ln((1 + N) / (1 + df)) + 1 (Sato et al. 2022): a query term that the collection does not
    contain has the largest idf, and keeps its share of the query.
    """

    name: ClassVar[str] = "tfidf"

    documents: int

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """See `Scorer.fit`."""
        check_options(cls.name, cls.options, options, ScorerError)
        idf = inverse_document_frequency(statistics.document_frequencies, statistics.documents)
        return cls(VectorSpace.of(counts, statistics, idf, options), statistics.documents)

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """See `Scorer.score`."""
        idf = inverse_document_frequency(query.document_frequencies, self.documents)
        return self.space.distances(query.terms, query.counts * idf)
