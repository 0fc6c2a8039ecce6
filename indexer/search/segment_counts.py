"""Word counts of the live documents of one segment, by document and by term."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.snapshot.postings_cache import CountedPostings, PostingsCache
from moverank.rerank.scorers import Postings, TermCounts, merged_terms
from moverank.rerank.scorers.postings import grouped_sums

_ROUNDING = 1e-9


class SegmentCounts:
    """Counts of terms, whose ids `vocabulary` (t,) increase: words, or stems.

    `count` returns the counts of words by document. `merged` (w,) is the position in the vocabulary of each word, None
    if the terms are words. `cache` keeps the postings, None: nothing does.
    """

    def __init__(
        self,
        vocabulary: NDArray[np.int64],
        count: Callable[[], TermCounts],
        merged: NDArray[np.int32] | None,
        cache: PostingsCache | None,
    ) -> None:
        self.vocabulary = vocabulary
        self._count, self._merged, self._cache = count, merged, cache

    @cached_property
    def rows(self) -> TermCounts:
        """Return the counts by document."""
        return self._count() if self._merged is None else self.counted.postings.by_document()

    @cached_property
    def counted(self) -> CountedPostings:
        """Return the postings, which are cached from now on."""
        if self._cached is not None:
            return self._cached
        size = len(self.vocabulary)
        words = self.rows if self._merged is None else self._count()
        merged = self._merged
        postings = Postings.transposed(words, size) if merged is None else merged_terms(words, merged, size)
        counted = CountedPostings.of(postings)
        if self._cache:
            self._cache.write(counted)
        return counted

    @cached_property
    def _cached(self) -> CountedPostings | None:
        return self._cache.read() if self._cache else None

    def frequencies(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return in how many documents each term occurs (t,), and the sum of its counts (t,)."""
        if self._merged is not None or self._cached is not None:
            return np.diff(self.counted.postings.starts), self.counted.amounts
        rows, size = self.rows, len(self.vocabulary)
        return np.bincount(rows.terms, minlength=size).astype(np.int64), grouped_sums(rows.terms, rows.counts, size)

    def equal(self, terms: NDArray[np.int32], amounts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each document (n,) has exactly these `terms` (h,), -1 for unknown ones, with `amounts` (h,).

        Sums over parts or words in another order differ in the last digits.
        """
        counted = self.counted
        if not len(terms) or terms.min() < 0:
            return np.zeros(len(counted.sizes), bool)
        documents, values, indices = counted.postings.gather(terms)
        same = documents[np.isclose(values, amounts[indices], rtol=_ROUNDING, atol=0)]
        shared = np.bincount(same, minlength=len(counted.sizes))
        equal: NDArray[np.bool_] = (shared == len(terms)) & (counted.sizes == len(terms))
        return equal
