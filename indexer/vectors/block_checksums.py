"""Checksums of the blocks of a matrix: only the blocks that are read have to be checked.

A search reads the rows of a few words; checking a whole file of gigabytes first would take longer than the search.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.checksums import short_checksum
from moverank.indexer.vectors.manifest import REPAIR_HINT

BLOCK = 1 << 16
"""Number of bytes covered by one checksum."""


def block_count(matrix: NDArray[Any]) -> int:
    """Return the number of blocks of a matrix."""
    return -(-matrix.nbytes // BLOCK)


def block_checksums(matrix: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the checksums of a matrix's blocks; the last block may be shorter."""
    data = _buffer(matrix)
    starts = range(0, len(data), BLOCK)
    return np.array([short_checksum(data[start : start + BLOCK]) for start in starts], np.uint64)


class BlockChecker:
    """Compares each block of a mapped `matrix` (n, d) with its checksum when a row in it is first read.

    `path` is the matrix's file, named in errors; `checksums` (b,) are the expected ones.
    """

    def __init__(self, path: Path, matrix: NDArray[Any], checksums: NDArray[np.uint64]) -> None:
        self._path, self._data, self._checksums = path, _buffer(matrix), checksums
        self._stride = matrix.shape[1] * matrix.itemsize
        self._verified = np.zeros(len(checksums), bool)

    def check(self, rows: NDArray[np.integer[Any]]) -> None:
        """Raise VectorsError if a block that contains any part of the `rows` (m,) is damaged."""
        starts = np.asarray(rows, np.int64) * self._stride
        first, last = starts // BLOCK, (starts + self._stride - 1) // BLOCK
        for i in range(int((last - first).max(initial=0)) + 1):
            touched = np.unique(np.minimum(first + i, last))
            for block in touched[~self._verified[touched]].tolist():
                start = block * BLOCK
                if short_checksum(self._data[start : start + BLOCK]) != int(self._checksums[block]):
                    raise VectorsError(
                        f"{self._path} is damaged at byte {start:,} of its numbers or after: {REPAIR_HINT}"
                    )
                self._verified[block] = True


def _buffer(matrix: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(matrix).data.cast("B") if matrix.size else memoryview(b"")
