"""The neural translation language model (Zuccon et al. 2015): words of a document translate to words of the query."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Choice, Number, Option, check_options
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.scorers.postings import count_products, grouped_sums
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery, check_segment, check_terms
from moverank.rerank.scorers.word_vectors import WordVectors, checked_vectors
from moverank.rerank.words.embedding import unit_rows

SMOOTHING = Choice("smoothing", "dirichlet", ("dirichlet", "jelinek-mercer"))
MU = Number("mu", 1000, 0.001, 1e9)
LAMBDA = Number("lambda", 0.5, 0.001, 1)
SELF = Number("self", 0, 0, 1)

# Blocks limit the memory of a query to some megabytes: (t, 64) translations, (4096, 64) sums.
_TERMS = 64
_DOCUMENTS = 4096
_BLOCK = 1024  # words that are compared together


def translation_normalisers(words: WordVectors, vocabulary: WordVectors | None = None) -> NDArray[np.float64]:
    """Return Z_u = sum over the words w of the vocabulary of max(cos(w, u), 0) for each of `words` u, (t,) float64.

    Without a `vocabulary`, `words` are the vocabulary. Z is additive over vocabularies without a common word. A word
    without a vector translates only to itself, with Z = 1, and adds nothing to other words; over a given `vocabulary`
    its Z is 0.
    """
    usable = np.flatnonzero(words.lengths() > 0)
    vectors = words.vectors[usable]
    if vocabulary is None:
        sums = np.ones(len(words))
        sums[usable] = _sums_within(vectors)
    else:
        sums = np.zeros(len(words))
        sums[usable] = _sums_over(vectors, vocabulary.vectors[vocabulary.lengths() > 0])
    return sums


def _sums_within(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sums (n,) over pairs of `vectors` (n, d); by symmetry half of the blocks are enough."""
    sums = np.zeros(len(vectors))
    for first in range(0, len(vectors), _BLOCK):
        rows = unit_rows(vectors[first : first + _BLOCK])
        for start in range(first, len(vectors), _BLOCK):
            check_time()
            cosines = _clipped(rows, vectors[start : start + _BLOCK])
            sums[first : first + _BLOCK] += cosines.sum(axis=1)
            if start > first:
                sums[start : start + _BLOCK] += cosines.sum(axis=0)
    return sums


def _sums_over(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sums (n,) of vectors (n, d) over others (m, d)."""
    sums = np.zeros(len(vectors))
    for first in range(0, len(vectors), _BLOCK):
        rows = unit_rows(vectors[first : first + _BLOCK])
        for start in range(0, len(others), _BLOCK):
            check_time()
            sums[first : first + _BLOCK] += _clipped(rows, others[start : start + _BLOCK]).sum(axis=1)
    return sums


def _clipped(rows: NDArray[np.float64], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return max(cos, 0) (n, m) of unit rows (n, d) and vectors (m, d)."""
    cosines: NDArray[np.float64] = rows @ unit_rows(vectors).T
    return np.maximum(cosines, 0.0, out=cosines)


class Translation:
    """The log-likelihood of a query: the sum over its words w of `count_w ln p(w|d)`.

    t(w|d) is the sum over the document's words u of p(w|u) tf_u / dl, with p(w|u) = max(cos(w, u), 0) / Z_u, for w = u,
    too. Z_u is the sum of these cosines over the vocabulary, the words of the collection that have a vector. A word
    without one translates only to itself. In a large vocabulary Z is large, and the probability that a word translates
    to itself is small. The option `self` = s raises it: (1 - s) p(w|u) + s [w = u] (Karimzadehgan & Zhai 2010); with
    the default of 0 this is the plain model, with 1 a language model without translations. p(w|d) is smoothed with the
    collection's p(w|C) = F / tokens, where F is the term's collection frequency:

    - dirichlet: p(w|d) = (dl t(w|d) + mu p(w|C)) / (dl + mu)
    - jelinek-mercer: p(w|d) = (1 - lambda) t(w|d) + lambda p(w|C)

    A query word that the collection does not contain is translated if it has a vector, with the p(w|C) of a word which
    occurs once; without a vector it is ignored. `words` are the vectors of the segment's terms; for the other
    parameters see `Scorer.fit`.
    """

    name: ClassVar[str] = "translation"
    ascending: ClassVar[bool] = False
    needs_vectors: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (SMOOTHING, MU, LAMBDA, SELF)

    def __init__(
        self, counts: TermCounts, words: WordVectors, statistics: Statistics, options: Mapping[str, str]
    ) -> None:
        self._counts, self._words = counts, words
        self._tokens = statistics.tokens if statistics.tokens > 0 else 1.0
        self._dirichlet = SMOOTHING.read(options) == "dirichlet"
        self._mu, self._lambda, self._self = MU.read(options), LAMBDA.read(options), SELF.read(options)
        self._word_lengths = words.lengths()
        rows = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
        self._lengths = grouped_sums(rows, counts.counts, len(counts))

    @staticmethod
    def collection_sums(words: WordVectors, vocabulary: WordVectors | None = None) -> NDArray[np.float64]:
        """See `SummingScorer.collection_sums`."""
        return translation_normalisers(words, vocabulary)

    @classmethod
    def fit(
        cls,
        counts: TermCounts,
        statistics: Statistics,
        options: Mapping[str, str],
        term_sums: NDArray[np.float64] | None = None,
    ) -> Self:
        """See `SummingScorer.fit`; `term_sums` (t,) > 0 are the Z_u over the collection's vocabulary.

        By default, the first query computes them over the segment's terms. Raises ScorerError for `term_sums` of
        another shape or not above 0.
        """
        check_options(cls.name, cls.options, options, ScorerError)
        check_segment(counts, statistics)
        words = checked_vectors(cls.name, counts.word_vectors, len(statistics.document_frequencies))
        scorer = cls(counts, words, statistics, options)
        if term_sums is not None:
            if not (term_sums.shape == (len(words),) and np.all(term_sums > 0)):
                raise ScorerError(f"{cls.name} needs a positive normaliser for each of the {len(words)} terms")
            scorer.normalisers = term_sums
        return scorer

    @cached_property
    def normalisers(self) -> NDArray[np.float64]:
        """Return Z_u (t,): the sums passed to `fit`, or else those over the segment's terms."""
        return translation_normalisers(self._words)

    @property
    def unrelated(self) -> None:
        """See `Scorer.unrelated`."""
        return

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """See `Scorer.score`; scores are log-likelihoods of the query.

        The cost is one product of (t, d) and (d, h), and h multiplications for each term of each document.
        """
        check_terms(query.terms, len(self._words))
        words = checked_vectors(self.name, query.word_vectors, len(query), self._words.vectors.shape[1])
        frequencies = query.collection_frequencies
        background = np.where(frequencies > 0, frequencies, 1.0) / self._tokens
        usable = np.flatnonzero((frequencies > 0) | (words.lengths() > 0))
        scores = np.zeros(len(self._counts))
        for start in range(0, len(usable), _TERMS):
            part = usable[start : start + _TERMS]
            table = self._table(query.terms[part], WordVectors(words.vectors[part], words.known[part]))
            for first in range(0, len(scores), _DOCUMENTS):
                if start or first:
                    check_time()
                sums = count_products(self._counts, table, first, _DOCUMENTS)
                smoothed = self._smoothed(sums, self._lengths[first : first + _DOCUMENTS, None], background[part])
                scores[first : first + _DOCUMENTS] += np.log(smoothed) @ query.counts[part]
        return scores

    def _table(self, terms: NDArray[np.int32], words: WordVectors) -> NDArray[np.float64]:
        """Return p(w|u) (t, h) for the segment's terms u and the query's words w with ids `terms` (h,)."""
        usable = self._word_lengths > 0
        scale = np.zeros(len(usable))
        scale[usable] = (1 - self._self) / (self._word_lengths[usable] * self.normalisers[usable])
        table = self._words.products(unit_rows(words.vectors) * words.known[:, None])
        np.maximum(table, 0.0, out=table)
        table *= scale[:, None]
        columns = np.flatnonzero(terms >= 0)
        table[terms[columns], columns] += np.where(usable[terms[columns]], self._self, 1.0)
        return table

    def _smoothed(
        self, sums: NDArray[np.float64], lengths: NDArray[np.float64], background: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return p(w|d) (n, h) > 0 for sums dl t(w|d) (n, h), document lengths (n, 1) and p(w|C) `background` (h,)."""
        smoothed: NDArray[np.float64]
        if self._dirichlet:
            smoothed = (sums + self._mu * background) / (lengths + self._mu)
        else:
            # The sums of an empty document are 0, so its length may be any number but 0.
            smoothed = (1 - self._lambda) * sums / np.where(lengths > 0, lengths, 1.0) + self._lambda * background
        return smoothed
