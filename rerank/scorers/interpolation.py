"""Exact words and meaning in one score: the cosine of counts joined with the cosine of word centroids (Moens 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Number, Option, check_options
from moverank.rerank.scorers.postings import Postings
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery
from moverank.rerank.scorers.sums import summed
from moverank.rerank.scorers.word_vectors import WordVectors, needed_vectors

ALPHA = Number("alpha", 0.5, 0, 1)

# Blocks keep the memory of fitting at some megabytes: (t, 32) coordinates of words, (16384, 32) of documents.
_AXES = 32
_DOCUMENTS = 16384

# A centroid shorter than this share of its words' lengths is what rounding left of words that cancel out.
_CANCELLED = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Interpolation:
    """The score (1 - alpha) cos(counts) + alpha cos(centroids), from -alpha to 1.

    A centroid is the sum of a text's word vectors by count, over the words that have one. A text without any, or whose
    words cancel out, has no direction: its cosine is 0. So is that of an empty text's counts.
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
        words = needed_vectors(cls.name, counts.word_vectors, len(statistics.document_frequencies))
        lengths = np.sqrt(raw.sums(raw.values * raw.values))
        postings = raw.with_values(raw.values / np.where(lengths > 0, lengths, np.inf)[raw.documents])
        return cls(postings, counts, words, _centroid_lengths(counts, words), ALPHA.read(options))

    @property
    def unrelated(self) -> None:
        """See `Scorer.unrelated`."""
        return

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """Return the scores (n,) of every document."""
        words = needed_vectors(self.name, query.word_vectors, len(query), self.words.vectors.shape[1])
        if not len(query):
            return np.zeros(len(self.counts))
        exact = self.postings.weighted_sums(query.terms, query.counts / np.sqrt(query.counts @ query.counts))
        return (1 - self.alpha) * exact + self.alpha * self._centroid_cosines(query.counts, words)

    def _centroid_cosines(self, counts: NDArray[np.float64], words: WordVectors) -> NDArray[np.float64]:
        """Return the cosines (n,): the product with a centroid is the sum of the products with its words."""
        own = counts * words.known @ words.vectors.astype(np.float64)
        length = float(np.sqrt(own @ own))
        if length <= _CANCELLED * float(counts @ words.lengths()):
            return np.zeros(len(self.counts))
        products = self.words.products(own[None] / length)[:, 0]
        sums = summed(self.counts, products, 0, len(self.counts))
        return np.clip(sums / self.centroid_lengths, -1.0, 1.0)


def _centroid_lengths(counts: TermCounts, words: WordVectors) -> NDArray[np.float64]:
    """Return the lengths (n,) of the documents' centroids, infinite for those that have none."""
    squares = np.zeros(len(counts))
    for axis in range(0, words.vectors.shape[1], _AXES):
        columns = np.where(words.known[:, None], words.vectors[:, axis : axis + _AXES], 0).astype(np.float64)
        for first in range(0, len(counts), _DOCUMENTS):
            centroids = summed(counts, columns, first, _DOCUMENTS)
            squares[first : first + _DOCUMENTS] += np.einsum("ij,ij->i", centroids, centroids)
    lengths, spans = np.sqrt(squares), summed(counts, words.lengths(), 0, len(counts))
    return np.where(lengths > _CANCELLED * spans, lengths, np.inf)
