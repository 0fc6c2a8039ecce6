"""A view of the candidates that the database chose, read from it by two statements: no other document is needed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.cached_words import CachedWords
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.live_segment import LazyFrequencies, LiveSegment
from moverank.indexer.search.live_terms import LiveTerms
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.database_stage import DatabaseStage
from moverank.indexer.snapshot.segment import Segment, Terms, assemble, concatenated, keep_words
from moverank.indexer.snapshot.stage_tokens import weighted_total
from moverank.indexer.store import Reader
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.words.embedding import Embedding

_Ids = NDArray[np.int64]
_NO_WORDS = np.empty(0, np.int64)


class CandidateReader:
    """Reads views of candidates in one state of the database.

    `reader` sees the state; `stage`, `settings` and `embedding` are the collection's.
    """

    def __init__(self, reader: Reader, stage: DatabaseStage, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._stage, self._settings, self._dim = reader, stage, settings, embedding.dim
        self._words = CachedWords(reader, embedding)
        self._revision, self._documents = reader.revision(), reader.document_count()

    def view(self, ids: Sequence[int], gamma: float | None = None, query: _Ids = _NO_WORDS, floor: float = 0.0) -> View:
        """Return a view of the documents `ids`; `floor` is that of the view.

        `gamma` weighs the parts of documents for scorers, None if there are none; they take their statistics from the
        whole collection, also those of the words of a `query` (h,) which no candidate has.
        """
        parts = self._reader.candidate_parts(ids) if len(ids) else []
        occurring = np.frombuffer(b"".join(part.words for part in parts), "<i4")
        all_words = _distinct(np.append(occurring, query[query > 0]))
        found, counts = concatenated(list(assemble(parts, all_words)))
        word_ids, vectors = self._words.known(all_words)
        segment = Segment(*keep_words(found, counts, all_words, word_ids), word_ids, vectors)
        own, weight = self._settings, float(self._settings.title_weight)
        frequencies = LazyFrequencies(lambda: self)
        live = LiveSegment(segment, np.ones(len(segment.ids), bool), frequencies, weight)
        terms = LiveTerms(Terms(found, counts, all_words), np.empty(0, np.int64), segment, weight)
        outside = None if gamma is None else self._statistics(all_words, gamma)
        return View(
            self._revision,
            (live,) if len(segment.ids) else (),
            own.gamma,
            own.weights,
            frequencies,
            TermScores([terms], self._documents, self._words.texts, outside),
            None,
            self._dim,
            None,
            None,
            space=self._stage.space,
            floor=floor,
        )

    def idf(self, word_ids: _Ids) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id in the whole collection; a word in no document gets the largest."""
        return inverse_document_frequency(self._words.frequencies(word_ids), self._documents)

    def idf_of_query(self, word_ids: _Ids, _texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the idf (n,) of words of a query by id."""
        return self.idf(word_ids)

    def _statistics(self, words: _Ids, gamma: float) -> DocumentFrequencies:
        """Return the statistics of the whole collection for some words (t,)."""
        tokens = weighted_total(self._stage.record.tokens, gamma, self._settings.title_weight)
        mean = tokens / self._documents if tokens else None
        numbers = self._words.frequencies(words).tolist()
        return DocumentFrequencies(self._documents, dict(zip(self._words.texts(words), numbers, strict=True)), mean)


def _distinct(ids: _Ids) -> _Ids:
    """Return the different ones of ids (n,), increasing: sorting takes a tenth of the time of NumPy's hashing."""
    ids = np.sort(ids)
    first = np.ones(len(ids), bool)
    first[1:] = ids[1:] != ids[:-1]
    return ids[first]
