import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import gamma, norm

from moverank.rerank.distance.mutual_proximity import DistanceMoments, empirical_proximity, fitted_proximity
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.hubness import hubness
from tests import naive_evaluation as naive


def _distances(n: int, seed: int, dim: int = 30) -> NDArray[np.float64]:
    points = np.random.default_rng(seed).standard_normal((n, dim)) * np.geomspace(1, 3, n)[:, None]
    distances: NDArray[np.float64] = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances


@given(st.integers(3, 12), st.integers(0, 10**6))
def test_empirical_proximity_counts_documents_farther_from_both(n: int, seed: int) -> None:
    distances = _distances(n, seed, dim=2)
    near = empirical_proximity(distances, distances)
    resolution = 1 / (2 * (n - 1))
    for x in range(n):
        for y in range(n):
            if x != y:
                exact = 1 - naive.mutual_proximity(distances.tolist(), x, y)
                assert exact <= near[x, y] <= exact + resolution + 1e-12
    assert np.isinf(np.diag(near)).all()


@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
def test_fitted_proximity_is_the_product_of_both_sides(kind: str) -> None:
    distances = _distances(9, 1)
    spread = DistanceMoments.of(distances)
    found = fitted_proximity(distances, spread, spread, kind)  # type: ignore[arg-type]
    others = [np.delete(row, i) for i, row in enumerate(distances)]
    sides = []
    for row in others:
        mean, deviation = row.mean(), row.std(ddof=1)
        shape = (mean / deviation) ** 2
        sides.append(norm(mean, deviation) if kind == "gaussian" else gamma(shape, scale=mean / shape))
    assert found[2, 5] == pytest.approx(1 - sides[2].sf(distances[2, 5]) * sides[5].sf(distances[2, 5]))
    assert np.isinf(found[3, 3])


def _hubness(distances: NDArray[np.float64]) -> float:
    return hubness(list(np.argsort(distances, axis=1)), len(distances))


def test_proximity_reduces_hubness() -> None:
    distances = _distances(150, 0)
    before = _hubness(distances)
    spread = DistanceMoments.of(distances)
    assert before > 1
    for after in (
        empirical_proximity(distances, distances),
        fitted_proximity(distances, spread, spread),
        fitted_proximity(distances, spread, spread, "gaussian"),
    ):
        assert _hubness(after) < before / 2


def test_equal_distances_are_valid() -> None:
    distances = np.where(np.eye(4, dtype=bool), np.inf, 1.0)
    spread = DistanceMoments.of(distances)
    for found in (
        empirical_proximity(distances, distances),
        fitted_proximity(distances, spread, spread),
        fitted_proximity(distances, spread, spread, "gaussian"),
    ):
        assert np.isfinite(found[~np.eye(4, dtype=bool)]).all()
    nothing = np.full((2, 4), np.inf)
    assert np.isinf(empirical_proximity(nothing, distances)).all()
    assert np.isinf(fitted_proximity(nothing, DistanceMoments.of(nothing), spread)).all()


def test_inputs_that_do_not_match_are_refused() -> None:
    distances = _distances(4, 0)
    spread = DistanceMoments.of(distances)
    with pytest.raises(EvaluationError):
        empirical_proximity(distances, distances[:3])
    with pytest.raises(EvaluationError):
        fitted_proximity(distances[:2], spread, spread)
    with pytest.raises(EvaluationError):
        fitted_proximity(distances, spread, spread, "uniform")  # type: ignore[arg-type]
