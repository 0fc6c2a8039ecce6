"""Caches the stems of a snapshot's words in the collection: reading and stemming all words takes most of a search."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.checksums import checksum
from moverank.indexer.files.directory import CACHED
from moverank.indexer.files.mapped_arrays import read_mapped, write_mapped
from moverank.rerank.words.stems import stem_words

_MANY = 500
"""Number of stems from which a dictionary of all stems finds them faster than binary searches do."""


@dataclass(frozen=True, slots=True, eq=False)
class StemTable:
    """Different stems, sorted by their UTF-8 bytes, and `of_words` (t,) int32, the stem of each word of a vocabulary.

    Stem i ends before `ends[i]` in `text`, and begins where the one before it ends.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    of_words: NDArray[np.int32]

    @classmethod
    def of(cls, stems: Sequence[str]) -> Self:
        """Return the table of the `stems` of each word."""
        encoded = [stem.encode() for stem in stems]
        different = sorted(set(encoded))
        number = dict(zip(different, range(len(different)), strict=True))
        return cls(
            np.frombuffer(b"".join(different), np.uint8),
            np.cumsum([len(stem) for stem in different], dtype=np.int64),
            np.array([number[stem] for stem in encoded], np.int32),
        )

    def __len__(self) -> int:
        return len(self.ends)

    def stem(self, number: int) -> str:
        """Return a stem by number."""
        return self._bytes(number).decode()

    def find(self, stems: Sequence[str]) -> list[int]:
        """Return the number of each stem, -1 for one that is not in the table."""
        encoded = [stem.encode() for stem in stems]
        if len(stems) >= _MANY:
            numbers = {self._bytes(number): number for number in range(len(self))}
            return [numbers.get(stem, -1) for stem in encoded]
        return [self._find(stem) for stem in encoded]

    def _find(self, stem: bytes) -> int:
        number = bisect_left(range(len(self)), stem, key=self._bytes)
        return number if number < len(self) and self._bytes(number) == stem else -1

    def _bytes(self, number: int) -> bytes:
        start = int(self.ends[number - 1]) if number else 0
        return self.text[start : self.ends[number]].tobytes()


def cached_stems(
    directory: Path | None,
    language: str,
    word_ids: NDArray[np.int64],
    texts: Callable[[NDArray[np.int64]], Sequence[str]],
) -> StemTable:
    """Return the stems in a `language` of `word_ids` (t,), cached in a collection's `directory`.

    `texts` returns the words of ids. The file stores checksums of the ids and of its content: it is computed again if
    it is damaged or if the vocabulary has changed. Without a `directory`, or if it is not writable, nothing is cached.
    """
    if directory is None:
        return StemTable.of(stem_words(texts(word_ids), language))
    path, key = directory / f"{CACHED}stems-{language}", checksum(word_ids)
    stored = read_mapped(path, key)
    if stored is not None and stored.keys() == {"text", "ends", "of_words"}:
        return StemTable(**stored)
    table = StemTable.of(stem_words(texts(word_ids), language))
    write_mapped(path, key, {"text": table.text, "ends": table.ends, "of_words": table.of_words})
    return table
