"""Database errors as errors of `indexer`, with one-sentence messages."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import TypeVar

from sqlalchemy.exc import DatabaseError, OperationalError, PendingRollbackError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError
from moverank.indexer.metadata import LONGEST_KEY, LONGEST_NAME
from moverank.indexer.store.stored_metadata import DamagedDocument

_REPAIR_HINT = "put a backup of it in its place (`moverank backup` makes them), or index the texts again in a new place"
_LOST = "the connection to the database was lost: what was not committed was not changed; run it again"

_ENDED = ("08", "57P")
"""SQLSTATE classes of PostgreSQL: connection exceptions, and sessions that an administrator ended."""

_NO_PERMISSION, _TOO_LONG = "42501", "54000"

_UNREACHABLE = (
    "connection failed",
    "connection is bad",
    "connection timeout",
    "failed to resolve host",
    "invalid connection option",
    'missing "="',
)
"""How psycopg's messages begin where there was no connection yet."""

_Result = TypeVar("_Result")


def repeated(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns; work that can be done twice is repeated once if the connection was lost."""
    try:
        return work()
    except ConnectionLost:
        return work()


@contextmanager
def database_errors(place: str = "") -> Iterator[None]:
    """Turn errors of SQLAlchemy, SQLite and psycopg into CollectionError, LockedError or ConnectionLost.

    The message about a damaged document names the collection at `place`.
    """
    of = f" of {place}" if place else ""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise _translated(error) from error
    except JSONDecodeError as error:
        raise CollectionError(
            f"the database{of} is damaged: it holds invalid JSON ({error}); {_REPAIR_HINT}"
        ) from error
    except DamagedDocument as error:
        raise CollectionError(f"the database{of} is damaged: {error}; {_REPAIR_HINT}") from error
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):  # SQLAlchemy does not wrap those of reading rows
            raise
        raise _translated(error) from error


def _translated(error: Exception) -> CollectionError:
    cause, driver = _cause(error), getattr(error, "orig", error)
    if isinstance(driver, sqlite3.Error):
        if not isinstance(driver, sqlite3.OperationalError):
            return CollectionError(f"the database is damaged or not one of ours: {cause}; {_REPAIR_HINT}")
        if "locked" in cause:
            return LockedError("another process is writing to the collection: try again when it is done")
        return CollectionError(f"the database cannot be used: {cause}")
    if isinstance(error, PendingRollbackError):  # a statement after the one that lost the connection
        return ConnectionLost(_LOST)
    if cause.startswith(_UNREACHABLE):
        return ConnectionLost(f"the database cannot be reached: {cause}")
    if isinstance(error, OperationalError) or type(driver).__name__ == "OperationalError":
        return _of_connection(driver, cause)
    if getattr(driver, "sqlstate", None) == _NO_PERMISSION:
        return CollectionError(f"the user of the database may not do this: {cause}")
    if getattr(driver, "sqlstate", None) == _TOO_LONG:
        return CollectionError(
            "the collection has a document of an earlier version which PostgreSQL cannot hold, with a key of over "
            f"{LONGEST_KEY:,} bytes or a field whose name has over {LONGEST_NAME}: remove it first ({cause})"
        )
    if isinstance(error, DatabaseError) or not isinstance(error, SQLAlchemyError):
        return CollectionError(f"the database refused a statement: {cause}")
    return CollectionError(f"the database cannot be used: {error}")


def _of_connection(driver: object, cause: str) -> CollectionError:
    """Return the error of a server that is gone; a state of another class is another failure."""
    state = getattr(driver, "sqlstate", None)
    if state is None or state.startswith(_ENDED):
        return ConnectionLost(f"{_LOST} ({cause})")
    return CollectionError(f"the database cannot be used: {cause}")


def _cause(error: Exception) -> str:
    """Return the first line of the database's own message, wrapped by SQLAlchemy or not."""
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]
