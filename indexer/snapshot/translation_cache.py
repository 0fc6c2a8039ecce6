"""Caches the translation model's normalisers in the collection: computing them is quadratic in the vocabulary."""

from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksum
from moverank.rerank.scorers import WordVectors, translation_normalisers

_FILE = "normalisers"
_HEADER = 96  # hexadecimal digits of three checksums: of both arrays of the word vectors, and of the normalisers


def cached_normalisers(directory: Path | None, words: WordVectors) -> NDArray[np.float64]:
    """Return the normalisers Z (t,) of words among themselves, cached in a collection's `directory`.

    The file stores checksums of the word vectors and of its content: it is computed again if it is damaged or if the
    vocabulary has changed. Without a `directory`, or if it is not writable, nothing is cached.
    """
    if directory is None:
        return translation_normalisers(words.vectors, words.known)
    key = checksum(words.vectors) + checksum(words.known)
    cached = _read(directory / _FILE, key)
    if cached is not None:
        return cached
    normalisers = translation_normalisers(words.vectors, words.known)
    content = normalisers.astype("<f8").tobytes()
    with suppress(OSError), atomic_file(directory / _FILE) as file:  # the directory may be read-only, or the disk full
        file.write(_header(key, content) + content)
    return normalisers


def _read(path: Path, key: str) -> NDArray[np.float64] | None:
    """Return the cached normalisers; None unless the file is intact and its key is `key`."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    header, content = stored[:_HEADER], stored[_HEADER:]
    return np.frombuffer(content, "<f8") if header == _header(key, content) else None


def _header(key: str, content: bytes) -> bytes:
    return (key + checksum(content)).encode()
