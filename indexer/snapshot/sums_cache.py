"""Caches what searches sum up over a whole snapshot in the collection: frequencies of words, lengths of centroids."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.directory import CACHED
from moverank.indexer.files.mapped_arrays import read_mapped, write_mapped

Number = TypeVar("Number", np.int64, np.float64)
"""The type of sums."""

_SUMS = "sums"


@dataclass(frozen=True, slots=True)
class SumsCache:
    """Keeps sums in a collection's `directory`; `state` identifies the snapshot of which they are."""

    directory: Path
    state: str

    def sums(self, name: str, compute: Callable[[], NDArray[Number]], of: str = "") -> NDArray[Number]:
        """Return the result (n,) of `compute`, kept under a `name`; `of` identifies what else it depends on.

        If the directory is not writable, nothing is kept.
        """
        path, key = self.directory / f"{CACHED}{name}", f"{self.state} {of}".rstrip()
        stored = read_mapped(path, key)
        if stored is not None and _SUMS in stored:
            sums: NDArray[Number] = stored[_SUMS]
            return sums
        sums = compute()
        write_mapped(path, key, {_SUMS: sums})
        return sums
