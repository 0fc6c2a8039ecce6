"""A SQLite file read without SQLAlchemy: what `Store` reads by the same statements, and only where it may."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from moverank import Collection, Document, Part
from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.files.location import URL_FILE
from moverank.indexer.store import direct_reader, open_store

pytestmark = pytest.mark.sqlite("of a file")

DOCUMENTS = [
    Document("b", "A title", (Part("ant bee"), Part("cat", 2)), "red", {"n": 1, "who": {"name": "Ann"}}),
    Document("a", "", (Part("zorp"),), None, {"x": [0.1, None, "é"]}),
]


@pytest.fixture
def place(collection: Collection) -> Path:
    """Return the directory of a collection with two documents."""
    collection.index(DOCUMENTS)
    return collection.path


def _opens(place: Path) -> bool:
    with direct_reader(place) as reader:
        return reader is not None


def test_documents_are_listed_as_they_were_given(place: Path) -> None:
    with direct_reader(place) as reader:
        assert reader is not None
        first, second = reader.ids()
        entries = reader.entries([second, 99, first])
    assert [(each.key, each.title, each.label, each.metadata, each.parts) for each in entries] == [
        (each.key, each.title, each.label, each.metadata, len(each.parts)) for each in reversed(DOCUMENTS)
    ]
    assert [each.wordless for each in entries] == [True, False]


def test_it_reads_what_the_store_reads(place: Path, collection: Collection) -> None:
    collection.change_settings(gamma=0.1 + 0.2)
    with closing(open_store(place)) as store, store.writing() as writer:
        writer.forget_removals(1)
    with direct_reader(place) as reader, closing(open_store(place)) as store, store.reading() as other:
        assert reader is not None
        ids = list(other.ids())
        assert list(reader.ids()) == ids
        assert reader.entries(ids) == other.entries(ids)
        assert reader.settings() == other.settings()
        assert reader.settings()["gamma"] == 0.1 + 0.2
        assert reader.field_names() == other.field_names() == ["label", "n", "who.name", "x"]
        assert (reader.revision(), reader.token(1)) == (other.revision(), other.token(1))
        assert reader.forgotten() == other.forgotten() == 1
        counts = reader.document_count(), reader.part_count(), reader.wordless_count(), reader.word_count()
        assert counts == (2, 3, 1, len(["a", "title", "ant", "bee", "cat", "zorp"]))


def test_it_sees_one_state(place: Path, collection: Collection) -> None:
    with direct_reader(place) as reader:
        assert reader is not None
        assert reader.document_count() == 2
        collection.remove(["a"])
        assert reader.document_count() == 2
    with direct_reader(place) as reader:
        assert reader is not None
        assert reader.document_count() == 1


def test_others_are_left_to_the_store(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _opens(place)
    assert not _opens(tmp_path)
    assert not _opens(tmp_path / "cluster.toml")
    (place / URL_FILE).write_text("postgresql:///texts")
    assert not _opens(place)
    (place / URL_FILE).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_, **__: False)
        assert not _opens(place)
    with closing(sqlite3.connect(place / DATABASE)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    assert not _opens(place)
    (place / DATABASE).write_bytes(b"no database")
    assert not _opens(place)


def _listed(place: Path) -> None:
    with direct_reader(place) as reader:
        assert reader is not None
        reader.entries(list(reader.ids()))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE documents SET metadata = '{' WHERE key = 'a'", "the database of {} is damaged: it holds invalid JSON"),
        ("DROP TABLE sources", "no such table: sources"),
    ],
)
def test_a_damaged_database_is_reported(place: Path, statement: str, message: str) -> None:
    with closing(sqlite3.connect(place / DATABASE)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(CollectionError, match=message.format(place)):
        _listed(place)
