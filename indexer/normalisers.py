"""The normalisers of the translation model, which take work of the vocabulary squared: kept beside a snapshot."""

from pathlib import Path
from tempfile import NamedTemporaryFile
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rerank.scorers import WordVectors, translation_normalisers

_NAME = "normalisers.npz"


def kept_normalisers(place: Path | None, words: WordVectors) -> NDArray[np.float64]:
    """Return Z (t,) of a snapshot's terms among themselves, computed only where its directory does not hold them yet.

    The file carries checksums, being a zip archive: a damaged one is made again. Where it cannot be written, as in a
    read-only place, they are computed each time. Without a `place` they are not kept.
    """
    found = _read(place / _NAME, len(words)) if place else None
    if found is not None:
        return found
    sums = translation_normalisers(words.vectors, words.known)
    if place:
        _write(place / _NAME, sums)
    return sums


def _read(path: Path, size: int) -> NDArray[np.float64] | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            sums = np.asarray(stored["sums"], np.float64)
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return None
    return sums if sums.shape == (size,) and np.all(sums > 0) else None


def _write(path: Path, sums: NDArray[np.float64]) -> None:
    """Put the whole file in its place at once, if that can be done."""
    try:
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            try:
                np.savez(file, sums=sums)
                Path(file.name).rename(path)
            except OSError:
                Path(file.name).unlink()
                raise
    except OSError:
        return  # the directory may be read-only, full, or a snapshot that a writer has replaced
