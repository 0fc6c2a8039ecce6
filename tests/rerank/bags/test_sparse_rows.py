import numpy as np

from moverank.rerank.bags.bag import Bags, unit_sparse_rows


def test_rows_have_length_one_and_empty_bags_stay_empty() -> None:
    starts, words = np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32)
    rows = unit_sparse_rows(Bags(starts, words, np.array([3.0, 4.0, 0.5])), 4).toarray()
    np.testing.assert_allclose(rows, np.array([[0.6, 0, 0.8, 0], [0, 0, 0, 0], [0, 1, 0, 0]]))


def test_no_bags_have_no_rows() -> None:
    assert unit_sparse_rows(Bags.of([]), 3).shape == (0, 3)
