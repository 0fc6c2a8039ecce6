"""The rows of one open transaction: one dialect of SQL, over SQLAlchemy's connection or the standard library alone.

Statements are in the SQL that all databases share, with parameters such as `:key`. This module does not import
SQLAlchemy, which takes longer than `info` and `list` do; rows over its connection are in `engines`.
"""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.systems import has_access, sqlite_address

SCHEMA = "0.2.0"
"""The revision of the schema that the statements are for: the newest file of `migrations/versions`."""

CHUNK = 5000
"""Values in one `IN`: SQLite allows 32,766."""

Values = tuple[Any, ...]
"""The values of a row. JSON values are texts or numbers, and truth values may be numbers."""


class DamagedDocument(Exception):  # noqa: N818 - named after what was found
    """A document's row that no writer can have written; `database_errors` turns it into CollectionError."""


class Rows(ABC):
    """Reads rows in an open transaction. `shared`: machines share the database.

    A block with `lock` holds back the statements of other threads, where several may read.
    """

    shared = False
    lock: AbstractContextManager[None] = nullcontext()

    @abstractmethod
    def all(self, statement: str, **parameters: Any) -> Sequence[Values]:
        """Return all rows that a SELECT finds."""

    @abstractmethod
    def stream(self, statement: str, **parameters: Any) -> Iterator[Values]:
        """Iterate over the rows that a SELECT finds without holding them all in memory."""

    @abstractmethod
    def _in(self, statement: str, values: Sequence[Any], parameters: dict[str, Any]) -> Sequence[Values]:
        """Return the rows of a statement with `IN :values`, of which there are at most `CHUNK`."""

    def within(self, statement: str, values: Sequence[Any], **parameters: Any) -> Iterator[Values]:
        """Iterate over the rows of a SELECT with `IN :values`, by several statements of at most `CHUNK` values."""
        for some in chunks(values):
            yield from self._in(statement, some, parameters)

    def column(self, statement: str, **parameters: Any) -> list[Any]:
        """Return the values of the only column of a SELECT."""
        return [value for (value,) in self.all(statement, **parameters)]

    def number(self, statement: str, **parameters: Any) -> int:
        """Return the number that a SELECT finds, 0 for NULL and if there is none."""
        return int(next(iter(self.column(statement, **parameters)), 0) or 0)

    def json(self, column: str) -> str:
        """Return the SQL of a JSON column, as text but in SQLite, where a number would lose digits."""
        return column

    def fetch_folder(self, folder: Path) -> bool:
        """Write the files that a shared database has by the name of `folder` to it; return whether there are any.

        Raises OSError, unless another process has written the folder meanwhile.
        """
        raise NotImplementedError


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Iterate over values, at most `CHUNK` at a time."""
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


class FileRows(Rows):
    """Reads rows of a SQLite file over the standard library's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, statement: str, **parameters: Any) -> Sequence[Values]:
        """Return all rows that a SELECT finds."""
        return self._connection.execute(statement, parameters).fetchall()

    def stream(self, statement: str, **parameters: Any) -> Iterator[Values]:
        """Iterate over the rows that a SELECT finds without holding them all in memory."""
        return self._connection.execute(statement, parameters)

    def _in(self, statement: str, values: Sequence[Any], parameters: dict[str, Any]) -> Sequence[Values]:
        named = {f"value_{number}": value for number, value in enumerate(values)}
        listed = statement.replace(":values", f"({', '.join(f':{name}' for name in named)})")
        return self.all(listed, **named, **parameters)


def connect_file(path: Path, mode: str) -> sqlite3.Connection:
    """Open an existing SQLite file, of any name, in a `mode` of its URIs."""
    address = sqlite_address(path.absolute(), mode)
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    interruptible(connection)
    return connection


def interruptible(connection: sqlite3.Connection) -> None:
    """Let Ctrl-C and SIGTERM end a long statement: Python handles signals between its own steps alone."""
    connection.set_progress_handler(lambda: None, 1_000_000)  # steps of SQLite's machine, some 10 ms


def is_interruption(error: object) -> bool:
    """Return whether a statement ended by a signal: SQLite hides the exception of the handler."""
    return isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted"


def check_own(path: Path) -> None:
    """Raise CollectionError if a database file, or one of those that SQLite writes beside it, is a symbolic link.

    In a collection from another user, it could lead to any file of this one, which would be overwritten.
    """
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + suffix)
        if file.is_symlink():
            raise CollectionError(f"{file} is a link, which would be written through: put the file itself there")


def check_content(connection: sqlite3.Connection, path: Path) -> None:
    """Raise CollectionError for a file with what moverank never makes, before anything is written to it.

    In a collection from another user, a view in the place of a table could compute without end.
    """
    tables = set[str]()
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind not in ("table", "index") or str(sql).upper().startswith("CREATE VIRTUAL"):
            raise CollectionError(
                f"{path} has a {kind} {name!r}, which moverank never makes: somebody else has changed it, and it is "
                "not opened"
            )
        tables |= {name} if kind == "table" else set()
    if tables and "alembic_version" not in tables:
        raise CollectionError(f"{path} is the database of another program")


def is_writable(path: Path) -> bool:
    """Return whether SQLite can write to a database file, and create its other files beside it."""
    return all(has_access(needed, os.W_OK) for needed in (path, path.parent))
