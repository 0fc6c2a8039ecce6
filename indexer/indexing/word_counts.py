"""Counts the words of texts for the store; every word of a collection has a permanent id."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.indexing.distinct_words import sorted_pairs
from moverank.indexer.store import Reader, StoredWord, Writer
from moverank.rerank.runtime.batches import batches
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.unknown import UNKNOWN
from moverank.rerank.words.word_numbers import FewWords, ManyWords, NumberedTexts, WordNumbers

_CACHED_WORDS = 2_000_000
_LOOKUP = 10  # a lookup of one word takes as long as reading this many in sequence
_READ = 50_000  # words of the database in memory at once
_MANY = 2 << 20  # characters from which compiled code is faster, which must be loaded first

_NONE = -1  # the id of a word that has none yet
_UNSEEN, _WITHOUT, _WITH = -1, 0, 1  # whether a word has a vector

_Ids = NDArray[np.int32]


class Counts(NamedTuple):
    """A text's words as bytes of int32 arrays: ids, increasing, and the number of occurrences of each."""

    words: bytes
    counts: bytes


class WordCounter:
    """Counts words, and caches the ids seen so far.

    With `embedding` None, no word has a vector yet, and all are stored as unknown. New words are stored, and document
    frequencies changed, by `store`, once for many texts.
    """

    def __init__(self, tokenizer: Tokenizer, embedding: Embedding | None) -> None:
        self._tokenizer, self._embedding = tokenizer, embedding
        self._characters = 0
        self._numbers: WordNumbers = FewWords(tokenizer)
        self._ids = np.empty(0, np.int32)
        self._known = np.empty(0, np.int8)
        self._complete = False
        self._new: list[StoredWord] = []
        self._changes: list[tuple[NDArray[np.int64], int]] = []

    def count(self, reader: Reader, texts: Sequence[str]) -> list[Counts]:
        """Count the words of texts; new ones get the next ids."""
        self._characters += sum(map(len, texts))
        if isinstance(self._numbers, FewWords) and self._characters >= _MANY:
            before, self._numbers = self._numbers, ManyWords(self._tokenizer)
            self._numbers.add(before.since(0))
        blocks = list(self._numbers.number(texts))
        self._resolve(reader)
        return [counts for block in blocks for counts in _counted(block, self._ids)]

    def known(self, reader: Reader, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of the words `ids` (n,) have a vector; a word that a damaged database has lost has none."""
        if len(ids) and ids.max() >= len(self._known):
            self._make_room(reader.last_word_id())
        found = np.full(len(ids), _WITHOUT, np.int8)
        inside = np.flatnonzero((ids >= 0) & (ids < len(self._known)))
        found[inside] = self._known[ids[inside]]
        unseen = np.unique(ids[found == _UNSEEN])
        if len(unseen):
            self._known[unseen] = _WITHOUT
            rows = reader.word_rows(unseen.tolist())
            self._known[[id_ for id_, row in rows.items() if row != UNKNOWN]] = _WITH
            found[inside] = self._known[ids[inside]]
        with_vector: NDArray[np.bool_] = found == _WITH
        return with_vector

    def add_documents(self, words: NDArray[np.int64], change: int = 1) -> None:
        """Add `change` to the document frequencies of `words`, one for each document that has the word."""
        self._changes.append((words, change))

    def store(self, writer: Writer) -> None:
        """Write the new words, and the changes of document frequencies."""
        changes = self._frequencies()
        if self._new:
            writer.add_words([(*word, changes.pop(word.id, 0)) for word in self._new])
            self._new = []
        if changes:
            writer.count_words(changes)
        if len(self._numbers) > _CACHED_WORDS:
            self._numbers = ManyWords(self._tokenizer)
            self._ids, self._known = np.empty(0, np.int32), np.empty(0, np.int8)
            self._complete = False

    def _frequencies(self) -> dict[int, int]:
        """Return the changes of document frequencies by word id, and begin anew."""
        changes, self._changes = self._changes, []
        total: dict[int, int] = {}
        for sign in (1, -1):
            own = [words for words, change in changes if change == sign]
            if own:
                ids, numbers = np.unique(np.concatenate(own), return_counts=True)
                for id_, number in zip(ids.tolist(), (sign * numbers).tolist(), strict=True):
                    total[id_] = total.get(id_, 0) + number
        return total

    def _resolve(self, reader: Reader) -> None:
        """Give the new words their ids, stored ones or the next."""
        first = len(self._ids)
        new = self._numbers.since(first)
        if not self._complete and len(new) * _LOOKUP > reader.word_count(unused=True):
            for some in batches(reader.all_words(), _READ):
                self._remember(some)
            self._complete = True
        elif not self._complete:
            self._remember(reader.words(sorted(new)))
        self._make_room(0)
        missing = [(new[i], first + i) for i in np.flatnonzero(self._ids[first : first + len(new)] == _NONE).tolist()]
        if missing:
            self._add(reader, sorted(missing))

    def _add(self, reader: Reader, missing: Sequence[tuple[str, int]]) -> None:
        """Give the next ids to words with these numbers."""
        words, numbers = zip(*missing, strict=True)
        rows = self._embedding.find(words) if self._embedding else np.full(len(words), UNKNOWN)
        first = (self._new[-1].id if self._new else reader.last_word_id()) + 1
        ids = range(first, first + len(words))
        self._make_room(ids[-1])
        self._ids[list(numbers)] = ids
        self._known[ids] = np.where(rows != UNKNOWN, _WITH, _WITHOUT)
        self._new += map(StoredWord, words, ids, rows.tolist())

    def _remember(self, words: Sequence[StoredWord]) -> None:
        """Cache the ids of words, and whether they have a vector."""
        if words:
            texts, ids, rows = zip(*words, strict=True)
            numbers = self._numbers.add(texts)
            self._make_room(max(ids))
            self._ids[numbers] = ids
            self._known[list(ids)] = np.where(np.array(rows) != UNKNOWN, _WITH, _WITHOUT)

    def _make_room(self, last: int) -> None:
        """Extend the caches to all numbers, and to the ids up to `last`."""
        self._ids = _extended(self._ids, len(self._numbers), _NONE)
        self._known = _extended(self._known, last + 1, _UNSEEN)


def _extended(array: NDArray[Any], length: int, value: int) -> NDArray[Any]:
    more = max(0, length - len(array))
    return np.concatenate([array, np.full(more, value, array.dtype)]) if more else array


def _counted(block: NumberedTexts, ids: _Ids) -> Iterator[Counts]:
    """Yield the counts of the texts of a block; `ids` are those of the numbers."""
    size = len(block.counts)
    rows, words, numbers = sorted_pairs(np.repeat(np.arange(size), block.counts), ids[block.numbers])
    all_words, all_counts = words.astype("<i4").tobytes(), numbers.astype("<i4").tobytes()
    ends = (4 * np.searchsorted(rows, np.arange(size + 1))).tolist()
    for start, end in pairwise(ends):
        yield Counts(all_words[start:end], all_counts[start:end])
