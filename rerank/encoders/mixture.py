"""A mixture of Gaussians with diagonal covariance, fitted to weighted points by expectation maximisation."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.kmeans import nearest_centres, owned_sums, spread_centres
from moverank.rerank.encoders.matrix_products import row_products

Points = NDArray[np.float64]
FLOOR = 1e-3
"""Share of the points' mean variance that no component's variance falls below.

A component that holds one point only would have none, and an infinite likelihood.
"""
ENOUGH = 1e-3
"""Gain of the mean log-likelihood for each dimension below which fitting ends."""
_BLOCK = 8192
_LLOYD = 2  # rounds of k-means before the mixture
_EMPTY = 1e-12  # share of the mass below which a component holds nothing


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """K components in e dimensions: `shares` (K,) > 0 that sum to 1, `means` (K, e) and `variances` (K, e) > 0."""

    shares: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]

    @classmethod
    def fit(cls, points: Points, weights: NDArray[np.float64], components: int, rounds: int, seed: int) -> Self:
        """Fit `components` to points (n, e) of weights (n,) > 0, in at most `rounds` rounds.

        They start where k-means++ (Arthur & Vassilvitskii 2007) and two rounds of k-means put them. There are fewer
        where there are fewer different points.
        """
        weights = weights / weights.sum()
        floor = _floor(points, weights)
        mixture = cls._start(points, weights, components, floor, seed)
        last = -np.inf
        for _ in range(rounds):
            mixture, likelihood = mixture.improved(points, weights, floor)
            if likelihood - last < ENOUGH * points.shape[1]:
                break
            last = likelihood
        return mixture

    @classmethod
    def _start(cls, points: Points, weights: NDArray[np.float64], components: int, floor: float, seed: int) -> Self:
        """Make each component of the points that are nearest to one centre."""
        centres = spread_centres(points, weights, components, seed)
        for _ in range(_LLOYD):
            masses, firsts, _ = owned_sums(points, weights, nearest_centres(points, centres), len(centres))
            centres = np.where(masses[:, None] > 0, firsts / np.maximum(masses, _EMPTY)[:, None], centres)
        return cls._of_sums(*owned_sums(points, weights, nearest_centres(points, centres), len(centres)), floor)

    @classmethod
    def _of_sums(cls, masses: NDArray[np.float64], firsts: Points, seconds: Points, floor: float) -> Self:
        """Maximise: shares, means and variances of the sums of weights (K,), points and their squares (K, e)."""
        held = masses > _EMPTY
        masses, firsts, seconds = masses[held], firsts[held], seconds[held]
        means = firsts / masses[:, None]
        variances = np.maximum(seconds / masses[:, None] - means**2, floor)
        return cls(masses / masses.sum(), means, variances)

    def improved(self, points: Points, weights: NDArray[np.float64], floor: float) -> tuple[Self, float]:
        """Return the mixture after one round over points of weights that sum to 1, and the log-likelihood before it."""
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
        """Return what log(share_k N(x; k)) is made of: factors (e, K) of x and of x^2, and a constant (K,)."""
        constant = (self.means**2 / self.variances + np.log(2 * np.pi * self.variances)).sum(axis=1)
        linear, square = (self.means / self.variances).T, (-0.5 / self.variances).T
        return np.ascontiguousarray(linear), np.ascontiguousarray(square), np.log(self.shares) - 0.5 * constant

    def responsibilities(self, points: Points) -> NDArray[np.float64]:
        """Return p(k | x) (n, K) of points (n, e), each for itself."""
        linear, square, constant = self._terms()
        logs = row_products(points, linear) + row_products(points * points, square) + constant
        _softmax(logs)
        return logs


def _softmax(logs: Points) -> NDArray[np.float64]:
    """Turn rows (n, K) into their exponentials over the sum of these, in place; return the sums' logarithms (n,)."""
    peaks = logs.max(axis=1, keepdims=True)
    logs -= peaks
    np.exp(logs, out=logs)
    sums = logs.sum(axis=1, keepdims=True)
    logs /= sums
    found: NDArray[np.float64] = (peaks + np.log(sums))[:, 0]
    return found


def _floor(points: Points, weights: NDArray[np.float64]) -> float:
    """Return the least variance: relative to that of all points, or 1 where they do not vary."""
    mean = weights @ points
    varies = float((weights @ (points - mean) ** 2).mean())
    # Equal points differ from their rounded mean.
    return FLOOR * varies if varies > 1e-24 * float(np.square(mean).mean()) else 1.0
