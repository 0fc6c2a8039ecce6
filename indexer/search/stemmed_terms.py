"""Word counts by stem: words of a segment with the same stem become one term."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.query import QueryTerms
from moverank.indexer.snapshot.stem_cache import StemTable
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.stems import stem_words

Texts = Callable[[NDArray[np.int64]], Sequence[str]]
"""Returns the words of some ids."""


class Stems:
    """The stems, by the algorithm of a `language`, of the words of segments, the first of which has the stems `table`.

    A stem's id is its number in the table, or the number that follows those before it; those of other words are
    negative.
    """

    def __init__(self, language: str, table: StemTable) -> None:
        self._language, self._table = language, table
        self._new: dict[str, int] = {}
        self._stem_ids = [table.of_words.astype(np.int64)]

    def add(self, places: NDArray[np.int64], shared: NDArray[np.bool_], texts: Sequence[str]) -> None:
        """Add a segment: of its words (t,), those `shared` with the first have `places` there, others have `texts`."""
        ids = np.empty(len(places), np.int64)
        ids[shared] = self._table.of_words[places[shared]]
        stems = stem_words(texts, self._language)
        for stem, number in zip(stems, self._table.find(stems), strict=True):
            if number < 0:
                self._new.setdefault(stem, len(self._table) + len(self._new))
        ids[~shared] = self._ids_of(stems)
        self._stem_ids.append(ids)

    def _ids_of(self, stems: Sequence[str]) -> list[int]:
        """Return the id of each stem, -1 for one that no segment has."""
        found = zip(stems, self._table.find(stems), strict=True)
        return [number if number >= 0 else self._new.get(stem, -1) for stem, number in found]

    def names(self, ids: NDArray[np.int64]) -> list[str]:
        """Return the stems (n,) of ids (n,) of 0 or more."""
        size, new = len(self._table), list(self._new)  # in the order of ids
        return [self._table.stem(id_) if id_ < size else new[id_ - size] for id_ in ids.tolist()]

    def has(self, words: Sequence[str]) -> bool:
        """Return whether any of the words has the stem of a word of a segment."""
        return bool(self.known(words))

    def known(self, words: Sequence[str]) -> set[str]:
        """Return those of the words that have the stem of a word of a segment."""
        stems = stem_words(words, self._language)
        return {word for word, id_ in zip(words, self._ids_of(stems), strict=True) if id_ >= 0}

    def of_segment(self, segment: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the ids (s,) of the stems of a segment, increasing, and the position among them of each word (t,)."""
        if not segment:
            return np.arange(len(self._table)), self._table.of_words
        ids, positions = np.unique(self._stem_ids[segment], return_inverse=True)
        return ids, positions.astype(np.int32)

    def of_query(self, query: QueryTerms) -> QueryTerms:
        """Return a query with the ids of stems instead of those of words."""
        stems, positions = np.unique(stem_words(query.texts, self._language), return_inverse=True)
        known = enumerate(self._ids_of(stems.tolist()))
        ids = np.array([id_ if id_ >= 0 else -1 - i for i, id_ in known], np.int64)
        counts = np.bincount(positions, query.counts, len(stems)).astype(np.float64, copy=False)
        none = WordVectors(np.zeros((len(ids), 0), np.float32), np.zeros(len(ids), bool))
        return QueryTerms(ids, counts, none, tuple(stems.tolist()))
