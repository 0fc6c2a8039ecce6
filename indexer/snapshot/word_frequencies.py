"""Document frequencies of the words with a vector, for idf."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.store import Reader
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.bags.weights import inverse_document_frequency

Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Word ids (v,), increasing, and in how many documents each occurs (v,)."""


@dataclass(frozen=True, slots=True, eq=False)
class WordFrequencies:
    """The number of `documents`, and `frequencies` (v,), in how many of them each of `ids` (v,), increasing, occurs."""

    ids: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    documents: int

    @classmethod
    def stored(cls, reader: Reader) -> Self:
        """Return those that the database has, which are written with each change."""
        pairs = np.array(reader.frequencies(), np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1], reader.document_count())

    @classmethod
    def counted(cls, several: Iterable[Counted], documents: int) -> Self:
        """Return those of several segments: counting them takes a tenth of the time of reading the database."""
        ids, frequencies = np.empty(0, np.int64), np.empty(0, np.int64)
        for word_ids, own in several:
            both = np.union1d(ids, word_ids)
            total = np.zeros(len(both), np.int64)
            total[np.searchsorted(both, ids)] = frequencies
            total[np.searchsorted(both, word_ids)] += own
            ids, frequencies = both, total
        return cls(ids, frequencies, documents)

    def idf_of_query(self, word_ids: NDArray[np.int64], _texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the idf (n,) of words of a query by id."""
        return self.idf(word_ids)

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id; a word in no document gets the largest."""
        rows, present = lookup(word_ids, self.ids)
        frequencies = np.zeros(len(word_ids), np.int64)
        frequencies[present] = self.frequencies[rows[present]]
        return inverse_document_frequency(frequencies, self.documents)
