"""Reads a file in a thread, some blocks ahead: while it decompresses, others run Python."""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Self

_BLOCK = 1 << 20  # bytes: after each block, the thread waits some milliseconds for its turn
_AHEAD = 4  # blocks
_POLL = 0.01  # seconds


class ReadAhead:
    """The bytes that `read` returns until it returns none; used in a `with` block, at whose end nothing reads any more.

    `read(n)` takes the largest number of bytes to return.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._source = read
        self._blocks: Queue[bytes | Exception] = Queue(_AHEAD)
        self._block: memoryview = memoryview(b"")
        self._end: bytes | Exception | None = None
        self._stopped = False
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        while self._thread.is_alive():
            with suppress(Empty):  # it may wait for a place
                self._blocks.get_nowait()
            self._thread.join(_POLL)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end; raises what reading them raised."""
        if not self._block and self._end is None:
            block = self._blocks.get()
            if isinstance(block, Exception) or not block:
                self._end = block
            else:
                self._block = memoryview(block)
        if isinstance(self._end, Exception):
            raise self._end
        data, self._block = bytes(self._block[:size]), self._block[size:]
        return data

    def _run(self) -> None:
        while not self._stopped:
            try:
                block: bytes | Exception = self._source(_BLOCK)
            except Exception as error:  # noqa: BLE001 - raised by the reader
                block = error
            self._blocks.put(block)
            if isinstance(block, Exception) or not block:
                return
