"""Database errors as errors of `indexer`, with one-sentence messages."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from sqlalchemy.exc import DatabaseError, OperationalError, PendingRollbackError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError

_REPAIR_HINT = "put a backup of it in its place (`moverank backup` makes them), or index the texts again in a new place"


_LOST = "the connection to the database was lost: what was not committed was not changed; run it again"


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn errors of SQLAlchemy and SQLite into LockedError or CollectionError."""
    try:
        yield
    except (OperationalError, sqlite3.OperationalError) as error:
        if getattr(error, "connection_invalidated", False):
            raise ConnectionLost(f"{_LOST} ({_cause(error)})") from error
        if _cause(error).startswith(("connection failed", "connection is bad")):  # psycopg's words
            raise ConnectionLost(f"the database cannot be reached: {_cause(error)}") from error
        if "locked" in _cause(error):
            raise LockedError("another process is writing to the collection: try again when it is done") from error
        raise CollectionError(f"the database cannot be used: {_cause(error)}") from error
    except PendingRollbackError as error:  # a statement after the one that lost it
        raise ConnectionLost(_LOST) from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        if not isinstance(getattr(error, "orig", error), sqlite3.Error):
            raise CollectionError(f"the database refused a statement: {_cause(error)}") from error
        raise CollectionError(f"the database is damaged or not one of ours: {_cause(error)}; {_REPAIR_HINT}") from error
    except JSONDecodeError as error:
        raise CollectionError(f"the database is damaged: it holds invalid JSON ({error}); {_REPAIR_HINT}") from error
    except SQLAlchemyError as error:
        raise CollectionError(f"the database cannot be used: {error}") from error


def _cause(error: Exception) -> str:
    """Return the first line of the database's own message, wrapped by SQLAlchemy or not."""
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]
