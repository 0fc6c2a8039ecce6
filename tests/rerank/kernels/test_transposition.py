"""The transpose of sparse rows is scipy's."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from moverank.rerank.kernels.counts import transposed


@pytest.mark.parametrize(("n", "count", "entries"), [(0, 0, 0), (3, 0, 0), (1, 1, 1), (1, 5, 9), (30, 7, 400)])
def test_the_transpose_is_that_of_scipy_with_repeated_entries_added_up(n: int, count: int, entries: int) -> None:
    rng = np.random.default_rng(5)
    starts = np.append(0, np.sort(np.append(rng.integers(0, entries + 1, max(n - 1, 0)), [entries] * (n > 0))))
    columns = rng.integers(0, max(count, 1), entries).astype(np.int32)
    values = rng.integers(1, 9, entries).astype(np.float64)
    rows = csr_array((values, columns, starts), shape=(n, count), copy=True)  # `sum_duplicates` works in place
    rows.sum_duplicates()
    expected = rows.tocsc()
    found = transposed(starts.astype(np.int64), columns, values, count)
    for own, theirs in zip(found, (expected.indptr, expected.indices, expected.data), strict=True):
        np.testing.assert_array_equal(own, theirs)
    assert [own.dtype for own in found] == [np.int64, np.int32, np.float64]
