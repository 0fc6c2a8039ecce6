"""The scorer protocol, and the arrays that a scorer takes.

A collection is scored segment by segment: a scorer has the counts of one segment and the statistics of the collection,
so that the score of a document does not depend on its segment, except for rounding errors below 1e-9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Option
from moverank.rerank.scorers.word_vectors import WordVectors


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """Counts of terms in the n documents of a segment, as compressed sparse rows.

    Document i is the slice `starts[i]:starts[i + 1]` of `terms` (nnz,) int32, strictly increasing in a row, and of
    `counts` (nnz,) float64 > 0, which may be fractional, as weights by the ranks of parts are. `starts` is (n + 1,)
    int64. `word_vectors` belong to the segment's t terms, for scorers that need them. Rows are not checked, because
    there may be millions.
    """

    starts: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.float64]
    word_vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Statistics of the whole collection for the t terms of a segment.

    `documents` is N, including documents without terms, and `tokens` the sum of all counts. `document_frequencies` (t,)
    int64 are the numbers of documents of the collection that contain each term, and `collection_frequencies` (t,)
    float64 the sums of its counts. Raises ScorerError for arrays of different shapes.
    """

    documents: int
    tokens: float
    document_frequencies: NDArray[np.int64]
    collection_frequencies: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.document_frequencies.ndim != 1 or self.document_frequencies.shape != self.collection_frequencies.shape:
            raise ScorerError(
                "statistics need a document frequency and a collection frequency for each term, not "
                f"{self.document_frequencies.shape} and {self.collection_frequencies.shape}"
            )

    @property
    def average_length(self) -> float:
        """Return the mean length of a document in tokens; 1 if there are no tokens, since scorers divide by it."""
        return self.tokens / self.documents if self.tokens > 0 and self.documents else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class TermQuery:
    """A query of h different terms.

    `terms` (h,) int32 are their ids in the segment, -1 for a term that the segment does not contain; `counts` (h,)
    float64 > 0. `document_frequencies` (h,) and `collection_frequencies` (h,) are the terms' statistics in the whole
    collection: 0 for a term that no segment contains. `word_vectors` belong to the h terms. Raises ScorerError for
    other arrays.
    """

    terms: NDArray[np.int32]
    counts: NDArray[np.float64]
    document_frequencies: NDArray[np.int64]
    collection_frequencies: NDArray[np.float64]
    word_vectors: WordVectors | None = None

    def __post_init__(self) -> None:
        columns = (self.terms, self.counts, self.document_frequencies, self.collection_frequencies)
        if self.terms.ndim != 1 or len({column.shape for column in columns}) > 1:
            raise ScorerError(f"a query needs one number of each kind for a term, not {[c.shape for c in columns]}")
        if self.word_vectors is not None and len(self.word_vectors) != len(self.terms):
            raise ScorerError(
                f"a query of {len(self.terms)} terms has {len(self.word_vectors)} vectors: give one for each"
            )
        if not (np.all(self.counts > 0) and np.all(np.isfinite(self.counts))):
            raise ScorerError("counts of a query must be finite and positive: omit terms that it does not contain")
        present = self.terms[self.terms >= 0]
        if len(np.unique(present)) < len(present):
            raise ScorerError("a term occurs twice in a query: add up its counts")

    def __len__(self) -> int:
        return len(self.terms)


class Scorer(Protocol):
    """Scores the documents of a segment for a query."""

    name: ClassVar[str]
    """The name on the command line."""
    ascending: ClassVar[bool]
    """Whether smaller is better, as for a distance; else larger is."""
    needs_vectors: ClassVar[bool]
    """Whether `fit` and `score` need word vectors."""
    options: ClassVar[tuple[Option, ...]]
    """The options of `fit`."""

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """Fit a scorer to a segment.

        `counts` belong to the segment, `statistics` to the collection for the segment's terms, and `options` are names
        and values as text. Raises ScorerError for an invalid option, and for arrays that do not match.
        """
        ...

    @property
    def unrelated(self) -> float | None:
        """Return the score that exactly the documents without a term of the query have.

        None if there is no such score, because the scorer compares words by their vectors.
        """
        ...

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """Return the finite scores (n,) of all documents of the segment; see `ascending`."""
        ...


class SummingScorer(Scorer, Protocol):
    """A scorer whose terms have sums over all words of the collection, which the collection caches."""

    @staticmethod
    def collection_sums(words: WordVectors, vocabulary: WordVectors | None = None) -> NDArray[np.float64]:
        """Return the sum (t,) of each of `words` over the words of a `vocabulary`, or over `words` without one.

        Sums are additive over vocabularies without a common word.
        """
        ...

    @classmethod
    def fit(
        cls,
        counts: TermCounts,
        statistics: Statistics,
        options: Mapping[str, str],
        term_sums: NDArray[np.float64] | None = None,
    ) -> Self:
        """See `Scorer.fit`; `term_sums` (t,) are the sums of the segment's terms over the collection's words.

        They are required if the collection contains terms that the segment lacks; those of a term in none of the
        collection's documents are 1.
        """
        ...


def has_sums(scorer: type[Scorer]) -> TypeGuard[type[SummingScorer]]:
    """Return whether a scorer needs sums over the words of the collection."""
    return hasattr(scorer, "collection_sums")


def check_terms(terms: NDArray[np.int32], known: int) -> None:
    """Raise ScorerError unless each of the ids `terms` (h,) is -1 or a term of the segment, which has `known` terms."""
    if len(terms) and not -1 <= int(terms.min()) <= int(terms.max()) < known:
        raise ScorerError(f"a query's term ids must be from -1 to {known - 1}: the segment has {known} terms")


def check_segment(counts: TermCounts, statistics: Statistics) -> None:
    """Raise ScorerError for counts of inconsistent lengths, and for statistics that do not include these counts."""
    entries, terms = len(counts.terms), len(statistics.document_frequencies)
    if not (len(counts.starts) and counts.starts[-1] == entries == len(counts.counts)):
        raise ScorerError("the last of `starts` must be the number of terms and of counts")
    if entries and not 0 <= int(counts.terms.min()) <= int(counts.terms.max()) < terms:
        raise ScorerError(f"term ids must be from 0 to {terms - 1}: the statistics cover {terms} terms")
    frequencies, total = np.bincount(counts.terms, minlength=terms), statistics.document_frequencies
    if len(counts) > statistics.documents or np.any(frequencies > total) or np.any(total > statistics.documents):
        raise ScorerError("a segment cannot hold more than its collection: count its documents into the statistics")
    if np.any(statistics.collection_frequencies[frequencies > 0] <= 0):
        raise ScorerError("a term of the segment has no collection frequency: count its documents into the statistics")
