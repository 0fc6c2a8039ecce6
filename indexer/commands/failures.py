"""Failures of commands: the message and the exit code of each error, and of an interruption."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import typer

from moverank.indexer.commands.standard_streams import ReaderGone

if TYPE_CHECKING:
    from moverank.indexer.cluster.cluster import Cluster
    from moverank.indexer.collection import Collection

DONE = 0
FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""The exit code that Typer returns after Ctrl-C."""

NOTHING_CHANGED = "nothing was changed"
COMMITTED = "committed changes are kept; run the same command again to continue"


class Failure(NamedTuple):
    """The message for standard error (empty: there is none to print), and the exit code."""

    sentence: str
    exit_code: int


def failure_of(error: Exception) -> Failure | None:
    """Return how an error is reported; None for an unexpected one, whose traceback is shown."""
    if isinstance(error, ReaderGone):
        return Failure("", DONE)
    if hasattr(error, "format_message"):  # a parser error, whose class depends on the version of Typer
        return _parser_failure(error)
    from moverank.indexer.errors import IndexerError, UsageError
    from moverank.rerank.errors import RerankError

    if isinstance(error, IndexerError | RerankError):
        return Failure(str(error), WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return Failure(f"{error.filename}: {reason}" if error.filename else reason, FAILED)
    if isinstance(error, UnicodeEncodeError) and any(error.object in argument for argument in sys.argv):
        return Failure(f"{error.object!r} is not UTF-8: keys and field values must be", WRONG_USAGE)
    return None


def _parser_failure(error: Exception) -> Failure:
    """Return how invalid arguments are reported: with the command that shows the help."""
    message = str(error.format_message()).replace("Value error, ", "").rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "moverank"
    # Without any arguments the parser prints the help, and the message is empty.
    sentence = f"{message[:1].lower()}{message[1:]} (see `{command} --help`)" if message else ""
    return Failure(sentence, getattr(error, "exit_code", WRONG_USAGE))


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
def committing(collection: "Collection | Cluster") -> Iterator[None]:
    """Raise Interrupted at Ctrl-C or SIGTERM, which says whether this block committed anything to the collection."""
    before = collection.revision
    try:
        yield
    except KeyboardInterrupt as stop:
        committed = collection.revision != before
        raise Interrupted(COMMITTED if committed else NOTHING_CHANGED) from stop
