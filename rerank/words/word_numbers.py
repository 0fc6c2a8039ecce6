"""Numbers of words, in the order in which they first occur: two ways, for few texts and for many."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.words.phrases import JOINT
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import encoded, separated

_BLOCK = 1 << 22  # bytes of text that are processed at once
_FIRST_WORDS, _FIRST_BYTES = 1 << 14, 1 << 17  # room of a new table


NumberedText = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The numbers (t,) of the different words of a text, and how often they occur (t,)."""


class NumberedTexts(NamedTuple):
    """The different words of each text, in the order of their first occurrence.

    `numbers` (t,) int32 are theirs, `counts` (t,) int32 how often they occur, and `lengths` (n,) int64 says how many
    there are of each text.
    """

    numbers: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def each(self) -> Iterator[NumberedText]:
        """Yield the numbers and counts of each text."""
        for start, end in pairwise((0, *np.cumsum(self.lengths).tolist())):
            yield self.numbers[start:end], self.counts[start:end]


class WordNumbers(Protocol):
    """Numbers words, and remembers them; `len` is the number of different words."""

    def __len__(self) -> int: ...

    def number(self, texts: Sequence[str]) -> Iterator[NumberedTexts]:
        """Yield the words of texts, but for stop words, in blocks of whole texts; new words get the next numbers."""

    def add(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers (n,) of words, unfolded; new words get the next numbers."""

    def since(self, first: int) -> list[str]:
        """Return the words whose numbers are `first` and above, in order."""


class FewWords(dict[str, int]):
    """Numbers words by a dictionary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._words = tokenizer, list[str]()

    def __missing__(self, word: str) -> int:
        self._words.append(word)
        self[word] = number = len(self._words) - 1
        return number

    def number(self, texts: Sequence[str]) -> Iterator[NumberedTexts]:
        """Yield the words of texts; see `WordNumbers`."""
        for block in _blocks(texts):
            found = [Counter(self._tokenizer.words(text)) for text in block]
            numbers = np.fromiter(map(self.__getitem__, chain.from_iterable(found)), np.int32)
            counts = np.fromiter(chain.from_iterable(words.values() for words in found), np.int32)
            yield NumberedTexts(numbers, counts, np.array(list(map(len, found)), np.int64))

    def add(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of words; see `WordNumbers`."""
        if self.keys().isdisjoint(words) and len(set(words)) == len(words):  # entering each takes longer
            first, last = len(self), len(self) + len(words)
            self.update(zip(words, range(first, last), strict=True))
            self._words += words
            return np.arange(first, last, dtype=np.int32)
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))

    def since(self, first: int) -> list[str]:
        """Return words; see `WordNumbers`."""
        return self._words[first:]


class ManyWords:
    """Numbers words by compiled code, several times faster, which takes a fifth of a second to load.

    Texts that are not plain, and all where there are phrases, are split by the tokenizer; then their words are the runs
    of bytes other than the spaces.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = replace(tokenizer, stop_words=frozenset())
        self._kinds = _JOINED if tokenizer.phrases else _KINDS
        self._seed = np.frombuffer(os.urandom(8), np.uint64)  # so that no text can choose words of one hash value
        self._words, self._ends = np.empty(_FIRST_BYTES, np.uint8), np.empty(_FIRST_WORDS, np.int64)
        self._hashes, self._places = np.empty(_FIRST_WORDS, np.uint64), np.empty(_FIRST_WORDS, np.int64)
        self._slots = np.full(2 * _FIRST_WORDS, -1, np.int32)
        self._sizes = np.zeros(2, np.int64)
        self._base = 0
        self._stop_words = 0
        self.add(sorted(tokenizer.stop_words))
        self._stop_words = int(self._sizes[0])

    def __len__(self) -> int:
        return int(self._sizes[0]) - self._stop_words

    def number(self, texts: Sequence[str]) -> Iterator[NumberedTexts]:
        """Yield the words of texts; see `WordNumbers`."""
        for block in _blocks(texts):
            found = self._find([self._bytes(text) for text in block], self._kinds)
            if self._stop_words:
                kept = found.numbers >= self._stop_words
                rows = np.repeat(np.arange(len(block)), found.lengths)[kept]
                lengths = np.bincount(rows, minlength=len(block))
                found = NumberedTexts(found.numbers[kept] - np.int32(self._stop_words), found.counts[kept], lengths)
            yield found

    def add(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of words; see `WordNumbers`."""
        found = [self._find(list(map(encoded, block)), _AS_IT_IS).numbers for block in _blocks(words)]
        return np.concatenate([*found, np.empty(0, np.int32)]) - np.int32(self._stop_words)

    def since(self, first: int) -> list[str]:
        """Return words; see `WordNumbers`."""
        begin = first + self._stop_words
        offset = self._ends[begin - 1] if begin else 0
        return separated(self._words[offset : self._sizes[1]], self._ends[begin : self._sizes[0]] - offset)

    def _bytes(self, text: str) -> bytes:
        as_it_is = self._tokenizer.is_plain(text) and not self._tokenizer.phrases
        return text.encode() if as_it_is else encoded(" ".join(self._tokenizer.words(text)))

    def _find(self, texts: Sequence[bytes], kinds: NDArray[np.uint8]) -> NumberedTexts:
        """Return all words of texts; the table grows until there is room for the new ones."""
        text = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), dtype=np.int64)
        # Between two words of a text is a byte at least.
        room = (len(text) + len(texts)) // 2
        numbers, counts, lengths = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(len(texts), np.int64)
        done = 0
        while done < len(texts):
            table, out = (self._words, self._ends, self._hashes, self._places, self._slots), (numbers, counts, lengths)
            done = kernels.count_words(text, ends, done, kinds, self._seed, table, self._sizes, self._base, *out)
            if done < len(texts):
                self._grow()
        total = int(lengths.sum())
        self._base += total
        return NumberedTexts(numbers[:total], counts[:total], lengths)

    def _grow(self) -> None:
        """Double the room for words."""
        count, size = self._sizes.tolist()
        self._words = _doubled(self._words, size)
        self._ends, self._hashes = _doubled(self._ends, count), _doubled(self._hashes, count)
        self._places = _doubled(self._places, count)
        self._slots = np.full(2 * len(self._slots), -1, np.int32)
        kernels.fill_slots(self._hashes, count, self._slots)


def _kinds() -> NDArray[np.uint8]:
    """Return the byte of a word that each byte stands for: letters in lower case, digits, and all of other scripts."""
    kinds = np.zeros(256, np.uint8)
    for first, last in ("09", "az"):
        kinds[ord(first) : ord(last) + 1] = np.arange(ord(first), ord(last) + 1)
    kinds[ord("A") : ord("Z") + 1] = kinds[ord("a") : ord("z") + 1]
    kinds[128:] = np.arange(128, 256)
    return kinds


_KINDS, _AS_IT_IS = _kinds(), np.arange(256).astype(np.uint8)
_JOINED = np.where(ord(JOINT) == _AS_IT_IS, _AS_IT_IS, _KINDS)


def _doubled(array: NDArray[Any], used: int) -> NDArray[Any]:
    larger = np.empty(2 * len(array), array.dtype)
    larger[:used] = array[:used]
    return larger


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split texts into blocks of about `_BLOCK` characters, a text at least."""
    block, size = list[str](), 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block
