import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.search.ordering import best_first_order


@given(st.lists(st.floats(-1e300, 1e300), max_size=20))
def test_smaller_values_come_first(values: list[float]) -> None:
    order = best_first_order(np.array(values, float), np.arange(len(values)))
    ordered = np.array(values, float)[order]
    assert np.all(ordered[1:] >= ordered[:-1] - 1e-11 * np.abs(ordered[:-1]))
    assert sorted(order.tolist()) == list(range(len(values)))


def test_values_that_differ_by_rounding_are_ordered_by_id() -> None:
    values = np.array([0.3, 0.1 + 0.2, 1e-40, 0.0, np.inf])
    assert best_first_order(values, np.array([7, 3, 5, 9, 1])).tolist() == [3, 2, 1, 0, 4]
