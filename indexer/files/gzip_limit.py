"""Streaming gzip decompression with limited expansion: malicious files cannot exhaust memory or disk."""

import gzip
import io
import zlib
from typing import Protocol

ALWAYS_ALLOWED, MAX_RATIO = 1 << 30, 200
"""Beyond a GiB, unzipped data may be at most 200 times as long as the compressed data."""

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
"""The errors that `Unzipped` raises on truncated or corrupt gzip data, `GzipBomb` among them."""


class GzipBomb(EOFError):  # noqa: N818 - the usual term for such a file
    """Gzip data that expand beyond the limit."""

    def __str__(self) -> str:
        """Name the limit and the remedy."""
        return f"unzipped it is over {MAX_RATIO} times as long, which no text is: unzip and look at it yourself"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | None: ...


class _Counted(io.BufferedIOBase):
    """A file that counts the bytes read from it."""

    def __init__(self, file: _Readable) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._file.read(-1 if size is None else size) or b""
        self.count += len(data)
        return data


class Unzipped:
    """The unzipped bytes of an open gzip file of one or more members."""

    def __init__(self, compressed: _Readable) -> None:
        self._compressed = _Counted(compressed)
        self._gzip = gzip.GzipFile(fileobj=self._compressed)
        self._size = 0

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end; raises one of `DAMAGED`."""
        data = self._gzip.read1(size)
        self._size += len(data)
        if self._size > max(ALWAYS_ALLOWED, MAX_RATIO * self._compressed.count):
            raise GzipBomb
        return data


def is_gzip(head: bytes) -> bool:
    """Return whether a file that begins with `head` (two bytes or more) is gzip."""
    return head.startswith(b"\x1f\x8b")
