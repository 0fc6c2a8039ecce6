"""Counts the words of texts for the store; every word of a collection has a permanent id."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.indexing.distinct_words import sorted_pairs
from moverank.indexer.store import StoredWord, Writer
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN

_CACHED_WORDS = 2_000_000
_LOOKUP = 10  # a lookup of one word takes as long as reading this many in sequence
_BLOCK = 1 << 20  # running words that are sorted at once: each takes about 40 bytes meanwhile

_Ids = NDArray[np.int32]


class Counts(NamedTuple):
    """A text's words as bytes of int32 arrays: ids, increasing, and the number of occurrences of each."""

    words: bytes
    counts: bytes


class _WordIds(dict[str, int]):
    """Ids by word; a word without one gets -1, -2 and so on, in the order of `new`, until its id is set."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        self.new.append(word)
        self[word] = number = -len(self.new)
        return number


class WordCounter:
    """Counts words, and caches the ids seen so far.

    With `embedding` None, no word has a vector yet, and all are stored as unknown.
    """

    def __init__(self, tokenizer: Tokenizer, embedding: Embedding | None) -> None:
        self._tokenizer, self._embedding = tokenizer, embedding
        self._ids = _WordIds()
        self._known: dict[int, bool] = {}
        self._complete = False

    def count(self, writer: Writer, texts: Sequence[str]) -> list[Counts]:
        """Count the words of texts, and store new words with the rows of their vectors."""
        if len(self._ids) > _CACHED_WORDS:
            self._ids = _WordIds()
            self._known.clear()
            self._complete = False
        ids = self._ids
        found = [np.fromiter(map(ids.__getitem__, self._tokenizer.words(text)), np.int32) for text in texts]
        final = self._resolve(writer)
        return [counts for block in _blocks(found) for counts in _counted(block, final)]

    def known(self, writer: Writer, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of the words `ids` (n,) have a vector."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        listed = distinct.tolist()
        unseen = [id_ for id_ in listed if id_ not in self._known]
        self._known.update({id_: row != UNKNOWN for id_, row in writer.word_rows(unseen).items()})
        # A word that a damaged database has lost has no vector.
        known = np.fromiter(map(self._known.get, listed, repeat(False)), np.bool_, len(listed))
        return known[inverse]

    def _resolve(self, writer: Writer) -> _Ids:
        """Give the new words their ids, stored ones or the next; return (n,) those of -1, -2 and so on."""
        new, self._ids.new = self._ids.new, []
        missing = sorted(new)
        if not self._complete and len(missing) * _LOOKUP > writer.word_count(unused=True):
            self._remember(writer.all_words())
            self._complete = True
        elif not self._complete:
            self._remember(writer.words(missing))
        missing = [word for word in missing if self._ids[word] < 0]
        rows = self._embedding.find(missing).tolist() if self._embedding else [UNKNOWN] * len(missing)
        ids = writer.add_words(dict(zip(missing, rows, strict=True)))
        self._remember(map(StoredWord, missing, ids, rows))
        return np.array([self._ids[word] for word in new], np.int32)

    def _remember(self, words: Iterable[StoredWord]) -> None:
        for word, id_, row in words:
            self._ids[word] = id_
            self._known[id_] = row != UNKNOWN


def _blocks(texts: Sequence[_Ids]) -> Iterator[list[_Ids]]:
    """Split the words of texts into blocks of about `_BLOCK` words, a text at least."""
    block: list[_Ids] = []
    size = 0
    for words in texts:
        block.append(words)
        size += len(words)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    yield block


def _counted(texts: Sequence[_Ids], final: _Ids) -> Iterator[Counts]:
    """Yield the counts of texts, each its running words; a negative one is counted as `final[-word - 1]`."""
    words = np.concatenate([*texts, np.empty(0, np.int32)])
    new = words < 0
    words[new] = final[-1 - words[new]]
    rows, ids, numbers = sorted_pairs(np.repeat(np.arange(len(texts)), list(map(len, texts))), words)
    all_words, all_counts = ids.astype("<i4").tobytes(), numbers.astype("<i4").tobytes()
    ends = (4 * np.searchsorted(rows, np.arange(len(texts) + 1))).tolist()
    for start, end in pairwise(ends):
        yield Counts(all_words[start:end], all_counts[start:end])
