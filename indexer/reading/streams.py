"""An open source: its bytes, decompressed if they are gzip, and its numbered lines."""

import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from moverank.indexer.errors import ReadError
from moverank.indexer.files.gzip_limit import DAMAGED, Unzipped, is_gzip
from moverank.indexer.reading.encodings import Recoded
from moverank.indexer.reading.finding.files import STDIN, Source
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.spill import unwritable
from moverank.indexer.values.search_options import Progress, silent

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LIMIT = 64 << 20
"""The maximum length of a record in bytes: longer ones come from broken files, and must not exhaust memory."""

_BUFFER = 1 << 16
_BOM = b"\xef\xbb\xbf"
CONVERT = "convert the file, for example with iconv -t UTF-8"
NAME_ENCODING = "name the encoding of the file, such as --encoding latin-1"


class Meter:
    """Calls `progress` with the number of bytes read from disk, for all sources together, about every `step` bytes.

    `total` is the size of all sources in bytes, None if unknown.
    """

    def __init__(self, progress: Progress, total: int | None, step: int = 1 << 18) -> None:
        self._progress = progress
        self._total = total
        self._step = step
        self._done = self._reported = 0

    def add(self, count: int) -> None:
        """Count `count` more bytes, and report them when it is time."""
        self._done += count
        if self._done - self._reported >= self._step:
            self.report()

    def limited(self, most: int) -> Callable[[int], None]:
        """Return a function as `add`, which counts no more than `most` bytes after those so far."""
        end = self._done + most
        return lambda count: self.add(max(0, min(count, end - self._done)))

    def reach(self, count: int) -> None:
        """Raise the count to `count` bytes, whether they were read or not."""
        self.add(max(0, count - self._done))

    def report(self) -> None:
        """Report the current count."""
        self._reported = self._done
        self._progress("Reading", self._done, self._total, "B")


class _FullReads(io.RawIOBase):
    """Fills every buffer completely, and raises errors only between buffers, so that no data before an error are lost.

    `read(n)` returns up to n bytes; `count` is called with the number of bytes in each filled buffer.
    """

    def __init__(self, read: Callable[[int], bytes], count: Callable[[int], None] | None = None) -> None:
        self._read = read
        self._count = count
        self._error: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        with memoryview(buffer) as view:
            filled = 0
            while filled < len(view) and self._error is None:
                try:
                    data = self._read(len(view) - filled)
                except (OSError, BadRecord, *DAMAGED) as error:
                    self._error = error
                    break
                if not data:
                    break
                view[filled : filled + len(data)] = data
                filled += len(data)
        if self._error is not None and not filled:
            raise self._error
        if self._count is not None:
            self._count(filled)
        return filled


class _Counted(io.BufferedReader):
    """A file whose bytes are counted as they are read, wherever in it that is."""

    def __init__(self, file: io.FileIO, count: Callable[[int], None]) -> None:
        super().__init__(file)
        self._count = count

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._count(len(data))
        return data


class Stream:
    """The bytes of one source, without a byte order mark; `line` is the number of the last line read.

    `recoded`: the bytes are UTF-8 already, whatever encoding the file declares.

    `read(n)` returns up to n bytes, none at the end. `count` is called with the number of bytes that are read from a
    file in any order; None: the bytes are no file's as they are.
    """

    def __init__(
        self, source: Source, read: Callable[[int], bytes], count: Callable[[int], None] | None = None
    ) -> None:
        self.source = source
        self._count = count
        self.line = 0
        self.recoded = False
        self._data = _without_mark(read)

    def head(self) -> bytes:
        """Return the next bytes, up to 64 KiB, without advancing."""
        return self._data.peek(1)

    def recode(self, encoding: str, remedy: str) -> None:
        """Decode the bytes as `encoding`: from now on the stream is UTF-8. `remedy` is for invalid bytes."""
        self._data = _without_mark(Recoded(self._data.read1, encoding, remedy).read)
        self.recoded = True

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes in pieces."""
        while data := self._data.read1(_BUFFER):
            yield data

    @contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """Open all bytes as a file that is read in any order: the source itself, or else a temporary copy.

        Raises `ReadError` if the copy cannot be written.
        """
        if self._count is not None:
            with io.FileIO(self.source.name) as raw, _Counted(raw, self._count) as file:
                yield file
            return
        with tempfile.TemporaryFile() as copy:
            for chunk in self.chunks():
                try:
                    copy.write(chunk)
                except OSError as error:
                    raise unwritable(error) from error
            copy.seek(0)
            yield copy

    def whole(self) -> bytes:
        """Return all bytes at once; raises `BadRecord` if they are more than `LIMIT`."""
        pieces, size = [], 0
        for piece in self.chunks():
            pieces.append(piece)
            size += len(piece)
            if size > LIMIT:
                raise BadRecord(f"the file is longer than {LIMIT:,} bytes: split it")
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes | None]:
        """Yield the lines with their line ends; None stands for a line of more than `LIMIT` bytes."""
        while line := self._data.readline(LIMIT + 1):
            self.line += 1
            if len(line) <= LIMIT:
                yield line
            else:
                while line and not line.endswith(b"\n"):
                    line = self._data.readline(_BUFFER)
                yield None

    def texts(self) -> Iterator[str | BadRecord]:
        """Yield each line as text with its line end, or as a `BadRecord` if it is not text."""
        for line in self.lines():
            yield decode_line(line, NAME_ENCODING)


def _without_mark(read: Callable[[int], bytes]) -> "io.BufferedReader[_FullReads]":
    data = io.BufferedReader(_FullReads(read), _BUFFER)
    if data.peek(1).startswith(_BOM):
        data.read(len(_BOM))
    return data


def decode_line(line: bytes | None, remedy: str = CONVERT) -> str | BadRecord:
    """Decode a line of `Stream.lines`; a `BadRecord`, with a `remedy`, if it is too long or not UTF-8."""
    if line is None:
        return BadRecord(f"the line is longer than {LIMIT:,} bytes: split it")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        return BadRecord(f"byte {error.start + 1} of the line is not UTF-8: {remedy}")


def decode(data: bytes) -> str:
    """Decode a whole file; `BadRecord` names the line and the byte that are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRecord(f"byte {error.start + 1} of the file, in line {line}, is not UTF-8: {NAME_ENCODING}") from error


@contextmanager
def open_source(source: Source, meter: Meter | None = None) -> Iterator[Stream]:
    """Open `source`, decompressed if it begins as gzip does; raises `OSError` if it is unreadable.

    `meter` counts the bytes as stored on disk.
    """
    if source.name == STDIN and sys.stdin is None:
        raise ReadError("standard input is closed: there is nothing to read")
    meter = meter or Meter(silent, None)
    # Not in a `with`: standard input stays open.
    file = sys.stdin.buffer if source.name == STDIN else Path(source.name).open("rb")  # noqa: SIM115
    try:
        # Standard input may have been replaced by a binary stream without read1.
        read = file.read1 if hasattr(file, "read1") else file.read
        # Only a regular file has a size, and can be opened again.
        count = None if source.size is None else meter.limited(source.size)
        data = io.BufferedReader(_FullReads(read, meter.add), _BUFFER)
        if is_gzip(data.peek(1)):
            yield Stream(source, Unzipped(data.read).read)
        else:
            yield Stream(source, data.read1, count)
    finally:
        if source.name != STDIN:
            file.close()
