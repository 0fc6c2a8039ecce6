"""Word counts of the live documents of segments, by document and by term, and statistics over all segments.

Words with the same stem become one term, or the n-grams of a word several.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.caches import DerivedTable, PostingsCache
from moverank.indexer.search.query import QueryTerms
from moverank.rerank.bags.bag import lookup
from moverank.rerank.scorers import Postings, Statistics, TermCounts, WordVectors
from moverank.rerank.scorers.postings import grouped_sums
from moverank.rerank.words.term_rules import WordTerms, terms_of

_ROUNDING = 1e-9


@dataclass(eq=False)
class SegmentCounts:
    """Counts of terms (words, stems or n-grams) in documents, by document and by term."""

    vocabulary: NDArray[np.int64]
    """The ids of the terms (t,), increasing."""
    count: Callable[[], TermCounts]
    """Returns the word counts of the documents."""
    derived: WordTerms | None
    """The positions in the vocabulary of each word's terms; None: the terms are words."""
    cache: PostingsCache | None
    """Keeps the postings; None: they are not cached."""
    size: int
    """The number of documents."""

    @cached_property
    def rows(self) -> TermCounts:
        """Return the counts by document."""
        return self.count() if self.derived is None else self.postings.by_document()

    @cached_property
    def postings(self) -> Postings:
        """Return the postings, which are cached from now on."""
        if self._cached is not None:
            return self._cached
        words = self.rows if self.derived is None else self.count()
        postings = Postings.transposed(words, len(self.vocabulary), self.derived)
        if self.cache:
            self.cache.write(postings)
        return postings

    @cached_property
    def _cached(self) -> Postings | None:
        return self.cache.read(len(self.vocabulary), self.size) if self.cache else None

    def frequencies(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return in how many documents each term occurs (t,), and the sum of its counts (t,)."""
        if self.derived is not None or self._cached is not None:
            return np.diff(self.postings.starts), self.postings.amounts
        rows, size = self.rows, len(self.vocabulary)
        return np.bincount(rows.terms, minlength=size).astype(np.int64), grouped_sums(rows.terms, rows.counts, size)

    def equal(self, terms: NDArray[np.int32], amounts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each document (n,) has exactly these `terms` (h,), -1 for unknown ones, with `amounts` (h,).

        Sums over parts or words in another order differ in the last digits.
        """
        if not len(terms) or terms.min() < 0:
            return np.zeros(self.size, bool)
        documents, values, indices = self.postings.gather(terms)
        same = documents[np.isclose(values, amounts[indices], rtol=_ROUNDING, atol=0)]
        shared = np.bincount(same, minlength=self.size)
        equal: NDArray[np.bool_] = (shared == len(terms)) & (self.postings.sizes == len(terms))
        return equal


@dataclass(frozen=True, slots=True, eq=False)
class CountedTerms:
    """The counts of each of the `segments` at one gamma.

    `statistics` cover all segments together, for the ids `word_ids` (t,), increasing.
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


WordTexts = Callable[[NDArray[np.int64]], Sequence[str]]
"""Returns the words of some ids."""


class DerivedTerms:
    """The terms that a `rule` makes of the words of segments; `table` has the first segment's terms.

    A term's id is its number in the table; later segments' terms get the next numbers. Other terms have negative ids.
    """

    def __init__(self, rule: str, table: DerivedTable) -> None:
        self._rule, self._terms, self._of_words = rule, table.terms, table.of_words
        self._new: dict[str, int] = {}
        self._later: list[tuple[NDArray[np.int64], WordTerms]] = []

    def add(self, places: NDArray[np.int64], shared: NDArray[np.bool_], texts: Sequence[str]) -> None:
        """Add a segment: words (t,) `shared` with the first segment have `places` in it, the others have `texts`."""
        own = terms_of(texts, self._rule)
        for term, number in zip(own.texts, self._terms.find(own.texts).tolist(), strict=True):
            if number < 0:
                self._new.setdefault(term, len(self._terms) + len(self._new))
        others = WordTerms(np.array(self._ids_of(own.texts), np.int32), own.starts)
        both = self._of_words.take(places[shared]).joined(others)
        terms = both.take(np.argsort(np.argsort(~shared, kind="stable")))
        ids, positions = np.unique(terms.terms, return_inverse=True)
        self._later.append((ids.astype(np.int64), WordTerms(positions.astype(np.int32), terms.starts)))

    def _ids_of(self, terms: Sequence[str]) -> list[int]:
        """Return the id of each term, -1 for one that no segment has."""
        found = zip(terms, self._terms.find(terms).tolist(), strict=True)
        return [number if number >= 0 else self._new.get(term, -1) for term, number in found]

    def names(self, ids: NDArray[np.int64]) -> list[str]:
        """Return the terms (n,) of `ids` (n,), none negative."""
        size, new = len(self._terms), list(self._new)  # in the order of ids
        return [self._terms[id_] if id_ < size else new[id_ - size] for id_ in ids.tolist()]

    def has(self, words: Sequence[str]) -> bool:
        """Return whether any of the words has a term that a segment has."""
        return bool(self.known(words))

    def known(self, words: Sequence[str]) -> set[str]:
        """Return the words with a term that a segment has."""
        terms = terms_of(words, self._rule)
        found = zip(terms.words.tolist(), self._ids_of(terms.texts), strict=True)
        return {words[row] for row, id_ in found if id_ >= 0}

    def of_segment(self, segment: int) -> tuple[NDArray[np.int64], WordTerms]:
        """Return the ids (s,) of the terms of a segment, increasing, and the positions among them of each word's."""
        return self._later[segment - 1] if segment else (np.arange(len(self._terms)), self._of_words)

    def of_query(self, query: QueryTerms) -> QueryTerms:
        """Return a query with the ids of terms instead of words."""
        own = terms_of(query.texts, self._rule)
        terms, positions = np.unique(own.texts, return_inverse=True)
        known = enumerate(self._ids_of(terms.tolist()))
        ids = np.array([id_ if id_ >= 0 else -1 - i for i, id_ in known], np.int64)
        counts = np.bincount(positions, query.counts[own.words], len(terms)).astype(np.float64, copy=False)
        none = WordVectors(np.zeros((len(ids), 0), np.float32), np.zeros(len(ids), bool))
        return QueryTerms(ids, counts, none, tuple(terms.tolist()))
