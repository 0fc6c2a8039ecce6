"""The migrations themselves: together they create the declared tables, and they convert the rows of collections."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

from moverank import Collection, Document, Part
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.store.rows import SCHEMA
from moverank.indexer.store.schema import METADATA, alembic_config, migrate, schema_of
from tests.indexer.world import MakeCollection


def test_all_migrations_create_the_declared_tables(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.begin() as connection:
        assert schema_of(connection) is None
        command.upgrade(alembic_config(connection), "head")
        assert schema_of(connection) == SCHEMA
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_all_migrations_can_be_reverted(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.begin() as connection:
        migrate(connection)
        before = set(inspect(connection).get_table_names())
        command.downgrade(alembic_config(connection), "base")
    with engine.begin() as connection:
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
        assert schema_of(connection) is None
        migrate(connection)
        migrate(connection)  # a no-op: another process may have been faster
        assert set(inspect(connection).get_table_names()) == before
    engine.dispose()


def test_there_is_one_newest_schema(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.connect() as connection:
        assert ScriptDirectory.from_config(alembic_config(connection)).get_heads() == [SCHEMA]
    engine.dispose()


def _word_counts(path: Path) -> list[tuple[Any, ...]]:
    """Return (document, rank, words, counts) of all parts that have words."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT document_id, rank, words, counts FROM parts ORDER BY document_id, position")
        return [row for row in rows if row[2]]


def _texts(path: Path) -> dict[tuple[str, int], str]:
    """Return the texts of all parts by key and position."""
    joined = "SELECT key, position, text FROM parts JOIN documents ON documents.id = document_id"
    with closing(sqlite3.connect(path)) as connection:
        return {(key, position): text for key, position, text in connection.execute(joined)}


@pytest.mark.sqlite("the schema 0001 was never in PostgreSQL")
@pytest.mark.parametrize("weight", [1, 3])
def test_titles_move_into_the_texts_and_back(make_collection: MakeCollection, weight: int) -> None:
    """Schema 0001 has titles as the beginning of texts, 0002 has rows of their own for them."""
    collection = make_collection(title_weight=weight, gamma=0.5)
    collection.index(
        [
            Document("beside", "Elk fox", (Part("ant bee"), Part("cat", 1))),
            Document("within", "Elk fox", (Part("ELK FOX: ant"), Part("elk fox", 1))),
            Document("shown", "Gnu", (Part("dog"),), title_counts=False),
            Document("alone", "Hen", ()),
            Document("untitled", "", (Part("ant zorp"),)),
        ]
    )
    path, before = collection.path / "collection.db", collection.search("ant elk", k=9)
    collection.close()
    counts = _word_counts(path)
    with closing(Store(sqlite_url(path))) as store, store.migrating() as connection:
        command.downgrade(alembic_config(connection), "0001")
    old = _texts(path)
    assert old["beside", 0] == "Elk fox\n" * weight + "ant bee"
    assert old["within", 0] == "Elk fox\n" * (weight - 1) + "ELK FOX: ant"
    assert (old["shown", 0], old["alone", 0][:3], old["within", 1]) == ("dog", "Hen", "elk fox")
    with Collection.open(collection.path) as opened:
        after = opened.search("ant elk", k=9)
        assert [hit.key for hit in after.hits] == [hit.key for hit in before.hits]
        assert [hit.distance for hit in after.hits] == pytest.approx([hit.distance for hit in before.hits])
        assert check_collection(opened.path).sentences() == ()
    # Whether a title was part of the text or beside it is lost in schema 0001; the word counts are not.
    assert _word_counts(path) == counts
