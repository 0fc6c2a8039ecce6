"""Word vectors of a small corpus by latent semantic indexing."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import TooFewWords
from moverank.indexer.files.atomic_directory import building
from moverank.indexer.progress import Progress, silent
from moverank.indexer.vectors.gensim_pickle import rows_of
from moverank.indexer.vectors.layout import open_vectors
from moverank.indexer.vectors.training_options import check_options
from moverank.indexer.vectors.vector_rows import Table, word_number
from moverank.indexer.vectors.vectors_writer import write_about, write_vectors
from moverank.rerank.words.embedding import Embedding

# Singular values below this share of the largest are rounding errors, when they come as roots of eigenvalues.
_NOISE = 1e-6


def train_lsi(
    documents: Callable[[], Iterable[Mapping[str, int]]],
    directory: Path,
    *,
    dim: int = 100,
    min_count: int = 1,
    seed: int = 1,
    normalize: bool = True,
    progress: Progress = silent,
) -> Embedding:
    """Decompose the term-document matrix of `documents` (word counts), called twice, into `directory`, and open it.

    A word's vector is its row of U S of the truncated SVD A = U S V' (Deerwester et al. 1990); such are compared by
    cosine, hence `normalize`. A holds (1 + ln count) (1 + ln(n / df)), each document brought to unit length so that
    long ones do not rule. Words that occur fewer than `min_count` times are left out; the default of 1 keeps rare
    words findable, though those of one and the same document get the same direction. There are at most `dim`
    dimensions, fewer where the rank of A is lower; they come by falling singular value, with signs such that each
    one's largest entry is positive. Raises VectorsError for a corpus without words, UsageError for an option out of
    its range.
    """
    options: dict[str, int | float] = {"dim": dim, "min_count": min_count, "seed": seed}
    check_options("lsi", options)
    with building(directory) as folder:
        words, matrix = _matrix(documents, min_count, progress)
        progress("Training vectors", 0, None, "words")
        vectors = _word_vectors(matrix, dim, seed)
        table = Table("trained", vectors.shape[1], len(words), word_number, rows_of(words, vectors))
        sizes = write_vectors(folder, table, "the training", normalize=normalize)
        write_about(folder, {**sizes, "source": "lsi", "training": {"method": "lsi", **options}})
        progress("Training vectors", len(words), len(words), "words")
    return open_vectors(directory)


def _matrix(
    documents: Callable[[], Iterable[Mapping[str, int]]], min_count: int, progress: Progress
) -> tuple[list[str], Any]:
    """Return the words by falling count, and the weighted terms x documents matrix, sparse float64."""
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


def _word_vectors(matrix: Any, dim: int, seed: int) -> NDArray[np.float64]:
    """Return U S (v, k) of the truncated SVD, k at most `dim` and the rank."""
    if min(matrix.shape) > dim:
        from scipy.sparse.linalg import svds

        start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
        u, s, _ = svds(matrix, dim, v0=start, return_singular_vectors="u")
        vectors = u * s
    elif matrix.shape[0] <= matrix.shape[1]:
        # Too small a side for Lanczos: the eigenvectors of A A' are U, its eigenvalues the squares of S.
        squares, u = np.linalg.eigh((matrix @ matrix.T).toarray())
        s = np.sqrt(np.maximum(squares, 0))
        vectors = u * s
    else:
        squares, v = np.linalg.eigh((matrix.T @ matrix).toarray())
        s = np.sqrt(np.maximum(squares, 0))
        vectors = matrix @ v  # = U S
    falling = np.argsort(-s, kind="stable")
    vectors = vectors[:, falling[s[falling] > _NOISE * s.max()]]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    signed: NDArray[np.float64] = vectors * np.sign(peaks)
    return signed
