"""The tables are what the schema says, and a migration happens whole or not at all."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

from moverank.indexer.errors import CollectionError
from moverank.indexer.store import Store, schema, sqlite_url
from moverank.indexer.store.schema import METADATA, SCHEMA, alembic_config, migrate, schema_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "collection.db"


def _tables(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    return found


def _version(path: Path, version: str | None = None) -> str:
    connection = sqlite3.connect(path, isolation_level=None)
    if version:
        connection.execute("UPDATE alembic_version SET version_num = ?", [version])
    (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    connection.close()
    return str(found)


def test_upgrading_from_nothing_gives_the_tables_declared(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.begin() as connection:
        assert schema_of(connection) is None
        migrate(connection)
        assert schema_of(connection) == SCHEMA
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_the_tables_declared_create_the_same_sql(path: Path, tmp_path: Path) -> None:
    def described(place: Path) -> dict[str, str]:
        connection = sqlite3.connect(place)
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        connection.close()
        # Columns and constraints stand in lines of their own, in an order that has no meaning.
        return {name: "\n".join(sorted(line.strip(" ,\t\n") for line in sql.split("\n"))) for name, sql in rows}

    engine = create_engine(sqlite_url(tmp_path / "declared.db"))
    METADATA.create_all(engine)
    engine.dispose()
    Store(sqlite_url(path)).close()
    migrated = described(path)
    del migrated["alembic_version"]
    assert migrated == described(tmp_path / "declared.db")


def test_down_to_nothing_and_up_again(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.begin() as connection:
        migrate(connection)
        before = set(inspect(connection).get_table_names())
        command.downgrade(alembic_config(connection), "base")
    with engine.begin() as connection:
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
        assert schema_of(connection) is None
        migrate(connection)
        assert set(inspect(connection).get_table_names()) == before
    engine.dispose()


def test_there_is_one_newest_schema(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.connect() as connection:
        assert ScriptDirectory.from_config(alembic_config(connection)).get_heads() == [SCHEMA]
    engine.dispose()


def test_opening_again_migrates_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(sqlite_url(path)).close()
    monkeypatch.setattr(command, "upgrade", lambda *_: pytest.fail("it was migrated"))
    Store(sqlite_url(path)).close()


def test_a_newer_schema_is_refused_by_name(path: Path) -> None:
    Store(sqlite_url(path)).close()
    _version(path, "9999")
    with pytest.raises(CollectionError, match=f"schema 9999, this moverank knows schemas up to {SCHEMA}") as caught:
        Store(sqlite_url(path))
    assert "\n" not in str(caught.value)
    assert _version(path) == "9999"


def test_an_older_schema_that_nobody_knows_is_one_sentence(path: Path) -> None:
    Store(sqlite_url(path)).close()
    _version(path, "0000")
    with pytest.raises(CollectionError):
        Store(sqlite_url(path))


_NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    with op.batch_alter_table("documents") as batch:
        batch.add_column(sa.Column("extra", sa.String()))
    {last}
"""


def _next_schema(folder: Path, monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """Let there be a newer schema."""
    folder.mkdir()
    (folder / "v0002_next.py").write_text(_NEXT.format(last=last))

    def config(connection: Any) -> Any:
        made = alembic_config(connection)
        own = Path(made.get_main_option("script_location")) / "versions"
        made.set_main_option("version_locations", f"{own}{os.pathsep}{folder}")
        return made

    monkeypatch.setattr(schema, "alembic_config", config)
    monkeypatch.setattr(schema, "SCHEMA", "0002")


def _with_documents(path: Path) -> None:
    store = Store(sqlite_url(path))
    row: dict[str, Any] = {
        "key": "a",
        "title": "t",
        "label": None,
        "metadata": {},
        "digest": b"",
        "wordless": False,
        "revision": 1,
    }
    with store.writing() as writer:
        (id_,) = writer.add_documents([row])
        part = {"document_id": id_, "position": 0, "rank": 0, "text": "kept", "digest": b"", "words": b""}
        writer.add_parts([part | {"counts": b""}])
    store.close()


def test_an_old_schema_is_migrated_on_opening(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_documents(path)
    _next_schema(tmp_path / "next", monkeypatch, "pass")
    store = Store(sqlite_url(path))
    with store.reading() as reader:
        assert reader.texts([1]) == {1: ["kept"]}
    store.close()
    assert _version(path) == "0002"
    assert "extra" in _tables(path)


def test_a_migration_that_fails_leaves_the_old_schema(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_documents(path)
    before = _tables(path)
    with monkeypatch.context() as patch:
        _next_schema(tmp_path / "next", patch, "raise RuntimeError('out of luck')")
        with pytest.raises(RuntimeError, match="out of luck"):
            Store(sqlite_url(path))
    assert _version(path) == SCHEMA
    assert _tables(path) == before
    store = Store(sqlite_url(path))
    with store.reading() as reader:
        assert reader.texts([1]) == {1: ["kept"]}
    store.close()


_REMADE = """
    with op.batch_alter_table("documents", recreate="always") as batch:
        batch.alter_column("title", new_column_name="heading")

def downgrade():
    with op.batch_alter_table("documents", recreate="always") as batch:
        batch.alter_column("heading", new_column_name="title")
        batch.drop_column("extra")
    op.drop_table("extra")
"""


def _rows(path: Path) -> dict[str, list[Any]]:
    """Everything that documents are made of, whatever its columns are called."""
    connection = sqlite3.connect(path)
    names = ("documents", "parts", "fields", "words", "revisions", "removals")
    rows = {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names}  # noqa: S608
    connection.close()
    return rows | {"documents": [row[:8] for row in rows["documents"]]}


def test_up_down_and_up_again_loses_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_documents(path)
    before = _rows(path)
    assert before["parts"]
    _next_schema(tmp_path / "next", monkeypatch, _REMADE.strip())
    for _ in range(2):
        store = Store(sqlite_url(path))  # up
        assert _version(path) == "0002"
        assert _rows(path) == before
        with store.migrating() as connection:
            command.downgrade(schema.alembic_config(connection), "0001")
        store.close()
        assert _version(path) == "0001"
        assert _rows(path) == before


def test_a_migration_that_tears_rows_apart_is_undone(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_documents(path)
    before = _rows(path)
    with monkeypatch.context() as patch:
        _next_schema(tmp_path / "next", patch, "op.execute('DELETE FROM documents')")
        with pytest.raises(CollectionError, match="nothing was changed"):
            Store(sqlite_url(path))
    assert _rows(path) == before
    assert _version(path) == SCHEMA


def test_keys_are_enforced_after_a_migration(path: Path) -> None:
    store = Store(sqlite_url(path))
    part: dict[str, Any] = {"document_id": 99, "position": 0, "rank": 0, "text": "", "digest": b"", "words": b""}
    with pytest.raises(CollectionError, match="FOREIGN KEY"), store.writing() as writer:
        writer.add_parts([part | {"counts": b""}])
    store.close()
