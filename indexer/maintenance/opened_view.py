"""One opened state of a collection, which many threads read at a time; it is closed after the last of them."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any, Self

from moverank.indexer.errors import CollectionError
from moverank.indexer.indexing.collection_vectors import current_vectors
from moverank.indexer.maintenance.automatic_repair import SnapshotRepairer
from moverank.indexer.search.searcher import Searcher
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader, Store
from moverank.rerank.runtime.threads import single_threaded_blas
from moverank.rerank.words.embedding import Embedding

_ATTEMPTS = 5


class OpenedView:
    """One state of a collection: `searcher` searches its `view`, `reader` reads its documents.

    `reader` may be used by one thread at a time, under `database`.
    """

    def __init__(self, reader: Reader, view: View, settings: Settings, embedding: Embedding, opened: ExitStack) -> None:
        self.reader, self.view, self.settings, self.embedding = reader, view, settings, embedding
        self.searcher = Searcher(reader, view, settings, embedding)
        self.revision, self.stored_settings = reader.revision(), reader.settings()
        self.token = reader.token(self.revision) or ""
        self.documents = reader.document_count()
        self.database = self.searcher.database
        self._opened, self._lock, self._users, self._replaced = opened, Lock(), 0, False

    @classmethod
    def open(cls, store: Store, directory: Path, before: Embedding | None) -> Self | None:
        """Open the current state; None before the collection has word vectors. `before`: vectors opened before."""
        repairer = SnapshotRepairer(store, directory)
        for _ in range(_ATTEMPTS):
            with ExitStack() as opened:
                reader = opened.enter_context(store.reading())
                stored = reader.settings()
                embedding = current_vectors(reader, directory, stored, before)
                if embedding is None:
                    return None
                settings = Settings.restored(stored)
                view = repairer.open(reader, settings, embedding)
                if view is not None:
                    opened.enter_context(single_threaded_blas())  # restored BLAS threads would busy-wait
                    return cls(reader, view, settings, embedding, opened.pop_all())
        raise CollectionError("the collection is being changed all the time by other processes: try again")

    def shows(self, revision: int, token: str, settings: Mapping[str, Any]) -> bool:
        """Return whether this is the state of a revision with these stored settings, which change without one, too.

        A database that was restored has another `token` (empty before the first revision) for the same number.
        """
        return (self.revision, self.token, self.stored_settings) == (revision, token, settings)

    def acquire(self) -> None:
        """Keep the state open until `release`."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """Close the state if it was replaced and no other thread uses it."""
        with self._lock:
            self._users -= 1
            last = self._replaced and not self._users
        if last:
            self._opened.close()

    def replaced(self) -> None:
        """Close the state once the last thread leaves it: another one has taken its place."""
        with self._lock:
            self._replaced = True
            last = not self._users
        if last:
            self._opened.close()
