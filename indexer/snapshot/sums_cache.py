"""Caches what searches sum up over a whole snapshot in the collection: frequencies of words, lengths of centroids."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.directory import CACHED
from moverank.indexer.files.mapped_arrays import read_mapped, write_mapped

_Number = TypeVar("_Number", np.int64, np.float64)
_SUMS = "sums"


def cached_sums(
    directory: Path | None, name: str, state: str, compute: Callable[[], NDArray[_Number]]
) -> NDArray[_Number]:
    """Return the result (n,) of `compute`, cached under `name` in a collection's `directory` for a `state`.

    `state` identifies the snapshot that it depends on. Without it, without a `directory`, or if that is not writable,
    nothing is cached.
    """
    if directory is None or not state:
        return compute()
    path = directory / f"{CACHED}{name}"
    stored = read_mapped(path, state)
    if stored is not None and _SUMS in stored:
        return stored[_SUMS]
    sums = compute()
    write_mapped(path, state, {_SUMS: sums})
    return sums
