"""Document frequencies of the words with a vector, for idf."""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.store import Reader
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.bags.weights import inverse_document_frequency


class WordFrequencies:
    """The document frequency of each word with a vector, and the number of documents, in one state."""

    def __init__(self, reader: Reader) -> None:
        pairs = np.array(reader.frequencies(), np.int64).reshape(-1, 2)
        self._ids, self._frequencies = pairs[:, 0], pairs[:, 1]
        self._documents = reader.document_count()

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id; a word in no document gets the largest."""
        rows, present = lookup(word_ids, self._ids)
        frequencies = np.zeros(len(word_ids), np.int64)
        frequencies[present] = self._frequencies[rows[present]]
        return inverse_document_frequency(frequencies, self._documents)
