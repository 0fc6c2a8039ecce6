"""Errors of the database have one-sentence messages."""

import sqlite3
from json import JSONDecodeError

import pytest
from sqlalchemy.exc import DatabaseError, InvalidRequestError, OperationalError

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.store import Store


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OperationalError("SELECT", {}, sqlite3.OperationalError("disk I/O error")), "cannot be used: disk I/O error"),
        (DatabaseError("SELECT", {}, sqlite3.DatabaseError("malformed")), "damaged or not one of ours: malformed"),
        (InvalidRequestError("closed"), "cannot be used: closed"),
        (JSONDecodeError("Expecting value", "x", 0), "damaged: it holds invalid JSON"),
    ],
)
def test_database_errors_are_collection_errors(store: Store, error: Exception, message: str) -> None:
    with pytest.raises(CollectionError, match=message) as caught, store.reading():
        raise error
    assert not isinstance(caught.value, LockedError)
