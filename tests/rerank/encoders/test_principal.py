import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.encoders import fisher
from moverank.rerank.encoders.fisher import Principal
from tests import naive_encoders
from tests.rerank.problems import VECTORS, WEIGHTS, make_vectors, make_weights


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 6), st.sampled_from(VECTORS), st.sampled_from(WEIGHTS))
def test_axes_diagonalise_the_naive_covariance(seed: int, n: int, d: int, kind: str, weighting: str) -> None:
    rng = np.random.default_rng(seed)
    points, weights = make_vectors(rng, n, d, kind, 1.0), make_weights(rng, n, weighting)
    fitted = Principal.of(points, weights, 9)
    assert fitted.axes.shape == (d, d)
    np.testing.assert_allclose(fitted.axes.T @ fitted.axes, np.eye(d), atol=1e-12)
    covariance = np.array(naive_encoders.covariance(points.astype(np.float64).tolist(), weights.tolist()))
    turned = fitted.axes.T @ covariance @ fitted.axes
    scale = max(float(np.abs(points).max()) ** 2, 1e-30)
    np.testing.assert_allclose(turned, np.diag(np.diag(turned)), atol=1e-12 * scale)
    assert np.all(np.diff(np.diag(turned)) <= 1e-12 * scale)
    coordinates = fitted.project(points)
    np.testing.assert_allclose(weights @ coordinates, 0, atol=1e-12 * float(weights.sum()) * scale**0.5)


def test_axes_equal_those_of_scikit_learn() -> None:
    oracle = pytest.importorskip("sklearn.decomposition", reason="scikit-learn is the oracle")
    rng = np.random.default_rng(1)
    points = (rng.standard_normal((80, 7)) * np.arange(1, 8)).astype(np.float32)
    times = rng.integers(1, 4, 80)
    fitted = Principal.of(points, times.astype(np.float64), 4)
    expected = oracle.PCA(4, svd_solver="full").fit(np.repeat(points, times, axis=0).astype(np.float64))
    signs = np.sign((expected.components_.T * fitted.axes).sum(axis=0))
    np.testing.assert_allclose(fitted.axes, expected.components_.T * signs, atol=1e-9)
    np.testing.assert_allclose(fitted.mean, expected.mean_, atol=1e-9)
    np.testing.assert_allclose(fitted.project(points), expected.transform(points.astype(np.float64)) * signs, atol=1e-6)


def test_the_largest_entry_of_an_axis_is_positive() -> None:
    axes = Principal.of(make_vectors(np.random.default_rng(2), 50, 6, "normal", 1.0), np.ones(50), 6).axes
    assert np.all(axes[np.abs(axes).argmax(axis=0), np.arange(6)] > 0)


def test_blocks_do_not_change_a_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    points = make_vectors(np.random.default_rng(3), 50, 6, "normal", 1.0)
    fitted = Principal.of(points, np.ones(50), 3)
    whole = fitted.project(points)
    monkeypatch.setattr(fisher, "_BLOCK", 8)
    assert fitted.project(points).tobytes() == whole.tobytes()
    np.testing.assert_allclose(Principal.of(points, np.ones(50), 3).axes, fitted.axes, atol=1e-12)
