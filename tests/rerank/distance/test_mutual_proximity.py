import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import gamma, norm, skew

from moverank.rerank.distance.mutual_proximity import Spread, empirical, fitted
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.hubness import hubness, occurrences, skewness
from tests import naive_evaluation as naive


def _distances(n: int, seed: int, dim: int = 30) -> NDArray[np.float64]:
    points = np.random.default_rng(seed).standard_normal((n, dim)) * np.geomspace(1, 3, n)[:, None]
    apart: NDArray[np.float64] = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return apart


@given(st.integers(3, 12), st.integers(0, 10**6))
def test_empirical_proximity_counts_who_is_farther_from_both(n: int, seed: int) -> None:
    apart = _distances(n, seed, dim=2)
    near = empirical(apart, apart)
    resolution = 1 / (2 * (n - 1))
    for x in range(n):
        for y in range(n):
            if x != y:
                exact = 1 - naive.mutual_proximity(apart.tolist(), x, y)
                assert exact <= near[x, y] <= exact + resolution + 1e-12
    assert np.isinf(np.diag(near)).all()


@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
def test_fitted_proximity_is_the_product_of_both_sides(kind: str) -> None:
    apart = _distances(9, 1)
    spread = Spread.of(apart)
    found = fitted(apart, spread, spread, kind)  # type: ignore[arg-type]
    others = [np.delete(row, i) for i, row in enumerate(apart)]
    sides = []
    for row in others:
        mean, deviation = row.mean(), row.std(ddof=1)
        shape = (mean / deviation) ** 2
        sides.append(norm(mean, deviation) if kind == "gaussian" else gamma(shape, scale=mean / shape))
    assert found[2, 5] == pytest.approx(1 - sides[2].sf(apart[2, 5]) * sides[5].sf(apart[2, 5]))
    assert np.isinf(found[3, 3])


def test_proximity_takes_hubs_away() -> None:
    apart = _distances(150, 0)
    before = hubness(apart)
    spread = Spread.of(apart)
    assert before > 1
    for after in (empirical(apart, apart), fitted(apart, spread, spread), fitted(apart, spread, spread, "gaussian")):
        assert hubness(after) < before / 2


def test_distances_that_are_all_the_same_are_no_trouble() -> None:
    apart = np.where(np.eye(4, dtype=bool), np.inf, 1.0)
    spread = Spread.of(apart)
    for found in (empirical(apart, apart), fitted(apart, spread, spread), fitted(apart, spread, spread, "gaussian")):
        assert np.isfinite(found[~np.eye(4, dtype=bool)]).all()
    nothing = np.full((2, 4), np.inf)
    assert np.isinf(empirical(nothing, apart)).all()
    assert np.isinf(fitted(nothing, Spread.of(nothing), spread)).all()


def test_occurrences_and_their_skewness() -> None:
    places = np.array([[1, 2], [2, 0], [1, -1]])
    counts = occurrences(places, 4)
    assert counts.tolist() == [1, 2, 2, 0]
    assert skewness(counts) == pytest.approx(float(skew(counts)))
    assert skewness(np.ones(3, np.int64)) == 0
    assert hubness(np.array([[0.1, 0.5, np.inf], [0.1, 0.9, 0.2]]), k=1) == pytest.approx(float(skew([2, 0, 0])))


def test_what_does_not_fit_together_is_refused() -> None:
    apart = _distances(4, 0)
    spread = Spread.of(apart)
    for refused in (
        lambda: empirical(apart, apart[:3]),
        lambda: fitted(apart[:2], spread, spread),
        lambda: fitted(apart, spread, spread, "uniform"),  # type: ignore[arg-type]
        lambda: occurrences(np.array([[7]]), 3),
        lambda: hubness(apart, k=0),
    ):
        with pytest.raises(EvaluationError):
            refused()
