import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.encoders import lsi
from moverank.rerank.encoders.lsi import row_products
from tests import naive_encoders


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6), st.integers(0, 6))
def test_products_equal_the_naive_ones(seed: int, a: int, b: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows, matrix = rng.standard_normal((n, a)).astype(np.float32), rng.standard_normal((a, b))
    products = row_products(rows, matrix)
    assert products.dtype == np.float64
    assert products.shape == (n, b)
    expected = np.reshape(naive_encoders.product(rows.astype(np.float64).tolist(), matrix.tolist()), (n, b))
    np.testing.assert_allclose(products, expected, rtol=1e-12, atol=1e-12)


def test_rows_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows, matrix = rng.standard_normal((300, 200)), rng.standard_normal((200, 64))
    whole = row_products(rows, matrix)
    assert all(row_products(rows[i : i + 1], matrix).tobytes() == whole[i].tobytes() for i in range(300))
    monkeypatch.setattr(lsi, "_BLOCK", 7)
    assert row_products(rows, matrix).tobytes() == whole.tobytes()
