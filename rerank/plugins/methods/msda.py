"""Marginalised stacked denoising autoencoder: words that occur together predict each other (Chen et al. 2012)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import SEED, Documents, EncoderState, Metric, known, part, training_sample
from moverank.rerank.encoders.lsi import row_products
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Number, Option, Switch, check_options
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import unit_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    SparseRows = csr_array[np.float64, tuple[int, int]]

NOISE = Number("noise", 0.2, 0, 0.99)
LAYERS = Integer("layers", 1, 1, 20)
FEATURES = Integer("features", 1000, 1, 20_000)
CENTRE = Switch("centre", default=True)
WORDS = Integer("words", 5000, 1, 10**9)
SAMPLE = Integer("sample", 20_000, 1, 10**9)

_RIDGE = 1e-5
"""Added to the diagonal of E[Q], which is singular where words always occur together."""

_BLOCK = 4096  # documents that are encoded together


@dataclass(frozen=True, slots=True, eq=False)
class Msda:
    """Vectors are the hidden layers, tanh(W x), of autoencoders that learn to restore randomly dropped words.

    The input is the square root of each word's weight, so that frequent words do not dominate. The first layer restores
    only the `features` most frequent words, once from each block of words, and takes the mean over the blocks: the
    paper's method for large vocabularies. Each further layer restores the layer before. The vector is the concatenation
    of all layers, each minus its mean over the training documents and scaled to length 1, and is itself scaled to
    length 1; the similarity is the inner product. `centre=no` does not subtract the means, as in the paper: they are
    common to all documents, and hide the differences.

    Options: `noise`, the probability that a word is dropped; `layers`; `features`; `centre`; the largest number of
    `words` in the vocabulary and of documents in the training `sample`; `seed` of the sample. A document without known
    words gets the vector of the biases.
    """

    name: ClassVar[str] = "msda"
    metric: ClassVar[Metric] = "ip"
    options: ClassVar[tuple[Option, ...]] = (NOISE, LAYERS, FEATURES, CENTRE, WORDS, SAMPLE, SEED)

    word_ids: NDArray[np.int64]
    """(w,), strictly increasing."""
    first: NDArray[np.float32]
    """(w + 1, r) weights from words to features; the last row is the bias."""
    deeper: NDArray[np.float32]
    """(layers - 1, r + 1, r) weights and biases from each layer to the next."""
    means: NDArray[np.float32]
    """(layers, r) the means of the hidden layers over the training documents, or zeros."""

    @property
    def dim(self) -> int:
        """Return layers * features."""
        return self.means.size

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`; each layer has a closed form."""
        check_options(cls.name, cls.options, options, EncoderError)
        limit, words, seed = (option.read(options) for option in (SAMPLE, WORDS, SEED))
        sample, word_ids = training_sample(documents, limit, words, seed)
        noise, inputs = NOISE.read(options), _inputs(sample, word_ids)
        first = _first_layer(inputs, FEATURES.read(options), noise).astype(np.float32)
        hidden, deeper = np.tanh(_with_bias(inputs, first)), []
        means = [hidden.mean(axis=0)]
        for _ in range(LAYERS.read(options) - 1):
            matrix = denoiser(*_moments(hidden, hidden), noise).astype(np.float32)
            hidden = np.tanh(hidden @ matrix[:-1].astype(np.float64) + matrix[-1])
            deeper.append(matrix)
            means.append(hidden.mean(axis=0))
        r = first.shape[1]
        centre = np.array(means, np.float32) if CENTRE.read(options) else np.zeros((len(means), r), np.float32)
        return cls(word_ids, first, np.array(deeper, np.float32).reshape(-1, r + 1, r), centre)

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`."""
        vectors = np.empty((len(documents), self.dim), np.float32)
        for start in range(0, len(documents), _BLOCK):
            if start:
                check_time()
            rows = np.arange(start, min(start + _BLOCK, len(documents)))
            vectors[rows] = self._encode(_inputs(documents.take(rows), self.word_ids))
        return vectors

    def _encode(self, inputs: "SparseRows") -> NDArray[np.float64]:
        hidden = np.tanh(_with_bias(inputs, self.first))
        layers = [unit_rows(hidden - self.means[0])]
        for matrix, mean in zip(self.deeper, self.means[1:], strict=True):
            hidden = np.tanh(row_products(hidden, matrix[:-1].astype(np.float64)) + matrix[-1])
            layers.append(unit_rows(hidden - mean))
        return unit_rows(np.hstack(layers))

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {"word_ids": self.word_ids, "first": self.first, "deeper": self.deeper, "means": self.means}

    @classmethod
    def restore(cls, state: EncoderState) -> Self:
        """See `Encoder.restore`."""
        word_ids = part(state, "word_ids", np.int64, (None,))
        means = part(state, "means", np.float32, (None, None))
        layers, r = means.shape
        first = part(state, "first", np.float32, (len(word_ids) + 1, r))
        if not (means.size and len(word_ids) and np.all(np.diff(word_ids) > 0)):
            raise EncoderError("the state of msda needs features, and increasing word ids: fit it again")
        return cls(word_ids, first, part(state, "deeper", np.float32, (layers - 1, r + 1, r)), means)


def denoiser(scatter: NDArray[np.float64], cross: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return the linear map (d + 1, r) that best restores targets from inputs that `noise` drops independently.

    `scatter` (d + 1, d + 1) is X'X of the inputs with a last column of ones, which is never dropped, and `cross`
    (d + 1, r) is X'Y of inputs and targets; `noise` is the probability of a drop. The expected sum of squares is least
    at W = E[P] E[Q]^-1 (Chen et al. 2012), here with a small ridge.
    """
    from scipy.linalg import cho_factor, cho_solve

    survival = np.full(len(scatter), 1 - noise)
    survival[-1] = 1
    expected = scatter * np.outer(survival, survival)
    # The square of a word survives with the probability of one word, not of two.
    np.fill_diagonal(expected, scatter.diagonal() * survival + _RIDGE)
    matrix: NDArray[np.float64] = cho_solve(cho_factor(expected, overwrite_a=True), cross * survival[:, None])
    return matrix


def _first_layer(inputs: "SparseRows", features: int, noise: float) -> NDArray[np.float64]:
    """Return the first layer (w + 1, r) for inputs (n, w): the mean of the denoisers of all blocks of words.

    `features` is the size of a block and the largest r; `noise` is the probability that a word is dropped.
    """
    frequencies = np.bincount(inputs.indices, minlength=inputs.shape[1])
    order = np.argsort(-frequencies, kind="stable")
    columns, targets = inputs.tocsc(), inputs.tocsc()[:, np.sort(order[:features])]
    blocks = -(-len(order) // features)
    layer = np.zeros((len(order) + 1, targets.shape[1]))
    for block in range(blocks):
        check_time()
        # Words are distributed by rank, so that each block has frequent and rare ones.
        words = np.sort(order[block::blocks])
        matrix = denoiser(*_moments(columns[:, words], targets), noise)
        layer[words] = matrix[:-1] / blocks
        layer[-1] += matrix[-1] / blocks
    return layer


def _moments(inputs: Any, targets: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return X'X (d + 1, d + 1) and X'Y (d + 1, r) of inputs (n, d), with a last column of ones, sparse or dense."""
    n, d = inputs.shape
    scatter, cross = np.empty((d + 1, d + 1)), np.empty((d + 1, targets.shape[1]))
    scatter[:d, :d], cross[:d] = _dense(inputs.T @ inputs), _dense(inputs.T @ targets)
    scatter[:d, d] = scatter[d, :d] = inputs.sum(axis=0)
    scatter[d, d], cross[d] = n, targets.sum(axis=0)
    return scatter, cross


def _dense(matrix: Any) -> NDArray[np.float64]:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.todense())


def _inputs(documents: Documents, word_ids: NDArray[np.int64]) -> "SparseRows":
    """Return the square roots of the weights of known words, sparse (n, w)."""
    from scipy.sparse import csr_array

    bags = known(documents, word_ids)
    return csr_array((np.sqrt(bags.weights), bags.words, bags.starts), shape=(len(bags), len(word_ids)))


def _with_bias(rows: "SparseRows", matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return `rows` (n, w) times `matrix` (w + 1, r), whose last row is the bias, in float64; rows are independent."""
    used, columns = np.unique(rows.indices, return_inverse=True)
    narrow = type(rows)((rows.data, columns, rows.indptr), shape=(rows.shape[0], len(used)))
    product: NDArray[np.float64] = narrow @ matrix[used].astype(np.float64) + matrix[-1]
    return product
