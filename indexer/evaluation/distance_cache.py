"""Results that took long, kept in files beside the collection: a run that was stopped goes on where it was.

A file is named by the content that its numbers depend on, so it can never be out of date; whoever wants the room back
removes the directory. A table of distances says of which bags they are: what another has of the same bags is taken from
there, so that documents that come later cost their own distances only.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

_NOTHING = -1.0  # what stands for a distance of 0: a file begins as zeros, which take no room on the disk
_BAGS = ".bags.npz"

Digests = NDArray[np.bytes_]


class DistanceCache:
    """A directory of results; without one, they are held in memory."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory

    def table(self, kind: str, name: str, asked: Digests, bags: Digests) -> "CachedTable":
        """Return the table of the distances of a kind and a name, between bags that are known by their digests."""
        file = f"{kind}-{name}"
        stored = self._array(file, (len(asked), len(bags)), np.dtype("<f8"))
        if self._directory is not None and stored.size and not (self._directory / f"{file}{_BAGS}").exists():
            for known, (rows, columns) in self._others(self._directory, kind):
                _copy(known, (rows, columns), stored, (asked, bags))
            # Only now: a table without it was not finished, and is filled up again.
            np.savez(self._directory / f"{file}{_BAGS}", asked=asked, bags=bags)
        return CachedTable(stored)

    @staticmethod
    def _others(directory: Path, kind: str) -> Iterator[tuple[NDArray[np.float64], tuple[Digests, Digests]]]:
        """Go through the tables of a kind with the bags that their distances are of; damaged ones are none."""
        for about in sorted(directory.glob(f"{kind}-*{_BAGS}")):
            with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
                with about.open("rb") as file, np.load(file) as told:
                    rows, columns = told["asked"], told["bags"]
                known = np.load(about.with_name(about.name.removesuffix(_BAGS) + ".npy"), mmap_mode="r")
                if known.shape == (len(rows), len(columns)):
                    yield known, (rows, columns)

    def places(self, name: str, shape: tuple[int, int]) -> "CachedNeighbours":
        """Return the places of neighbours of that name."""
        return CachedNeighbours(self._array(f"nearest-{name}", shape, np.dtype("<i8")))

    def _array(self, name: str, shape: tuple[int, int], kind: "np.dtype[Any]") -> NDArray[Any]:
        if self._directory is None or not all(shape):
            return np.zeros(shape, kind)
        self._directory.mkdir(exist_ok=True)
        path = self._directory / f"{name}.npy"
        try:
            found: NDArray[Any] = open_memmap(path, "r+")
            if found.shape == shape and found.dtype == kind:
                return found
        except (OSError, ValueError):
            pass  # not there yet, or cut short
        made: NDArray[Any] = open_memmap(path, "w+", dtype=kind, shape=shape)
        return made


def _copy(
    known: NDArray[np.float64],
    of: tuple[Digests, Digests],
    stored: NDArray[np.float64],
    wanted: tuple[Digests, Digests],
) -> None:
    """Copy what is known of the wanted bags, as far as it is missing."""
    (rows, from_rows), (columns, from_columns) = (_both(*pair) for pair in zip(wanted, of, strict=True))
    if not len(columns):
        return
    for row, from_row in zip(rows.tolist(), from_rows.tolist(), strict=True):
        mine = stored[row]
        missing = mine[columns] == 0
        mine[columns[missing]] = known[from_row][from_columns[missing]]


def _both(wanted: Digests, known: Digests) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places among the wanted that are known, and a place among the known for each."""
    place = {digest: i for i, digest in enumerate(known.tolist())}
    found = [(i, place[digest]) for i, digest in enumerate(wanted.tolist()) if digest in place]
    both = np.array(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


class CachedTable:
    """Distances (q, n), as far as they are known."""

    def __init__(self, stored: NDArray[np.float64]) -> None:
        self._stored = stored

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many questions and documents there are."""
        q, n = self._stored.shape
        return q, n

    def mirror(self) -> None:
        """Fill gaps in a table of bags among themselves: each is as far from another as that from it."""
        for row in range(len(self._stored)):
            gaps = self.missing(row)
            known = self._stored[gaps, row]
            there = known != 0
            if there.any():  # else nothing is written: gaps take no room on the disk
                self._stored[row, gaps[there]] = known[there]

    def missing(self, row: int) -> NDArray[np.int64]:
        """Return the documents whose distance from a question is not known."""
        return np.flatnonzero(self._stored[row] == 0)

    def keep(self, row: int, places: NDArray[np.int64], distances: NDArray[np.float64], *, symmetric: bool) -> None:
        """Take the distances (m,) of documents `places` (m,) from a question, and of it from them if so."""
        coded = np.where(distances > 0, distances, _NOTHING)
        self._stored[row, places] = coded
        if symmetric:
            self._stored[places, row] = coded

    def row(self, row: int) -> NDArray[np.float64]:
        """Return the distances (n,) of a question; infinite where they are not known."""
        coded = np.asarray(self._stored[row])
        return np.where(coded == 0, np.inf, np.maximum(coded, 0.0))


class CachedNeighbours:
    """The nearest documents (q, k) of questions; rows that are not done are zeros."""

    def __init__(self, stored: NDArray[np.int64]) -> None:
        self._stored = stored  # place + 1, and -1 where there is none

    def done(self, row: int) -> bool:
        """Say whether a question's neighbours are known."""
        return bool(self._stored[row, 0] != 0)

    def keep(self, row: int, places: NDArray[np.int64]) -> None:
        """Take the nearest documents (at most k) of a question."""
        filled = np.full(self._stored.shape[1], -1, np.int64)
        filled[: len(places)] = places + 1
        self._stored[row] = filled

    def read(self) -> NDArray[np.int64]:
        """Return the places (q, k), -1 where there is none."""
        return np.where(self._stored > 0, self._stored - 1, -1)
