"""An opened source: its bytes, unzipped where they are zipped, and its numbered lines."""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from moverank.indexer.errors import ReadError
from moverank.indexer.files.gzip_limit import RATIO, blown_up
from moverank.indexer.progress import Progress
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.sources import STDIN, Source

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LIMIT = 64 << 20
"""The longest record in bytes: whatever is longer is a broken file, and must not fill the memory."""

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
"""What gzip raises on data that are cut short or changed."""

_BUFFER = 1 << 16
_BOM = b"\xef\xbb\xbf"


class Bomb(EOFError):  # noqa: N818 - named after what it is
    """Few zipped bytes that would become very many."""

    def __str__(self) -> str:
        """Say what to do about it."""
        return f"unzipped it is over {RATIO} times as long, which no text is: unzip and look at it yourself"


class _Unzipped:
    """Unzips, and stops where the result grows beyond all measure."""

    def __init__(self, data: "io.BufferedReader[_Filling]") -> None:
        self._data, self._file = data, gzip.GzipFile(fileobj=data)
        self._made = 0

    def read1(self, size: int) -> bytes:
        """Return up to `size` bytes."""
        found = self._file.read1(size)
        self._made += len(found)
        if blown_up(self._made, self._data.raw.position()):
            raise Bomb
        return found


class Meter:
    """Tells how many bytes of all sources, as they lie on the disk, have been read; at most every `step` bytes."""

    def __init__(self, progress: Progress, total: int | None, step: int = 1 << 18) -> None:
        self._progress = progress
        self._total = total
        self._step = step
        self._done = self._told = 0

    def add(self, count: int) -> None:
        """Count `count` bytes more."""
        self._done += count
        if self._done - self._told >= self._step:
            self.tell()

    def tell(self) -> None:
        """Tell now."""
        self._told = self._done
        self._progress("Reading", self._done, self._total, "B")


class _Filling(io.RawIOBase):
    """Fills the whole buffer it is given, and fails only between two: what came before a failure is never lost."""

    _position = 0

    def __init__(self, read: Callable[[int], bytes], count: Callable[[int], None] | None = None) -> None:
        self._read = read
        self._count = count
        self._failure: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        with memoryview(buffer) as view:
            filled = 0
            while filled < len(view) and self._failure is None:
                try:
                    data = self._read(len(view) - filled)
                except (OSError, *DAMAGED) as error:
                    self._failure = error
                    break
                if not data:
                    break
                view[filled : filled + len(data)] = data
                filled += len(data)
        if self._failure is not None and not filled:
            raise self._failure
        if self._count is not None:
            self._count(filled)
        self._position += filled
        return filled

    def position(self) -> int:
        """Return how many bytes were handed out."""
        return self._position


class Stream:
    """The unzipped bytes of one source, without a byte order mark; `line` is the number of the line read last."""

    def __init__(self, source: Source, data: "io.BufferedReader[_Filling]") -> None:
        self.source = source
        self.line = 0
        self._data = data
        if data.peek(1).startswith(_BOM):
            data.read(len(_BOM))

    def head(self) -> bytes:
        """Look at the next bytes, up to 64 KiB, without taking them."""
        return self._data.peek(1)

    def chunks(self) -> Iterator[bytes]:
        """Take all bytes in pieces."""
        while data := self._data.read1(_BUFFER):
            yield data

    def whole(self) -> bytes:
        """Take all bytes at once; `BadRecord` if they are more than `LIMIT`."""
        pieces, size = [], 0
        for piece in self.chunks():
            pieces.append(piece)
            size += len(piece)
            if size > LIMIT:
                raise BadRecord(f"the file is longer than {LIMIT:,} bytes: split it")
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes | None]:
        """Take line after line, with its line end; None stands for a line of more than `LIMIT` bytes."""
        while line := self._data.readline(LIMIT + 1):
            self.line += 1
            if len(line) <= LIMIT:
                yield line
            else:
                while line and not line.endswith(b"\n"):
                    line = self._data.readline(_BUFFER)
                yield None

    def texts(self) -> Iterator[str | BadRecord]:
        """Take line after line as text, with its line end, or say why it is none."""
        for line in self.lines():
            if line is None:
                yield BadRecord(f"the line is longer than {LIMIT:,} bytes: split it")
            else:
                try:
                    yield line.decode()
                except UnicodeDecodeError as error:
                    yield BadRecord(f"byte {error.start + 1} of the line is not UTF-8: {_CONVERT}")


_CONVERT = "convert the file, for example with iconv -t UTF-8"


def decode(data: bytes) -> str:
    """Decode a whole file; `BadRecord` names the line and the byte that are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRecord(f"byte {error.start + 1} of the file, in line {line}, is not UTF-8: {_CONVERT}") from error


@contextmanager
def opened(source: Source, meter: Meter) -> Iterator[Stream]:
    """Open `source`, unzipped if its first bytes or its name say gzip; raises `OSError` where it cannot be read."""
    # Not in a `with`: standard input stays open.
    if source.name == STDIN and sys.stdin is None:
        raise ReadError("standard input is closed: there is nothing to read")
    file = sys.stdin.buffer if source.name == STDIN else Path(source.name).open("rb")  # noqa: SIM115
    try:
        # Where the caller has replaced standard input, it may be any binary stream.
        read = file.read1 if hasattr(file, "read1") else file.read
        data = io.BufferedReader(_Filling(read, meter.add), _BUFFER)
        if data.peek(1).startswith(b"\x1f\x8b") or (source.name.endswith(".gz") and data.peek(1)):
            data = io.BufferedReader(_Filling(_Unzipped(data).read1), _BUFFER)
        yield Stream(source, data)
    finally:
        if source.name != STDIN:
            file.close()
