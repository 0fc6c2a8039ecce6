"""A file of word vectors as a stream of bytes, decompressed if it is gzip."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.gzip_limit import DAMAGED, MAX_RATIO, GzipBomb, Unzipped, is_gzip

_BLOCK = 1 << 20


class VectorFile:
    """A file that is read once, from start to end, and hashed as it is on disk.

    `size` is its size on disk in bytes, `modified` its modification time in nanoseconds; `zipped`: it is gzip, detected
    by content. Every failure to read is a VectorsError that names the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
            state = os.fstat(self._file.fileno())
            self.zipped = is_gzip(self._file.read(2))
            self._file.seek(0)
        except (OSError, ValueError) as error:  # ValueError: a null character in the name
            raise VectorsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        self.size, self.modified = state.st_size, state.st_mtime_ns
        self._raw = _Hashed(self._file)
        self._read: Callable[[int], bytes | None] = Unzipped(self._raw.read).read if self.zipped else self._raw.read
        self._head = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    @property
    def suffix(self) -> str:
        """Return the extension in lower case, without `.gz`."""
        name = self.path.name.lower().removesuffix(".gz")
        return Path(name).suffix

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes, fewer only at the end of the file."""
        parts = [self._head[:count]]
        self._head = self._head[count:]
        missing = count - len(parts[0])
        while missing:
            part = self._next(min(missing, _BLOCK))
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def take(self, count: int, what: str) -> bytes:
        """Return the next `count` bytes; raise a VectorsError that calls them `what` if the file ends before."""
        data = self.read(count)
        if len(data) < count:
            raise VectorsError(f"{self.path} ends in {what}: it is cut short, get it again")
        return data

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes without advancing."""
        data = self.read(count)
        self.unread(data)
        return data

    def unread(self, data: bytes) -> None:
        """Put back `data`, the bytes that were read last."""
        self._head = data + self._head

    def digest(self) -> str:
        """Read to the end, and return the SHA-256 of the whole file as it is on disk."""
        self._read = self._raw.read  # the rest is only hashed, so it need not be decompressed
        while self._next(_BLOCK):
            pass
        return self._raw.sha256.hexdigest()

    def _next(self, count: int) -> bytes:
        try:
            return self._read(count) or b""
        except GzipBomb as error:
            raise VectorsError(
                f"{self.path} is over {MAX_RATIO} times as long when unzipped: no word vectors are"
            ) from error
        except (OSError, *DAMAGED) as error:
            raise VectorsError(f"{self.path} is damaged or cut short ({error}): get it again") from error


class _Hashed(io.RawIOBase):
    """A file whose bytes are hashed as they are read."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        # The type checker's buffers have no length before Python 3.12.
        count = self._file.readinto(buffer)
        self.sha256.update(memoryview(buffer)[:count])
        return count
