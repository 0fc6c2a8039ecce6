import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import gamma, norm

from moverank.rerank.distance.mutual_proximity import (
    KINDS,
    MARGIN,
    DistanceMoments,
    ProximityKind,
    empirical_proximity,
    fitted_proximity,
    mutual_proximity,
)
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.tightness import hubness
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


@pytest.mark.parametrize("kind", KINDS)
def test_it_never_decreases_with_the_distance(kind: ProximityKind) -> None:
    """Up to the margin, also far outside of the sample, where all is 0 or 1."""
    rng = np.random.default_rng(2)
    query, documents = rng.uniform(0.5, 1.5, 20), rng.uniform(0.5, 1.5, (3, 20))
    documents[1], documents[2, 4] = 1.0, np.nan
    proximity = mutual_proximity(kind, query, documents)
    distances = np.sort(np.concatenate([[0.0, 1.0, 1e6], rng.uniform(0, 2, 3000), 1 + rng.normal(0, 1e-12, 3000)]))
    for row in range(3):
        costs = proximity.costs(np.full(len(distances), row), distances)
        assert np.diff(costs).min() >= -MARGIN
        assert costs[0] >= -MARGIN
        assert costs[-1] <= 1.1


@pytest.mark.parametrize("kind", ["gaussian", "gamma"])
def test_fitted_proximity_of_a_sample_is_the_product_of_both_sides(kind: ProximityKind) -> None:
    rng = np.random.default_rng(3)
    query, documents, distances = rng.uniform(0.5, 1.5, 20), rng.uniform(0.5, 1.5, (4, 20)), rng.uniform(0.4, 1.6, 4)
    found = mutual_proximity(kind, query, documents).costs(np.arange(4), distances)
    for row, distance in enumerate(distances.tolist()):
        above = 1.0
        for side in (query, documents[row]):
            mean, deviation = side.mean(), side.std(ddof=1)
            shape = (mean / deviation) ** 2
            fitted = norm(mean, deviation) if kind == "gaussian" else gamma(shape, scale=mean / shape)
            above *= fitted.sf(distance)
        assert found[row] == pytest.approx(1 - above, abs=2e-9)


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
    with pytest.raises(EvaluationError):
        mutual_proximity("empirical", distances[0], distances[:, :3])
