"""The Fisher vector of a bag of embedded words (Clinchant & Perronnin 2013; Perronnin et al. 2010)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags, row_entries
from moverank.rerank.encoders.encoder import SEED, Documents, Metric, State, part, sample_rows
from moverank.rerank.encoders.mixture import Mixture
from moverank.rerank.encoders.principal import Principal
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Number, Option, Switch, check_options
from moverank.rerank.words.unit_length import unit_rows

K = Integer("k", 64, 1, 1024)
DIM = Integer("dim", 64, 1, 1024)
VARIANCES = Switch("variances", False)
POWER = Switch("power", True)
L2 = Switch("l2", True)
FREQUENCY = Number("frequency", 0, 0, 1)
SAMPLE = Integer("sample", 100_000, 1, 10**9)

LEAST = 1e-4
"""Responsibilities below this are set to zero, and the others of the word are scaled to a sum of 1."""
_ROUNDS = 20  # the largest number of iterations of expectation maximisation
_PORTION = 8192  # documents whose words are projected together
_CELLS = 2**19  # float64 numbers in a block of vectors: small enough for the CPU cache


@dataclass(frozen=True, slots=True, eq=False)
class Fisher:
    """The gradient of a document's log-likelihood under a mixture of Gaussians that is fitted to all words.

    The word vectors are projected to `dim` principal axes, which are weighted by corpus frequency, and a mixture of `k`
    Gaussians is fitted to them. The document vector is the gradient by the means, k * dim numbers (eq. 8), and with
    `variances` also by the variances, as many numbers again; each word counts by its weight in the bag. `power` takes
    the signed square root of each number. With `l2` the vector is scaled to length 1 and the similarity is the inner
    product, otherwise it is the L2 distance. At most `sample` words, drawn by `seed`, are used for fitting.

    In the fit of the mixture the weight of a word is its corpus frequency to the power of `frequency`: 1 corresponds to
    the paper's sample of tokens, 0 counts every word once. With 1, Gaussians shrink to single frequent words, and the
    candidates contain far fewer of the neighbours by exact distance (tests/benchmarks/first_stage.py).
    """

    name: ClassVar[str] = "fisher"
    options: ClassVar[tuple[Option, ...]] = (K, DIM, VARIANCES, POWER, L2, FREQUENCY, SAMPLE, SEED)

    principal: Principal
    mixture: Mixture
    variances: bool
    power: bool
    l2: bool

    @property
    def metric(self) -> Metric:
        """See `Encoder.metric`."""
        return "ip" if self.l2 else "l2"

    @property
    def dim(self) -> int:
        """See `Encoder.dim`; there are no more Gaussians than distinct word vectors."""
        return self.mixture.means.size * (2 if self.variances else 1)

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`."""
        check_options(cls.name, cls.options, options, EncoderError)
        bags, seed = documents.bags, SEED.read(options)
        counts = bags.weights * np.repeat(documents.lengths, np.diff(bags.starts))
        frequencies = np.bincount(bags.words, counts, len(documents.word_ids)).astype(np.float64)
        used = np.flatnonzero(frequencies > 0)
        if not len(used):
            raise EncoderError("fisher has no word to learn from: fit it to documents with words")
        used = used[sample_rows(len(used), SAMPLE.read(options), seed)]
        vectors, frequencies = documents.vectors[used], frequencies[used]
        principal = Principal.of(vectors, frequencies, DIM.read(options))
        weights: NDArray[np.float64] = frequencies ** FREQUENCY.read(options)
        mixture = Mixture.fit(principal.project(vectors), weights, K.read(options), _ROUNDS, seed)
        return cls(principal, mixture, VARIANCES.read(options), POWER.read(options), L2.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; words unseen in the fit count, too."""
        if documents.vectors.shape[1] != len(self.principal.mean):
            raise EncoderError(
                f"fisher was fitted to word vectors of {len(self.principal.mean)} dimensions, "
                f"not {documents.vectors.shape[1]}: fit it again"
            )
        vectors = np.empty((len(documents), self.dim), np.float32)
        block = max(1, _CELLS // self.dim)
        for first in range(0, len(documents), _PORTION):
            portion = documents.bags.take(np.arange(first, min(first + _PORTION, len(documents))))
            used, columns = np.unique(portion.words, return_inverse=True)
            points = self.principal.project(documents.vectors[used])
            shares = self._responsibilities(points)
            bags = Bags(portion.starts, columns.astype(np.int32), portion.weights)
            for start in range(0, len(bags), block):
                rows = np.arange(start, min(start + block, len(bags)))
                vectors[first + rows] = self._normalised(self._gradients(bags.take(rows), points, shares))
        return vectors

    def _responsibilities(self, points: NDArray[np.float64]) -> Any:
        """Return the responsibilities (v, k) of points (v, e) as a sparse array, without those below `LEAST`."""
        from scipy.sparse import csr_array

        shares = self.mixture.responsibilities(points)
        shares[shares < LEAST] = 0
        shares /= shares.sum(axis=1, keepdims=True)
        return csr_array(shares)

    def _gradients(self, bags: Bags, points: NDArray[np.float64], shares: Any) -> NDArray[np.float64]:
        """Return the gradients (n, dim) of bags; `points` (v, e) of words have responsibilities `shares` (v, k)."""
        mixture, n = self.mixture, len(bags)
        masses = _masses(bags, shares)
        # Moments 0, 1 and 2 of the points for each document and Gaussian.
        zeroth = (masses @ np.ones(len(points))).reshape(n, -1, 1)
        first = (masses @ points).reshape(n, *mixture.means.shape)
        roots = np.sqrt(mixture.shares)[:, None]
        by_means: NDArray[np.float64] = (first - zeroth * mixture.means) / (np.sqrt(mixture.variances) * roots)
        if not self.variances:
            return by_means.reshape(n, -1)
        second = (masses @ (points * points)).reshape(first.shape)
        central = second - 2 * first * mixture.means + zeroth * mixture.means**2
        by_variances = (central / mixture.variances - zeroth) / (np.sqrt(2) * roots)
        return np.concatenate([by_means.reshape(n, -1), by_variances.reshape(n, -1)], axis=1)

    def _normalised(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.power:
            gradients = np.copysign(np.sqrt(np.abs(gradients)), gradients)
        largest = float(np.finfo(np.float32).max)
        return unit_rows(gradients) if self.l2 else np.clip(gradients, -largest, largest)

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {
            "mean": self.principal.mean,
            "axes": self.principal.axes,
            "shares": self.mixture.shares,
            "means": self.mixture.means,
            "spreads": self.mixture.variances,
            "variances": np.array(self.variances),
            "power": np.array(self.power),
            "l2": np.array(self.l2),
        }

    @classmethod
    def restore(cls, state: State) -> Self:
        """See `Encoder.restore`."""
        axes, means = part(state, "axes", np.float64, (None, None)), part(state, "means", np.float64, (None, None))
        principal = Principal(part(state, "mean", np.float64, axes.shape[:1]), axes)
        shares = part(state, "shares", np.float64, means.shape[:1])
        mixture = Mixture(shares, means, part(state, "spreads", np.float64, means.shape))
        if means.shape[1] != axes.shape[1] or not means.size:
            raise EncoderError("the state of fisher needs means with a number for each axis: fit it again")
        if np.any(shares <= 0) or np.any(mixture.variances <= 0):
            raise EncoderError("the state of fisher needs shares and variances above zero: fit it again")
        return cls(principal, mixture, *(bool(part(state, name, bool, ())) for name in ("variances", "power", "l2")))


def _masses(bags: Bags, shares: Any) -> Any:
    """Return weight * responsibility (n * k, v): a row for each document and Gaussian, entries in the bag's order.

    `shares` (v, k) are the responsibilities, sparse.
    """
    from scipy.sparse import csr_array

    n, k = len(bags), shares.shape[1]
    starts, selected = row_entries(shares.indptr, bags.words)
    entries = np.repeat(np.arange(len(bags.words)), np.diff(starts))
    rows = np.repeat(np.arange(n), np.diff(bags.starts))[entries] * k + shares.indices[selected]
    order = np.argsort(rows, kind="stable")
    row_starts = np.zeros(n * k + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n * k), out=row_starts[1:])
    masses = (bags.weights[entries] * shares.data[selected])[order]
    return csr_array((masses, bags.words[entries][order], row_starts), shape=(n * k, shares.shape[0]))
