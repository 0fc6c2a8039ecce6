"""What scikit-learn calls X: texts, or rows of numbers with a word vector for each column."""

import os
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.adapters.text_bags import Known
from moverank.rerank.bags.bag import Bag
from moverank.rerank.errors import BagError, EmbeddingError
from moverank.rerank.words.embedding import Embedding, unusable_rows
from moverank.rerank.words.stop_words import StopWords
from moverank.rerank.words.stop_words import stop_words as stop_list
from moverank.rerank.words.tokenizer import Tokenizer

MOST_COLUMNS = 10_000
"""The most columns without given vectors: as many dimensions each, they take 400 MB."""


def are_texts(samples: Any) -> bool:
    """Return whether the first of one-dimensional samples is a string."""
    return getattr(samples, "ndim", 1) == 1 and hasattr(samples, "__len__") and isinstance(next(iter(samples), 0), str)


def known_words(embedding: object) -> Known:
    """Return the look-up of words in an `Embedding`, or in that of `Reranker.load` for the name or path of one.

    Raises EmbeddingError for anything else, and what `Reranker.load` raises.
    """
    if isinstance(embedding, str | os.PathLike):
        embedding = _loaded(os.fspath(embedding))
    if not isinstance(embedding, Embedding):
        kind = type(embedding).__name__
        raise EmbeddingError(f"embedding must be a moverank.Embedding or the path of word vectors, not a {kind}")
    return embedding.known


@lru_cache(maxsize=1)  # a search over parameters fits many times
def _loaded(path: str) -> Embedding:
    from moverank import Reranker  # adapters are clients of the public face, which is loaded on first use

    return Reranker.load(path).embedding


def counted_texts(texts: Iterable[Any], stop_words: StopWords) -> list[Counter[str]]:
    """Return the word counts of texts, without `stop_words`: "english", "none", or a list of words.

    Raises OptionError for other stop words, BagError for a single string, and for any in `texts` that is no string.
    """
    if isinstance(texts, str):
        raise BagError("X must be a list of texts, not a single string: put it into a list")
    tokenizer = Tokenizer(stop_list(stop_words))
    counted = []
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise BagError(
                f"with an embedding, X must be a list of texts: sample {row} is of type {type(text).__name__}"
            )
        counted.append(tokenizer.count(text))
    if not counted:
        raise BagError("X has 0 texts: at least one is needed")
    return counted


def row_bags(rows: Any) -> list[Bag | None]:
    """Return the bag of each of `rows`, a CSR matrix (n, v) of numbers >= 0; None for a row of zeros."""
    bags: list[Bag | None] = []
    for start, stop in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        words, weights = rows.indices[start:stop], rows.data[start:stop]
        bags.append(Bag.of(words, weights) if np.any(weights > 0) else None)
    return bags


def column_vectors(vectors: ArrayLike | None, columns: int) -> NDArray[np.float32]:
    """Return the word vectors (v, d) float32 of `columns` columns, unit vectors of v dimensions if `vectors` is None.

    Raises EmbeddingError for vectors of another number of columns, of numbers that are not finite, and for None with
    more than `MOST_COLUMNS`.
    """
    if vectors is None:
        if columns > MOST_COLUMNS:
            raise EmbeddingError(f"X has {columns:,} columns, more than {MOST_COLUMNS:,}: give their word vectors")
        return np.eye(columns, dtype=np.float32)
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(vectors, np.float32)
    if matrix.ndim != 2 or len(matrix) != columns or not matrix.size:
        raise EmbeddingError(f"vectors must be a row for each column of X, ({columns}, d), not {matrix.shape}")
    bad = unusable_rows(matrix)
    if len(bad):
        raise EmbeddingError(f"row {bad[0]} of vectors has a number that is not finite, or beyond 1e15")
    return matrix
