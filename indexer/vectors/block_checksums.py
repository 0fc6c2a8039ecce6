"""Checksums of a matrix block by block: gigabytes of vectors are believed a row at a time, as they are read.

A search reads the rows of a few words. Looking through the whole file first would take longer than the search.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.checksums import short_checksum

BLOCK = 1 << 16
"""Bytes under one checksum."""

MEND = "`moverank check --repair` gets the word vectors again"


def block_count(matrix: NDArray[Any]) -> int:
    """Return how many blocks a matrix has."""
    return -(-matrix.nbytes // BLOCK)


def block_sums(matrix: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the checksums of a matrix's blocks, the last of which may be shorter."""
    data = _bytes_of(matrix)
    starts = range(0, len(data), BLOCK)
    return np.array([short_checksum(data[start : start + BLOCK]) for start in starts], np.uint64)


class Blocks:
    """Compares the blocks of a mapped matrix (n, d) with their checksums, each when a row of it is first read."""

    def __init__(self, path: Path, matrix: NDArray[Any], sums: NDArray[np.uint64]) -> None:
        self._path, self._data, self._sums = path, _bytes_of(matrix), sums
        self._stride = matrix.shape[1] * matrix.itemsize
        self._good = np.zeros(len(sums), bool)

    def check(self, rows: NDArray[np.integer[Any]]) -> None:
        """Raise VectorsError where a block with any of the `rows` (n,) is not what was written."""
        first = np.asarray(rows, np.int64) * self._stride
        lasts = first + self._stride - 1
        for i in range(int((lasts // BLOCK - first // BLOCK).max(initial=0)) + 1):
            touched = np.unique(np.minimum(first // BLOCK + i, lasts // BLOCK))
            for block in touched[~self._good[touched]].tolist():
                start = block * BLOCK
                if short_checksum(self._data[start : start + BLOCK]) != int(self._sums[block]):
                    raise VectorsError(f"{self._path} is damaged at byte {start:,} of its numbers or after: {MEND}")
                self._good[block] = True


def _bytes_of(matrix: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(matrix).data.cast("B") if matrix.size else memoryview(b"")
