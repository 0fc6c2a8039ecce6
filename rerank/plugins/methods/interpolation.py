"""Interpolation of the cosine of counts with the cosine of word centroids (Moens 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Number, Option, check_options
from moverank.rerank.scorers.postings import Postings, count_products
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery
from moverank.rerank.scorers.word_vectors import WordVectors, checked_vectors

ALPHA = Number("alpha", 0.5, 0, 1)

# Blocks limit the memory of a fit to some megabytes: (t, 32) coordinates of words, (16384, 32) of documents.
_AXES = 32
_DOCUMENTS = 16384

_CANCELLED = 1e-6
"""A centroid shorter than this share of the sum of its words' lengths is a rounding error: the vectors cancel out."""


@dataclass(frozen=True, slots=True, eq=False)
class Interpolation:
    """The score (1 - alpha) cos(counts) + alpha cos(centroids), from -alpha to 1.

    The centroid of a text is the sum of count times vector over its words with a vector. Its cosine is 0 for a text
    without such words, and for a text whose vectors cancel out; the cosine of counts is 0 for an empty text.
    """

    name: ClassVar[str] = "interpolation"
    ascending: ClassVar[bool] = False
    needs_vectors: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (ALPHA,)

    postings: Postings
    counts: TermCounts
    words: WordVectors
    centroid_lengths: NDArray[np.float64]
    alpha: float

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """See `Scorer.fit`."""
        check_options(cls.name, cls.options, options, ScorerError)
        raw = Postings.of(counts, statistics)
        words = checked_vectors(cls.name, counts.word_vectors, len(statistics.document_frequencies))
        lengths = np.sqrt(raw.document_sums(raw.values * raw.values))
        postings = raw.with_values(raw.values / np.where(lengths > 0, lengths, np.inf)[raw.documents])
        return cls(postings, counts, words, _centroid_lengths(counts, words), ALPHA.read(options))

    @property
    def unrelated(self) -> None:
        """See `Scorer.unrelated`."""
        return

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """See `Scorer.score`."""
        words = checked_vectors(self.name, query.word_vectors, len(query), self.words.vectors.shape[1])
        if not len(query):
            return np.zeros(len(self.counts))
        exact = self.postings.weighted_sums(query.terms, query.counts / np.sqrt(query.counts @ query.counts))
        return (1 - self.alpha) * exact + self.alpha * self._centroid_cosines(query.counts, words)

    def _centroid_cosines(self, counts: NDArray[np.float64], words: WordVectors) -> NDArray[np.float64]:
        """Return the cosines (n,) with the centroid of `counts` (h,) of `words`.

        The product with a document's centroid is the sum of the products with its words.
        """
        own = counts * words.known @ words.vectors.astype(np.float64)
        length = float(np.sqrt(own @ own))
        if length <= _CANCELLED * float(counts @ words.lengths()):
            return np.zeros(len(self.counts))
        products = self.words.products(own[None] / length)[:, 0]
        sums = count_products(self.counts, products, 0, len(self.counts))
        return np.clip(sums / self.centroid_lengths, -1.0, 1.0)


def _centroid_lengths(counts: TermCounts, words: WordVectors) -> NDArray[np.float64]:
    """Return the lengths (n,) of the documents' centroids, infinite for documents without one."""
    squares = np.zeros(len(counts))
    for axis in range(0, words.vectors.shape[1], _AXES):
        columns = np.where(words.known[:, None], words.vectors[:, axis : axis + _AXES], 0).astype(np.float64)
        for first in range(0, len(counts), _DOCUMENTS):
            centroids = count_products(counts, columns, first, _DOCUMENTS)
            squares[first : first + _DOCUMENTS] += np.einsum("ij,ij->i", centroids, centroids)
    lengths, longest = np.sqrt(squares), count_products(counts, words.lengths(), 0, len(counts))
    return np.where(lengths > _CANCELLED * longest, lengths, np.inf)
