"""A matrix is believed block by block, and only what is read has to be right."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.block_checksums import BLOCK, Blocks, block_count, block_sums

_NUMBERS = BLOCK // 4


@given(d=st.sampled_from([1, 3, 200, _NUMBERS - 1, _NUMBERS, 3 * _NUMBERS + 1]), data=st.data())
def test_a_row_fails_where_a_block_of_it_was_changed(d: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, max(1, 5 * _NUMBERS // d)))
    matrix = np.arange(n * d, dtype=np.float32).reshape(n, d)
    sums = block_sums(matrix)
    assert len(sums) == block_count(matrix)
    changed = data.draw(st.integers(0, n * d - 1))
    matrix.reshape(-1)[changed] += 0.5
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=3)), np.int64)
    bad = changed // _NUMBERS
    touched = any(row * d // _NUMBERS <= bad <= ((row + 1) * d - 1) // _NUMBERS for row in rows.tolist())
    blocks = Blocks(Path("x"), matrix, sums)
    if touched:
        with pytest.raises(VectorsError, match=f"x is damaged at byte {bad * BLOCK:,} "):
            blocks.check(rows)
    else:
        blocks.check(rows)


def test_a_block_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.ones((10, 3), np.float32)
    blocks = Blocks(Path("x"), matrix, block_sums(matrix))
    blocks.check(np.array([4, 5]))
    monkeypatch.setattr("moverank.indexer.vectors.block_checksums.short_checksum", lambda _: pytest.fail("once more"))
    blocks.check(np.array([1]))


def test_an_empty_matrix_has_no_blocks() -> None:
    matrix = np.empty((0, 3), np.float32)
    assert block_count(matrix) == len(block_sums(matrix)) == 0
    Blocks(Path("x"), matrix, block_sums(matrix)).check(np.empty(0, np.int64))
