import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.search.ordering import smallest_first


@given(st.lists(st.floats(-1e300, 1e300), max_size=20), st.integers(1, 25))
def test_smaller_values_come_first(values: list[float], k: int) -> None:
    given_values = np.array(values, float)
    order, ordered = smallest_first(given_values, np.arange(len(values)), k)
    assert len(set(order.tolist())) == len(order) == min(k, len(values))
    assert ordered.tolist() == sorted(ordered.tolist())
    np.testing.assert_allclose(ordered, given_values[order], rtol=1e-11)
    np.testing.assert_allclose(ordered, sorted(values)[:k], rtol=1e-11)


def test_values_that_differ_by_rounding_are_ordered_by_id() -> None:
    values = np.array([0.3, 0.1 + 0.2, 1e-40, 0.0, np.inf])
    order, ordered = smallest_first(values, np.array([7, 3, 5, 9, 1]), 9)
    assert order.tolist() == [3, 2, 1, 0, 4]
    assert ordered.tolist() == [0.0, 1e-40, 0.1 + 0.2, 0.1 + 0.2, np.inf]
