"""Distances and neighbours cached in files: an interrupted run continues where it stopped.

A file is named by a digest of its input, so it cannot be out of date; the directory may be removed at any time. A table
of distances is stored with the digests of its bags. Distances of the same bags are copied from other tables, so that
only the distances of new documents are computed.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_file

_ZERO = -1.0  # stored in place of a distance of 0: a new file is all zeros, which use no disk space
_BAGS = ".bags.npz"

Digests = NDArray[np.bytes_]


class DistanceCache:
    """A cache of results in `directory`, or in memory if that is None."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory

    def table(self, kind: str, name: str, queries: Digests, bags: Digests) -> "CachedTable":
        """Return the table of distances (q, n) of query bags from bags, given by digests `queries` (q,), `bags` (n,).

        `kind` is the distance, `name` identifies the bags. Distances in other tables of that kind are copied.
        """
        file = f"{kind}-{name}"
        stored = self._array(file, (len(queries), len(bags)), np.dtype("<f8"))
        if self._directory is not None and stored.size and not (self._directory / f"{file}{_BAGS}").exists():
            for source, source_digests in self._tables(self._directory, kind):
                _copy(source, source_digests, stored, (queries, bags))
            # Written last: without this file, copying was interrupted, and is repeated.
            with atomic_file(self._directory / f"{file}{_BAGS}") as stream:
                np.savez(stream, asked=queries, bags=bags)
        return CachedTable(stored)

    @staticmethod
    def _tables(directory: Path, kind: str) -> Iterator[tuple[NDArray[np.float64], tuple[Digests, Digests]]]:
        """Iterate over the tables of a kind with the digests of their rows and columns; skip damaged ones."""
        for path in sorted(directory.glob(f"{kind}-*{_BAGS}")):
            with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
                with path.open("rb") as stream, np.load(stream) as digests:
                    rows, columns = digests["asked"], digests["bags"]
                distances = np.load(path.with_name(path.name.removesuffix(_BAGS) + ".npy"), mmap_mode="r")
                if distances.shape == (len(rows), len(columns)):
                    yield distances, (rows, columns)

    def neighbours(self, name: str, queries: int, k: int) -> "CachedNeighbours":
        """Return a table of the `k` nearest rows of `queries` queries; `name` identifies queries, pool and distance."""
        return CachedNeighbours(self._array(f"nearest-{name}", (queries, k), np.dtype("<i8")))

    def _array(self, name: str, shape: tuple[int, int], dtype: "np.dtype[Any]") -> NDArray[Any]:
        """Return an array mapped from a file; a new one of zeros if the file is missing or damaged."""
        if self._directory is None or not all(shape):
            return np.zeros(shape, dtype)
        self._directory.mkdir(exist_ok=True)
        path = self._directory / f"{name}.npy"
        with suppress(OSError, ValueError):  # missing, or truncated
            stored: NDArray[Any] = open_memmap(path, "r+")
            if stored.shape == shape and stored.dtype == dtype:
                return stored
        new: NDArray[Any] = open_memmap(path, "w+", dtype=dtype, shape=shape)
        return new


def _copy(
    source: NDArray[np.float64],
    source_digests: tuple[Digests, Digests],
    target: NDArray[np.float64],
    target_digests: tuple[Digests, Digests],
) -> None:
    """Copy the distances that the target lacks and the source has; digests are those of rows and columns."""
    rows, source_rows = _matches(target_digests[0], source_digests[0])
    columns, source_columns = _matches(target_digests[1], source_digests[1])
    if not len(columns):
        return
    for row, source_row in zip(rows.tolist(), source_rows.tolist(), strict=True):
        distances = target[row]
        missing = distances[columns] == 0
        distances[columns[missing]] = source[source_row][source_columns[missing]]


def _matches(target: Digests, source: Digests) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices in `target` of the digests that `source` also has, and the index of each in `source`."""
    index = {digest: i for i, digest in enumerate(source.tolist())}
    pairs = [(i, index[digest]) for i, digest in enumerate(target.tolist()) if digest in index]
    matches = np.array(pairs, np.int64).reshape(-1, 2)
    return matches[:, 0], matches[:, 1]


class CachedTable:
    """Distances (q, n) of queries from documents, some of them not computed yet."""

    def __init__(self, stored: NDArray[np.float64]) -> None:
        self._stored = stored

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of queries and documents."""
        q, n = self._stored.shape
        return q, n

    def mirror(self) -> None:
        """Fill gaps in a table of distances of bags among themselves, which is symmetric."""
        for row in range(len(self._stored)):
            gaps = self.missing(row)
            mirrored = self._stored[gaps, row]
            present = mirrored != 0
            if present.any():  # writing zeros would use disk space
                self._stored[row, gaps[present]] = mirrored[present]

    def missing(self, row: int) -> NDArray[np.int64]:
        """Return the columns (m,) of a row whose distances are not computed yet."""
        return np.flatnonzero(self._stored[row] == 0)

    def store(self, row: int, columns: NDArray[np.int64], distances: NDArray[np.float64], *, symmetric: bool) -> None:
        """Store the `distances` (m,) of query `row` from documents `columns` (m,); `symmetric`: also transposed."""
        coded = np.where(distances > 0, distances, _ZERO)
        self._stored[row, columns] = coded
        if symmetric:
            self._stored[columns, row] = coded

    def row(self, row: int) -> NDArray[np.float64]:
        """Return the distances (n,) of a query; those not computed yet are infinite."""
        coded = np.asarray(self._stored[row])
        return np.where(coded == 0, np.inf, np.maximum(coded, 0.0))


class CachedNeighbours:
    """The nearest documents (q, k) of queries; rows that are not computed yet are zeros."""

    def __init__(self, stored: NDArray[np.int64]) -> None:
        self._stored = stored  # row of the document + 1, or -1 for none

    def has(self, query: int) -> bool:
        """Return whether a query's neighbours are stored."""
        return bool(self._stored[query, 0] != 0)

    def store(self, query: int, rows: NDArray[np.int64]) -> None:
        """Store the rows (at most k,) of a query's nearest documents."""
        filled = np.full(self._stored.shape[1], -1, np.int64)
        filled[: len(rows)] = rows + 1
        self._stored[query] = filled

    def read(self) -> NDArray[np.int64]:
        """Return the rows (q, k) of the nearest documents; -1 for none."""
        return np.where(self._stored > 0, self._stored - 1, -1)
