"""The transpose of sparse rows."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled


@compiled()
def transposed(starts, columns, values, count):  # type: ignore[no-untyped-def]
    """Return the transpose of compressed sparse rows, as starts (`count` + 1,) int64, rows int32 and values.

    `starts` is (n + 1,), `columns` (nnz,), each below `count`, in any order, and `values` (nnz,) float64. The values of
    a column that is there several times in a row are added up.
    """
    ends, last = np.zeros(count + 1, np.int64), np.full(count, -1, np.int64)
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            column = columns[entry]
            if last[column] != row:
                last[column] = row
                ends[column + 1] += 1
    for column in range(count):
        ends[column + 1] += ends[column]
    own, rows, sums = ends.copy(), np.empty(ends[count], np.int32), np.zeros(ends[count])
    last[:] = -1
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            column = columns[entry]
            if last[column] != row:
                last[column] = row
                rows[own[column]] = row
                own[column] += 1
            sums[own[column] - 1] += values[entry]
    return ends, rows, sums
