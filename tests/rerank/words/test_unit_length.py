import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.words.embedding import unit_rows
from tests import naive

ROWS = st.lists(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=3, max_size=3), max_size=5)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(ROWS)
def test_unit_rows_equal_the_naive_ones(rows: list[list[float]]) -> None:
    units = unit_rows(np.reshape(np.array(rows, np.float64), (-1, 3)))
    for unit, row in zip(units.tolist(), rows, strict=True):
        largest = max(map(abs, row)) or 1
        assert unit == pytest.approx(naive.unit([x / largest for x in row]), rel=1e-12)


@given(st.lists(st.lists(FLOATS, min_size=2, max_size=2), min_size=1))
def test_unit_rows_have_length_one_or_zero(rows: list[list[float]]) -> None:
    units = unit_rows(np.array(rows, np.float32))
    assert units.dtype == np.float64
    lengths = np.linalg.norm(units.astype(np.float32).astype(float), axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | ((lengths == 0) & ~np.any(rows, axis=1)))


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e15])
def test_scaling_by_powers_of_two_rounds_nothing(scale: float) -> None:
    rows = (scale * np.random.default_rng(0).standard_normal((50, 30))).astype(np.float32)
    wide = rows.astype(np.float64)
    assert unit_rows(rows).tobytes() == (wide / np.sqrt((wide * wide).sum(axis=1, keepdims=True))).tobytes()
    assert unit_rows(rows[7:8]).tobytes() == unit_rows(rows)[7].tobytes()
