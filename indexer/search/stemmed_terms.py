"""Word counts by stem: words of a segment with the same stem become one term."""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.query import QueryTerms
from moverank.rerank.scorers import TermCounts, WordVectors, merged_terms
from moverank.rerank.words.stems import stem_words

Texts = Callable[[NDArray[np.int64]], Sequence[str]]
"""Returns the words of some ids."""


class Stems:
    """The stems, by the algorithm of a `language`, of the words of segments, given as `stems` of each.

    A stem's id is its position in the list of all different stems; those of other words are negative.
    """

    def __init__(self, language: str, stems: Sequence[Sequence[str]]) -> None:
        self._language = language
        different = dict.fromkeys(chain.from_iterable(stems))
        self._ids = dict(zip(different, range(len(different)), strict=True))
        self._stem_ids = [np.array([self._ids[stem] for stem in each], np.int64) for each in stems]

    def names(self, ids: NDArray[np.int64]) -> list[str]:
        """Return the stems (n,) of ids (n,) of 0 or more."""
        names = list(self._ids)  # in the order of ids
        return [names[id_] for id_ in ids.tolist()]

    def has(self, words: Sequence[str]) -> bool:
        """Return whether any of the words has the stem of a word of a segment."""
        return bool(self.known(words))

    def known(self, words: Sequence[str]) -> set[str]:
        """Return those of the words that have the stem of a word of a segment."""
        stems = stem_words(words, self._language)
        return {word for word, stem in zip(words, stems, strict=True) if stem in self._ids}

    def merged(self, segment: int, counts: TermCounts) -> tuple[TermCounts, NDArray[np.int64]]:
        """Return the counts of a segment by stem, and the ids (s,) of its stems, increasing."""
        ids, positions = np.unique(self._stem_ids[segment], return_inverse=True)
        return merged_terms(counts, positions.astype(np.int32), len(ids)), ids

    def of_query(self, query: QueryTerms) -> QueryTerms:
        """Return a query with the ids of stems instead of those of words."""
        stems, positions = np.unique(stem_words(query.texts, self._language), return_inverse=True)
        ids = np.array([self._ids.get(stem, -1 - i) for i, stem in enumerate(stems.tolist())], np.int64)
        counts = np.bincount(positions, query.counts, len(stems)).astype(np.float64, copy=False)
        none = WordVectors(np.zeros((len(ids), 0), np.float32), np.zeros(len(ids), bool))
        return QueryTerms(ids, counts, none, tuple(stems.tolist()))
