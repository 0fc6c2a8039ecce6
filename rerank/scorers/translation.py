"""The neural translation language model (Zuccon et al. 2015): a document may say a query's word in other words."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Choice, Number, Option, check_options
from moverank.rerank.scorers.normalisers import translation_normalisers
from moverank.rerank.scorers.postings import totals
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery, check_segment, check_terms
from moverank.rerank.scorers.sums import summed
from moverank.rerank.scorers.word_vectors import WordVectors, needed_vectors, unit_rows

SMOOTHING = Choice("smoothing", "dirichlet", ("dirichlet", "jelinek-mercer"))
MU = Number("mu", 1000, 0.001, 1e9)
LAMBDA = Number("lambda", 0.5, 0.001, 1)
SELF = Number("self", 0, 0, 1)

# Blocks keep the memory of a query at some megabytes: (t, 64) translations, (4096, 64) sums.
_TERMS = 64
_DOCUMENTS = 4096


class Translation:
    """The log-likelihood of a query: the sum over its words w of `count_w ln p(w|d)`.

    t(w|d) = sum over the document's words u of p(w|u) tf_u / dl, with p(w|u) = max(cos(w, u), 0) / Z_u, u itself
    included. Z_u is the sum over the vocabulary, the words that `fit` is given and that have a vector; a word without
    one translates to itself only. In a large vocabulary Z is large, and little of a word is left for itself. The option
    `self` = s gives it a share beforehand, (1 - s) p(w|u) + s [w = u] (Karimzadehgan & Zhai 2010): 0, the default, is
    the plain model, 1 a language model without translations. Smoothed with the collection's p(w|C) = F / tokens:

    - dirichlet: p(w|d) = (dl t(w|d) + mu p(w|C)) / (dl + mu)
    - jelinek-mercer: p(w|d) = (1 - lambda) t(w|d) + lambda p(w|C), so lambda is the collection's share

    A query's word that the collection has not, but that has a vector, is translated all the same; its p(w|C) is that of
    a word seen once. One without a vector tells nothing of any document and is left out.
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
        self._lengths = totals(rows, counts.counts, len(counts))

    @classmethod
    def fit(
        cls,
        counts: TermCounts,
        statistics: Statistics,
        options: Mapping[str, str],
        normalisers: NDArray[np.float64] | None = None,
    ) -> Self:
        """See `Scorer.fit`; `normalisers` (t,) > 0 are the Z_u over the collection's vocabulary.

        They are needed where the collection has terms that the segment has not. Else they are computed of the segment's
        terms when the first query comes, by `translation_normalisers`.
        """
        check_options(cls.name, cls.options, options, ScorerError)
        check_segment(counts, statistics)
        words = needed_vectors(cls.name, counts.word_vectors, len(statistics.document_frequencies))
        scorer = cls(counts, words, statistics, options)
        if normalisers is not None:
            if not (normalisers.shape == (len(words),) and np.all(normalisers > 0)):
                raise ScorerError(f"{cls.name} needs a positive normaliser for each of the {len(words)} terms")
            scorer.normalisers = normalisers
        return scorer

    @cached_property
    def normalisers(self) -> NDArray[np.float64]:
        """Return Z_u (t,): those that `fit` was given, or else those of the segment's own terms."""
        return translation_normalisers(self._words.vectors, self._words.known)

    @property
    def unrelated(self) -> None:
        """See `Scorer.unrelated`."""
        return

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """Return the log-likelihoods (n,) of the query in every document.

        The work is one product of (t, d) and (d, h), and h multiplications for each term of each document.
        """
        check_terms(query.terms, len(self._words))
        words = needed_vectors(self.name, query.word_vectors, len(query), self._words.vectors.shape[1])
        seen = query.collection_frequencies
        chances = np.where(seen > 0, seen, 1.0) / self._tokens
        telling = np.flatnonzero((seen > 0) | (words.lengths() > 0))
        scores = np.zeros(len(self._counts))
        for start in range(0, len(telling), _TERMS):
            part = telling[start : start + _TERMS]
            table = self._table(query.terms[part], WordVectors(words.vectors[part], words.known[part]))
            for first in range(0, len(scores), _DOCUMENTS):
                sums = summed(self._counts, table, first, _DOCUMENTS)
                likely = self._smoothed(sums, self._lengths[first : first + _DOCUMENTS, None], chances[part])
                scores[first : first + _DOCUMENTS] += np.log(likely) @ query.counts[part]
        return scores

    def _table(self, terms: NDArray[np.int32], words: WordVectors) -> NDArray[np.float64]:
        """Return p(w|u) (t, h) of the query's words w for every term u of the segment."""
        usable = self._word_lengths > 0
        scale = np.zeros(len(usable))
        scale[usable] = (1 - self._self) / (self._word_lengths[usable] * self.normalisers[usable])
        table = self._words.products(unit_rows(words.vectors) * words.known[:, None])
        np.maximum(table, 0.0, out=table)
        table *= scale[:, None]
        places = np.flatnonzero(terms >= 0)
        table[terms[places], places] += np.where(usable[terms[places]], self._self, 1.0)
        return table

    def _smoothed(
        self, sums: NDArray[np.float64], lengths: NDArray[np.float64], chances: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return p(w|d) (n, h) of sums dl t(w|d) (n, h), document lengths (n, 1) and p(w|C) (h,), always positive."""
        smoothed: NDArray[np.float64]
        if self._dirichlet:
            smoothed = (sums + self._mu * chances) / (lengths + self._mu)
        else:
            # An empty document has no words to translate.
            smoothed = (1 - self._lambda) * sums / np.where(lengths > 0, lengths, 1.0) + self._lambda * chances
        return smoothed
