"""Prefetching changes no result, and the compiled code asks for it."""

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from moverank.rerank.kernels.products import prefetch_entry, prefetch_row


def _sum(rows, numbers, order):  # type: ignore[no-untyped-def]
    total = 0.0
    for x in range(len(order)):
        ahead = order[min(x + 2, len(order) - 1)]
        prefetch_entry(numbers, ahead)
        prefetch_row(rows, ahead)
        for j in range(rows.shape[1]):
            total += rows[order[x], j] * numbers[order[x]]
    return total


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("width", [0, 1, 200])
def test_a_prefetched_sum_is_the_sum(dtype: type[np.generic], width: int) -> None:
    rows: NDArray[np.generic] = np.arange(40 * width).reshape(40, width).astype(dtype)
    numbers, order = np.linspace(0, 1, 40), np.random.default_rng(1).permutation(40).astype(np.int32)
    compiled = njit(_sum)
    assert compiled(rows, numbers, order) == pytest.approx(float((rows.astype(float).sum(axis=1) * numbers).sum()))
    assert compiled(rows, numbers, order) == pytest.approx(_sum(rows, numbers, order))  # type: ignore[no-untyped-call]
    assert "prefetch" in next(iter(compiled.inspect_llvm().values()))


@pytest.mark.slow
def test_scattered_rows_are_not_prefetched() -> None:
    rows, order = np.asfortranarray(np.arange(12.0).reshape(4, 3)), np.arange(4)
    assert njit(_sum)(rows, np.ones(4), order) == rows.sum()
