"""Latent semantic indexing: documents among the main singular vectors of a term-document matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.encoders.counts import frequent_words
from moverank.rerank.encoders.encoder import Documents, Metric, State, known, part, sample_rows, unit
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Option, Switch, Whole, check_options

DIM = Whole("dim", 200, 1, 4096)
IDF = Switch("idf", True)
INVERSE = Switch("inverse", True)
WORDS = Whole("words", 50_000, 1, 10**9)
SAMPLE = Whole("sample", 20_000, 1, 10**9)
SEED = Whole("seed", 0, 0, 2**32 - 1)

_NOISE = 1e-6
"""Singular values below this share of the largest are rounding errors: they are roots of eigenvalues."""
_SMALL = 400
"""A matrix whose smaller side is no longer is decomposed whole: Lanczos needs room, and would not be faster."""


@dataclass(frozen=True, slots=True, eq=False)
class Lsi:
    """Documents among the `dim` main singular vectors of the tf-idf matrix (Deerwester et al. 1990).

    The terms x documents matrix A = U S V' has the weights of the bags times the idf of the fitted documents (`idf=no`:
    the weights alone), each document at length 1, so that long ones do not rule. Any document d is folded in as L' d
    with L = U_k S_k^-1, which gives the fitted ones their rows of V_k; `inverse=no` takes L = U_k instead, so each
    direction counts by its singular value. Documents are compared by their cosine. At most `sample` documents are
    learned from, and of them at most `words` words, those of the most documents. There are fewer dimensions where the
    matrix has a lower rank.
    """

    name: ClassVar[str] = "lsi"
    options: ClassVar[tuple[Option, ...]] = (DIM, IDF, INVERSE, WORDS, SAMPLE, SEED)
    metric: ClassVar[Metric] = "ip"

    word_ids: NDArray[np.int64]
    fold: NDArray[np.float32]
    """(w, k): L, each row times the idf of its word."""

    @property
    def dim(self) -> int:
        """See `Encoder.dim`."""
        return int(self.fold.shape[1])

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`."""
        check_options(cls.name, cls.options, options, EncoderError)
        seed = SEED.read(options)
        learned_from = documents.take(sample_rows(len(documents), SAMPLE.read(options), seed))
        word_ids = frequent_words(learned_from, WORDS.read(options))
        bags = known(learned_from, word_ids)
        idf = np.ones(len(word_ids))
        if IDF.read(options):
            idf = inverse_document_frequency(np.bincount(bags.words, minlength=len(word_ids)), len(bags))
        matrix = _unit_rows(Bags(bags.starts, bags.words, bags.weights * idf[bags.words]), len(word_ids))
        words, values = decomposed(matrix, DIM.read(options), seed)
        fold = words / values if INVERSE.read(options) else words
        return cls(word_ids, (fold * idf[:, None]).astype(np.float32))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; words that the fit did not know are left out: with no other there is a zero vector."""
        # Its length does not matter, for it is brought to 1: neither does that of d.
        return unit(centroids(known(documents, self.word_ids), self.fold).astype(np.float64)).astype(np.float32)

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {"word_ids": self.word_ids, "fold": self.fold}

    @classmethod
    def restore(cls, state: State) -> Self:
        """See `Encoder.restore`."""
        word_ids = part(state, "word_ids", np.int64, (None,))
        fold = part(state, "fold", np.float32, (len(word_ids), None))
        if np.any(np.diff(word_ids) <= 0) or not fold.size:
            raise EncoderError("the state of lsi needs words that increase, and dimensions: fit it again")
        return cls(word_ids, fold)


def decomposed(matrix: Any, dim: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return U_k (v, k) and the singular values (k,), falling, of documents x words A' = V S U' (n, v).

    k is `dim`, or the rank where that is lower. The largest entry of each column is positive.
    """
    if min(matrix.shape) > max(dim, _SMALL):
        from scipy.sparse.linalg import svds

        start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
        found: Any = svds(matrix, dim, v0=start)
        _, values, rows = found
        words = rows.T
    elif matrix.shape[0] < matrix.shape[1]:
        # The eigenvectors of A' A are V, its eigenvalues the squares of S, and A V = U S.
        squares, documents = np.linalg.eigh((matrix @ matrix.T).toarray())
        values = np.sqrt(np.maximum(squares, 0))
        words = (matrix.T @ documents) / np.where(values > 0, values, 1)
    else:
        squares, words = np.linalg.eigh((matrix.T @ matrix).toarray())
        values = np.sqrt(np.maximum(squares, 0))
    falling = np.argsort(-values, kind="stable")[:dim]
    falling = falling[values[falling] > _NOISE * values.max()]
    words, values = words[:, falling], values[falling]
    peaks = words[np.abs(words).argmax(axis=0), np.arange(words.shape[1])]
    return words * np.where(peaks < 0, -1.0, 1.0), values


def _unit_rows(bags: Bags, v: int) -> Any:
    """Return bags of v words as a sparse matrix with rows of length 1; empty rows stay empty."""
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(len(bags)), np.diff(bags.starts))
    lengths = np.sqrt(np.bincount(rows, bags.weights**2, len(bags)))
    return csr_array((bags.weights / lengths[rows], bags.words, bags.starts), shape=(len(bags), v))
