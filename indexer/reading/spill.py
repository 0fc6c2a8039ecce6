"""Groups more records than fit into memory: up to a limit in memory, beyond it all in temporary files."""

import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from sys import getsizeof
from types import TracebackType
from typing import IO, Any, Self

from moverank.indexer.errors import ReadError

HELD = 1 << 20
"""Bytes of records in memory: for a small source, making temporary files would take longer than reading."""


class Spill:
    """Records by group, hashed into `buckets`: reading the groups takes the memory of one bucket.

    Up to about `held` bytes of records stay in memory; beyond, each bucket is a temporary file. Raises `ReadError` if a
    file cannot be written.
    """

    def __init__(self, buckets: int = 64, held: int = HELD) -> None:
        self._stack = ExitStack()
        self._buckets = buckets
        self._room = held
        self._held: dict[int, list[tuple[str, Any]]] = {}
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, group: str, record: Sequence[Any]) -> None:
        """Store a record of JSON values; a temporary file turns its tuples into lists."""
        if self._files:
            self._write(self._bucket(group), group, record)
            return
        self._hold(group, record)
        self._room -= _size(record)
        if self._room < 0:
            self._spill()

    def regroup(self, into: "Spill", group: Callable[[Any], str]) -> None:
        """Add every record to the empty spill `into` by another `group`, bucket by bucket, in order."""
        add = into.add if self._files else into._hold  # noqa: SLF001 - both hold as much in memory
        for bucket in self._contents():
            for _, record in bucket:
                add(group(record), record)

    def _hold(self, group: str, record: Sequence[Any]) -> None:
        self._held.setdefault(self._bucket(group), []).append((group, record))

    def _bucket(self, group: str) -> int:
        # hash() would differ between runs, and so would the order of the groups.
        return zlib.crc32(group.encode("utf-8", "surrogatepass")) % self._buckets

    def groups(self) -> Iterator[list[Any]]:
        """Yield the records of each group, bucket by bucket, in the order of insertion."""
        for bucket in self._contents():
            groups: dict[str, list[Any]] = {}
            for group, record in bucket:
                groups.setdefault(group, []).append(record)
            yield from groups.values()

    def _contents(self) -> Iterator[Iterable[Any]]:
        """Yield the pairs of group and record of each bucket."""
        if self._files:
            yield from map(_lines, self._files)
        else:
            yield from (self._held[bucket] for bucket in sorted(self._held))

    def _spill(self) -> None:
        """Move all records to temporary files."""
        try:
            for _ in range(self._buckets):
                self._files.append(self._stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115 - by the stack
        except OSError as error:
            raise unwritable(error) from error
        for bucket, pairs in self._held.items():
            for pair in pairs:
                self._write(bucket, *pair)
        self._held.clear()

    def _write(self, bucket: int, group: str, record: Sequence[Any]) -> None:
        line = json.dumps([group, record]).encode() + b"\n"
        try:
            self._files[bucket].write(line)
        except OSError as error:
            raise unwritable(error) from error


def _size(record: Sequence[Any]) -> int:
    """Return about how many bytes the values of a record take in memory."""
    nested = [value for value in record if isinstance(value, (list, tuple))]
    return sum(map(getsizeof, record)) + (sum(map(_size, nested)) if nested else 0)


def _lines(file: IO[bytes]) -> Iterator[Any]:
    try:
        file.seek(0)
    except OSError as error:
        raise unwritable(error) from error
    yield from map(json.loads, file)


def unwritable(error: OSError) -> ReadError:
    """Return the error for temporary files that cannot be written."""
    try:
        where = f" in {tempfile.gettempdir()}"
    except OSError:  # there is none
        where = ""
    return ReadError(f"temporary files{where} cannot be written: {error.strerror}: name another TMPDIR")
