"""Reference implementations of the Fisher vector and LSI: plain loops over the formulas of the papers."""

import math
from collections.abc import Mapping, Sequence

from tests.naive import idf, unit

Row = Sequence[float]
Rows = Sequence[Row]
Gaussian = tuple[float, Row, Row]
"""Share, means and variances."""

EMPTY = 1e-12
"""A component with a smaller share of the mass is dropped."""


def covariance(points: Rows, weights: Row) -> list[list[float]]:
    """Return the weighted covariance."""
    total, axes = math.fsum(weights), range(len(points[0]))
    mean = [math.fsum(w * x[i] for w, x in zip(weights, points, strict=True)) / total for i in axes]
    return [
        [
            math.fsum(w * (x[i] - mean[i]) * (x[j] - mean[j]) for w, x in zip(weights, points, strict=True)) / total
            for j in axes
        ]
        for i in axes
    ]


def log_density(point: Row, gaussian: Gaussian) -> float:
    """Return log(share * N(x; means, variances))."""
    share, means, variances = gaussian
    terms = [
        -0.5 * (math.log(2 * math.pi * s) + (x - m) ** 2 / s) for x, m, s in zip(point, means, variances, strict=True)
    ]
    return math.log(share) + math.fsum(terms)


def log_likelihood(point: Row, mixture: Sequence[Gaussian]) -> float:
    """Return log p(x)."""
    logs = [log_density(point, gaussian) for gaussian in mixture]
    return max(logs) + math.log(math.fsum(math.exp(x - max(logs)) for x in logs))


def responsibilities(point: Row, mixture: Sequence[Gaussian]) -> list[float]:
    """Return p(k | x) by Bayes' formula."""
    whole = log_likelihood(point, mixture)
    return [math.exp(log_density(point, gaussian) - whole) for gaussian in mixture]


def improved(points: Rows, weights: Row, mixture: Sequence[Gaussian], floor: float) -> list[Gaussian]:
    """Return the mixture after one iteration of expectation maximisation, without components of almost no mass."""
    components: list[Gaussian] = []
    owned = [responsibilities(point, mixture) for point in points]
    for k in range(len(mixture)):
        masses = [w * gamma[k] for w, gamma in zip(weights, owned, strict=True)]
        mass = math.fsum(masses)
        if mass <= EMPTY * math.fsum(weights):
            continue
        means, variances = [], []
        for axis in range(len(points[0])):
            mean = math.fsum(m * x[axis] for m, x in zip(masses, points, strict=True)) / mass
            spread = math.fsum(m * (x[axis] - mean) ** 2 for m, x in zip(masses, points, strict=True)) / mass
            means.append(mean)
            variances.append(max(spread, floor))
        components.append((mass / math.fsum(weights), means, variances))
    return components


def fisher(
    bag: Mapping[int, float], points: Rows, mixture: Sequence[Gaussian], least: float, *, variances: bool
) -> list[float]:
    """Return the gradient by the means (Clinchant & Perronnin 2013, eq. 8), and with `variances` by the variances.

    Responsibilities below `least` are set to zero, and the others scaled to a sum of 1.
    """
    owned = {}
    for word in bag:
        gamma = [share if share >= least else 0.0 for share in responsibilities(points[word], mixture)]
        owned[word] = [share / math.fsum(gamma) for share in gamma]
    by_means, by_variances = [], []
    for k, (share, means, spreads) in enumerate(mixture):
        for axis, (mean, spread) in enumerate(zip(means, spreads, strict=True)):
            steps = {word: (points[word][axis] - mean) / math.sqrt(spread) for word in bag}
            by_means.append(math.fsum(w * owned[u][k] * steps[u] for u, w in bag.items()) / math.sqrt(share))
            squared = math.fsum(w * owned[u][k] * (steps[u] ** 2 - 1) for u, w in bag.items())
            by_variances.append(squared / math.sqrt(2 * share))
    return by_means + by_variances if variances else by_means


def signed_root(row: Row) -> list[float]:
    """Return the signed square root of each number."""
    return [math.copysign(math.sqrt(abs(x)), x) for x in row]


def tfidf_rows(bags: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    """Return weight * idf, each row scaled to length 1."""
    rows = []
    for bag in bags:
        row = [w * idf(sum(word in other for other in bags), len(bags)) for word, w in bag.items()]
        rows.append(dict(zip(bag, unit(row), strict=True)))
    return rows


def product(rows: Rows, matrix: Rows) -> list[list[float]]:
    """Return the product of two matrices."""
    columns = list(zip(*matrix, strict=True))
    return [[math.fsum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in rows]
