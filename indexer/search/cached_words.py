"""Words of one state of the database, read when a search first needs them and then kept in memory."""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.store import CandidateWord, Reader
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.unknown import UNKNOWN

_Ids = NDArray[np.int64]


class CachedWords:
    """Words by id in the state of `reader`: texts, numbers of documents, and vectors in `embedding`."""

    def __init__(self, reader: Reader, embedding: Embedding) -> None:
        self._reader, self._embedding = reader, embedding
        self._ids, self._rows, self._frequencies = (np.empty(0, np.int64) for _ in range(3))
        self._texts: dict[int, str] = {}

    def frequencies(self, ids: _Ids) -> _Ids:
        """Return the numbers of documents (n,) that have the words `ids` (n,); 0 for an id of no word."""
        self._read(ids[ids > 0])
        positions, present = lookup(ids, self._ids)
        found = np.zeros(len(ids), np.int64)
        found[present] = self._frequencies[positions[present]]
        return found

    def texts(self, ids: _Ids) -> list[str]:
        """Return the words (n,) of ids (n,)."""
        self._read(ids)
        return [self._texts[id_] for id_ in ids.tolist()]

    def known(self, ids: _Ids) -> tuple[_Ids, NDArray[np.float32]]:
        """Return those of `ids` (n,), increasing, whose words have a vector (v,), and the vectors (v, d)."""
        self._read(ids)
        positions, present = lookup(ids, self._ids)
        rows = np.full(len(ids), UNKNOWN, np.int64)
        rows[present] = self._rows[positions[present]]
        known = rows != UNKNOWN
        return ids[known], self._embedding.gather(self.texts(ids[known]), rows[known])

    def _read(self, ids: _Ids) -> None:
        """Read those of the words `ids` (n,) that have not been read; a damaged database may have lost some."""
        missing = ids[~lookup(ids, self._ids)[1]]
        if not len(missing):
            return
        new: list[CandidateWord] = self._reader.candidate_words(missing.tolist())
        self._texts.update((word.id, word.word) for word in new)
        every = np.append(self._ids, np.array([word.id for word in new], np.int64))
        order = np.argsort(every, kind="stable")
        self._ids = every[order]
        self._rows = np.append(self._rows, np.array([word.row for word in new], np.int64))[order]
        self._frequencies = np.append(self._frequencies, np.array([word.frequency for word in new], np.int64))[order]
