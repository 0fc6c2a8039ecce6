"""Failures of commands: the message and the exit code of each error, and of an interruption.

Other failures are standard streams that are closed, or whose reader is gone.
"""

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from moverank.indexer import formatters
from moverank.indexer.errors import IndexerError, UsageError
from moverank.rerank.errors import OptionError, RerankError

if TYPE_CHECKING:
    from moverank.indexer.opening import Opened


class ReaderGone(Exception):  # noqa: N818 - named after what happened
    """The program that reads our standard output has closed it, as `head` does: there is nothing left to do."""


class _Output(io.FileIO):
    """A descriptor to write to; raises ReaderGone, not OSError, which rich and Typer take for a failure."""

    def write(self, data: Any, /) -> int:
        """Write bytes, and return their number."""
        try:
            return super().write(data)
        except OSError as error:
            from moverank.indexer.files.systems import is_reader_gone

            if is_reader_gone(error):
                raise ReaderGone from error
            raise


class _Closed(io.RawIOBase):
    """Standard output that was closed before the program started."""

    def writable(self) -> bool:
        """Return True, so that writers call `write`, which raises the error."""
        return True

    def write(self, _data: Any, /) -> int:
        """Raise OSError, which names the stream."""
        raise OSError(None, "it is closed: there is no place for the result", "standard output")


def open_standard_streams() -> None:
    """Prepare the standard streams of a new process.

    A closed stream is replaced: otherwise the next file would get its descriptor, and C libraries would write to that
    file. `sys.stdin` stays None, which is reported where it is read; notes to a closed standard error are lost.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), "utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper) and _is_descriptor(sys.stdout):
        sys.stdout = _piped(sys.stdout)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open while the process runs


def _is_descriptor(stream: io.TextIOWrapper) -> bool:
    """Return whether a stream writes bytes to a descriptor: the console of Windows gets letters instead."""
    return isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO)


def _piped(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream to the same descriptor that raises ReaderGone."""
    raw = _Output(stream.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=stream.line_buffering
    )


DONE = 0
FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""The exit code that Typer returns after Ctrl-C."""

NOTHING_CHANGED = "nothing was changed"
COMMITTED = "committed changes are kept; run the same command again to continue"


class NotesHandler(logging.Handler):
    """Prints each warning of the library as a line on standard error; not the requests of a server in this process."""

    def __init__(self) -> None:
        """Take warnings and errors alone."""
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; the level is not shown."""
        formatters.note(record.getMessage())


class ErrorReport(NamedTuple):
    """The message for standard error (empty: there is none to print), and the exit code."""

    sentence: str
    exit_code: int

    def printed(self) -> int:
        """Print the message, and return the exit code."""
        if self.sentence:
            formatters.note(self.sentence)
        return self.exit_code


def error_report(error: Exception) -> ErrorReport | None:
    """Return how an error is reported; None for an unexpected one, whose traceback is shown."""
    if isinstance(error, ReaderGone):
        return ErrorReport("", DONE)
    if hasattr(error, "format_message"):  # a parser error, whose class depends on the version of Typer
        return _parser_failure(error)
    if isinstance(error, IndexerError | RerankError):
        return ErrorReport(str(error), WRONG_USAGE if isinstance(error, UsageError | OptionError) else FAILED)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return ErrorReport(f"{error.filename}: {reason}" if error.filename else reason, FAILED)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("moverank."):
        return ErrorReport(f"this installation lacks {error.name}, a part of moverank: install moverank again", FAILED)
    if isinstance(error, UnicodeEncodeError) and any(error.object in argument for argument in sys.argv):
        return ErrorReport(f"{error.object!r} is not UTF-8: keys and field values must be", WRONG_USAGE)
    return None


def _parser_failure(error: Exception) -> ErrorReport:
    """Return how invalid arguments are reported: with the command that shows the help."""
    message = str(error.format_message()).replace("Value error, ", "").rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "moverank"
    # Without any arguments the parser prints the help, and the message is empty.
    sentence = f"{message[:1].lower()}{message[1:]} (see `{command} --help`)" if message else ""
    return ErrorReport(sentence, getattr(error, "exit_code", WRONG_USAGE))


class Interrupted(KeyboardInterrupt):
    """An interruption whose `consequence` is known only where it happened."""

    def __init__(self, consequence: str) -> None:
        super().__init__(consequence)
        self.consequence = consequence


@contextmanager
def interruptible(consequence: str) -> Iterator[None]:
    """Exit with a message and exit code 1 at Ctrl-C or SIGTERM; the message ends with the `consequence`."""
    try:
        yield
    except KeyboardInterrupt as stop:
        told = stop.consequence if isinstance(stop, Interrupted) else consequence
        typer.echo(f"moverank: interrupted: {told}", err=True)
        sys.exit(FAILED)


@contextmanager
def committing(collection: "Opened", otherwise: str = NOTHING_CHANGED) -> Iterator[None]:
    """At Ctrl-C or SIGTERM, raise Interrupted, which says whether this block committed anything to the collection.

    `otherwise` is what it says if not.
    """
    before = collection.revision
    try:
        yield
    except KeyboardInterrupt as stop:
        committed = collection.revision != before
        raise Interrupted(COMMITTED if committed else otherwise) from stop
