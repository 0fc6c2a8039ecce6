"""A collection without write permission is searched like any other."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moverank import Collection, CollectionError
from moverank.indexer.maintenance.check import check_collection
from tests.indexer.stored_state import change_last_byte
from tests.indexer.world import (
    CollectionFactory,
    Twin,
    check_exact,
    document,
    files_in,
    random_documents,
)

pytestmark = pytest.mark.sqlite("changes permissions of the file")
_DOCUMENTS = random_documents(30)


@pytest.fixture(scope="module")
def twin() -> Twin:
    """Return the twin of the collection; tests do not change it."""
    return Twin.of(_DOCUMENTS)


@pytest.fixture(scope="module")
def writable(factory: CollectionFactory) -> Path:
    """Return the directory of a closed collection; tests copy it."""
    return factory.closed(_DOCUMENTS)


@pytest.fixture
def read_only(writable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the directory of a copy for which the system reports no write permission."""
    directory = shutil.copytree(writable, tmp_path / "copy")
    real_access = os.access

    def access(path: str | os.PathLike[str], mode: int, *, effective_ids: bool = False) -> bool:
        forbidden = mode & os.W_OK and str(path).startswith(str(directory))
        return not forbidden and real_access(path, mode, effective_ids=effective_ids)

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", access)
        yield directory


def test_searches_and_checks_write_nothing(read_only: Path, twin: Twin) -> None:
    before = files_in(read_only)
    with Collection.open(read_only) as collection:
        check_exact(collection.search("ant bee", k=9), twin.distances("ant bee"), 9)
        assert collection.info()["documents"] == 30
        assert files_in(read_only) == before
    assert check_collection(read_only).sentences() == ()
    assert files_in(read_only) == before


def test_a_damaged_snapshot_is_reported_and_the_database_read(
    read_only: Path, twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    [path] = read_only.glob("snapshot-*/weights")
    change_last_byte(path)
    with Collection.open(read_only) as collection:
        check_exact(collection.search("ant bee", k=9), twin.distances("ant bee"), 9)
    assert "the database is read instead" in caplog.text
    assert path.exists()


def test_changes_are_refused(read_only: Path) -> None:
    before = files_in(read_only)
    with Collection.open(read_only) as collection:
        changes: list[Callable[[], object]] = [
            lambda: collection.index([document("b", "bee")]),
            lambda: collection.remove(["d0"]),
            lambda: collection.change_settings(gamma=0.5),
            collection.refit,
        ]
        for change in changes:
            with pytest.raises(CollectionError, match="cannot be written to: permission denied, or it is read-only"):
                change()
    assert files_in(read_only) == before


def _retitle(connection: sqlite3.Connection) -> None:
    """Change the title of a document, and commit."""
    connection.execute("UPDATE documents SET title = 'new' WHERE key = 'd3'")
    connection.commit()


def test_changes_in_the_log_of_an_active_writer_are_read(read_only: Path) -> None:
    with sqlite3.connect(read_only / "collection.db") as writer:
        _retitle(writer)
        with Collection.open(read_only) as collection:
            assert {hit.title for hit in collection.similar("d0", k=40).hits if hit.key == "d3"} == {"new"}
    writer.close()


def test_a_file_that_changes_after_it_was_opened_is_opened_again(read_only: Path, twin: Twin) -> None:
    with Collection.open(read_only) as collection:
        collection.search("ant", k=3)
        with sqlite3.connect(read_only / "collection.db") as writer:
            _retitle(writer)
        writer.close()  # and the log is moved into the file
        ranking = collection.search("ant bee", k=30)
        assert {hit.title for hit in ranking.hits if hit.key == "d3"} == {"new"}
        check_exact(ranking, twin.distances("ant bee"), 30)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can drop permissions and get them back")
def test_a_collection_of_another_user_is_searched(writable: Path, twin: Twin, tmp_path: Path) -> None:
    directory = shutil.copytree(writable, tmp_path / "theirs")
    for path in [directory, *directory.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    parent = directory
    while parent != parent.parent:  # pytest's own directories are closed to others
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
        parent = parent.parent
    before = files_in(directory)
    os.seteuid(65534)
    try:
        with Collection.open(directory) as opened:
            check_exact(opened.search("ant bee", k=9), twin.distances("ant bee"), 9)
            with pytest.raises(CollectionError, match="cannot be written to"):
                opened.remove(["d0"])
        with pytest.raises(CollectionError, match="cannot be"):
            Collection.create(directory / "new")
    finally:
        os.seteuid(0)
    assert files_in(directory) == before
