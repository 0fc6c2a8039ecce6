"""One committed state of a collection, with its searchers; many threads may use it, and the last one closes it.

In a shared database, a transaction lasts as long as work on the state: an idle one would keep the server from removing
old rows, and servers end such sessions. Later work begins another one, if the state is still the committed one.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from moverank.indexer.errors import CollectionError
from moverank.indexer.indexing.collection_vectors import current_vectors
from moverank.indexer.state.contents import Contents
from moverank.indexer.store import Store
from moverank.indexer.values.search_options import Where
from moverank.indexer.values.settings import Settings

if TYPE_CHECKING:  # imported by the first search: a collection that is only changed or listed searches nothing
    from moverank.indexer.search.searcher import Searcher
    from moverank.indexer.search.view import View
    from moverank.indexer.state.snapshot_repair import SnapshotRepairer
    from moverank.indexer.store.store import Transaction
    from moverank.rerank.words.embedding import Embedding


LONGEST = 30.0
"""Seconds of a transaction in a shared database, after which later work begins on another state."""


class Outdated(CollectionError):  # noqa: N818 - named after what it is
    """The files of a state were repaired or replaced, or others have changed it: it has to be opened again."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} is being changed all the time by other processes: try again")


class OpenState:
    """The state that a `transaction` reads of the collection in `directory`, with its word vectors `embedding`.

    `repairer` opens the snapshot at the first search that needs it. Several threads may use `reader`.
    """

    def __init__(
        self, transaction: "Transaction", directory: Path, embedding: "Embedding", repairer: "SnapshotRepairer"
    ) -> None:
        self._transaction, self.reader, self.embedding = transaction, transaction.reader, embedding
        reader = self.reader
        self.revision, self.stored = reader.revision(), reader.settings()
        self.token = reader.token(self.revision) or ""
        self.settings = Settings.restored(self.stored)
        self._directory, self._repairer, self._opened = directory, repairer, ExitStack()
        self._lock, self._opening = Lock(), Lock()
        self._users, self._keepers, self._replaced = 0, 0, False
        self.usable = True
        """Whether work may begin on the state: not after damage, or the loss of its connection."""

    @classmethod
    def open(
        cls, store: Store, directory: Path, before: "Embedding | None", repairer: "SnapshotRepairer"
    ) -> Self | None:
        """Open the committed state; None before the collection has word vectors. `before`: vectors opened before."""
        transaction, state = store.transaction(), None
        try:
            with transaction.translated():
                embedding = current_vectors(transaction.reader, directory, transaction.reader.settings(), before)
                if embedding is not None:
                    state = cls(transaction, directory, embedding, repairer)
            return state
        finally:
            if state is None:
                transaction.end()

    @cached_property
    def documents(self) -> int:
        """Return the number of documents."""
        return self.reader.document_count()

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator[Contents]:
        """Open the documents that pass a filter."""
        yield Contents(self.reader, where)

    @property
    def view(self) -> "View":
        """Return what `searcher` searches."""
        return self.searcher.view

    @property
    def searcher(self) -> "Searcher":
        """Return the searcher of all documents; it raises Outdated if it opens files after a repair."""
        with self._opening:
            return self._searcher

    @cached_property
    def _searcher(self) -> "Searcher":
        from moverank.indexer.search.searcher import Searcher
        from moverank.rerank.runtime.thread_pool import single_threaded_blas

        # BLAS keeps to one thread until the state is closed: restored threads would busy-wait on cores.
        self._opened.enter_context(single_threaded_blas())
        return Searcher(self.reader, self.settings, self.embedding, self._open_view)

    def _open_view(self) -> "View":
        view = self._repairer.open(self.reader, self.settings, self.embedding)
        if view is None:
            raise Outdated(self._directory)
        return view

    def shows(self, revision: int, token: str, stored: Mapping[str, Any]) -> bool:
        """Return whether this is the state of a revision with these stored settings, which may change without one.

        A database that was restored has another `token` (empty before the first revision) for the same number.
        """
        return (self.revision, self.token, self.stored) == (revision, token, stored)

    @property
    def aged(self) -> bool:
        """Return whether its transaction in a shared database has lasted so long that another state should follow."""
        return self.reader.shared and self._users > 0 and monotonic() - self._transaction.began > LONGEST

    def acquire(self) -> None:
        """Begin work on the state, until `release`; Outdated if others have changed the collection since the last work.

        Raises CollectionError, such as ConnectionLost, if the database cannot be read.
        """
        with self._lock:
            if not self._transaction.is_open:
                self._resume()
            self._users += 1

    def _resume(self) -> None:
        self._transaction.begin()
        is_same = False
        try:
            with self._transaction.translated():
                found = self.reader.revision()
                is_same = self.shows(found, self.reader.token(found) or "", self.reader.settings())
        finally:
            if not is_same:
                self._transaction.end()
        if not is_same:
            raise Outdated(self._directory)

    def release(self) -> None:
        """End work on the state; the last one ends its transaction in a shared database, or closes a replaced state."""
        with self._lock:
            self._users -= 1
            self._close_unused()

    def keep(self) -> None:
        """Keep the files of the state open until `drop`, without work on it."""
        with self._lock:
            self._keepers += 1

    def drop(self) -> None:
        """End a `keep`."""
        with self._lock:
            self._keepers -= 1
            self._close_unused()

    def replaced(self) -> None:
        """Close the state once the last thread leaves it: another state takes its place."""
        with self._lock:
            self._replaced = True
            self._close_unused()

    def _close_unused(self) -> None:
        if self._users:
            return
        if self.reader.shared or (self._replaced and not self._keepers):
            self._transaction.end()
        if self._replaced and not self._keepers:
            self._opened.close()
