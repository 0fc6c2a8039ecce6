"""A mixture of Gaussians with diagonal covariance, fitted to weighted points by expectation maximisation."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.kmeans import cluster_sums, nearest_centres, spread_centres
from moverank.rerank.encoders.matrix_products import row_products

Points = NDArray[np.float64]
FLOOR = 1e-3
"""The variance floor of a component, as a share of the mean variance of the points.

Without it a component of a single point has variance 0 and an infinite likelihood.
"""
_TOLERANCE = 1e-3
"""Fitting stops when the mean log-likelihood increases by less than this for each dimension."""
_BLOCK = 8192
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
