"""Database errors as errors of `indexer`, with one-sentence messages."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, LockedError

_REPAIR_HINT = "put a backup of it in its place (`moverank backup` makes them), or index the texts again in a new place"


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn errors of SQLAlchemy and SQLite into LockedError or CollectionError."""
    try:
        yield
    except (OperationalError, sqlite3.OperationalError) as error:
        if "locked" in _cause(error):
            raise LockedError("another process is writing to the collection: try again when it is done") from error
        raise CollectionError(f"the database cannot be used: {_cause(error)}") from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise CollectionError(f"the database is damaged or not one of ours: {_cause(error)}; {_REPAIR_HINT}") from error
    except JSONDecodeError as error:
        raise CollectionError(f"the database is damaged: it holds invalid JSON ({error}); {_REPAIR_HINT}") from error
    except SQLAlchemyError as error:
        raise CollectionError(f"the database cannot be used: {error}") from error


def _cause(error: Exception) -> str:
    """Return SQLite's own message, wrapped by SQLAlchemy or not."""
    return str(getattr(error, "orig", error))
