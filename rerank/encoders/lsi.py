"""Latent semantic indexing: documents in the space of the first singular vectors of a term-document matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.sparse_rows import unit_sparse_rows
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.encoders.counts import training_sample
from moverank.rerank.encoders.encoder import SEED, Documents, Metric, State, known, part
from moverank.rerank.encoders.truncated_svd import truncated_svd
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Option, Switch, check_options
from moverank.rerank.words.unit_length import unit_rows

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
    def restore(cls, state: State) -> Self:
        """See `Encoder.restore`."""
        word_ids = part(state, "word_ids", np.int64, (None,))
        fold = part(state, "fold", np.float32, (len(word_ids), None))
        if np.any(np.diff(word_ids) <= 0) or not fold.size:
            raise EncoderError("the state of lsi needs increasing word ids, and dimensions: fit it again")
        return cls(word_ids, fold)
