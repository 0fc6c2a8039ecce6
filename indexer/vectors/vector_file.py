"""A file of word vectors as a stream of bytes, gunzipped on the way."""

import gzip
import hashlib
import io
import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import Self

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.gzip_limit import RATIO, blown_up

_BLOCK = 1 << 20


class Source:
    """A file that is read once, from its start to its end, and the SHA-256 of what was read of it.

    `size` is the file's own, in bytes, `modified` its time in nanoseconds; `zipped` says that it is gzip, told by its
    content. Whatever goes wrong below is a VectorsError that names the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
            state = os.fstat(self._file.fileno())
            self.zipped = self._file.read(2) == b"\x1f\x8b"
            self._file.seek(0)
        except OSError as error:
            raise VectorsError(f"{path} cannot be read: {error.strerror or error}") from error
        self.size, self.modified = state.st_size, state.st_mtime_ns
        self._raw = _Hashing(self._file)
        self._stream = gzip.GzipFile(fileobj=self._raw) if self.zipped else self._raw
        self._head = b""
        self._made = 0

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
        """Return the next `count` bytes; `what` they are names the place where the file turns out to be cut short."""
        data = self.read(count)
        if len(data) < count:
            raise VectorsError(f"{self.path} ends in {what}: it is cut short, get it again")
        return data

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes without going past them."""
        data = self.read(count)
        self.unread(data)
        return data

    def unread(self, data: bytes) -> None:
        """Put back what was read last."""
        self._head = data + self._head

    def digest(self) -> str:
        """Read to the end, and return the SHA-256 of the whole file as it lies on disk."""
        self._stream = self._raw  # what nobody asked for need not be gunzipped
        while self._next(_BLOCK):
            pass
        return self._raw.sha256.hexdigest()

    def _next(self, count: int) -> bytes:
        try:
            found = self._stream.read(count) or b""
        except (OSError, EOFError, zlib.error) as error:
            raise VectorsError(f"{self.path} is damaged or cut short ({error}): get it again") from error
        self._made += len(found)
        if blown_up(self._made, self._file.tell()):
            raise VectorsError(f"{self.path} is over {RATIO} times as long when unzipped: no word vectors are")
        return found


class _Hashing(io.RawIOBase):
    """Another file's bytes, hashed as they pass."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        # The type checker's buffers have no length before Python 3.12.
        count = self._file.readinto(buffer)
        self.sha256.update(memoryview(buffer)[:count])
        return count
