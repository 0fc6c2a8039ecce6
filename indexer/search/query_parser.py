"""What a question is about: words of a text or of a stored document, and documents by key."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.search.query import Words
from moverank.indexer.search.term_scores import QueryTerms
from moverank.indexer.search.view import LiveSegment, View
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN


class QueryParser:
    """Finds words and documents in one view; the reader is of the same state."""

    def __init__(self, reader: Reader, view: View, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._view, self._embedding = reader, view, embedding
        self._tokenizer = Tokenizer(frozenset(settings.stop_words))

    def text(self, text: str, *, needed: bool = True) -> Words:
        """Return the words of a text; NoKnownWords where none has a vector and one is `needed`, or there is no word."""
        counts = self._tokenizer.count(text)
        texts = sorted(counts)
        rows = self._embedding.find(texts)
        known = np.flatnonzero(rows != UNKNOWN)
        if not len(texts) or (needed and not len(known)):
            shown = " ".join(text.split())
            raise NoKnownWords(
                f"the query {shown[:60]!r} has no word that the collection has a vector for"
                + ("" if counts else ": all of its words are stop words" if shown else ": it is empty")
            )
        stored = {found.word: found.id for found in self._reader.words(texts)}
        every = np.array([stored.get(name, 0) for name in texts], np.int64)
        amounts = np.array([counts[name] for name in texts], np.float64)
        names, ids, weights = [texts[i] for i in known.tolist()], every[known], amounts[known]
        vectors = self._embedding.gather(names, rows[known])
        terms = QueryTerms(every, amounts, _spread(vectors, known, len(texts)))
        length = float(weights.sum())
        if self._view.frequencies:
            weights = weights * self._view.frequencies.idf(ids)
        return Words(tuple(names), ids, weights / (weights.sum() or 1.0), vectors, length, tuple(texts), terms)

    def stored(self, id_: int, gamma: float) -> Words:
        """Return the words of a stored document's bag; NoKnownWords where none has a vector."""
        words = row_words(*self.row(id_), gamma)
        return replace(words, texts=self._texts(words.ids))

    def counted(self, id_: int, gamma: float, *, needed: bool) -> Words:
        """Return all words of a stored document; NoKnownWords where it has none, or none of those `needed`."""
        terms = self._view.scoring.document(id_, gamma)
        if terms is None:
            raise NoKnownWords("that document has no word: it cannot be compared")
        bare = Words((), np.empty(0, np.int64), np.empty(0), np.empty((0, self._embedding.dim), np.float32), 0.0)
        words = self.stored(id_, gamma) if needed or terms.word_vectors.known.any() else bare
        return replace(words, all_texts=self._texts(terms.ids), terms=terms)

    def _texts(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        texts = self._reader.word_texts(ids.tolist())
        return tuple(texts[id_] for id_ in ids.tolist())

    def document(self, key: str) -> int:
        """Return a document's id; UnknownKey where there is none."""
        known = self._reader.known([key])
        if key not in known:
            raise UnknownKey(f"the collection has no document with the key {key!r}")
        return known[key].id

    def row(self, id_: int) -> tuple[LiveSegment, int]:
        """Return where a document's bag is; NoKnownWords where it has none."""
        for part in self._view.segments:
            row = int(np.searchsorted(part.segment.ids, id_))
            if row < len(part.segment.ids) and part.segment.ids[row] == id_ and part.live[row]:
                return part, row
        raise NoKnownWords("that document has no word with a vector: it cannot be compared")

    def matching(self, where: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
        """Return the ids of the documents that have one of the values in every field named."""
        names = set(self._reader.field_names())
        ids: set[int] | None = None
        for name, values in where.items():
            if name not in names:
                there = f"the fields are {', '.join(sorted(names))}" if names else "no document has any field"
                raise UsageError(f"no document has a field {name!r}: {there}")
            matching = set(self._reader.matching(name, [values] if isinstance(values, str) else list(values)))
            ids = matching if ids is None else ids & matching
        return np.array(sorted(ids or ()), np.int64)


def row_words(part: LiveSegment, row: int, gamma: float) -> Words:
    """Return the words of a stored document, without their texts."""
    bag = part.bags(np.array([row]), gamma)[0]
    length = float(part.segment.counts.take(np.array([row])).lengths()[0])
    return Words((), part.segment.word_ids[bag.words], bag.weights, part.segment.vectors[bag.words], length)


def _spread(vectors: NDArray[np.float32], known: NDArray[np.intp], size: int) -> WordVectors:
    """Put the vectors of the words `known` (v,) into their places among so many."""
    every, there = np.zeros((size, vectors.shape[1]), np.float32), np.zeros(size, bool)
    every[known] = vectors
    there[known] = True
    return WordVectors(every, there)
