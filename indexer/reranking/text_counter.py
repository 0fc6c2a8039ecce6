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
from moverank.rerank.words.vocabulary import UNKNOWN

RankedTokens = Sequence[tuple[int, NDArray[np.int64]]]
"""The rank of each part of a document, and the ids of its tokens (m,), in order."""


class TextCounter:
    """Splits texts by `tokenizer`, and looks up each word once in `embedding`."""

    def __init__(self, tokenizer: Tokenizer, embedding: Embedding) -> None:
        self._tokenizer, self._embedding = tokenizer, embedding
        self._ids: dict[str, int] = {}
        self._texts: dict[str, NDArray[np.int64]] = {}
        self._known = np.empty(0, bool)
        self._vectors = np.empty((0, embedding.dim), np.float32)

    def tokens(self, document: Document) -> RankedTokens:
        """Return the tokens of a document by part."""
        return [(rank, self._split(text)) for rank, text in ranked_texts(document)]

    def _split(self, text: str) -> NDArray[np.int64]:
        found = self._texts.get(text)
        if found is None:
            ids = self._ids
            words = self._tokenizer.words(text)
            found = self._texts[text] = np.array([ids.setdefault(word, len(ids)) for word in words], np.int64)
        return found

    def look_up(self) -> None:
        """Find the vectors of all words so far; call it before `counted`."""
        words = list(self._ids)
        rows = self._embedding.find(words)
        self._known = rows != UNKNOWN
        known = np.flatnonzero(self._known)
        self._vectors = np.zeros((len(words), self._embedding.dim), np.float32)
        self._vectors[known] = self._embedding.gather([words[i] for i in known.tolist()], rows[known])
        self._words = words

    def counted(
        self, query: RankedTokens, candidates: Sequence[RankedTokens], title_weight: float
    ) -> tuple[Texts, Texts]:
        """Return a query, as the only row, and its candidates, counted over one vocabulary of their own.

        Its words are in the order of their first occurrence: other texts do not change the result.
        """
        texts = [query, *candidates]
        tokens = np.concatenate([np.empty(0, np.int64), *(part for text in texts for _, part in text)])
        distinct, first, inverse = np.unique(tokens, return_index=True, return_inverse=True)
        order = np.argsort(first)
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        chosen = distinct[order]
        counts = _part_counts(texts, position[inverse])
        names = tuple(self._words[id_] for id_ in chosen.tolist())
        vocabulary = CorpusVocabulary(self._vectors[chosen], self._known[chosen], "", names)
        rows = [np.array([0]), np.arange(1, len(texts))]
        keys = [("",), tuple(map(str, range(len(candidates))))]
        own, pool = (
            Texts(key, counts.take(row), vocabulary, title_weight=title_weight)
            for key, row in zip(keys, rows, strict=True)
        )
        return own, pool


def _part_counts(texts: Sequence[RankedTokens], words: NDArray[np.int64]) -> PartCounts:
    """Return the counts of each text by word and rank; `words` are the words of all tokens, text by text."""
    sizes = [len(part) for text in texts for _, part in text]
    ranks = np.repeat(np.array([rank for text in texts for rank, _ in text], np.int64), sizes)
    lengths = [sum(len(part) for _, part in text) for text in texts]
    rows = np.repeat(np.arange(len(texts)), lengths)
    order = np.lexsort((ranks, words, rows))
    keys = np.stack([rows[order], words[order], ranks[order]])
    first = np.ones(len(order), bool)
    first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    heads = np.flatnonzero(first)
    starts = np.concatenate([[0], np.cumsum(np.bincount(keys[0, heads], minlength=len(texts)))]).astype(np.int64)
    amounts = np.diff(np.append(heads, len(order)))
    return PartCounts(starts, *(column.astype(np.int32) for column in (keys[1, heads], keys[2, heads], amounts)))
