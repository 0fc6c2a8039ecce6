"""One committed state of a collection, with its searchers; many threads may use it, and the last one closes it."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from moverank.indexer.errors import CollectionError
from moverank.indexer.indexing.collection_vectors import current_vectors
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader, Store

if TYPE_CHECKING:  # imported by the first search: a collection that is only changed or listed searches nothing
    from moverank.indexer.search.searcher import Searcher
    from moverank.indexer.search.view import View
    from moverank.indexer.state.repair_on_open import SnapshotRepairer
    from moverank.rerank.words.embedding import Embedding


class Outdated(CollectionError):  # noqa: N818 - named after what it is
    """The files of a state were repaired or replaced: it has to be opened again."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} is being changed all the time by other processes: try again")


class OpenState:
    """The state of `reader` of the collection in `directory`, with its word vectors `embedding`.

    `repairer` opens the snapshot at the first search that needs it. Several threads may use `reader`.
    """

    def __init__(self, reader: Reader, directory: Path, embedding: "Embedding", repairer: "SnapshotRepairer") -> None:
        self.reader, self.embedding = reader, embedding
        self.revision, self.stored = reader.revision(), reader.settings()
        self.token = reader.token(self.revision) or ""
        self.settings = Settings.restored(self.stored)
        self._directory, self._repairer, self._opened = directory, repairer, ExitStack()
        self._lock, self._opening = Lock(), Lock()
        self._users, self._replaced = 0, False
        self.usable = True
        """Whether work may begin on the state: not after damage, or the loss of its connection."""

    @classmethod
    def open(
        cls, store: Store, directory: Path, before: "Embedding | None", repairer: "SnapshotRepairer"
    ) -> Self | None:
        """Open the committed state; None before the collection has word vectors. `before`: vectors opened before."""
        with ExitStack() as opened:
            reader = opened.enter_context(store.reading())
            embedding = current_vectors(reader, directory, reader.settings(), before)
            if embedding is None:
                return None
            state = cls(reader, directory, embedding, repairer)
            state._opened.push(opened.pop_all())
            return state

    @cached_property
    def documents(self) -> int:
        """Return the number of documents."""
        return self.reader.document_count()

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
        """Close the state once the last thread leaves it: another state takes its place."""
        with self._lock:
            self._replaced = True
            last = not self._users
        if last:
            self._opened.close()
