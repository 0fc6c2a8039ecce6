"""The Fisher vector of a bag of embedded words (Clinchant & Perronnin 2013; Perronnin et al. 2010)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.encoders.encoder import Documents, Metric, State, part, sample_rows, unit
from moverank.rerank.encoders.mixture import Mixture
from moverank.rerank.encoders.principal import Principal
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Number, Option, Switch, Whole, check_options

K = Whole("k", 64, 1, 1024)
DIM = Whole("dim", 64, 1, 1024)
VARIANCES = Switch("variances", False)
POWER = Switch("power", True)
L2 = Switch("l2", True)
FREQUENCY = Number("frequency", 0, 0, 1)
SAMPLE = Whole("sample", 100_000, 1, 10**9)
SEED = Whole("seed", 0, 0, 2**32 - 1)

LEAST = 1e-4
"""A word's responsibilities below this are left out, and the others scaled to sum to 1."""
ROUNDS = 20
_PORTION = 8192  # documents whose words are projected together
_CELLS = 2**19  # numbers of a block of vectors in float64: small enough for the cache


@dataclass(frozen=True, slots=True, eq=False)
class Fisher:
    """How a document's words would move a mixture of Gaussians that all words come from.

    The word vectors are projected to `dim` principal axes, weighted by corpus frequency, and a mixture of `k` Gaussians
    is fitted to them. A document is the gradient of its log-likelihood by the means, k * dim numbers (eq. 8), with
    `variances` by these too, as many again; its words count by their weights, which sum to 1. `power` takes the signed
    square root of each number, `l2` brings the vector to length 1: nearness is the inner product then, else the L2
    distance. At most `sample` words are learned from.

    In the fit of the mixture a word counts by its corpus frequency to the power of `frequency`: 1 is the paper's sample
    of running words, 0 counts every word once. With 1, Gaussians close in on single frequent words, and far fewer of
    the neighbours by exact distance are found (tests/benchmarks/first_stage.py).
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
        """See `Encoder.dim`; fewer different words than k make fewer Gaussians."""
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
            raise EncoderError("fisher has no word to learn from: fit it on documents with words")
        used = used[sample_rows(len(used), SAMPLE.read(options), seed)]
        vectors, frequencies = documents.vectors[used], frequencies[used]
        principal = Principal.of(vectors, frequencies, DIM.read(options))
        weights: NDArray[np.float64] = frequencies ** FREQUENCY.read(options)
        mixture = Mixture.fit(principal.project(vectors), weights, K.read(options), ROUNDS, seed)
        return cls(principal, mixture, VARIANCES.read(options), POWER.read(options), L2.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; words that the fit did not know have vectors, and count like any other."""
        if documents.vectors.shape[1] != len(self.principal.mean):
            raise EncoderError(
                f"fisher was fitted to word vectors of {len(self.principal.mean)} dimensions, "
                f"not {documents.vectors.shape[1]}: fit it again"
            )
        found = np.empty((len(documents), self.dim), np.float32)
        block = max(1, _CELLS // self.dim)
        for first in range(0, len(documents), _PORTION):
            portion = documents.bags.take(np.arange(first, min(first + _PORTION, len(documents))))
            used, places = np.unique(portion.words, return_inverse=True)
            points = self.principal.project(documents.vectors[used])
            owners = self._owners(points)
            bags = Bags(portion.starts, places.astype(np.int32), portion.weights)
            for start in range(0, len(bags), block):
                rows = np.arange(start, min(start + block, len(bags)))
                found[first + rows] = self._normalised(self._gradients(bags.take(rows), points, owners))
        return found

    def _owners(self, points: NDArray[np.float64]) -> Any:
        """Return the responsibilities (v, k) of each word's point (v, e), those of at least `LEAST`."""
        from scipy.sparse import csr_array

        shares = self.mixture.responsibilities(points)
        shares[shares < LEAST] = 0
        shares /= shares.sum(axis=1, keepdims=True)
        return csr_array(shares)

    def _gradients(self, bags: Bags, points: NDArray[np.float64], owners: Any) -> NDArray[np.float64]:
        """Return the Fisher vectors (n, dim) of bags over words with these points and responsibilities."""
        mixture, n = self.mixture, len(bags)
        masses = _masses(bags, owners)
        # Sums of responsibilities, of points and of their squares, for each document and Gaussian.
        none = (masses @ np.ones(len(points))).reshape(n, -1, 1)
        first = (masses @ points).reshape(n, *mixture.means.shape)
        roots = np.sqrt(mixture.shares)[:, None]
        by_means: NDArray[np.float64] = (first - none * mixture.means) / (np.sqrt(mixture.variances) * roots)
        if not self.variances:
            return by_means.reshape(n, -1)
        second = (masses @ (points * points)).reshape(first.shape)
        spread = second - 2 * first * mixture.means + none * mixture.means**2
        by_variances = (spread / mixture.variances - none) / (np.sqrt(2) * roots)
        return np.concatenate([by_means.reshape(n, -1), by_variances.reshape(n, -1)], axis=1)

    def _normalised(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.power:
            gradients = np.copysign(np.sqrt(np.abs(gradients)), gradients)
        widest = float(np.finfo(np.float32).max)
        return unit(gradients) if self.l2 else np.clip(gradients, -widest, widest)

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


def _masses(bags: Bags, owners: Any) -> Any:
    """Return weight * responsibility (n * k, v): a row for each document and Gaussian, entries in the bag's order."""
    from scipy.sparse import csr_array

    n, k = len(bags), owners.shape[1]
    firsts = owners.indptr[bags.words]
    lengths = owners.indptr[bags.words + 1] - firsts
    entries = np.repeat(np.arange(len(bags.words)), lengths)
    places = np.arange(len(entries)) + np.repeat(firsts - (np.cumsum(lengths) - lengths), lengths)
    rows = np.repeat(np.arange(n), np.diff(bags.starts))[entries] * k + owners.indices[places]
    order = np.argsort(rows, kind="stable")
    starts = np.zeros(n * k + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n * k), out=starts[1:])
    masses = (bags.weights[entries] * owners.data[places])[order]
    return csr_array((masses, bags.words[entries][order], starts), shape=(n * k, owners.shape[0]))
