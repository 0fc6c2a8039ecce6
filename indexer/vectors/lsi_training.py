"""Word vectors for a small corpus by latent semantic indexing."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import TooFewWords
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.vectors.formats.gensim_pickle import chunks_of
from moverank.indexer.vectors.formats.word2vec import VectorTable, word_label
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.indexer.vectors.vectors_writer import vectors_directory, write_manifest, write_vectors
from moverank.indexer.vectors.word2vec_training import checked_options
from moverank.rerank.encoders.lsi import truncated_svd
from moverank.rerank.words.embedding import Embedding, row_lengths, unit_rows

OWN_DIMENSIONS = 28
"""The number of dimensions for the words' own directions."""

LEAST, MOST = 50, 200
"""The numbers of dimensions of long and of short texts without the option `dim`."""
_DIMENSIONS_BY_WORDS = 5_000
"""The number of dimensions between them, times the mean number of different words of a text; see `dimensions`."""


def train_lsi(
    documents: Callable[[], Iterable[Mapping[str, int]]],
    directory: Path,
    *,
    normalize: bool = True,
    progress: Progress = silent,
    **options: float,
) -> Embedding:
    """Decompose the term-document matrix of a corpus, write the words' vectors to `directory`, and open them.

    A word's vector is its row of U S of the truncated SVD A = U S V' (Deerwester et al. 1990); these are compared by
    cosine, hence `normalize`. A holds (1 + ln count) (1 + ln(n / df)), with each document scaled to unit length so that
    long ones do not dominate. Dimensions are ordered by falling singular value, with signs such that the largest entry
    of each is positive. Raises TooFewWords for a corpus without words, UsageError for an option out of its range.

    `documents` is called twice, and yields the word counts of each document; `directory` is created or replaced. There
    are at most `dim` dimensions, by default those of `dimensions`, fewer if the rank of A is lower, and
    `OWN_DIMENSIONS` more: see `_with_own`. Words that occur fewer than `min_count` times get no vector. `seed` draws
    the SVD's start vector and the own directions; `normalize` scales vectors to unit length; `progress` is called after
    each document is counted, and before and after the decomposition.
    """
    chosen = checked_options("lsi", options)
    with vectors_directory(directory) as temporary:
        words, matrix = _matrix(documents, chosen["min_count"], progress)
        chosen["dim"] = chosen["dim"] or dimensions(matrix.nnz / matrix.shape[1])
        progress("Training vectors", 0, None, "words")
        vectors, values = truncated_svd(matrix.T, chosen["dim"], chosen["seed"])
        rows = _with_own(vectors * values, matrix, chosen["seed"])
        table = VectorTable("trained", rows.shape[1], len(words), word_label, chunks_of(words, rows))
        sizes = write_vectors(temporary, table, "the training", normalize=normalize)
        write_manifest(temporary, {**sizes, "source": "lsi", "training": {"method": "lsi", **chosen}})
        progress("Training vectors", len(words), len(words), "words")
    return open_vectors(directory)


def dimensions(words: float) -> int:
    """Return the number of dimensions for texts of so many different `words`, on the mean.

    A short text says less of which words belong together: more dimensions keep them apart, fewer join them.
    """
    return round(min(max(_DIMENSIONS_BY_WORDS / words, LEAST), MOST))


def _with_own(vectors: NDArray[np.float64], matrix: Any, seed: int) -> NDArray[np.float64]:
    """Return the words' vectors (v, d + `OWN_DIMENSIONS`) of the same lengths, each in part in a direction of its own.

    Words that occur only in one document, the same one, have equal rows of U S, though they need not mean the same. A
    share, 1 / (4 df^3), of a word's squared length is moved to a random direction in dimensions that the SVD does not
    use: at length 1, two such words are .7 apart, unrelated ones 1.4. `matrix` (v, n) is A.
    """
    shares = 0.25 / matrix.count_nonzero(axis=1)[:, None] ** 3.0
    own = np.random.default_rng(seed).standard_normal((len(vectors), OWN_DIMENSIONS))
    lengths = row_lengths(vectors)[:, None]
    return np.hstack([vectors * np.sqrt(1.0 - shares), unit_rows(own) * lengths * np.sqrt(shares)])


def _matrix(
    documents: Callable[[], Iterable[Mapping[str, int]]], min_count: int, progress: Progress
) -> tuple[list[str], Any]:
    """Return the words by falling count, and the weighted term-document matrix A (v, n), sparse float64."""
    import scipy.sparse

    total: Counter[str] = Counter()
    for n, document in enumerate(documents()):
        total.update(document)
        progress("Counting words", n + 1, None, "documents")
    words = [word for word, count in total.most_common() if count >= min_count]
    rows = {word: row for row, word in enumerate(words)}
    terms, counts, starts = array("i"), array("d"), array("q", [0])
    for document in documents():
        known = [(rows[word], count) for word, count in document.items() if word in rows and count > 0]
        if known:
            terms.extend(row for row, _ in known)
            counts.extend(count for _, count in known)
            starts.append(len(terms))
    if not len(terms):
        raise TooFewWords(
            f"no word occurs {min_count} times in the corpus: vectors cannot be trained on it; index some text first"
        )
    ids, n = np.array(terms), len(starts) - 1
    frequencies = np.bincount(ids, minlength=len(words))
    weights = (1 + np.log(np.array(counts))) * (1 + np.log(n / frequencies[ids]))
    lengths = np.sqrt(np.add.reduceat(weights**2, np.array(starts[:-1])))
    weights /= np.repeat(lengths, np.diff(np.array(starts)))
    return words, scipy.sparse.csc_array((weights, ids, np.array(starts)), shape=(len(words), n))
