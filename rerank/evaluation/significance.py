"""Whether two methods differ beyond chance, judged by the same queries."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

RESAMPLES = 9999


def randomisation(
    one: NDArray[np.float64], other: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Return the two-sided p value of Fisher's paired randomisation test of means over queries (n,).

    Under the null hypothesis either method could have had either figure, so the sign of each difference is a coin's
    (Smucker et al. 2007). All signs are tried where they are at most `resamples`, else so many are drawn by `seed`.
    """
    from scipy.stats import permutation_test

    differences = _differences(one, other)
    if not differences.any() or len(differences) == 1:
        return 1.0
    found = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        random_state=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def paired_t(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the two-sided p value of the paired t test of means over queries (n,); 1 where nothing differs."""
    from scipy.stats import ttest_rel

    differences = _differences(one, other)
    if not differences.any() or len(differences) == 1:
        return 1.0
    if np.ptp(differences) == 0:
        return 0.0
    return float(ttest_rel(one, other).pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for being several, by Holm's step-down rule: their family is wrong in p of all cases."""
    order = np.argsort(values, kind="stable")
    raised = np.asarray(values, np.float64)[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return [float(value) for value in adjusted]


def _differences(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the differences of figures for the same queries; those within 1e-12 are none."""
    if one.shape != other.shape or one.ndim != 1 or not len(one):
        raise EvaluationError(f"two methods need a figure each for the same queries, not {one.shape} and {other.shape}")
    differences: NDArray[np.float64] = one - other
    return np.where(np.abs(differences) > 1e-12, differences, 0.0)
