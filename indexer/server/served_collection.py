"""A collection that is served: all requests share one state, which follows its revisions; changes wait in a queue."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar

from moverank.indexer.documents import Changes
from moverank.indexer.errors import ConnectionLost, IndexerError
from moverank.indexer.indexing.collection_vectors import open_collection
from moverank.indexer.server.freed_memory import return_freed_memory
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.served_view import ServedView
from moverank.indexer.server.waiting_writes import WaitingWrites
from moverank.indexer.server.writer_process import Change, WriterProcess, keep_up
from moverank.indexer.store.database_errors import database_errors
from moverank.rerank.errors import RerankError

_POLL = 0.5  # seconds between two looks for changes by other processes
_SHARE = 10  # at most about one part in so many of the time is spent on opening new states
_ATTEMPTS = 5  # to answer a request, if the connection to the database is lost each time
_UPKEEP = 256  # changed documents after which training and compaction may be due

_Answer = TypeVar("_Answer")

_log = logging.getLogger("moverank")


class ServedCollection:
    """The collection in `directory`, called `name` by clients.

    A state that was committed, here or by another process, replaces the one before as a whole; searches that began
    before end on theirs. Raises CollectionError if there is no usable collection.
    """

    def __init__(self, name: str, directory: Path, limits: Limits) -> None:
        self.name, self.directory = name, directory
        self._store, _, embedding = open_collection(directory)
        self._view = ServedView.open(self._store, directory, embedding)
        if self._view:
            self._view.warm()
        self._swap, self._changed, self._closed = Lock(), Event(), Event()
        self._refreshing = Lock()
        self._writer = WriterProcess(directory)
        self._writes, self._write_lock = WaitingWrites(limits.writes), Lock()
        self._lost = False  # the connection of the view, whose database is a server
        self._changes = 0  # documents since the last upkeep
        self._refresher = Thread(target=self._follow, name=f"moverank-refresh-{name}", daemon=True)
        self._refresher.start()

    @property
    def waiting_writes(self) -> int:
        """Return the number of changes that run or wait."""
        return self._writes.count

    @property
    def revision(self) -> int:
        """Return the revision that is searched, 0 before there is any."""
        view = self._view
        return view.revision if view else 0

    def answer(self, work: Callable[[ServedView], _Answer]) -> _Answer:
        """Return what `work` makes of the current state; again, on a new connection, if that was lost.

        Raises Problem as `current`, and ConnectionLost if there is no connection.
        """
        for _ in range(_ATTEMPTS - 1):
            with suppress(ConnectionLost):
                return self._answered(work)
        return self._answered(work)

    def _answered(self, work: Callable[[ServedView], _Answer]) -> _Answer:
        if self._lost:
            self.refresh()
        with self.current() as view:
            return work(view)

    @contextmanager
    def current(self) -> Iterator[ServedView]:
        """Keep the current state open during the block; Problem 503 while there are no word vectors yet."""
        with self._swap:
            view = self._view
            if view is None:
                raise Problem(503, f"the collection {self.name!r} has no word vectors yet: add more text")
            view.acquire()
        try:
            with database_errors(self._store.place):
                yield view
        except ConnectionLost:
            self._lost = True  # the next refresh opens another
            self._changed.set()
            raise
        finally:
            view.release()

    def write(self, change: Change) -> "Future[Changes]":
        """Run `change` after those that wait already; Problem 503 if too many do."""
        running = self._writes.add(lambda: self._writer.submit(change))
        running.add_done_callback(self._written)
        return running

    def _written(self, change: "Future[Changes]") -> None:
        """Follow a change; training and compaction come after many, or if nothing can be searched yet."""
        with self._write_lock:
            if not change.exception():
                done = change.result()
                self._changes += done.added + done.updated + done.removed
            due = self._changes >= _UPKEEP or (self._changes and self._view is None)
            if due:
                self._changes = 0
        self._changed.set()
        if due:
            self._keep_up()

    def _keep_up(self) -> None:
        self._writer.submit(keep_up).add_done_callback(self._kept_up)

    def _kept_up(self, upkeep: "Future[Changes]") -> None:
        if error := upkeep.exception():
            _log.warning("%s: its upkeep failed, and is tried again later: %s", self.name, error)
        self._changed.set()

    def refresh(self) -> None:
        """Open the committed state unless it is the current one, and let it replace that. Raises CollectionError."""
        with self._refreshing, database_errors(self._store.place):
            self._refresh()

    def _refresh(self) -> None:
        with self._store.reading() as reader:
            revision = reader.revision()
            state = revision, reader.token(revision) or "", reader.settings()
        before = self._view
        if before and before.shows(*state) and not self._lost:
            return
        view = ServedView.open(self._store, self.directory, before.embedding if before else None)
        if view is None:
            return
        view.warm()
        with self._swap:
            self._view, self._lost = view, False
        if before:
            before.replaced()
            del before
            return_freed_memory()

    def _follow(self) -> None:
        """Refresh after every change, but only so often that most of the time is left for searches."""
        pause = 0.0
        while not self._closed.is_set():
            self._changed.wait(_POLL)
            if self._closed.wait(pause):
                return
            self._changed.clear()
            began = monotonic()
            try:
                self.refresh()
            except (IndexerError, RerankError, OSError) as error:
                _log.warning(
                    "%s: the last state is still served, as the new one cannot be opened: %s", self.name, error
                )
            taken = monotonic() - began
            pause = taken * _SHARE if taken > _POLL / _SHARE else 0.0

    def close(self) -> None:
        """End the changes that wait, then close the collection."""
        if self._changes:
            self._keep_up()
        self._writer.close()
        self._closed.set()
        self._changed.set()
        self._refresher.join()
        with self._swap:
            view, self._view = self._view, None
        if view:
            view.replaced()
        self._store.close()
