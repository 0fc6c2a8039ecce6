"""The normalisers of the translation model, which take work of the vocabulary squared: kept in the collection."""

from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.checksums import checksum
from moverank.rerank.scorers import WordVectors, translation_normalisers

NAME = "normalisers"
_HEAD = 96  # hexadecimal digits of three checksums: vectors, which are known, and the result


def cached_normalisers(place: Path | None, words: WordVectors) -> NDArray[np.float64]:
    """Return Z (t,) of words among themselves, computed only where the collection does not hold them yet.

    The file says for which vectors it was made, and with what result: one that is damaged, or of another vocabulary, is
    made again. Where it cannot be written, as in a read-only place, they are computed each time; without a `place`,
    too.
    """
    if place is None:
        return translation_normalisers(words.vectors, words.known)
    made_for = checksum(words.vectors) + checksum(words.known)
    found = _read(place / NAME, made_for)
    if found is None:
        found = translation_normalisers(words.vectors, words.known)
        _write(place / NAME, made_for, found.astype("<f8").tobytes())
    return found


def _read(path: Path, made_for: str) -> NDArray[np.float64] | None:
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    head, sums = stored[:_HEAD], stored[_HEAD:]
    return np.frombuffer(sums, "<f8") if head == _head(made_for, sums) else None


def _head(made_for: str, sums: bytes) -> bytes:
    return (made_for + checksum(sums)).encode()


def _write(path: Path, made_for: str, sums: bytes) -> None:
    """Put the whole file in its place at once, if that can be done: the place may be read-only, or full."""
    with suppress(OSError), NamedTemporaryFile(prefix=f".{NAME}.", dir=path.parent, delete=False) as file:
        try:
            file.write(_head(made_for, sums) + sums)
            file.flush()
            Path(file.name).rename(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
