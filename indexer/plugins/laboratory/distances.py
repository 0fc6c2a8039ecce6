"""Distances and neighbours, kept row by row in a directory of the collection: an interrupted run continues.

A file is named by a digest of its input, so it cannot be out of date; the directory may be removed at any time.
"""

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.systems import has_access

CACHE = "evaluation"

_log = logging.getLogger("moverank")
_Number = TypeVar("_Number", np.int64, np.float64)


class RowCache:
    """A cache of rows of numbers in files of `directory`; None: nothing is cached."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory

    def rows(
        self,
        name: str,
        shape: tuple[int, int],
        kind: type[_Number],
        compute: Callable[[NDArray[np.int64]], Iterable[NDArray[_Number]]],
    ) -> NDArray[_Number]:
        """Return the rows (q, n) of the file `name`; `compute(numbers)` yields the missing rows, in order.

        `name` identifies everything that the rows depend on.
        """
        stored = self._stored(name, (shape[0], shape[1] + 1), np.dtype(kind).newbyteorder("<"))
        missing = np.flatnonzero(stored[:, 0] == 0)
        for row, values in zip(missing.tolist(), compute(missing), strict=True):
            stored[row, 1:] = values
            stored[row, 0] = 1  # marked last: an interrupted row is computed again
        return np.array(stored[:, 1:])

    def _stored(self, name: str, shape: tuple[int, int], dtype: "np.dtype[_Number]") -> NDArray[_Number]:
        """Return an array mapped from a file; a new one of zeros if the file is missing or damaged."""
        if self._directory is None or not shape[0]:
            return np.zeros(shape, dtype)
        self._directory.mkdir(exist_ok=True)
        path, size = self._directory / name, shape[0] * shape[1] * dtype.itemsize
        if path.is_symlink():  # perhaps another user's: its target is not written
            path.unlink()
        kept = path.is_file() and path.stat().st_size == size
        return np.memmap(path, dtype, "r+" if kept else "w+", shape=shape)


def results_directory(index: Path) -> Path | None:
    """Return the directory for results in the collection `index`; None, with a note, if it cannot be written to."""
    directory = index / CACHE
    place = directory if directory.exists() else index
    # A link may come with a collection from another user: it is not written through.
    if has_access(place, os.W_OK | os.X_OK) and not directory.is_symlink():
        return directory
    _log.warning("%s cannot be written to: distances are computed, but not cached for the next run", index)
    return None
