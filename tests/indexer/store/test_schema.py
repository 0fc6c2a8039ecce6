"""Databases of every schema: new, current, older, newer, unknown; only `upgrade` migrates, wholly or not at all."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.maintenance.upgrade import upgrade
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.store.rows import SCHEMA
from tests.indexer.store.next_schema import add_next_schema
from tests.indexer.store.rows import document_row, part_row

_RENAME_A_COLUMN = """
    with op.batch_alter_table("documents", recreate="always") as batch:
        batch.alter_column("title", new_column_name="heading")

"""


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


def test_new_and_current_databases_need_no_migration(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations: list[object] = []
    monkeypatch.setattr(command, "upgrade", lambda *arguments: migrations.append(arguments))
    for _ in range(2):
        Store(sqlite_url(path)).close()
        assert _schema(path) == SCHEMA
    assert migrations == []


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("9.9.9", "schema 9.9.9, which this moverank does not know .*written by a newer version; upgrade moverank"),
        ("0007", "made by a version before 0.2.0, the first that was published: index the texts again"),
    ],
)
def test_an_unknown_schema_is_refused(path: Path, found: str, message: str) -> None:
    Store(sqlite_url(path)).close()
    _set_schema(path, found)
    for open_it in (lambda: Store(sqlite_url(path)), lambda: upgrade(path.parent)):
        with pytest.raises(CollectionError, match=message) as caught:
            open_it()
        assert "\n" not in str(caught.value)
    assert _schema(path) == found


def test_an_older_schema_is_migrated_by_upgrade_alone(
    with_documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_next_schema(monkeypatch, tmp_path)
    place = with_documents.parent
    for _ in range(2):
        with pytest.raises(CollectionError, match=rf"schema 0.2.0, .* `moverank upgrade -i {place}` changes it"):
            Store(sqlite_url(with_documents))
        assert upgrade(place, dry_run=True) == ("0.2.0", ("0.9.0",))
        assert _schema(with_documents) == "0.2.0"
    assert upgrade(place) == ("0.2.0", ("0.9.0",))
    assert _texts(with_documents) == {1: ["kept"]}
    assert _schema(with_documents) == "0.9.0"
    assert "extra" in _tables(with_documents)
    assert upgrade(place) == ("0.9.0", ())


@pytest.mark.parametrize(
    ("last", "error", "message"),
    [
        ("raise RuntimeError('out of luck')", RuntimeError, "out of luck"),
        ("op.execute('DELETE FROM documents')", CollectionError, "nothing was changed"),
    ],
    ids=["fails", "orphans rows"],
)
def test_a_bad_migration_is_undone(
    with_documents: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: str,
    error: type[Exception],
    message: str,
) -> None:
    before = _rows(with_documents), _tables(with_documents)
    with monkeypatch.context() as patch:
        add_next_schema(patch, tmp_path, last)
        with pytest.raises(error, match=message):
            upgrade(with_documents.parent)
    assert (_rows(with_documents), _tables(with_documents)) == before
    assert _schema(with_documents) == SCHEMA
    assert _texts(with_documents) == {1: ["kept"]}


def test_rows_survive_a_migration(with_documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _rows(with_documents)
    assert before["parts"]
    add_next_schema(monkeypatch, tmp_path, _RENAME_A_COLUMN.strip())
    upgrade(with_documents.parent)
    assert _rows(with_documents) == before


def test_a_migration_waits_for_no_other_writer(
    with_documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_next_schema(monkeypatch, tmp_path)
    with locked(with_documents.parent), pytest.raises(LockedError, match="is writing to"):
        upgrade(with_documents.parent)
    assert _schema(with_documents) == SCHEMA


def test_foreign_keys_are_enforced_after_a_migration(path: Path) -> None:
    with (
        closing(Store(sqlite_url(path))) as store,
        pytest.raises(CollectionError, match="FOREIGN KEY"),
        store.writing() as writer,
    ):
        writer.add_parts([part_row(99)])
