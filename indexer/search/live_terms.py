"""Word counts of the live documents of a segment, and statistics over all segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.checksums import checksum
from moverank.indexer.search.segment_counts import SegmentCounts
from moverank.indexer.snapshot.postings_cache import PostingsCache
from moverank.indexer.snapshot.segment import Segment, Terms
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.bags.weights import ranked_counts
from moverank.rerank.scorers import Statistics, TermCounts, WordVectors


class LiveTerms:
    """Word counts of the documents in `terms`, except those with the ids `gone` (m,).

    `segment` has the words' vectors. `title_weight` is the collection's. `directory` is the collection's, in which
    costly results are cached; None for the tail.
    """

    def __init__(
        self,
        terms: Terms,
        gone: NDArray[np.int64],
        segment: Segment,
        title_weight: float,
        directory: Path | None = None,
    ) -> None:
        self.terms, self.segment, self.directory = terms, segment, directory
        self._gone, self._title_weight = gone, title_weight

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows (n,) of the live documents."""
        return np.flatnonzero(~np.isin(self.terms.ids, self._gone))

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Return the ids (n,) of the live documents."""
        return self.terms.ids[self.rows]

    @cached_property
    def word_vectors(self) -> WordVectors:
        """Return the vectors of the terms."""
        return self.some_word_vectors(np.arange(len(self.terms.word_ids), dtype=np.int32))

    def some_word_vectors(self, terms: NDArray[np.int32]) -> WordVectors:
        """Return the vectors of some terms (h,)."""
        rows, present = lookup(self.terms.word_ids[terms], self.segment.word_ids)
        vectors = np.zeros((len(terms), self.segment.vectors.shape[1]), np.float32)
        vectors[present] = self.segment.vectors[rows[present]]
        return WordVectors(vectors, present)

    def counted(self, gamma: float) -> TermCounts:
        """Return the counts of the live documents, each part weighted by its rank."""
        counts = self.terms.counts if len(self.rows) == len(self.terms.ids) else self.terms.counts.take(self.rows)
        return TermCounts(*ranked_counts(counts, gamma, self._title_weight))

    def cache(self, gamma: float, language: str | None) -> PostingsCache | None:
        """Return where the postings of words, or of stems in a `language`, are cached; None if they have changed."""
        if self.directory is None or not self.terms.state or len(self.rows) < len(self.terms.ids):
            return None
        key = checksum(f"{self.terms.state} {gamma!r} {self._title_weight!r} {language}".encode())
        return PostingsCache.of(self.directory, f"{language or 'words'}-{gamma:g}", key)


@dataclass(frozen=True, slots=True, eq=False)
class CountedTerms:
    """The counts of each of the `segments` at one gamma.

    `statistics` are those of all segments together, for the ids `word_ids` (t,), increasing.
    """

    segments: tuple[SegmentCounts, ...]
    word_ids: NDArray[np.int64]
    statistics: Statistics

    @classmethod
    def of(cls, segments: Sequence[SegmentCounts], documents: int) -> "CountedTerms":
        """Compute the statistics of `segments`; `documents` is the number of all documents."""
        vocabularies = [segment.vocabulary for segment in segments]
        word_ids = reduce(np.union1d, vocabularies) if segments else np.empty(0, np.int64)
        frequencies, amounts = np.zeros(len(word_ids), np.int64), np.zeros(len(word_ids))
        for segment in segments:
            positions = np.searchsorted(word_ids, segment.vocabulary)
            own_frequencies, own_amounts = segment.frequencies()
            frequencies[positions] += own_frequencies
            amounts[positions] += own_amounts
        statistics = Statistics(documents, float(amounts.sum()), frequencies, amounts)
        return cls(tuple(segments), word_ids, statistics)

    def of_words(self, ids: NDArray[np.int64]) -> Statistics:
        """Return the statistics of words by id; zeros for words in no document."""
        whole = self.statistics
        positions, present = lookup(ids, self.word_ids)
        frequencies, amounts = np.zeros(len(ids), np.int64), np.zeros(len(ids))
        frequencies[present] = whole.document_frequencies[positions[present]]
        amounts[present] = whole.collection_frequencies[positions[present]]
        return Statistics(whole.documents, whole.tokens, frequencies, amounts)

    def positions(self, segment: int, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the positions (h,) of words in the vocabulary of a segment; -1 for words that it lacks."""
        positions, present = lookup(ids, self.segments[segment].vocabulary)
        return np.where(present, positions, -1).astype(np.int32)
