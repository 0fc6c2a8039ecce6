"""Significance of the difference of two methods on the same queries."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

RESAMPLES = 9999


def randomisation(
    one: NDArray[np.float64], other: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Return the two-sided p value of Fisher's paired randomisation test of the difference of two means.

    `one` (n,) and `other` (n,) are the figures of two methods for the same queries. Under the null hypothesis they are
    exchangeable, so the sign of each difference is random (Smucker et al. 2007). The test takes all sign vectors if
    they are at most `resamples`, and otherwise draws that many by `seed`. Raises EvaluationError if the shapes differ.
    """
    from scipy.stats import permutation_test

    differences = _differences(one, other)
    if not differences.any() or len(differences) == 1:
        return 1.0
    result = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        random_state=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """Return p `values` adjusted for multiple tests by Holm's step-down method, which bounds the family-wise error."""
    order = np.argsort(values, kind="stable")
    scaled = np.asarray(values, np.float64)[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(value) for value in adjusted]


def p_values(figures: Mapping[str, NDArray[np.float64]], reference: str) -> dict[str, float]:
    """Return the p value of every method but the `reference`, by name: `randomisation`, adjusted by `holm`.

    `figures` (n,) are those of each method. Raises EvaluationError if their shapes differ.
    """
    others = [name for name in figures if name != reference]
    adjusted = holm([randomisation(figures[name], figures[reference]) for name in others])
    return dict(zip(others, adjusted, strict=True))


def _differences(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the differences (n,) of figures for the same queries; those within 1e-12 are set to 0."""
    if one.shape != other.shape or one.ndim != 1 or not len(one):
        raise EvaluationError(f"two methods need a figure each for the same queries, not {one.shape} and {other.shape}")
    differences: NDArray[np.float64] = one - other
    return np.where(np.abs(differences) > 1e-12, differences, 0.0)
