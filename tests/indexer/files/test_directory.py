"""Which files belong to a collection's directory, and which are removed after a failure."""

from pathlib import Path

import pytest

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import clear_unfinished, is_leftover, remove_directory, remove_temporary
from moverank.indexer.store import exists

_LEFTOVERS = ["lock", "lock.owner", ".vectors.1a2b", ".vectors.1a2b.old", "new-collection.db-wal", "collection.db-shm"]


def test_a_directory_with_a_database_is_a_collection(tmp_path: Path) -> None:
    assert not exists(tmp_path)
    (tmp_path / "collection.db").touch()
    assert exists(tmp_path)


def test_a_directory_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="cannot be read: File name too long"):
        exists(tmp_path / ("x" * 300))


@pytest.mark.parametrize("name", _LEFTOVERS)
def test_leftovers_are_recognised_and_removed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "mine.txt").touch()
    assert is_leftover(tmp_path / name)
    assert not is_leftover(tmp_path / "mine.txt")
    clear_unfinished(tmp_path)
    assert (tmp_path / name).exists() == name.startswith("lock")
    assert (tmp_path / "mine.txt").exists()


def test_a_collection_is_removed_with_its_directory_unless_that_holds_other_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "vectors").mkdir(parents=True)
        (tmp_path / name / "vectors" / "embedding.json").touch()
        for file in ("collection.db", *_LEFTOVERS):
            (tmp_path / name / file).touch()
    (tmp_path / "two" / "mine.txt").touch()
    remove_directory(tmp_path / "one")
    remove_directory(tmp_path / "two")
    assert [path.name for path in tmp_path.rglob("*")] == ["two", "mine.txt"]


def test_what_killed_writers_leave_is_removed(tmp_path: Path) -> None:
    for name in (
        ".vectors.1a2b",
        ".vectors-0123abcd.1a2b",
        ".snapshot-3.1a2b",
        "removed-snapshot-2",
        "snapshot-2",
        "vectors",
    ):
        (tmp_path / name).mkdir()
    for name in (".normalisers.1a2b", "normalisers"):
        (tmp_path / name).touch()
    remove_temporary(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["normalisers", "snapshot-2", "vectors"]
