"""Groups more records than fit into memory, in temporary files."""

import json
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Any, Self

from moverank.indexer.errors import ReadError


class Spill:
    """Records by group, hashed into `buckets` temporary files: reading the groups takes the memory of one bucket.

    Raises `ReadError` if the temporary files cannot be written.
    """

    def __init__(self, buckets: int = 64) -> None:
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        try:
            for _ in range(buckets):
                self._files.append(self._stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115 - by the stack
        except OSError as error:
            self._stack.close()
            raise unwritable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, group: str, record: object) -> None:
        """Store a record of JSON values."""
        line = json.dumps([group, record]).encode() + b"\n"
        # hash() would differ between runs, and so would the order of the groups.
        bucket = zlib.crc32(group.encode("utf-8", "surrogatepass")) % len(self._files)
        try:
            self._files[bucket].write(line)
        except OSError as error:
            raise unwritable(error) from error

    def records(self) -> Iterator[Any]:
        """Yield every record, bucket by bucket, each bucket in the order of insertion."""
        for file in self._files:
            for _, record in _lines(file):
                yield record

    def groups(self) -> Iterator[list[Any]]:
        """Yield the records of each group, bucket by bucket, in the order of insertion."""
        for file in self._files:
            groups: dict[str, list[Any]] = {}
            for group, record in _lines(file):
                groups.setdefault(group, []).append(record)
            yield from groups.values()


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
