"""Reads large sources in a process of its own, while this one writes what was read before."""

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from copy import deepcopy
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import wait
from time import perf_counter
from types import TracebackType
from typing import Any, Protocol, Self

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.errors import ReadError
from moverank.indexer.progress import Progress
from moverank.indexer.readers.origins import Origins
from moverank.indexer.readers.sending_process import send_all
from moverank.rerank.runtime.deferred_signals import deferred_signals
from moverank.rerank.runtime.threads import core_count

LARGE = 16 << 20
"""Bytes of text from which a process of its own can be faster."""

_START = 0.3  # seconds that it takes to start
_PORTION = 500  # records that are read here before looking whether the process has passed them

_log = logging.getLogger("moverank")

Records = Iterator[Document | Rejection]
Batch = list[Document | Rejection]


class Read(Protocol):
    """A reader of sources, which can be pickled."""

    def __call__(self, *, origins: Origins, progress: Progress) -> "SourceRecords":
        """Return the records; raises ReadError at once if a path is missing."""


class Preparation(Protocol):
    """What the process that reads does with records beforehand; can be pickled before the first."""

    def prepared(self, batch: Batch, /) -> Any:
        """Return a message with records, which can be pickled: in the process that reads."""
        ...

    def received(self, message: Any, /) -> Batch:
        """Return the records of a message: in the process that it was sent to, in order."""
        ...

    def meanwhile(self) -> bool:
        """Do a part of what will be needed, in that process, which waits for messages; return whether there was one."""
        ...


class Unprepared:
    """Sends the records as they are."""

    def prepared(self, batch: Batch) -> Batch:
        """Return the records."""
        return batch

    def received(self, message: Batch) -> Batch:
        """Return the records."""
        return message

    def meanwhile(self) -> bool:
        """Do nothing."""
        return False


class SourceRecords(Records):
    """The records of sources, and about how many bytes of text these hold, decompressed; 0 if that is unknown."""

    def __init__(self, records: Iterable[Document | Rejection], size: int = 0) -> None:
        self._records, self.size = iter(records), size

    def __iter__(self) -> Records:
        return self._records

    def __next__(self) -> Document | Rejection:
        return next(self._records)


def read_ahead(
    read: Read, origins: Origins, progress: Progress, preparation: Preparation | None = None, *, at_once: bool = False
) -> Records:
    """Return the records of `read`, which another process reads ahead, and prepares, if the sources are large.

    They are those that `read` yields, in the same order, with the same errors. The process ends with this one, and
    where it cannot be started, or is not faster, this one reads everything. It is started `at_once`, or once the caller
    has taken notably longer over the records than reading them took. What was noticed in the sources is logged.
    """
    unread = deepcopy(origins)  # reading changes it
    records = read(origins=origins, progress=progress)
    if records.size < LARGE or core_count() < 2:
        return SourceRecords(_logged(records), records.size)

    def start() -> _Reader:
        return _Reader(read, unread, preparation or Unprepared())

    return _logged(_read_ahead(records, start, start() if at_once else None, progress))


def _logged(records: Records) -> Records:
    """Yield records, and log the notices that come with them: both processes may have read the same ones."""
    for record in records:
        if record.origin and record.origin.notices:
            for sentence in record.origin.notices:
                _log.warning(sentence)
        yield record


def _read_ahead(
    records: Records, start: "Callable[[], _Reader]", reader: "_Reader | None", progress: Progress
) -> Records:
    """Yield the first records from `records`, until the `reader`, which begins at the first one, too, has passed them.

    Without one, `start` starts it when it pays.
    """
    remaining, count = iter(records), 0
    waited = 0.0  # seconds that the caller has taken longer than reading
    with ExitStack() as opened:
        if reader:
            opened.enter_context(reader).wait()  # it has the other core: reading here would be in vain
        while reader is None or not reader.has_passed(count):
            began = perf_counter()
            some = list(islice(remaining, _PORTION))
            read_until = perf_counter()
            yield from some
            count += len(some)
            if len(some) < _PORTION:
                return
            waited += perf_counter() - read_until - (read_until - began)
            if reader is None and waited > _START:
                reader = opened.enter_context(start())
        yield from reader.rest(progress)


class _Reader:
    """A process that reads all records, used in a `with` block."""

    def __init__(self, read: Read, origins: Origins, preparation: Preparation) -> None:
        context = get_context("spawn")  # a forked process would inherit locks held by threads of this one
        self._received, sent = context.Pipe(duplex=False)
        watched, self._held = context.Pipe(duplex=False)
        self._process = context.Process(target=send_all, args=(read, origins, preparation, sent, watched), daemon=True)
        with deferred_signals():
            self._process.start()
        sent.close()  # so that its end is noticed
        watched.close()
        self._preparation = preparation
        self._count = 0
        self._batch: Batch = []
        self._usable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()  # the process exits
        self._process.join()
        self._received.close()

    def wait(self) -> None:
        """Wait until the process has sent something, or has ended."""
        while not self._received.poll() and self._preparation.meanwhile():
            pass
        wait([self._received])

    def has_passed(self, count: int) -> bool:
        """Return whether the process has sent more than the first `count` records; does not wait."""
        while self._usable and self._received.poll():
            try:
                message = self._receive()
            except ReadError:
                message = None
            if not isinstance(message, tuple):  # its errors are met here, too
                self._usable = False
                break
            batch, _ = message
            self._count += len(batch)
            if self._count > count:
                self._batch = batch[len(batch) - (self._count - count) :]
                return True
        return False

    def rest(self, progress: Progress) -> Records:
        """Yield the records after those that `has_passed` named; raises what reading them raised."""
        yield from self._batch
        while True:
            self.wait()
            message = self._receive()
            if isinstance(message, BaseException):
                raise message
            if message is None:
                return
            batch, state = message
            if state:
                progress(*state)
            yield from batch

    def _receive(self) -> Any:
        """Return the next message, with records as they were received; ReadError if the process was ended."""
        try:
            message = pickle.loads(self._received.recv_bytes())  # noqa: S301 - from our own process
        except (EOFError, OSError) as error:  # before a message, or within one
            raise ReadError("the process that reads the files was ended: run the same command again") from error
        return (self._preparation.received(message[0]), message[1]) if isinstance(message, tuple) else message
