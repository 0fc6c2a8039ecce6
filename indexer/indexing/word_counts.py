"""Counts the words of texts for the store; every word of a collection has a permanent id."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from moverank.indexer.store import StoredWord, Writer
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN

_CACHED_WORDS = 2_000_000
_LOOKUP = 10  # a lookup of one word takes as long as reading this many in sequence


class Counts(NamedTuple):
    """A text's words as bytes of int32 arrays: ids, increasing, and the number of occurrences of each."""

    words: bytes
    counts: bytes


class WordCounter:
    """Counts words, and caches the ids seen so far.

    With `embedding` None, no word has a vector yet, and all are stored as unknown.
    """

    def __init__(self, tokenizer: Tokenizer, embedding: Embedding | None) -> None:
        self._tokenizer, self._embedding = tokenizer, embedding
        self._ids: dict[str, int] = {}
        self._known: dict[int, bool] = {}
        self._complete = False

    def count(self, writer: Writer, texts: Sequence[str]) -> list[Counts]:
        """Count the words of texts, and store new words with the rows of their vectors."""
        counted = [self._tokenizer.count(text) for text in texts]
        self._resolve(writer, {word for counts in counted for word in counts})
        return [self._encoded(counts) for counts in counted]

    def any_known(self, writer: Writer, ids: set[int]) -> bool:
        """Return whether any of these words has a vector."""
        unseen = [id_ for id_ in ids if id_ not in self._known]
        self._known.update({id_: row != UNKNOWN for id_, row in writer.word_rows(unseen).items()})
        return any(self._known[id_] for id_ in ids)

    def _resolve(self, writer: Writer, words: set[str]) -> None:
        if len(self._ids) > _CACHED_WORDS:
            self._ids.clear()
            self._known.clear()
            self._complete = False
        missing = sorted(words - self._ids.keys())
        if not self._complete and len(missing) * _LOOKUP > writer.word_count(unused=True):
            self._remember(writer.all_words())
            self._complete = True
            missing = [word for word in missing if word not in self._ids]
        if not self._complete:
            self._remember(writer.words(missing))
            missing = [word for word in missing if word not in self._ids]
        rows = self._embedding.find(missing).tolist() if self._embedding else [UNKNOWN] * len(missing)
        ids = writer.add_words(dict(zip(missing, rows, strict=True)))
        self._remember(map(StoredWord, missing, ids, rows))

    def _remember(self, words: Iterable[StoredWord]) -> None:
        for word, id_, row in words:
            self._ids[word] = id_
            self._known[id_] = row != UNKNOWN

    def _encoded(self, counts: Counter[str]) -> Counts:
        words = np.array([self._ids[word] for word in counts], "<i4")
        order = np.argsort(words)
        return Counts(words[order].tobytes(), np.array(list(counts.values()), "<i4")[order].tobytes())
