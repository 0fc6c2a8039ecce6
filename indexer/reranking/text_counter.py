"""Counts the words of queries and candidates; a text that occurs several times is split once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.documents import Document
from moverank.indexer.ranked_texts import ranked_texts
from moverank.indexer.reranking.counted_texts import CorpusVocabulary, Texts
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.unknown import UNKNOWN

RankedTokens = Sequence[tuple[int, NDArray[np.int64]]]
"""The rank of each part of a document, and the ids of its tokens (m,), in order."""


class _Ids(dict[str, int]):
    """Ids of words, 0, 1, ... in the order of their first lookup."""

    def __missing__(self, word: str) -> int:
        id_ = self[word] = len(self)
        return id_


class TextCounter:
    """Splits texts by `tokenizer`, and looks up each word once in `embedding`."""

    def __init__(self, tokenizer: Tokenizer, embedding: Embedding) -> None:
        self._tokenizer, self._embedding = tokenizer, embedding
        self._ids = _Ids()
        self._texts: dict[str, NDArray[np.int64]] = {}
        self._words: list[str] = []
        self._known = np.empty(0, bool)
        self._vectors = np.empty((0, embedding.dim), np.float32)

    def tokens(self, document: Document) -> RankedTokens:
        """Return the tokens of a document by part."""
        return [(rank, self._split(text)) for rank, text in ranked_texts(document)]

    def _split(self, text: str) -> NDArray[np.int64]:
        found = self._texts.get(text)
        if found is None:
            words = self._tokenizer.words(text)
            found = self._texts[text] = np.fromiter(map(self._ids.__getitem__, words), np.int64, len(words))
        return found

    def look_up(self) -> None:
        """Find the vectors of all words so far; call it before `counted`."""
        self._words = list(self._ids)
        rows = self._embedding.find(self._words)
        self._known = rows != UNKNOWN
        known = np.flatnonzero(self._known)
        found = self._embedding.gather([self._words[i] for i in known.tolist()], rows[known])
        self._vectors = found
        if len(known) < len(rows):
            self._vectors = np.zeros((len(rows), self._embedding.dim), np.float32)
            self._vectors[known] = found

    def counted(
        self, query: RankedTokens, candidates: Sequence[RankedTokens], title_weight: float
    ) -> tuple[Texts, Texts]:
        """Return a query, as the only row, and its candidates, counted over one vocabulary of their own.

        Its words are in the order of their first occurrence: other texts do not change the result.
        """
        texts = [query, *candidates]
        tokens = np.concatenate([np.empty(0, np.int64), *(part for text in texts for _, part in text)])
        chosen, positions = _in_order_of_occurrence(tokens, len(self._words))
        counts = _part_counts(texts, positions[tokens], len(chosen))
        every = np.array_equal(chosen, np.arange(len(self._words)))  # of a single query
        names = tuple(self._words[id_] for id_ in chosen.tolist())
        vectors = self._vectors if every else self._vectors[chosen]
        vocabulary = CorpusVocabulary(vectors, self._known[chosen], "", names)
        rows = [np.array([0]), np.arange(1, len(texts))]
        keys = [("",), tuple(map(str, range(len(candidates))))]
        own, pool = (
            Texts(key, counts.take(row), vocabulary, title_weight=title_weight)
            for key, row in zip(keys, rows, strict=True)
        )
        return own, pool


def _in_order_of_occurrence(tokens: NDArray[np.int64], v: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct ids among `tokens` (n,) in the order of their first occurrence, and the place (v,) of each.

    `v` is the number of all ids; ids that do not occur have the place -1.
    """
    first = np.full(v, -1)
    first[tokens[::-1]] = np.arange(len(tokens))[::-1]
    found = np.flatnonzero(first >= 0)
    chosen = found[np.argsort(first[found])]
    places = np.full(v, -1)
    places[chosen] = np.arange(len(chosen))
    return chosen, places


def _part_counts(texts: Sequence[RankedTokens], words: NDArray[np.int64], v: int) -> PartCounts:
    """Return the counts of each text by word and rank; `words` are those, below `v`, of all tokens, text by text."""
    parts = [len(text) for text in texts]
    sizes = np.array([len(part) for text in texts for _, part in text], np.int64)
    ranks, place = np.unique(np.array([rank for text in texts for rank, _ in text], np.int64), return_inverse=True)
    rows = np.repeat(np.repeat(np.arange(len(texts)), parts), sizes)
    keys, amounts = np.unique((rows * v + words) * len(ranks) + np.repeat(place, sizes), return_counts=True)
    keys, rank = np.divmod(keys, max(1, len(ranks)))
    row, word = np.divmod(keys, max(1, v))
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(texts)))]).astype(np.int64)
    return PartCounts(starts, *(column.astype(np.int32) for column in (word, ranks[rank], amounts)))
