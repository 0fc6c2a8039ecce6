import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from moverank.rerank.encoders.fisher import cluster_sums, nearest_centres, spread_centres
from tests.rerank.problems import VECTORS, WEIGHTS, make_vectors, make_weights


@given(
    st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 40), st.sampled_from(VECTORS), st.sampled_from(WEIGHTS)
)
def test_centres_are_distinct_points(seed: int, n: int, count: int, kind: str, weighting: str) -> None:
    rng = np.random.default_rng(seed)
    points = make_vectors(rng, n, 3, kind, 1.0).astype(np.float64)
    centres = spread_centres(points, make_weights(rng, n, weighting), count, seed)
    distinct = {tuple(point) for point in points.tolist()}
    assert {tuple(centre) for centre in centres.tolist()} <= distinct
    assert len({tuple(centre) for centre in centres.tolist()}) == len(centres) <= min(count, len(distinct))
    # With weights of one order of magnitude every point can be drawn.
    assert weighting == "orders" or len(centres) == min(count, len(distinct))


def test_a_heavy_or_a_far_point_is_drawn() -> None:
    points = np.array([[0.0], [1e-3], [2e-3], [100.0]])
    for seed in range(20):
        assert spread_centres(points, np.array([1, 1e9, 1, 1.0]), 1, seed).tolist() == [[1e-3]]
        assert 100.0 in spread_centres(points, np.ones(4), 2, seed)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 6))
def test_each_point_belongs_to_its_nearest_centre(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    points, centres = rng.standard_normal((n, 4)), rng.standard_normal((k, 4))
    weights = make_weights(rng, n, "normal")
    clusters = nearest_centres(points, centres)
    np.testing.assert_array_equal(clusters, cdist(points, centres).argmin(axis=1))
    masses, firsts, seconds = cluster_sums(points, weights, clusters, k)
    for centre in range(k):
        own = clusters == centre
        np.testing.assert_allclose(masses[centre], weights[own].sum(), atol=1e-14)
        np.testing.assert_allclose(firsts[centre], weights[own] @ points[own], atol=1e-13)
        np.testing.assert_allclose(seconds[centre], weights[own] @ points[own] ** 2, atol=1e-13)
