"""The Fisher vector of a bag of embedded words (Clinchant & Perronnin 2013; Perronnin et al. 2010).

The words are projected on principal components. A mixture of Gaussians with diagonal covariance is fitted to them by
expectation maximisation, which begins from k-means.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags, row_entries
from moverank.rerank.encoders.encoder import SEED, Documents, EncoderState, Metric, part, sample_rows
from moverank.rerank.encoders.lsi import peak_signs, row_products
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Number, Option, Switch, check_options
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import unit_rows

_ROWS = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Principal:
    """The projection x -> (x - mean) axes: `mean` (d,), `axes` (d, e) orthonormal."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float32], weights: NDArray[np.float64], dim: int) -> Self:
        """Return the first `dim` principal components, at most d, of `points` (n, d) with `weights` (n,) > 0.

        They are the eigenvectors of the weighted covariance, by descending eigenvalue; the entry of largest magnitude
        of each is positive. Components beyond the rank of the points are arbitrary.
        """
        shares = weights / weights.sum()
        mean, covariance = np.zeros(points.shape[1]), np.zeros((points.shape[1], points.shape[1]))
        for first in range(0, len(points), _ROWS):
            mean += shares[first : first + _ROWS] @ points[first : first + _ROWS].astype(np.float64)
        for first in range(0, len(points), _ROWS):
            centred = points[first : first + _ROWS] - mean
            covariance += centred.T @ (centred * shares[first : first + _ROWS, None])
        axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :dim]
        return cls(mean, np.ascontiguousarray(axes * peak_signs(axes)))

    def project(self, points: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the coordinates (n, e) of points (n, d); the bits of a point do not depend on the other points."""
        coordinates = np.empty((len(points), self.axes.shape[1]))
        for first in range(0, len(points), _ROWS):
            coordinates[first : first + _ROWS] = row_products(points[first : first + _ROWS] - self.mean, self.axes)
        return coordinates


Points = NDArray[np.float64]
_BLOCK = 8192


def spread_centres(points: Points, weights: NDArray[np.float64], count: int, seed: int) -> Points:
    """Return at most `count` distinct centres drawn from `points` (n, e) by k-means++ (Arthur & Vassilvitskii 2007).

    The probability of a point is proportional to its weight, of `weights` (n,), times its squared distance to the
    nearest centre so far. There are no more centres than distinct points. `seed` makes the draws reproducible.
    """
    generator = np.random.default_rng(seed)
    centres: list[Points] = []
    masses = weights
    nearest = np.full(len(points), np.inf)
    while len(centres) < count and masses.sum() > 0:
        check_time()
        # The first point whose cumulated mass exceeds the draw has a mass above zero.
        cumulated = np.cumsum(masses)
        row = int(np.searchsorted(cumulated, generator.random() * cumulated[-1], side="right"))
        centres.append(points[min(row, int(np.flatnonzero(masses)[-1]))])
        np.minimum(nearest, np.square(points - centres[-1]).sum(axis=1), out=nearest)
        masses = weights * nearest
    return np.array(centres)


def nearest_centres(points: Points, centres: Points) -> NDArray[np.intp]:
    """Return for each of `points` (n, e) the index (n,) of the nearest of `centres` (K, e)."""
    squares = np.square(centres).sum(axis=1)
    nearest = np.empty(len(points), np.intp)
    for first in range(0, len(points), _BLOCK):
        nearest[first : first + _BLOCK] = (squares - 2 * points[first : first + _BLOCK] @ centres.T).argmin(axis=1)
    return nearest


def cluster_sums(
    points: Points, weights: NDArray[np.float64], clusters: NDArray[np.intp], count: int
) -> tuple[NDArray[np.float64], Points, Points]:
    """Return the sums of weights (K,), of weighted points and of their squares (K, e) for each of `count` = K clusters.

    `points` (n, e) have `weights` (n,) and belong to `clusters` (n,), from 0 to K - 1.
    """
    from scipy.sparse import csr_array

    members: Any = csr_array((weights, clusters, np.arange(len(points) + 1)), shape=(len(points), count)).T
    masses = np.bincount(clusters, weights, count).astype(np.float64)
    return masses, members @ points, members @ (points * points)


FLOOR = 1e-3
"""The variance floor of a component, as a share of the mean variance of the points.

Without it a component of a single point has variance 0 and an infinite likelihood.
"""
_TOLERANCE = 1e-3
"""Fitting stops when the mean log-likelihood increases by less than this for each dimension."""
_LLOYD = 2  # k-means iterations before the mixture
_EMPTY = 1e-12  # a component with a smaller share of the mass is dropped


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """K components in e dimensions: `shares` (K,) > 0 that sum to 1, `means` (K, e) and `variances` (K, e) > 0."""

    shares: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]

    @classmethod
    def fit(cls, points: Points, weights: NDArray[np.float64], components: int, rounds: int, seed: int) -> Self:
        """Fit at most `components` to `points` (n, e) with `weights` (n,) > 0, in at most `rounds` iterations.

        k-means++ (Arthur & Vassilvitskii 2007), drawn by `seed`, and two iterations of k-means initialise them. There
        are no more components than distinct points.
        """
        weights = weights / weights.sum()
        floor = _floor(points, weights)
        mixture = cls._start(points, weights, components, floor, seed)
        last = -np.inf
        for _ in range(rounds):
            check_time()
            mixture, likelihood = mixture.improved(points, weights, floor)
            if likelihood - last < _TOLERANCE * points.shape[1]:
                break
            last = likelihood
        return mixture

    @classmethod
    def _start(cls, points: Points, weights: NDArray[np.float64], components: int, floor: float, seed: int) -> Self:
        """Return the mixture of the clusters of k-means, one component for each."""
        centres = spread_centres(points, weights, components, seed)
        for _ in range(_LLOYD):
            masses, firsts, _ = cluster_sums(points, weights, nearest_centres(points, centres), len(centres))
            centres = np.where(masses[:, None] > 0, firsts / np.maximum(masses, _EMPTY)[:, None], centres)
        return cls._of_sums(*cluster_sums(points, weights, nearest_centres(points, centres), len(centres)), floor)

    @classmethod
    def _of_sums(cls, masses: NDArray[np.float64], firsts: Points, seconds: Points, floor: float) -> Self:
        """Return the M-step for the sums of weights (K,), of weighted points and of their squares (K, e)."""
        used = masses > _EMPTY
        masses, firsts, seconds = masses[used], firsts[used], seconds[used]
        means = firsts / masses[:, None]
        variances = np.maximum(seconds / masses[:, None] - means**2, floor)
        return cls(masses / masses.sum(), means, variances)

    def improved(self, points: Points, weights: NDArray[np.float64], floor: float) -> tuple[Self, float]:
        """Return the mixture after one EM iteration, and the mean log-likelihood before it.

        `points` (n, e) have `weights` (n,) that sum to 1; `floor` is the least variance.
        """
        linear, square, constant = self._terms()
        masses, total = np.zeros(len(self.shares)), 0.0
        firsts, seconds = np.zeros_like(self.means), np.zeros_like(self.means)
        for first in range(0, len(points), _BLOCK):
            block, share = points[first : first + _BLOCK], weights[first : first + _BLOCK]
            squares = block * block
            logs = block @ linear + squares @ square + constant
            likelihoods = _softmax(logs)
            total += float(share @ likelihoods)
            logs *= share[:, None]
            masses += logs.sum(axis=0)
            firsts += logs.T @ block
            seconds += logs.T @ squares
        return self._of_sums(masses, firsts, seconds, floor), total

    def _terms(self) -> tuple[Points, Points, NDArray[np.float64]]:
        """Return the coefficients of log(share_k N(x; k)): (e, K) of x, (e, K) of x^2, and the constant (K,)."""
        constant = (self.means**2 / self.variances + np.log(2 * np.pi * self.variances)).sum(axis=1)
        linear, square = (self.means / self.variances).T, (-0.5 / self.variances).T
        return np.ascontiguousarray(linear), np.ascontiguousarray(square), np.log(self.shares) - 0.5 * constant

    def responsibilities(self, points: Points) -> NDArray[np.float64]:
        """Return p(k | x) (n, K) of points (n, e); the bits of a row do not depend on the other rows."""
        linear, square, constant = self._terms()
        logs = row_products(points, linear) + row_products(points * points, square) + constant
        _softmax(logs)
        return logs


def _softmax(logs: Points) -> NDArray[np.float64]:
    """Replace each row of logs (n, K) by its softmax, in place, and return the log-sum-exp (n,) of the rows."""
    peaks = logs.max(axis=1, keepdims=True)
    logs -= peaks
    np.exp(logs, out=logs)
    sums = logs.sum(axis=1, keepdims=True)
    logs /= sums
    log_sums: NDArray[np.float64] = (peaks + np.log(sums))[:, 0]
    return log_sums


def _floor(points: Points, weights: NDArray[np.float64]) -> float:
    """Return the variance floor: `FLOOR` times the mean variance of the points, or 1 for equal points."""
    mean = weights @ points
    variance = float((weights @ (points - mean) ** 2).mean())
    # Equal points differ from their rounded mean.
    return FLOOR * variance if variance > 1e-24 * float(np.square(mean).mean()) else 1.0


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
                if start:
                    check_time()
                rows = np.arange(start, min(start + block, len(bags)))
                vectors[first + rows] = self._normalised(self._gradients(bags.take(rows), points, shares))
        return vectors

    def _responsibilities(self, points: NDArray[np.float64]) -> Any:
        """Return the responsibilities (v, k) of points (v, e) as a sparse array, without values below `LEAST`."""
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
    def restore(cls, state: EncoderState) -> Self:
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
