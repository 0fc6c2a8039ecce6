"""Opening a database, and its transactions."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.store import Store, Writer, sqlite_url
from tests.indexer.store.rows import document_row, part_row


@pytest.fixture
def file_store(path: Path) -> Iterator[Store]:
    """Open a database on disk."""
    opened = Store(sqlite_url(path))
    yield opened
    opened.close()


def test_a_failed_transaction_changes_nothing(store: Store) -> None:
    def fail(writer: Writer) -> None:
        writer.next_revision()
        writer.add_documents([document_row("a"), document_row("b")])
        raise RuntimeError

    with pytest.raises(RuntimeError), store.writing() as writer:
        fail(writer)
    with store.reading() as reader:
        assert (reader.document_count(), reader.revision()) == (0, 0)


def test_a_reader_sees_one_state_while_a_writer_commits(file_store: Store, path: Path) -> None:
    other = Store(sqlite_url(path))
    with file_store.reading() as reader:
        assert reader.revision() == 0
        with other.writing() as writer:
            writer.add_documents([document_row("a")])
            writer.next_revision()
        assert (reader.revision(), reader.document_count()) == (0, 0)
    with file_store.reading() as reader:
        assert (reader.revision(), reader.document_count()) == (1, 1)
    other.close()


def test_a_connection_in_use_is_closed_after_the_store(path: Path) -> None:
    opened = Store(sqlite_url(path))
    with opened.reading() as reader:
        driver = reader.rows.connection.connection.driver_connection  # type: ignore[attr-defined]
        opened.close()
        assert reader.revision() == 0
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        driver.execute("SELECT 1")


def test_sqlite_has_a_write_ahead_log_and_foreign_keys(file_store: Store, path: Path) -> None:
    with file_store.writing() as writer:
        writer.next_revision()
        assert path.with_name("collection.db-wal").exists()
    with pytest.raises(CollectionError, match="FOREIGN KEY"), file_store.writing() as writer:
        writer.add_parts([part_row(99)])


def test_a_second_writer_is_refused_after_a_timeout(file_store: Store, path: Path) -> None:
    with file_store.writing() as writer:
        connection = writer.rows.connection  # its timeout is shortened: the pool uses it again
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 5000
        connection.exec_driver_sql("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LockedError, match="another process is writing"), file_store.writing():
        pytest.fail("two writers")
    with file_store.reading() as reader:
        assert reader.revision() == 0
    other.close()


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_text("This is a text, and no database, however long it may be. " * 50)
    with pytest.raises(CollectionError, match="not a database"):
        Store(sqlite_url(path))


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="unable to open"):
        Store(sqlite_url(tmp_path / "absent" / "collection.db"))


@pytest.mark.parametrize("name", ["with space", "what?mode=ro", "100%", "%20", "a#b", "ü@:"])
def test_any_file_name_can_be_opened(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    store = Store(sqlite_url(path))
    with store.writing() as writer:
        writer.next_revision()
    store.close()
    assert path.is_file()
