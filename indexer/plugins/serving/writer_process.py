"""The process that writes to a collection, so that changes and compaction do not block the server's interpreter."""

import ctypes
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from math import inf
from multiprocessing import get_context
from pathlib import Path
from threading import Event, RLock, Thread
from time import monotonic
from typing import Any, NamedTuple

from moverank.indexer.collection import Collection
from moverank.indexer.errors import CollectionError
from moverank.indexer.opening import Opened
from moverank.indexer.operations.operation import Operation
from moverank.indexer.plugins.serving.ending import GRACE, end_with_parent
from moverank.indexer.plugins.serving.log import LogFormat, log_format, start_log
from moverank.indexer.plugins.serving.record_lines import read_records
from moverank.indexer.values.documents import Changes, Document, Rejection
from moverank.rerank.distance.cell_limit import limit_cells
from moverank.rerank.errors import OutOfTime, TooLarge
from moverank.rerank.runtime.deadline import NO_ANSWER, check_time, stopping

_WAIT = 10.0  # seconds that a change waits for another process that writes
_LAST = 2.0  # seconds in which a change has to end with the server, before its process is killed
_SPAWN = get_context("spawn")  # not forked: a child would lack the threads of this process, and inherit held locks
_opened: dict[Path, Collection] = {}  # the collections of a writer process
_END = signal.SIGUSR1  # a terminal and systemd send the usual signals to all processes
_ending = Event()  # of a writer process: the server ends

Change = Callable[[Opened], Changes]
"""Changes a collection: a function of a module, or a `partial` of one, so that it can be sent to the writer."""


def write_document(document: Document, collection: Opened) -> Changes:
    """Add or replace a document."""
    return collection.index([document], strict=True, upkeep=False)


def write_records(path: str, most: int, collection: Opened) -> Changes:
    """Add or replace the documents of a JSONL file, at most `most`, which has the body of a request."""
    return collection.index(_limited(read_records(path, "the body"), most), strict=True, upkeep=False)


def _limited(records: Iterator[Document | Rejection], most: int) -> Iterator[Document | Rejection]:
    """Yield the records; TooLarge if there are more than `most`, OutOfTime if the time for the change is over."""
    for number, record in enumerate(records):
        if number == most:
            raise TooLarge(f"at most {most:,} records are allowed in an upload: nothing was changed; send it in parts")
        check_time()
        yield record


def remove_key(key: str, collection: Opened) -> Changes:
    """Remove a document."""
    return collection.remove([key], upkeep=False)


def remove_where(where: tuple[str, ...], collection: Opened) -> Changes:
    """Remove the documents that pass a filter."""
    return collection.remove(where=where, upkeep=False)


def operate(operation: Operation[Any], collection: Any) -> Changes:
    """Run an operation that changes the collection itself, see `OF_STATE`."""
    operation.run(collection)
    return Changes(revision=collection.revision)


def keep_up(collection: Collection) -> Changes:
    """Train word vectors and compact if necessary."""
    changes = collection.upkeep()
    return_freed_memory()
    return changes


def return_freed_memory() -> None:
    """Return freed memory to the system; with another C library than glibc, do nothing.

    The C library would keep the memory of large past work for every thread.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class _Ended(Exception):  # noqa: N818 - named after what it is
    """A change was not made because the server ends."""


def _not_made() -> Exception:
    """Return the problem of a change that is not made because the server ends."""
    from moverank.indexer.plugins.serving.problems import HttpProblem  # not in the writer's process: it imports FastAPI

    return HttpProblem(503, "the server is ending: the change was not made", {"Retry-After": "5"})


class _Waiting(NamedTuple):
    """A change that waits, with its seconds and its result to come."""

    change: Callable[[Collection], Changes]
    seconds: float
    result: "Future[Changes]"


class WriterProcess:
    """Changes the collection in `directory`, one change after another; the process is started by the first one.

    Each change has at most `seconds`, and `cells` of cost matrices in memory; see `limit_cells`.
    """

    def __init__(self, directory: Path, seconds: float, cells: int) -> None:
        self._directory, self._seconds, self._cells, self._lock = directory, seconds, cells, RLock()
        self._waiting, self._runs = deque[_Waiting](), False
        self._closed = self._ended = False
        self._pool: ProcessPoolExecutor | None = None
        self._process: Future[int] | None = None  # the id of the process
        self._ending: Thread | None = None

    def submit(self, change: Callable[[Collection], Changes], *, limited: bool = True) -> "Future[Changes]":
        """Run `change` after the changes submitted before. Raises the errors of `Collection`, and CollectionError.

        CollectionError means that the process was killed: the change was committed as a whole or not at all.
        HttpProblem 503: it was not made, as the server ends. TooLarge: its time was over, and nothing was changed; a
        change that is not `limited` has any time.
        """
        one = _Waiting(change, self._seconds if limited else inf, Future())
        with self._lock:
            if self._closed:
                one.result.set_exception(_not_made())
            else:
                self._waiting.append(one)
                self._run_next()
        return one.result

    def _run_next(self) -> None:
        """Run the first change that waits, unless one runs; the lock is held."""
        if self._runs or not self._waiting:
            return
        one, self._runs = self._waiting.popleft(), True
        run = partial(_run, self._directory, one.change, one.seconds)
        try:
            running = self._running().submit(run)
        except BrokenProcessPool:
            self._pool = None
            running = self._running().submit(run)
        running.add_done_callback(lambda done: self._pass_on(done, one.result))

    def _pass_on(self, done: "Future[Changes]", result: "Future[Changes]") -> None:
        error = done.exception()
        if isinstance(error, BrokenProcessPool):
            result.set_exception(
                CollectionError("the process that writes was killed: look whether the change was made")
            )
        elif error:
            result.set_exception(_not_made() if isinstance(error, _Ended) else error)
        else:
            result.set_result(done.result())
        with self._lock:
            self._runs = False
            self._run_next()

    def _running(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, _SPAWN, _begin, (log_format(), self._cells))
            self._process = self._pool.submit(os.getpid)
        return self._pool

    def stop(self, *, running: bool) -> None:
        """Refuse waiting and later changes; `running`: also end the running change, which is not made."""
        with self._lock:
            waiting, self._closed = list(self._waiting), True
            self._waiting.clear()
            if self._pool and not self._ending:  # only the first shutdown waits: it clears the pool's attributes
                self._ending = Thread(target=self._pool.shutdown, daemon=True)
                self._ending.start()
            if self._ending and running and not self._ended:
                self._ended = True
                Thread(target=self._end, daemon=True).start()
        for one in waiting:
            one.result.set_exception(_not_made())

    def _end(self) -> None:
        """End the process, and kill it if that takes long: a change that is not being committed is not made."""
        if self._ending and self._process:
            with suppress(Exception):  # it has not begun, or has ended
                os.kill(self._process.result(0), _END)
                self._ending.join(_LAST)
                if self._ending.is_alive():
                    os.kill(self._process.result(0), signal.SIGKILL)

    def close(self) -> None:
        """Wait for the change that runs, and the end of the process, `GRACE` seconds: upkeep may take longer."""
        self.stop(running=False)
        if self._ending:
            self._ending.join(GRACE)
            self.stop(running=True)
            self._ending.join(2 * _LAST)


def _begin(log: LogFormat, cells: int) -> None:
    """Log as the server does, ignore signals, which reach all processes, and end with the server."""
    signal.signal(_END, lambda *_: _ending.set())
    start_log(log)
    limit_cells(cells)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with_parent()


def _run(directory: Path, change: Callable[[Collection], Changes], seconds: float) -> Changes:
    until = monotonic() + seconds
    try:
        if directory not in _opened:
            _opened[directory] = Collection.open(directory, wait=_WAIT)
        with stopping(lambda: monotonic() > until or _ending.is_set()):
            return change(_opened[directory])
    except OutOfTime as error:
        if _ending.is_set():
            raise _Ended from None
        over = f"the time for a change, {seconds:g} seconds, was over: nothing was changed; send fewer or shorter texts"
        raise TooLarge(over if str(error) == NO_ANSWER else str(error)) from None
    except CollectionError:
        if directory in _opened:
            _opened.pop(directory).close()  # the next change opens it again
        raise
