"""A matrix is checked block by block, and only the blocks that are read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.open_vectors import BLOCK, BlockChecker, block_checksums, block_count

_NUMBERS = BLOCK // 4


@given(d=st.sampled_from([1, 3, 200, _NUMBERS - 1, _NUMBERS, 3 * _NUMBERS + 1]), data=st.data())
def test_a_row_fails_if_one_of_its_blocks_was_changed(d: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, max(1, 5 * _NUMBERS // d)))
    matrix = np.arange(n * d, dtype=np.float32).reshape(n, d)
    checksums = block_checksums(matrix)
    assert len(checksums) == block_count(matrix)
    changed = data.draw(st.integers(0, n * d - 1))
    matrix.reshape(-1)[changed] += 0.5
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=3)), np.int64)
    bad = changed // _NUMBERS
    touched = any(row * d // _NUMBERS <= bad <= ((row + 1) * d - 1) // _NUMBERS for row in rows.tolist())
    checker = BlockChecker(Path("x"), matrix, checksums)
    if touched:
        with pytest.raises(VectorsError, match=f"x is damaged at byte {bad * BLOCK:,} "):
            checker.check(rows)
    else:
        checker.check(rows)


def test_a_block_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.ones((10, 3), np.float32)
    checker = BlockChecker(Path("x"), matrix, block_checksums(matrix))
    checker.check(np.array([4, 5]))
    monkeypatch.setattr("moverank.indexer.vectors.open_vectors.short_checksum", lambda _: pytest.fail("checked again"))
    checker.check(np.array([1]))


def test_an_empty_matrix_has_no_blocks() -> None:
    matrix = np.empty((0, 3), np.float32)
    assert block_count(matrix) == len(block_checksums(matrix)) == 0
    BlockChecker(Path("x"), matrix, block_checksums(matrix)).check(np.empty(0, np.int64))
