import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.distance import ground_cost as cost_module
from moverank.rerank.distance.ground_cost import (
    UNIT_ROUNDOFF,
    cost_floor,
    exact_cost,
    exact_minima,
    nearest_words,
    squared_error,
)
from moverank.rerank.words.embedding import Embedding
from tests.rerank.problems import VECTORS, make_vectors

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(1, 12), st.integers(1, 12), st.sampled_from(VECTORS))
def test_exact_cost_is_the_euclidean_distance(seed: int, n: int, d: int, kind: str) -> None:
    vectors = make_vectors(np.random.default_rng(seed), n, d, kind, 1.0)
    cost = exact_cost(vectors, vectors)
    for i, mine in enumerate(vectors.tolist()):
        for j, theirs in enumerate(vectors.tolist()):
            assert cost[i, j] == pytest.approx(math.dist(mine, theirs), rel=1e-12)
            assert cost[i, j] > 0 or mine == theirs


@given(
    SEEDS, st.integers(1, 60), st.integers(1, 20), st.integers(1, 300), st.sampled_from(VECTORS), st.floats(-3.0, 3.0)
)
def test_cost_floor_is_not_above_the_exact_cost(seed: int, v: int, h: int, d: int, kind: str, exponent: float) -> None:
    everything = make_vectors(np.random.default_rng(seed), v + h, d, kind, 10**exponent)
    vectors, query_vectors = everything[:v], everything[v:]
    floor = cost_floor(vectors, query_vectors)
    assert floor.dtype == np.float32
    assert floor.shape == (v, h)
    assert np.all(floor >= 0)
    assert np.all(floor <= exact_cost(vectors, query_vectors))


@given(
    SEEDS, st.integers(1, 30), st.integers(1, 30), st.integers(1, 300), st.sampled_from(VECTORS), st.floats(-15.0, 3.0)
)
def test_exact_minima_are_those_of_the_whole_matrix(
    seed: int, n: int, m: int, d: int, kind: str, exponent: float
) -> None:
    everything = make_vectors(np.random.default_rng(seed), n + m, d, kind, 10**exponent)
    cost = exact_cost(everything[:n], everything[n:])
    by_source, by_target = exact_minima(everything[:n], everything[n:])
    assert by_source.tolist() == cost.min(axis=1).tolist()
    assert by_target.tolist() == cost.min(axis=0).tolist()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dim", [2, 50, 300])
def test_cost_floor_is_close(dim: int, scale: float) -> None:
    vectors = make_vectors(np.random.default_rng(dim), 300, dim, "normal", scale / dim**0.5)
    exact = exact_cost(vectors, vectors[:40])
    floor = cost_floor(vectors, vectors[:40])
    norms = np.linalg.norm(vectors, axis=1)
    # The error bound is subtracted, and the error itself may have the same sign: at most twice the bound.
    allowed = 2.5 * (dim + 8) * UNIT_ROUNDOFF * (norms[:, None] + norms[:40]) ** 2
    assert np.all(np.square(exact) - np.square(floor.astype(np.float64)) <= allowed)
    ordinary = exact > 0.5 * scale
    assert np.count_nonzero(ordinary) > 1000
    assert np.all(floor[ordinary] >= (1 - 1e-4) * exact[ordinary])


@pytest.mark.parametrize("dim", [1, 7, 200])
@pytest.mark.parametrize("kind", VECTORS)
def test_squared_error_bounds_the_error_of_float32(dim: int, kind: str) -> None:
    vectors = make_vectors(np.random.default_rng(dim), 60, dim, kind, 1.0)
    norms = np.linalg.norm(vectors, axis=1)
    products = np.square(norms)[:, None] + np.square(norms) - 2 * (vectors @ vectors.T)
    allowed = squared_error(norms[:, None], norms, dim)
    assert allowed.dtype == np.float32
    assert np.all(np.abs(products - np.square(exact_cost(vectors, vectors))) <= allowed)


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    vectors, query_vectors = make_vectors(rng, 103, 16, "normal", 1.0), make_vectors(rng, 5, 16, "normal", 1.0)
    whole = cost_floor(vectors, query_vectors)
    monkeypatch.setattr(cost_module, "_BLOCK_BYTES", 4 * 16 * 10)
    np.testing.assert_allclose(cost_floor(vectors, query_vectors), whole, rtol=1e-5)
    assert np.all(cost_floor(vectors, query_vectors) <= exact_cost(vectors, query_vectors))


def test_no_words_give_an_empty_cost() -> None:
    assert cost_floor(np.empty((0, 3), np.float32), np.ones((2, 3), np.float32)).shape == (0, 2)


@given(SEEDS, st.integers(1, 12), st.integers(1, 6), st.sampled_from(VECTORS))
def test_the_nearest_word_is_that_of_a_loop(seed: int, n: int, d: int, kind: str) -> None:
    vectors = make_vectors(np.random.default_rng(seed), n, d, kind, 1.0)
    words = [f"w{i}" for i in range(n)]
    sources, targets = words[: n // 2 + 1], words[n // 3 :]
    found = nearest_words(Embedding.of(words, vectors), [*sources, "unknown"], [*targets, "other"])
    assert list(found) == targets
    rows = dict(zip(words, vectors.tolist(), strict=True))
    typical = {one: math.sqrt(sum(math.dist(rows[one], other) ** 2 for other in rows.values()) / n) for one in sources}
    for target, near in found.items():
        costs = {one: math.dist(rows[one], rows[target]) for one in sources}
        assert near.cost == pytest.approx(costs[near.word], rel=1e-9)
        if typical[near.word] > 1e-3:
            assert near.share == pytest.approx(near.cost / typical[near.word], rel=1e-4)
            least = min(costs[one] / typical[one] for one in sources if typical[one] > 1e-3)
            assert near.share == pytest.approx(least, rel=1e-3, abs=1e-6)


def test_words_without_vectors_have_no_nearest_word() -> None:
    embedding = Embedding.of(["cat"], np.ones((1, 2), np.float32))
    assert nearest_words(embedding, ["dog"], ["cat"]) == nearest_words(embedding, ["cat"], ["dog"]) == {}
