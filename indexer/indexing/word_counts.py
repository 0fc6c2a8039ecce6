"""Counts the words of texts for the store, in which every word has a permanent id, and the documents that have them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.store import Reader, StoredWord, Writer
from moverank.rerank.bags.bag import summed_by_id
from moverank.rerank.runtime.parallel import batches
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN
from moverank.rerank.words.word_numbers import FewWords, ManyWords, NumberedTexts, WordNumbers

_DENSE = 4  # an array counts ids up to this many times their number


class DistinctWords(NamedTuple):
    """Pairs of document and word, each once: `rows` (n,) and word `ids` (n,), int64, ordered by both."""

    rows: NDArray[np.int64]
    ids: NDArray[np.int64]

    def frequencies(self) -> dict[int, int]:
        """Return the number of documents of each word, by increasing id."""
        ids, numbers = count_ids(self.ids)
        return dict(zip(ids.tolist(), numbers.tolist(), strict=True))

    def with_any(self, chosen: NDArray[np.bool_]) -> set[int]:
        """Return the documents of the pairs that are `chosen` (n,)."""
        return set(np.flatnonzero(np.bincount(self.rows[chosen])).tolist())


def distinct_words(documents: Sequence[Iterable[Any]]) -> DistinctWords:
    """Return the distinct words of documents; each is its parts, whose `words` are bytes of int32 ids."""
    words = [b"".join(part.words for part in parts) for parts in documents]
    rows = np.repeat(np.arange(len(words)), [len(own) // 4 for own in words])
    ids = np.frombuffer(b"".join(words), "<i4")
    return DistinctWords(*sorted_pairs(rows, ids)[:2])


def count_ids(ids: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Return the different `ids` (n,), none negative, in order, and how often each occurs."""
    if ids.max(initial=0) < _DENSE * len(ids):  # counting takes a fifth of the time of sorting
        numbers = np.bincount(ids)
        found = np.flatnonzero(numbers)
        return found, numbers[found]
    return np.unique(ids, return_counts=True)


def sorted_pairs(
    rows: NDArray[np.int64], ids: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs of `rows` and `ids` (n,), none negative, in order, and how often each occurs."""
    pairs, numbers = np.unique(rows << 32 | ids, return_counts=True)
    return pairs >> 32, pairs & 0xFFFFFFFF, numbers


_CACHED_WORDS = 2_000_000
_LOOKUP = 10  # a lookup of one word takes as long as reading this many in sequence
_READ = 50_000  # words of the database in memory at once
_MANY = 2 << 20  # characters from which compiled code is faster, which must be loaded first
_MANY_WORDS = 1 << 18  # words from which a dictionary of them takes too much memory

_NONE = -1  # the id of a word that has none yet
_UNSEEN, _WITHOUT, _WITH = -1, 0, 1  # whether a word has a vector

_Ids = NDArray[np.int32]


class EncodedCounts(NamedTuple):
    """A text's words as bytes of int32 arrays: ids, increasing, and the number of occurrences of each."""

    words: bytes
    counts: bytes


class _NewWords(NamedTuple):
    """Words that get the ids from `first` on, and the `rows` of their vectors (n,)."""

    words: Sequence[str]
    first: int
    rows: NDArray[np.integer]


class WordCounter:
    """Counts words, and caches the ids seen so far.

    With `embedding` None, no word has a vector yet, and all are stored as unknown. `store` writes the
    new words and the changes of document frequencies, once for many texts.
    """

    def __init__(self, tokenizer: Tokenizer, embedding: Embedding | None) -> None:
        self._tokenizer, self._embedding = tokenizer, embedding
        self._characters = 0
        self._numbers: WordNumbers = FewWords(tokenizer)
        self._ids = np.empty(0, np.int32)
        self._known = np.empty(0, np.int8)
        self._complete = False
        self._new: list[_NewWords] = []
        self._changes: list[tuple[NDArray[np.int64], int]] = []

    def count(self, reader: Reader, texts: Sequence[str]) -> list[EncodedCounts]:
        """Count the words of texts; new words get the next ids."""
        self._characters += sum(map(len, texts))
        if isinstance(self._numbers, FewWords) and (self._characters >= _MANY or len(self._numbers) >= _MANY_WORDS):
            before, self._numbers = self._numbers, ManyWords(self._tokenizer)
            self._numbers.add(before.since(0))
        blocks = list(self._numbers.number(texts))
        self._resolve(reader)
        return [counts for block in blocks for counts in _sorted(block, self._ids)]

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
            rows = {word.id: word.row for word in reader.words_of(unseen.tolist())}
            self._known[[id_ for id_, row in rows.items() if row != UNKNOWN]] = _WITH
            found[inside] = self._known[ids[inside]]
        with_vector: NDArray[np.bool_] = found == _WITH
        return with_vector

    def add_documents(self, words: NDArray[np.int64], change: int = 1) -> None:
        """Add `change` to the document frequencies of `words`, one for each document that has the word."""
        self._changes.append((words, change))

    def store(self, writer: Writer) -> None:
        """Write the new words, and the changes of document frequencies."""
        ids, changes = self._frequencies()
        if self._new:
            first, last = self._new[0].first, self._last_new_id()
            old = np.searchsorted(ids, first)
            frequencies = np.zeros(last + 1 - first, np.int64)
            frequencies[ids[old:] - first] = changes[old:]
            words = chain.from_iterable(new.words for new in self._new)
            rows = np.concatenate([new.rows for new in self._new]).tolist()
            writer.add_words(list(zip(range(first, last + 1), words, frequencies.tolist(), rows, strict=True)))
            self._new = []
            ids, changes = ids[:old], changes[:old]
        if len(ids):
            writer.count_words(dict(zip(ids.tolist(), changes.tolist(), strict=True)))
        if len(self._numbers) > _CACHED_WORDS:
            self._numbers = ManyWords(self._tokenizer)
            self._ids, self._known = np.empty(0, np.int32), np.empty(0, np.int8)
            self._complete = False

    def _frequencies(self) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
        """Return the words (n,), in order, whose document frequencies change, and the changes (n,); clear them."""
        changes, self._changes = self._changes, []
        parts = []
        for sign in (1, -1):
            if own := [words for words, change in changes if change == sign]:
                ids, numbers = count_ids(np.concatenate(own))
                parts.append((ids, sign * numbers))
        return summed_by_id(parts)

    def _resolve(self, reader: Reader) -> None:
        """Give the new words their stored ids, or the next ones."""
        first = len(self._ids)
        new = self._numbers.since(first)
        if not self._complete and len(new) * _LOOKUP > reader.word_count(unused=True):
            for some in batches(reader.all_words(), _READ):
                self._remember(some)
            self._complete = True
        elif not self._complete:
            self._remember(reader.words(sorted(new)))
        self._make_room(0)
        missing = np.flatnonzero(self._ids[first : first + len(new)] == _NONE).tolist()
        if missing:
            missing.sort(key=new.__getitem__)
            self._add(reader, [new[i] for i in missing], np.array(missing) + first)

    def _add(self, reader: Reader, words: Sequence[str], numbers: NDArray[np.int64]) -> None:
        """Give the next ids to words with these `numbers` (n,)."""
        rows = self._embedding.find(words) if self._embedding else np.full(len(words), UNKNOWN)
        first = (self._last_new_id() if self._new else reader.last_word_id()) + 1
        last = first + len(words) - 1
        self._make_room(last)
        self._ids[numbers] = np.arange(first, last + 1)
        self._known[first : last + 1] = np.where(rows != UNKNOWN, _WITH, _WITHOUT)
        self._new.append(_NewWords(words, first, rows))

    def _last_new_id(self) -> int:
        return self._new[-1].first + len(self._new[-1].words) - 1

    def _remember(self, words: Sequence[StoredWord]) -> None:
        """Cache the ids of words, and whether they have a vector."""
        if words:
            ids, texts, _, rows = zip(*words, strict=True)
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


def _sorted(block: NumberedTexts, ids: _Ids) -> Iterator[EncodedCounts]:
    """Yield the counts of texts; `ids` are the words' ids by number."""
    rows, words = np.repeat(np.arange(len(block.lengths)), block.lengths), ids[block.numbers]
    order = np.argsort(rows << 32 | words, kind="stable")
    all_words, all_counts = words[order].astype("<i4").tobytes(), block.counts[order].astype("<i4").tobytes()
    ends = np.cumsum(4 * block.lengths).tolist()
    for start, end in pairwise((0, *ends)):
        yield EncodedCounts(all_words[start:end], all_counts[start:end])
