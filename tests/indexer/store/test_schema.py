"""Databases of every schema: new, current, older, newer, unknown; a migration happens as a whole or not at all."""

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import create_engine

from moverank.indexer.errors import CollectionError
from moverank.indexer.store import Store, schema, sqlite_url
from moverank.indexer.store.rows import SCHEMA
from moverank.indexer.store.schema import alembic_config
from tests.indexer.store.rows import document_row, part_row

_NEXT_SCHEMA = """
import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade():
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    with op.batch_alter_table("documents") as batch:
        batch.add_column(sa.Column("extra", sa.String()))
    {last}
"""
_RENAME_A_COLUMN = """
    with op.batch_alter_table("documents", recreate="always") as batch:
        batch.alter_column("title", new_column_name="heading")

def downgrade():
    with op.batch_alter_table("documents", recreate="always") as batch:
        batch.alter_column("heading", new_column_name="title")
        batch.drop_column("extra")
    op.drop_table("extra")
"""

AddNextSchema = Callable[[pytest.MonkeyPatch, str], None]


@pytest.fixture
def add_next_schema(tmp_path: Path) -> AddNextSchema:
    """Return a function that makes schema 0008 the newest, with a migration that ends with some lines."""

    def add(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
        directory = tmp_path / "next"
        directory.mkdir()
        (directory / "v0008_next.py").write_text(_NEXT_SCHEMA.format(last=last))

        def config(connection: Any) -> Any:
            own = alembic_config(connection)
            versions = Path(own.get_main_option("script_location")) / "versions"
            own.set_main_option("version_locations", f"{versions}{os.pathsep}{directory}")
            return own

        monkeypatch.setattr(schema, "alembic_config", config)
        monkeypatch.setattr(schema, "SCHEMA", "0008")

    return add


@pytest.fixture
def with_documents(path: Path) -> Path:
    """Return a database with a document, its part, and the schema of this version."""
    with closing(Store(sqlite_url(path))) as store, store.writing() as writer:
        (id_,) = writer.add_documents([document_row("a")])
        writer.add_parts([part_row(id_, text="kept")])
    return path


def _query(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def _tables(path: Path) -> set[str]:
    return {name for (name,) in _query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def _schema(path: Path) -> str:
    ((found,),) = _query(path, "SELECT version_num FROM alembic_version")
    return str(found)


def _set_schema(path: Path, number: str) -> None:
    _query(path, f"UPDATE alembic_version SET version_num = '{number}'")  # noqa: S608 - a number of these tests


def _rows(path: Path) -> dict[str, list[Any]]:
    """Return all rows but those of settings, without columns that a later schema has added."""
    names = ("documents", "parts", "fields", "words", "revisions", "removals")
    rows = {name: _query(path, f"SELECT * FROM {name} ORDER BY 1, 2") for name in names}  # noqa: S608
    return rows | {"documents": [row[:8] for row in rows["documents"]]}


def _texts(path: Path) -> dict[int, list[str]]:
    with closing(Store(sqlite_url(path))) as store, store.reading() as reader:
        return reader.texts([1])


def test_a_new_database_has_the_tables_that_the_migrations_create(path: Path, tmp_path: Path) -> None:
    def described(database: Path) -> dict[str, str]:
        rows = _query(database, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        # Columns and constraints are on lines of their own, whose order has no meaning; added columns follow a comma.
        lines = {name: re.split(r"\n|, (?=[a-z]+ [A-Z]+)", sql) for name, sql in rows}
        return {name: "\n".join(sorted(line.strip(" ,\t\n") for line in lines[name])) for name in lines}

    engine = create_engine(sqlite_url(tmp_path / "migrated.db"))
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "head")
    engine.dispose()
    Store(sqlite_url(path)).close()
    assert described(path) == described(tmp_path / "migrated.db")


def test_new_and_current_databases_need_no_migration(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations: list[object] = []
    monkeypatch.setattr(command, "upgrade", lambda *arguments: migrations.append(arguments))
    for _ in range(2):
        Store(sqlite_url(path)).close()
        assert _schema(path) == SCHEMA
    assert migrations == []


def test_a_newer_schema_is_refused(path: Path) -> None:
    Store(sqlite_url(path)).close()
    _set_schema(path, "9999")
    with pytest.raises(CollectionError, match=f"schema 9999, this moverank knows schemas up to {SCHEMA}") as caught:
        Store(sqlite_url(path))
    assert "\n" not in str(caught.value)
    assert _schema(path) == "9999"


def test_an_unknown_schema_is_refused(path: Path) -> None:
    Store(sqlite_url(path)).close()
    _set_schema(path, "0000")
    with pytest.raises(CollectionError):
        Store(sqlite_url(path))


def test_an_older_schema_is_migrated_on_opening(
    with_documents: Path, add_next_schema: AddNextSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_next_schema(monkeypatch, "pass")
    assert _texts(with_documents) == {1: ["kept"]}
    assert _schema(with_documents) == "0008"
    assert "extra" in _tables(with_documents)


def test_an_older_schema_without_write_permission_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(sqlite_url(path))) as store, store.migrating() as connection:
        command.downgrade(schema.alembic_config(connection), "0001")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write everything
    with pytest.raises(
        CollectionError, match="was written by an earlier version and is read-only: open the collection"
    ):
        Store(sqlite_url(path))


def test_a_failing_migration_leaves_the_old_schema(
    with_documents: Path, add_next_schema: AddNextSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _tables(with_documents)
    with monkeypatch.context() as patch:
        add_next_schema(patch, "raise RuntimeError('out of luck')")
        with pytest.raises(RuntimeError, match="out of luck"):
            Store(sqlite_url(with_documents))
    assert _schema(with_documents) == SCHEMA
    assert _tables(with_documents) == before
    assert _texts(with_documents) == {1: ["kept"]}


def test_a_migration_that_orphans_rows_is_undone(
    with_documents: Path, add_next_schema: AddNextSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _rows(with_documents)
    with monkeypatch.context() as patch:
        add_next_schema(patch, "op.execute('DELETE FROM documents')")
        with pytest.raises(CollectionError, match="nothing was changed"):
            Store(sqlite_url(with_documents))
    assert _rows(with_documents) == before
    assert _schema(with_documents) == SCHEMA


def test_rows_survive_up_and_down_migrations(
    with_documents: Path, add_next_schema: AddNextSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _rows(with_documents)
    assert before["parts"]
    add_next_schema(monkeypatch, _RENAME_A_COLUMN.strip())
    for _ in range(2):
        with closing(Store(sqlite_url(with_documents))) as store:
            assert _schema(with_documents) == "0008"
            assert _rows(with_documents) == before
            with store.migrating() as connection:
                command.downgrade(schema.alembic_config(connection), "0007")
        assert _schema(with_documents) == "0007"
        assert _rows(with_documents) == before


def test_foreign_keys_are_enforced_after_a_migration(path: Path) -> None:
    with (
        closing(Store(sqlite_url(path))) as store,
        pytest.raises(CollectionError, match="FOREIGN KEY"),
        store.writing() as writer,
    ):
        writer.add_parts([part_row(99)])
