"""Standard streams that are closed, or whose reader is gone."""

import io
import os
import sys
from typing import Any


class ReaderGone(Exception):  # noqa: N818 - named after what happened
    """The program that reads our standard output has closed it, as `head` does: there is nothing left to do."""


class _Output(io.FileIO):
    """A descriptor to write to; raises ReaderGone, not BrokenPipeError, which rich and Typer take for a failure."""

    def write(self, data: Any, /) -> int:
        """Write bytes, and return their number."""
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise ReaderGone from error


class _Closed(io.RawIOBase):
    """Standard output that was closed before the program started."""

    def writable(self) -> bool:
        """Return that it can be written to: the attempt is answered."""
        return True

    def write(self, _data: Any, /) -> int:
        """Raise OSError, which names the stream."""
        raise OSError(None, "it is closed: there is no place for the result", "standard output")


def open_standard_streams() -> None:
    """Prepare the standard streams of a new process.

    A closed one is replaced: the next file would be opened by its number, and C libraries would write to it. Standard
    input stays None for Python, and is reported where it is read; notes to a closed standard error are lost.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), "utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _piped(sys.stdout)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open while the process runs


def _piped(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream to the same descriptor that raises ReaderGone."""
    raw = _Output(stream.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=stream.line_buffering
    )
