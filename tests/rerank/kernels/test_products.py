"""Inner products of many vectors with a few."""

import numpy as np
import pytest

from moverank.rerank.kernels.products import row_products


@pytest.mark.parametrize("h", [1, 2, 3, 4, 5, 7, 8, 23, 24, 25, 40])
@pytest.mark.parametrize("d", [1, 3, 200])
def test_products_are_those_of_float64_up_to_the_rounding_of_float32(h: int, d: int) -> None:
    rng = np.random.default_rng(h * d)
    vectors, query = (rng.normal(size=(n, d)).astype(np.float32) for n in (50, h))
    found = np.empty((50, h), np.float32)
    row_products(vectors, query, found)
    exact = vectors.astype(np.float64) @ query.T.astype(np.float64)
    longest = np.linalg.norm(vectors, axis=1)[:, None] * np.linalg.norm(query, axis=1)
    assert (np.abs(found - exact) <= 1.01 * d * np.finfo(np.float32).eps / 2 * longest).all()


def test_there_may_be_no_vectors() -> None:
    row_products(np.empty((0, 3), np.float32), np.ones((2, 3), np.float32), np.empty((0, 2), np.float32))
