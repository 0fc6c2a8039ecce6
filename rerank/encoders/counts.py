"""The input of count models: a sample of the documents, its most frequent words, and the matrix of counts."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import Documents, known, sample_rows
from moverank.rerank.errors import EncoderError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def training_sample(documents: Documents, limit: int, words: int, seed: int) -> tuple[Documents, NDArray[np.int64]]:
    """Return at most `limit` of `documents`, drawn by `seed`, and the ids of their `words` most frequent words.

    See `frequent_words`. Raises EncoderError if the sample has no word.
    """
    sample = documents.take(sample_rows(len(documents), limit, seed))
    return sample, frequent_words(sample, words)


def frequent_words(documents: Documents, limit: int) -> NDArray[np.int64]:
    """Return the ids (w,), increasing, of the `limit` words of highest document frequency; lower ids win ties.

    Raises EncoderError if the documents have no word.
    """
    words = documents.bags.words
    if not len(words):
        raise EncoderError("an encoder is fitted to documents with words: give at least one")
    frequencies = np.bincount(words, minlength=len(documents.word_ids))
    first = np.argsort(-frequencies, kind="stable")[:limit]
    return documents.word_ids[np.sort(first[frequencies[first] > 0])]


def count_matrix(documents: Documents, word_ids: NDArray[np.int64]) -> "csr_array[np.float64, tuple[int, int]]":
    """Return the counts (n, w) of `word_ids` (w,), strictly increasing, in each document: weight * length."""
    from scipy.sparse import csr_array  # 0.2 s

    bags = known(documents, word_ids)
    counts = bags.weights * np.repeat(documents.lengths, np.diff(bags.starts))
    return csr_array((counts, bags.words, bags.starts), shape=(len(bags), len(word_ids)))
