"""What models of counts learn from: the words that most documents share, and how often each document has them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import Documents, known
from moverank.rerank.errors import EncoderError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def frequent_words(documents: Documents, limit: int) -> NDArray[np.int64]:
    """Return the ids (w,), increasing, of at most `limit` words: those of the most documents, of equals the lower ids.

    Raises EncoderError where there is no document.
    """
    words = documents.bags.words
    if not len(words):
        raise EncoderError("an encoder learns from documents: give it one at least")
    frequencies = np.bincount(words, minlength=len(documents.word_ids))
    first = np.argsort(-frequencies, kind="stable")[:limit]
    return documents.word_ids[np.sort(first[frequencies[first] > 0])]


def counted(documents: Documents, word_ids: NDArray[np.int64]) -> "csr_array[np.float64, tuple[int, int]]":
    """Return how often each document has each of `word_ids` (w,), increasing: (n, w), weight * length."""
    from scipy.sparse import csr_array  # 0.2 s: only for who fits or encodes

    bags = known(documents, word_ids)
    counts = bags.weights * np.repeat(documents.lengths, np.diff(bags.starts))
    return csr_array((counts, bags.words, bags.starts), shape=(len(bags), len(word_ids)))
