"""Streaming gzip decompression with limited expansion: malicious files cannot exhaust memory or disk."""

import zlib
from collections.abc import Callable
from typing import Any

_GZIP = 16 + zlib.MAX_WBITS  # with the header and the checksum of gzip

ALWAYS_ALLOWED, MAX_RATIO = 1 << 30, 200
"""Beyond a GiB, unzipped data may be at most 200 times as long as the compressed data."""

DAMAGED = (EOFError, zlib.error)
"""The errors that `Unzipped` raises on truncated or corrupt gzip data, `GzipBomb` among them."""


class GzipBomb(EOFError):  # noqa: N818 - the usual term for such a file
    """Gzip data that expand beyond the limit."""

    def __init__(self, ratio: int) -> None:
        super().__init__(f"unzipped it is over {ratio} times as long, which no text is: unzip and look at it yourself")


_FAULTS = {
    "incorrect header check": "not a gzip file",
    "incorrect data check": "the CRC check failed",
    "incorrect length check": "the data have another length",
}


class Unzipped:
    """The unzipped bytes of a gzip file of one or more members, which may be padded with zeros.

    `read(n)` returns up to n bytes of the file; `block` bytes are read and decompressed together. Beyond `allowed`
    bytes, `ALWAYS_ALLOWED` by default, the file may become `ratio` times as long.
    """

    def __init__(
        self,
        read: Callable[[int], bytes | None],
        block: int = 1 << 14,
        *,
        allowed: int | None = None,
        ratio: int | None = None,
    ) -> None:
        self._read, self._block = read, block
        self._allowed = ALWAYS_ALLOWED if allowed is None else allowed
        self._ratio = MAX_RATIO if ratio is None else ratio
        self._pending, self._count, self._size = b"", 0, 0
        self._member: Any = None  # a decompressor, whose class has no public name
        self._begun = False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, one at least before the end; raises one of `DAMAGED`."""
        data = b""
        while not data and (self._member or self._begin_member()):
            data = self._decompressed(size)
        self._size += len(data)
        if self._size > max(self._allowed, self._ratio * self._count):
            raise GzipBomb(self._ratio)
        return data

    def _begin_member(self) -> bool:
        """Return whether another member begins."""
        while not self._pending and self._fill():
            if self._begun:
                self._pending = self._pending.lstrip(b"\0")
        if self._pending:
            self._member, self._begun = zlib.decompressobj(_GZIP), True
        return bool(self._pending)

    def _decompressed(self, size: int) -> bytes:
        """Return up to `size` bytes of the member; none if it needs more of the file, or has ended."""
        ended = not self._pending and not self._fill()
        try:
            data: bytes = self._member.decompress(self._pending, size)
        except zlib.error as error:
            fault = str(error).rpartition(": ")[2]
            raise zlib.error(_FAULTS.get(fault, fault)) from error
        self._pending = self._member.unconsumed_tail
        if self._member.eof:
            self._pending, self._member = self._member.unused_data.lstrip(b"\0"), None
        elif ended and not data:
            raise EOFError("the compressed data end too early")
        return data

    def _fill(self) -> bool:
        self._pending = self._read(self._block) or b""
        self._count += len(self._pending)
        return bool(self._pending)


def is_gzip(head: bytes) -> bool:
    """Return whether a file that begins with `head` (two bytes or more) is gzip."""
    return head.startswith(b"\x1f\x8b")
