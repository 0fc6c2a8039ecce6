"""Copies rows of a model, such as the vectors of its subwords, to an array file, block by block."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.arrays import array_file
from moverank.indexer.values.search_options import Progress
from moverank.rerank.words.embedding import unusable_rows

BLOCK = 1 << 20
"""Bytes of a block."""


def step_of(dim: int) -> int:
    """Return the number of rows of `dim` float32 numbers in a block."""
    return max(1, BLOCK // (4 * dim))


def copy_matrix(
    blocks: Iterable[NDArray[np.float32]],
    path: Path,
    shape: tuple[int, int],
    source: Path,
    row_label: Callable[[int], str],
    progress: Progress,
) -> bytes:
    """Write `blocks` of rows (n, d), together of this `shape`, to an array file at `path`; return their SHA-256.

    `row_label` names a row in errors about the file `source`; `progress` is called after each block. Raises
    VectorsError for a number that is not finite or beyond 1e15.
    """
    digest, done = hashlib.sha256(), 0
    with array_file(path, "<f4") as file:
        for rows in blocks:
            bad = unusable_rows(rows).tolist()
            if bad:
                raise VectorsError(
                    f"{source}, {row_label(done + bad[0])} has a number that is not finite, or beyond 1e15: "
                    "get the file again"
                )
            digest.update(file.write(rows))
            done += len(rows)
            progress("Reading subwords", done, shape[0], "rows")
    return digest.digest()
