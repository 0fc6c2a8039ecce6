"""The process that writes to a collection, so that changes and compaction do not block the server's interpreter."""

import signal
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from moverank.indexer.collection import Collection
from moverank.indexer.documents import Changes, Document
from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.opening import Opened
from moverank.indexer.reading.record_lines import read_records
from moverank.indexer.server.ending import GRACE
from moverank.indexer.server.freed_memory import return_freed_memory
from moverank.indexer.server.log import LogFormat, log_format, start_log
from moverank.indexer.server.parent import end_with_parent
from moverank.indexer.watching.watches import NO_WATCHES

_ENDING = "the server is ending: the change was not made"
_WAIT = 10.0  # seconds that a change waits for another process that writes
_opened: dict[Path, Collection] = {}  # the collections of a writer process

Change = Callable[[Opened], Changes]
"""Changes a collection: a function of a module, or a `partial` of one, so that it can be sent to the writer."""


def write_document(document: Document, collection: Opened) -> Changes:
    """Add or replace a document."""
    return collection.index([document], strict=True, upkeep=False)


def write_records(path: str, collection: Opened) -> Changes:
    """Add or replace the documents of a JSONL file, which has the body of a request."""
    return collection.index(read_records(path, "the body"), strict=True, upkeep=False)


def remove_key(key: str, collection: Opened) -> Changes:
    """Remove a document."""
    return collection.remove([key], upkeep=False)


def remove_where(where: tuple[str, ...], collection: Opened) -> Changes:
    """Remove the documents that pass a filter."""
    return collection.remove(where=where, upkeep=False)


def put_watch(watch: tuple[str, Document, float], options: Mapping[str, Any], collection: Opened) -> Changes:
    """Add or replace a watch: its name, query and largest distance, with `options` of `Collection.watch`."""
    found = _in_one_place(collection)
    found.watch(*watch, **options)
    return Changes(revision=found.revision)


def remove_watch(name: str, collection: Opened) -> Changes:
    """Remove a watch."""
    found = _in_one_place(collection)
    found.unwatch(name)
    return Changes(revision=found.revision)


def _in_one_place(collection: Opened) -> Collection:
    """Return a collection; UsageError for one in shards."""
    if not isinstance(collection, Collection):
        raise UsageError(NO_WATCHES)
    return collection


def keep_up(collection: Collection) -> Changes:
    """Train word vectors and compact if necessary."""
    changes = collection.upkeep()
    return_freed_memory()
    return changes


class WriterProcess:
    """Changes the collection in `directory`, one change after another; the process is started by the first one."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._lock, self._closed = directory, Lock(), False
        self._pool: ProcessPoolExecutor | None = None
        self._ending: Thread | None = None

    def submit(self, change: Callable[[Collection], Changes]) -> "Future[Changes]":
        """Run `change` after the changes submitted before. Raises the errors of `Collection`, and CollectionError.

        CollectionError means that the process was killed: the change was committed as a whole or not at all.
        """
        result: Future[Changes] = Future()
        with self._lock:
            if self._closed:
                result.set_exception(CollectionError(_ENDING))
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
            # Not forked: the child would lack the threads of this process, and inherit locks that stay held.
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), _begin, (log_format(),))
        return self._pool

    def stop(self) -> None:
        """Refuse the changes that wait, and all later ones; the running change goes on."""
        with self._lock:
            pool, begun, self._closed = self._pool, self._closed, True
            if pool and not begun:  # only the first shutdown waits: it clears the pool's attributes
                self._ending = Thread(target=pool.shutdown, kwargs={"cancel_futures": True}, daemon=True)
                self._ending.start()

    def close(self) -> None:
        """Wait for the change that runs, then for the end of the process, `GRACE` seconds: upkeep may take longer."""
        self.stop()
        if self._ending:
            self._ending.join(GRACE)


def _pass_on(done: "Future[Changes]", result: "Future[Changes]") -> None:
    if done.cancelled():
        result.set_exception(CollectionError(_ENDING))
        return
    error = done.exception()
    if isinstance(error, BrokenProcessPool):
        result.set_exception(CollectionError("the process that writes was killed: look whether the change was made"))
    elif error:
        result.set_exception(error)
    else:
        result.set_result(done.result())


def _begin(log: LogFormat) -> None:
    """Log as the server does, ignore signals, which reach all processes, and end with the server."""
    start_log(log)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with_parent()


def _run(directory: Path, change: Callable[[Collection], Changes]) -> Changes:
    try:
        if directory not in _opened:
            _opened[directory] = Collection.open(directory, wait=_WAIT)
        return change(_opened[directory])
    except CollectionError:
        if directory in _opened:
            _opened.pop(directory).close()  # the next change opens it again
        raise
