"""The words of stored documents, weighted as a query's words."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.query import Query, QueryTerms, QueryWords
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader
from moverank.indexer.values.arguments import text
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.rerank.errors import NoKnownWords


class DocumentWords:
    """Reads the words of documents in `view`; `reader` sees the same state, word vectors have `dim` dimensions."""

    def __init__(self, reader: Reader, view: View, dim: int) -> None:
        self._reader, self._view, self._dim = reader, view, dim

    def id(self, key: str) -> int:
        """Return the id of the document with a key; UnknownKey if there is none."""
        known = self._reader.known([text("a key", key)])
        if key not in known:
            raise self._reader.unknown_key(key)
        return known[key].id

    def row(self, id_: int) -> tuple[LiveSegment, int]:
        """Return the segment and the row of a document's bag; NoKnownWords if it has none."""
        for part in self._view.segments:
            row = int(np.searchsorted(part.segment.ids, id_))
            if row < len(part.segment.ids) and part.segment.ids[row] == id_ and part.live[row]:
                return part, row
        raise NoKnownWords("that document has no word with a vector: it cannot be compared")

    def bag(self, id_: int, ranking: RankingSpec) -> QueryWords:
        """Return the words of a document's bag; NoKnownWords if none has a vector."""
        words = row_words(*self.row(id_), ranking)
        return replace(words, texts=self._texts(words.ids))

    def all_words(self, id_: int, query: Query) -> QueryWords:
        """Return all words of a document; NoKnownWords if it has none, or no bag although one is needed."""
        terms = dict[float, QueryTerms]()
        for gamma in query.gammas_of_scorers:
            counted = self._view.scores.document(id_, gamma)
            if counted is None:
                raise NoKnownWords("that document has no word: it cannot be compared")
            terms[gamma] = counted
        any_terms = next(iter(terms.values()))
        has_bag = query.needs_bag or any_terms.word_vectors.known.any()
        words = self.bag(id_, query.ranking) if has_bag else QueryWords.none(self._dim)
        return replace(words, all_texts=any_terms.texts, terms=terms)

    def _texts(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        texts = {word.id: word.word for word in self._reader.words_of(ids.tolist())}
        return tuple(texts[id_] for id_ in ids.tolist())


def row_words(part: LiveSegment, row: int, ranking: RankingSpec) -> QueryWords:
    """Return the words of the document at a `row` of the segment `part`, weighted as by `ranking`, without texts."""
    rows = np.array([row])
    bag = part.bags(rows, ranking.gamma, ranking.weights)[0]
    words = part.segment.word_ids[bag.words]
    return QueryWords((), words, bag.weights, part.segment.vectors[bag.words], float(part.tokens(rows)[0]))
