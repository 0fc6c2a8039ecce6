import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.encoders.fisher import FLOOR, Mixture
from tests import naive_encoders
from tests.rerank.problems import VECTORS, WEIGHTS, make_vectors, make_weights
from tests.samples import examples

Points = NDArray[np.float64]


def random_mixture(rng: np.random.Generator, k: int, e: int) -> Mixture:
    return Mixture(rng.dirichlet(np.ones(k)), rng.standard_normal((k, e)), rng.uniform(0.2, 2, (k, e)))


def plain(mixture: Mixture) -> list[naive_encoders.Gaussian]:
    return list(zip(mixture.shares.tolist(), mixture.means.tolist(), mixture.variances.tolist(), strict=True))


def rounds(mixture: Mixture, points: Points, weights: Points, count: int) -> tuple[Mixture, list[float]]:
    likelihoods = []
    for _ in range(count):
        mixture, likelihood = mixture.improved(points, weights, 1e-4)
        likelihoods.append(likelihood)
    return mixture, likelihoods


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.integers(1, 8), st.sampled_from([1e-9, 0.5]))
def test_an_iteration_equals_the_naive_one(seed: int, k: int, e: int, n: int, floor: float) -> None:
    rng = np.random.default_rng(seed)
    mixture, points = random_mixture(rng, k, e), rng.standard_normal((n, e))
    weights = rng.dirichlet(np.ones(n))
    improved, likelihood = mixture.improved(points, weights, floor)
    expected = naive_encoders.improved(points.tolist(), weights.tolist(), plain(mixture), floor)
    for component, naive in zip(plain(improved), expected, strict=True):
        assert component[0] == pytest.approx(naive[0], rel=1e-9)
        np.testing.assert_allclose(component[1], naive[1], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(component[2], naive[2], rtol=1e-6, atol=1e-12)
    logs = [naive_encoders.log_likelihood(point, plain(mixture)) for point in points.tolist()]
    assert likelihood == pytest.approx(float(weights @ logs), rel=1e-9, abs=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.1, 1.0, 100.0]))
def test_responsibilities_equal_the_naive_ones(seed: int, k: int, e: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    mixture, points = random_mixture(rng, k, e), scale * rng.standard_normal((6, e))
    shares = mixture.responsibilities(points)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    expected = [naive_encoders.responsibilities(point, plain(mixture)) for point in points.tolist()]
    np.testing.assert_allclose(shares, expected, rtol=1e-6, atol=1e-12)


def test_the_optimum_is_that_of_scikit_learn() -> None:
    oracle = pytest.importorskip("sklearn.mixture", reason="scikit-learn is the oracle")
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(centre, 1 + centre / 4, (150, 3)) for centre in (0, 3, 6)])
    start = random_mixture(rng, 3, 3)
    expected = oracle.GaussianMixture(
        3, covariance_type="diag", reg_covar=0, tol=1e-12, max_iter=5000, weights_init=start.shares,
        means_init=start.means, precisions_init=1 / start.variances,
    ).fit(points)  # fmt: skip
    fitted, likelihoods = rounds(start, points, np.full(450, 1 / 450), int(expected.n_iter_) + 1)
    np.testing.assert_allclose(fitted.shares, expected.weights_, rtol=1e-6)
    np.testing.assert_allclose(fitted.means, expected.means_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fitted.variances, expected.covariances_, rtol=1e-5)
    np.testing.assert_allclose(fitted.responsibilities(points), expected.predict_proba(points), atol=1e-5)
    assert likelihoods[-1] == pytest.approx(expected.score(points), rel=1e-9)


@examples(0.5)
@given(st.integers(0, 2**32), st.sampled_from(WEIGHTS))
def test_the_likelihood_never_decreases(seed: int, weighting: str) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.standard_normal((20, 2)), make_weights(rng, 20, weighting)
    _, likelihoods = rounds(random_mixture(rng, 3, 2), points, weights / weights.sum(), 15)
    assert np.all(np.diff(likelihoods) > -1e-9)


def test_a_weight_is_a_repetition() -> None:
    rng = np.random.default_rng(2)
    points, times, start = rng.standard_normal((30, 4)), rng.integers(1, 5, 30), random_mixture(rng, 4, 4)
    weighted, _ = rounds(start, points, times / times.sum(), 10)
    repeated, _ = rounds(start, np.repeat(points, times, axis=0), np.full(times.sum(), 1 / times.sum()), 10)
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-9)
    np.testing.assert_allclose(weighted.variances, repeated.variances, rtol=1e-9)


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 8), st.sampled_from(VECTORS), st.sampled_from(WEIGHTS))
def test_any_points_can_be_fitted(seed: int, n: int, k: int, kind: str, weighting: str) -> None:
    rng = np.random.default_rng(seed)
    points = make_vectors(rng, n, 3, kind, 1.0).astype(np.float64)
    mixture = Mixture.fit(points, make_weights(rng, n, weighting), k, 10, seed)
    assert 1 <= len(mixture.shares) <= min(k, len(np.unique(points, axis=0)))
    assert mixture.shares.sum() == pytest.approx(1)
    assert np.all(mixture.shares > 0)
    assert np.all(mixture.variances > 0)
    assert kind != "equal" or np.all(mixture.variances == 1)
    assert np.all(np.isfinite(mixture.responsibilities(1e6 * points)))


def test_clusters_are_found() -> None:
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0], [20, 0], [0, 20], [20, 20]])
    points = np.concatenate([rng.normal(centre, 1, (200, 2)) for centre in centres])
    mixture = Mixture.fit(points, np.ones(800), 4, 50, 0)
    order = np.lexsort((mixture.means[:, 0].round(), mixture.means[:, 1].round()))
    np.testing.assert_allclose(mixture.means[order], centres, atol=0.3)
    np.testing.assert_allclose(mixture.variances, 1, atol=0.3)
    np.testing.assert_allclose(mixture.shares, 0.25, atol=1e-6)


def test_a_component_of_one_point_has_the_variance_floor() -> None:
    points = np.concatenate([np.zeros((1, 2)), 50 + np.random.default_rng(4).standard_normal((99, 2))])
    mixture = Mixture.fit(points, np.ones(100), 2, 50, 0)
    assert mixture.variances.min() == pytest.approx(FLOOR * points.var(axis=0).mean())


def test_fits_are_reproducible_by_seed() -> None:
    points = np.random.default_rng(5).standard_normal((200, 5))
    one, same, other = (Mixture.fit(points, np.ones(200), 8, 20, seed) for seed in (0, 0, 1))
    assert one.means.tobytes() == same.means.tobytes()
    assert one.means.tobytes() != other.means.tobytes()
