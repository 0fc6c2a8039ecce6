"""The words of an embedding and their rows, memory-mapped and searched in place."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""The row of a word that has no vector."""


_WORDS_PER_LOOKUP = 64
"""With more than one lookup per this many words, a dictionary is faster than binary searches."""


class Vocabulary(Sequence[str]):
    """Distinct words in a fixed order, in three arrays: millions of words can be memory-mapped instead of loaded.

    `blob` (bytes,) uint8 is the concatenated UTF-8 of all words, `ends` (v,) int64 the end of each word in it, and
    `order` (v,) int32 the permutation that sorts the words by their bytes.
    """

    def __init__(self, blob: NDArray[np.uint8], ends: NDArray[np.int64], order: NDArray[np.int32]) -> None:
        self.blob, self.ends, self.order = blob, ends, order
        # Indexing a memoryview gives plain integers, several times faster than an array does.
        self._blob, self._ends, self._order = blob.data, ends.data, order.data
        self._lookups = 0
        self._rows: dict[str, int] | None = None

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[NDArray[Any], ...]]:
        """Pickle the arrays as they are in memory."""
        return Vocabulary, (np.array(self.blob), np.array(self.ends), np.array(self.order))

    @classmethod
    def of(cls, words: Iterable[str]) -> "Vocabulary":
        """Return a vocabulary of these words."""
        return cls.pack([encoded(word) for word in words])

    @classmethod
    def pack(cls, words: Sequence[bytes]) -> "Vocabulary":
        """Return a vocabulary of words in UTF-8."""
        order = sorted(range(len(words)), key=words.__getitem__)
        return cls(
            np.frombuffer(b"".join(words), np.uint8),
            np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), dtype=np.int64),
            np.array(order, np.int32),
        )

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = index + len(self) if index < 0 else index
        if not 0 <= row < len(self):
            raise IndexError(f"no word {index} among {len(self)}")
        return str(self._bytes(row), "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self._ends:
            yield str(self._blob[start:end], "utf-8", "surrogatepass")
            start = end

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._search(word) != UNKNOWN

    def find(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows (n,) of `words`, UNKNOWN where absent.

        The first lookups are binary searches, so that opening is free; after many lookups a dictionary is built.
        """
        self._lookups += len(words)
        if self._rows is None and self._lookups * _WORDS_PER_LOOKUP > len(self):
            self._rows = dict(zip(separated(self.blob, self.ends), itertools.count()))
        if self._rows is None:
            return np.fromiter(map(self._search, words), np.int32, len(words))
        return np.fromiter(map(self._rows.get, words, itertools.repeat(UNKNOWN)), np.int32, len(words))

    def containing(self, character: str) -> Iterator[str]:
        """Yield the words, in order, that contain an ASCII character."""
        places = np.flatnonzero(self.blob == ord(character))
        return map(self.__getitem__, np.unique(np.searchsorted(self.ends, places, "right")).tolist())

    def repeated(self) -> tuple[int, int] | None:
        """Return two rows that hold the same word, or None if all words are distinct."""
        for first, second in itertools.pairwise(self._order):
            if self._bytes(first) == self._bytes(second):
                return first, second
        return None

    def _bytes(self, row: int) -> memoryview:
        return self._blob[self._ends[row - 1] if row else 0 : self._ends[row]]

    def _search(self, word: str) -> int:
        """Return the row of `word` by binary search, or UNKNOWN."""
        target, low, high = encoded(word), 0, len(self)
        while low < high:
            middle = (low + high) // 2
            row = self._order[middle]
            candidate = self._bytes(row).tobytes()
            if candidate == target:
                return row
            if candidate < target:
                low = middle + 1
            else:
                high = middle
        return UNKNOWN


def separated(blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str]:
    """Return the words whose UTF-8 is `blob` (bytes,), each up to its entry of `ends` (v,)."""
    if not len(ends):
        return []
    if np.all(blob):  # decoding them together takes a third of the time; 0 separates them
        return str(np.insert(blob, ends[:-1], 0).tobytes(), "utf-8", "surrogatepass").split("\0")
    pairs = itertools.pairwise([0, *ends.tolist()])
    return [str(blob[start:end].tobytes(), "utf-8", "surrogatepass") for start, end in pairs]


def encoded(word: str) -> bytes:
    """Return the UTF-8 of a word."""
    # A lone surrogate, as in broken JSON, is treated as any other unknown word.
    return word.encode("utf-8", "surrogatepass")
