"""The process that writes to a collection: changes and compaction do not hold the interpreter that answers searches."""

import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from threading import Lock

from moverank.indexer.cluster.cluster import Cluster
from moverank.indexer.collection import Collection
from moverank.indexer.documents import Changes, Document
from moverank.indexer.errors import CollectionError
from moverank.indexer.readers.record_lines import read_records
from moverank.indexer.server.freed_memory import return_freed_memory
from moverank.indexer.server.parent import end_with_parent

_WAIT = 10.0  # seconds that a change waits for another process that writes
_opened: dict[Path, Collection] = {}  # of this process, if it is a writer

Change = Callable[[Collection | Cluster], Changes]
"""Changes a collection. It is sent to the writer: a function of a module, or a `partial` of one."""


def write_document(document: Document, collection: Collection | Cluster) -> Changes:
    """Add or replace a document."""
    return collection.index([document], strict=True, upkeep=False)


def write_records(path: str, collection: Collection | Cluster) -> Changes:
    """Add or replace the documents of a JSONL file, the body of a request."""
    return collection.index(read_records(path, "the body"), strict=True, upkeep=False)


def remove_key(key: str, collection: Collection | Cluster) -> Changes:
    """Remove a document."""
    return collection.remove([key], upkeep=False)


def remove_where(where: tuple[str, ...], collection: Collection | Cluster) -> Changes:
    """Remove the documents that pass a filter."""
    return collection.remove(where=where, upkeep=False)


def keep_up(collection: Collection | Cluster) -> Changes:
    """Train word vectors and compact, if that is due; shards do so themselves."""
    changes = collection.upkeep() if isinstance(collection, Collection) else Changes()
    return_freed_memory()
    return changes


class WriterProcess:
    """Changes the collection in `directory`, one change after another; the process is started by the first one."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._lock, self._closed = directory, Lock(), False
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, change: Change) -> "Future[Changes]":
        """Run `change` after those submitted before. Its errors are those of `Collection`, and CollectionError.

        The latter if the process was killed: the change was committed as a whole or not at all.
        """
        result: Future[Changes] = Future()
        with self._lock:
            if self._closed:
                result.set_exception(CollectionError("the server is ending: no more changes are made"))
                return result
            try:
                running = self._running().submit(_run, self._directory, change)
            except BrokenProcessPool:
                self._pool = None
                running = self._running().submit(_run, self._directory, change)
        running.add_done_callback(lambda done: _pass_on(done, result))
        return result

    def _running(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not forked: the threads of this process would be missing there, and its locks be held for ever.
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), _begin)
        return self._pool

    def close(self) -> None:
        """End the changes that wait, then the process."""
        with self._lock:
            pool, self._pool, self._closed = self._pool, None, True
        if pool:
            pool.shutdown(wait=True)


def _pass_on(done: "Future[Changes]", result: "Future[Changes]") -> None:
    error = done.exception()
    if isinstance(error, BrokenProcessPool):
        result.set_exception(CollectionError("the process that writes was killed: look whether the change was made"))
    elif error:
        result.set_exception(error)
    else:
        result.set_result(done.result())


def _begin() -> None:
    """Leave Ctrl-C to the server, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def _run(directory: Path, change: Change) -> Changes:
    try:
        if directory not in _opened:
            _opened[directory] = Collection.open(directory, wait=_WAIT)
        return change(_opened[directory])
    except CollectionError:
        if directory in _opened:
            _opened.pop(directory).close()  # opened again for the next change
        raise
