"""What a scorer is, and what it is given.

A collection is searched segment by segment: a scorer knows the counts of one segment and statistics of them all, so a
document has the same score in whatever segment it is, but for rounding below 1e-9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Option
from moverank.rerank.scorers.word_vectors import WordVectors


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """Counts of terms in documents as compressed sparse rows.

    Document i is the slice `starts[i]:starts[i + 1]` of `terms` (nnz,) int32, strictly increasing in a row, and of
    `counts` (nnz,) float64 > 0, which may be fractions: weighted by a post's rank. `starts` is (n + 1,) int64.
    `word_vectors` are those of the segment's t terms, for scorers that need them. Rows are not checked again, for there
    may be millions.
    """

    starts: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.float64]
    word_vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What is known of the whole collection: of the segment's t terms.

    `documents` is N, those without a term included, `tokens` the sum of all counts. `document_frequencies` (t,) int64
    says in how many documents of the collection a term is, `collection_frequencies` (t,) float64 the sum of its counts.
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
        """Return the mean of the documents' lengths in tokens; 1 where there is no token, for it is divided by."""
        return self.tokens / self.documents if self.tokens > 0 and self.documents else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class TermQuery:
    """A query of h different terms.

    `terms` (h,) int32 are ids of the segment, -1 for a term that the segment has not; `counts` (h,) float64 > 0. The
    statistics of its own terms, `document_frequencies` (h,) and `collection_frequencies` (h,), are those of the whole
    collection: another segment may know the term, or none (0). `word_vectors` are the query's own, h of them. Raises
    ScorerError where these rules are broken.
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
                f"a query of {len(self.terms)} terms has {len(self.word_vectors)} vectors: give one a term"
            )
        if not (np.all(self.counts > 0) and np.all(np.isfinite(self.counts))):
            raise ScorerError("counts of a query must be finite and positive: leave out what it does not hold")
        found = self.terms[self.terms >= 0]
        if len(np.unique(found)) < len(found):
            raise ScorerError("a term stands twice in a query: add up its counts")

    def __len__(self) -> int:
        return len(self.terms)


class Scorer(Protocol):
    """Ranks the documents of a segment for a query."""

    name: ClassVar[str]
    """As on the command line."""
    ascending: ClassVar[bool]
    """Whether it is a distance, where small is near; else a score, where large is near."""
    needs_vectors: ClassVar[bool]
    """Whether the counts and the query have to bring word vectors."""
    options: ClassVar[tuple[Option, ...]]
    """What may be chosen."""

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """Make a scorer of a segment's counts and the collection's statistics, options as typed.

        Raises ScorerError for an option that there is not, and for arrays that do not fit together.
        """
        ...

    @property
    def unrelated(self) -> float | None:
        """Return what a document gets that shares no term with the query; None where words are compared by meaning."""
        ...

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """Return the distance or score (n,) of every document of the segment: always finite."""
        ...


def check_terms(terms: NDArray[np.int32], known: int) -> None:
    """Refuse ids (h,) of a query that a segment of so many terms cannot have."""
    if len(terms) and not -1 <= int(terms.min()) <= int(terms.max()) < known:
        raise ScorerError(f"a query's term ids must be from -1 to {known - 1}: the segment has {known} terms")


def check_segment(counts: TermCounts, statistics: Statistics) -> None:
    """Refuse counts whose arrays differ in length, and statistics that cannot be of a collection that holds them."""
    entries, terms = len(counts.terms), len(statistics.document_frequencies)
    if not (len(counts.starts) and counts.starts[-1] == entries == len(counts.counts)):
        raise ScorerError("the last of `starts` must be the number of terms and of counts")
    if entries and not 0 <= int(counts.terms.min()) <= int(counts.terms.max()) < terms:
        raise ScorerError(f"term ids must be from 0 to {terms - 1}: the statistics tell of {terms} terms")
    frequencies, known = np.bincount(counts.terms, minlength=terms), statistics.document_frequencies
    if len(counts) > statistics.documents or np.any(frequencies > known) or np.any(known > statistics.documents):
        raise ScorerError("a segment cannot hold more than its collection: count its documents into the statistics")
    if np.any(statistics.collection_frequencies[frequencies > 0] <= 0):
        raise ScorerError("a term of the segment has no collection frequency: count its documents into the statistics")
