"""Caches the stems of a snapshot's words in the collection: reading and stemming all words takes most of a search."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksum
from moverank.rerank.words.stems import stem_words

_HEADER = 64  # hexadecimal digits of two checksums: of the ids, and of the stems


def cached_stems(
    directory: Path | None,
    language: str,
    word_ids: NDArray[np.int64],
    texts: Callable[[NDArray[np.int64]], Sequence[str]],
) -> list[str]:
    """Return the stem in a `language` of each of `word_ids` (t,), cached in a collection's `directory`.

    `texts` returns the words of ids. The file stores checksums of the ids and of its content: it is computed again if
    it is damaged or if the vocabulary has changed. Without a `directory`, or if it is not writable, nothing is cached.
    """
    if directory is None:
        return stem_words(texts(word_ids), language)
    path, key = directory / f"stems-{language}", checksum(word_ids)
    cached = _read(path, key)
    if cached is not None and len(cached) == len(word_ids):
        return cached
    stems = stem_words(texts(word_ids), language)
    content = "\n".join(stems).encode()
    with suppress(OSError), atomic_file(path) as file:  # the directory may be read-only, or the disk full
        file.write((key + checksum(content)).encode() + content)
    return stems


def _read(path: Path, key: str) -> list[str] | None:
    """Return the cached stems; None unless the file is intact and its key is `key`."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    content = stored[_HEADER:]
    if stored[:_HEADER] != (key + checksum(content)).encode():
        return None
    return content.decode().split("\n") if content else []
