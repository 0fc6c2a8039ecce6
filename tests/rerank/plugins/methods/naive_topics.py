"""Reference implementations of LDA, mSDA and CCG: plain loops over the formulas of the papers."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from tests.naive import unit

Row = Sequence[float]
Matrix = list[list[float]]


def exp_elog_beta(topics: Sequence[Row]) -> Matrix:
    """Return exp(E[log beta]) (w, K) of Dirichlet parameters (K, w), each row divided by its maximum."""
    rows = []
    for word in range(len(topics[0])):
        logs = [float(digamma(topic[word]) - digamma(math.fsum(topic))) for topic in topics]
        rows.append([math.exp(log - max(logs)) for log in logs])
    return rows


def lda_gamma(counts: Row, of_words: Sequence[Row], alpha: Row, iterations: int) -> list[float]:
    """Iterate phi_wk ~ exp(E[log theta_k]) beta_wk and gamma_k = alpha_k + sum_w n_w phi_wk, from equal topics."""
    topics = range(len(alpha))
    weights = [1.0 for _ in topics]
    gamma = list(alpha)
    for _ in range(iterations):
        gamma = list(alpha)
        for count, row in zip(counts, of_words, strict=True):
            phi = [weights[k] * row[k] for k in topics]
            for k in topics:
                gamma[k] += count * phi[k] / math.fsum(phi)
        weights = [math.exp(digamma(value) - digamma(math.fsum(gamma))) for value in gamma]
    return gamma


def denoiser(inputs: Sequence[Row], targets: Sequence[Row], noise: float, ridge: float) -> NDArray[np.float64]:
    """Solve the normal equations over all corrupted copies of the inputs, weighted by their probabilities."""
    d, r = len(inputs[0]), len(targets[0])
    q, p = np.diag(np.full(d + 1, ridge)), np.zeros((d + 1, r))
    for mask in itertools.product((0, 1), repeat=d):
        chance = math.prod(1 - noise if bit else noise for bit in mask)
        for row, target in zip(inputs, targets, strict=True):
            copy = np.array([*(x * bit for x, bit in zip(row, mask, strict=True)), 1.0])
            q += chance * np.outer(copy, copy)
            p += chance * np.outer(copy, target)
    return np.linalg.solve(q, p).astype(np.float64)


def msda(inputs: Sequence[Row], first: Sequence[Row], deeper: Sequence[Sequence[Row]], means: Sequence[Row]) -> Matrix:
    """Return tanh of one layer after the other, each minus its mean and scaled to length 1, concatenated."""
    vectors = []
    for row in inputs:
        hidden, vector = list(row), []
        for matrix, mean in zip([first, *deeper], means, strict=True):
            *weights, bias = matrix
            sums = [
                math.fsum([*(x * w[j] for x, w in zip(hidden, weights, strict=True)), bias[j]])
                for j in range(len(bias))
            ]
            hidden = [math.tanh(total) for total in sums]
            vector += unit([value - m for value, m in zip(hidden, mean, strict=True)])
        vectors.append(unit(vector))
    return vectors


def window_cells(location: int, extent: int, window: int) -> list[int]:
    """Return the cells of the window that begins at a location of the torus."""
    top, left = divmod(location, extent)
    return [(top + i) % extent * extent + (left + j) % extent for i in range(window) for j in range(window)]


def window_means(cells: Row, extent: int, window: int) -> list[float]:
    """Return the mean of each location's window."""
    members = [window_cells(location, extent, window) for location in range(extent**2)]
    return [math.fsum(cells[cell] for cell in window_of) / window**2 for window_of in members]


def grid_likelihood(
    counts: Sequence[Row], grid: Sequence[Row], theta: Sequence[Row], extent: int, window: int
) -> float:
    """Return sum_d sum_z n_dz log sum_l theta_dl h_l(z)."""
    windows = [window_means(word, extent, window) for word in grid]
    terms = []
    for row, shares in zip(counts, theta, strict=True):
        for count, word in zip(row, windows, strict=True):
            if count:
                terms.append(count * math.log(math.fsum(t * h for t, h in zip(shares, word, strict=True))))
    return math.fsum(terms)


def grid_step(
    counts: Sequence[Row], grid: Sequence[Row], theta: Sequence[Row], extent: int, window: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the new grid (w, cells) and the new shares (n, locations) after one EM iteration.

    Each word is divided over the locations and the cells of their windows by the posterior.
    """
    new_grid, new_theta = np.zeros((len(grid), extent**2)), np.zeros((len(counts), extent**2))
    for document, row in enumerate(counts):
        for word, count in enumerate(row):
            joint = {
                (location, cell): theta[document][location] * grid[word][cell] / window**2
                for location in range(extent**2)
                for cell in window_cells(location, extent, window)
            }
            total = math.fsum(joint.values())
            for (location, cell), chance in joint.items():
                if count:
                    new_theta[document, location] += count * chance / total
                    new_grid[word, cell] += count * chance / total
    return new_grid / new_grid.sum(axis=0), new_theta / new_theta.sum(axis=1, keepdims=True)
