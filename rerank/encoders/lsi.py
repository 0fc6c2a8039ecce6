"""Latent semantic indexing: documents in the space of the first singular vectors of a term-document matrix.

The bits of a row of a product do not depend on the other rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags, unit_sparse_rows
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.encoders.encoder import SEED, Documents, EncoderState, Metric, known, part, training_sample
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Option, Switch, check_options
from moverank.rerank.words.embedding import unit_rows

_NOISE = 1e-6
"""Singular values below this share of the largest are rounding errors, because they are roots of eigenvalues."""
_SMALL = 1000
"""A matrix whose smaller side is at most this is decomposed completely: the Lanczos iteration is not faster."""


def truncated_svd(matrix: Any, dim: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the right singular vectors V_k (v, k) and singular values (k,), descending, of a matrix (n, v) = U S V'.

    `matrix` is a sparse array of float64. k is `dim`, or the numerical rank if that is lower. `seed` draws the start
    vectors of the iteration. The entry of largest magnitude of each singular vector is positive.
    """
    if min(matrix.shape) > max(dim, _SMALL):
        vectors, values = _largest(matrix, dim, seed)
    elif matrix.shape[0] < matrix.shape[1]:
        # The eigenvectors of A A' are U, its eigenvalues the squares of S, and A' U = V S.
        squares, left = np.linalg.eigh((matrix @ matrix.T).toarray())
        values = np.sqrt(np.maximum(squares, 0))
        vectors = (matrix.T @ left) / np.where(values > 0, values, 1)
    else:
        squares, vectors = np.linalg.eigh((matrix.T @ matrix).toarray())
        values = np.sqrt(np.maximum(squares, 0))
    order = np.argsort(-values, kind="stable")[:dim]
    order = order[values[order] > _NOISE * values.max()]
    vectors, values = vectors[:, order], values[order]
    return vectors * peak_signs(vectors), values


def _largest(matrix: Any, dim: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return right singular vectors (v, dim) and singular values (dim,), in any order, by an iteration.

    The Lanczos iteration starts from one vector. It can stop with an error where many singular values are equal, as for
    texts made from a few templates. LOBPCG iterates on a block of `dim` vectors and does not.
    """
    from scipy.sparse.linalg import ArpackError, svds

    rng = np.random.default_rng(seed)
    try:
        _, values, rows = svds(matrix, dim, v0=rng.standard_normal(min(matrix.shape)))
    except ArpackError:
        _, values, rows = svds(matrix, dim, solver="lobpcg", rng=rng)
    return rows.T, values.astype(np.float64)


def peak_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign (k,) of the entry of largest magnitude of each column of vectors (v, k)."""
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)


DIM = Integer("dim", 200, 1, 4096)
IDF = Switch("idf", True)
INVERSE = Switch("inverse", True)
WORDS = Integer("words", 50_000, 1, 10**9)
SAMPLE = Integer("sample", 20_000, 1, 10**9)


@dataclass(frozen=True, slots=True, eq=False)
class Lsi:
    """Documents in the space of the first `dim` singular vectors of the tf-idf matrix (Deerwester et al. 1990).

    The terms x documents matrix A = U S V' holds the weights of the bags times the idf of the training documents
    (`idf=no`: the weights alone), each document scaled to length 1, so that long ones do not dominate. A document d is
    folded in as L' d with L = U_k S_k^-1, which maps the training documents to their rows of V_k; `inverse=no` takes
    L = U_k instead, so that each dimension counts by its singular value. Documents are compared by their cosine. The
    matrix has at most `sample` documents, drawn by `seed`, and their `words` most frequent words. The vectors have
    fewer dimensions if its rank is lower.
    """

    name: ClassVar[str] = "lsi"
    options: ClassVar[tuple[Option, ...]] = (DIM, IDF, INVERSE, WORDS, SAMPLE, SEED)
    metric: ClassVar[Metric] = "ip"

    word_ids: NDArray[np.int64]
    fold: NDArray[np.float32]
    """(w, k): L, each row multiplied by the idf of its word."""

    @property
    def dim(self) -> int:
        """See `Encoder.dim`."""
        return int(self.fold.shape[1])

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`."""
        check_options(cls.name, cls.options, options, EncoderError)
        seed = SEED.read(options)
        sample, word_ids = training_sample(documents, SAMPLE.read(options), WORDS.read(options), seed)
        bags = known(sample, word_ids)
        idf = np.ones(len(word_ids))
        if IDF.read(options):
            idf = inverse_document_frequency(np.bincount(bags.words, minlength=len(word_ids)), len(bags))
        matrix = unit_sparse_rows(Bags(bags.starts, bags.words, bags.weights * idf[bags.words]), len(word_ids))
        words, values = truncated_svd(matrix, DIM.read(options), seed)
        fold = words / values if INVERSE.read(options) else words
        return cls(word_ids, (fold * idf[:, None]).astype(np.float32))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; words unseen in the fit are dropped, and a document of such words has a zero vector."""
        # The length of d does not matter: the vector is scaled to length 1.
        return unit_rows(centroids(known(documents, self.word_ids), self.fold)).astype(np.float32)

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {"word_ids": self.word_ids, "fold": self.fold}

    @classmethod
    def restore(cls, state: EncoderState) -> Self:
        """See `Encoder.restore`."""
        word_ids = part(state, "word_ids", np.int64, (None,))
        fold = part(state, "fold", np.float32, (len(word_ids), None))
        if np.any(np.diff(word_ids) <= 0) or not fold.size:
            raise EncoderError("the state of lsi needs increasing word ids, and dimensions: fit it again")
        return cls(word_ids, fold)


_BLOCK = 4096


def row_products(rows: NDArray[np.floating], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `rows @ matrix` (n, b) for `rows` (n, a) and a `matrix` (a, b), in float64.

    BLAS sums a row in an order that depends on the number of rows. The sparse product sums the terms of each row one by
    one, and takes about four times as long.
    """
    from scipy.sparse import csr_array

    count, width = rows.shape
    products = np.empty((count, matrix.shape[1]))
    columns = np.tile(np.arange(width, dtype=np.int32), min(count, _BLOCK))
    for first in range(0, count, _BLOCK):
        block = rows[first : first + _BLOCK].astype(np.float64)
        starts = width * np.arange(len(block) + 1)
        sparse = csr_array((block.ravel(), columns[: block.size], starts), block.shape)
        products[first : first + _BLOCK] = sparse @ matrix
    return products
