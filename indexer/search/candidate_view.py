"""A view of the candidates that the database chose, read from it by two statements: no other document is needed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.live_terms import LiveTerms
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.search.view import LazyFrequencies, LiveSegment, View
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.database_stage import DatabaseStage
from moverank.indexer.snapshot.segment import Segment, Terms, assemble, concatenated, keep_words
from moverank.indexer.snapshot.stage_tokens import weighted_total
from moverank.indexer.store import CandidateWord, Reader
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN

_Ids = NDArray[np.int64]
_NOTHING = np.empty(0, np.int64)
_NO_WORD = CandidateWord(0, "", 0, UNKNOWN)


class CandidateReader:
    """Reads views of candidates in one state of the database; words are read once, and kept in memory.

    `reader` sees the state; `stage`, `settings` and `embedding` are the collection's.
    """

    def __init__(self, reader: Reader, stage: DatabaseStage, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._stage, self._settings, self._embedding = reader, stage, settings, embedding
        self._words: dict[int, CandidateWord] = {}
        self._revision, self._documents = reader.revision(), reader.document_count()

    def view(self, ids: Sequence[int], gamma: float = 0.0, query: _Ids = _NOTHING, floor: float = 0.0) -> View:
        """Return a view of the documents `ids`; `floor` is that of the view.

        Scorers with parts weighted by `gamma` take their statistics from the whole collection, also those of the words
        of a `query` (h,) which no candidate has.
        """
        parts = self._reader.candidate_parts(ids) if len(ids) else []
        occurring = np.frombuffer(b"".join(part.words for part in parts), "<i4").astype(np.int64)
        all_words = np.unique(np.append(occurring, query[query > 0]))
        words = self._found(all_words)
        found, counts = concatenated(list(assemble(parts, all_words)))
        known = [word for word in words if word.row != UNKNOWN]
        word_ids = np.array([word.id for word in known], np.int64)
        rows = np.array([word.row for word in known], np.int64)
        vectors = self._embedding.gather([word.word for word in known], rows)
        segment = Segment(*keep_words(found, counts, all_words, word_ids), word_ids, vectors)
        own, weight = self._settings, float(self._settings.title_weight)
        frequencies = LazyFrequencies(lambda: self)
        live = LiveSegment(segment, np.ones(len(segment.ids), bool), frequencies, weight)
        terms = LiveTerms(Terms(found, counts, all_words), np.empty(0, np.int64), segment, weight)
        scores = TermScores([terms], self._documents, self._texts, self._statistics(words, gamma))
        return View(
            self._revision,
            (live,) if len(segment.ids) else (),
            own.gamma,
            own.weights,
            frequencies,
            scores,
            None,
            self._embedding.dim,
            None,
            None,
            space=self._stage.space,
            floor=floor,
        )

    def idf(self, word_ids: _Ids) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id in the whole collection; a word in no document gets the largest."""
        self._found(word_ids[word_ids > 0])
        frequencies = [self._words.get(id_, _NO_WORD).frequency for id_ in word_ids.tolist()]
        return inverse_document_frequency(np.array(frequencies, np.int64), self._documents)

    def _found(self, ids: _Ids) -> list[CandidateWord]:
        """Return words by id, in the order of ids; those that a damaged database has lost are left out."""
        missing = [id_ for id_ in ids.tolist() if id_ not in self._words]
        if missing:
            self._words.update((word.id, word) for word in self._reader.candidate_words(missing))
        return [self._words[id_] for id_ in ids.tolist() if id_ in self._words]

    def _texts(self, ids: _Ids) -> list[str]:
        return [word.word for word in self._found(ids)]

    def _statistics(self, words: Sequence[CandidateWord], gamma: float) -> DocumentFrequencies:
        """Return the statistics of the whole collection for the words of candidates."""
        tokens = weighted_total(self._stage.record.tokens, gamma, self._settings.title_weight)
        mean = tokens / self._documents if tokens else None
        return DocumentFrequencies(self._documents, {word.word: word.frequency for word in words}, mean)
