"""A collection that is restored while it is served: another history, whose last revision has the same number."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from moverank import Collection, Document, Part
from moverank.indexer.files.location import database_url
from moverank.indexer.store import Store
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer
from tests.postgres_store import copied
from tests.waiting import wait_until

_SEARCH = "/collections/pets/search"
_QUERY = {"query": "green river plane", "k": 1}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return a copy of the collection that is served, with a revision of its own."""
    copy = copied(make_collection(tmp_path), tmp_path / "other.index")
    with Collection.open(copy) as opened:
        opened.index([Document("theirs", "", (Part("green river plane"),))])
    return copy


@pytest.fixture
def served(other: Path, tmp_path: Path) -> Iterator[RunningServer]:
    running = RunningServer("-i", other.with_name("pets.index"), log=tmp_path / "log")
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def _restore(directory: Path, other: Path) -> None:
    """Put the database of another collection in the place of the one in `directory`, which others read meanwhile.

    PostgreSQL would not drop tables that are being read, nor has a copy the same settings: rows of another history do.
    """
    url = database_url(directory)
    if url is None:
        with (
            closing(sqlite3.connect(other / "collection.db")) as source,
            closing(sqlite3.connect(directory / "collection.db")) as target,
        ):
            source.backup(target)
        return
    with closing(Store(url)) as store, store.writing() as writer:
        connection = writer.rows.connection
        connection.exec_driver_sql("UPDATE documents SET key = 'theirs' WHERE key = 'mine'")
        connection.exec_driver_sql("UPDATE revisions SET token = 'another' WHERE number = 2")


def _nearest(served: RunningServer) -> str:
    return str(served.ask(_SEARCH, _QUERY).json["hits"][0]["key"])


def test_a_restored_collection_is_searched(served: RunningServer, other: Path) -> None:
    document = {"text": "green river plane"}
    assert served.ask("/collections/pets/documents/mine", document, method="PUT").json["added"] == 1
    served.wait_for("pets", 2)
    assert _nearest(served) == "mine"
    _restore(other.with_name("pets.index"), other)
    wait_until(lambda: _nearest(served) == "theirs")
    assert served.ask("/collections/pets/documents/theirs").status == 200
    assert served.ask("/collections/pets/documents/mine").status == 404
