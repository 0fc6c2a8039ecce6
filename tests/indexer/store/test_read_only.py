"""A collection in a place where nothing can be written is searched like any other."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moverank import Collection, CollectionError
from moverank.indexer.maintenance import check
from tests.indexer.world import Twin, check_exact, document, random_documents

pytestmark = pytest.mark.usefixtures("always_compact")


@pytest.fixture
def twin() -> Twin:
    made = Twin()
    made.add(random_documents(30))
    return made


@pytest.fixture
def closed(collection: Collection, twin: Twin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A closed collection in which, as far as is told, nothing can be written."""
    collection.index(twin.documents.values())
    collection.close()
    told = os.access
    forbidden = str(collection.path)

    def access(path: str | os.PathLike[str], mode: int, *, effective_ids: bool = False) -> bool:
        return not (mode & os.W_OK and str(path).startswith(forbidden)) and told(
            path, mode, effective_ids=effective_ids
        )

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", access)
        yield collection.path


def _names(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def test_it_is_searched_and_nothing_is_written(closed: Path, twin: Twin) -> None:
    before = _names(closed)
    with Collection.open(closed) as collection:
        check_exact(collection.search("ant bee", k=9), twin.distances("ant bee"), 9)
        assert collection.info()["documents"] == 30
        assert _names(closed) == before
    assert check(closed).told() == ()
    assert _names(closed) == before


def test_damage_is_told_and_the_database_read(closed: Path, twin: Twin, caplog: pytest.LogCaptureFixture) -> None:
    [path] = closed.glob("snapshot-*/weights")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with Collection.open(closed) as collection:
        check_exact(collection.search("ant bee", k=9), twin.distances("ant bee"), 9)
    assert "the database read instead" in caplog.text
    assert path.exists()


def test_changes_are_refused_in_one_sentence(closed: Path) -> None:
    before = _names(closed)
    with Collection.open(closed) as collection:
        changes: list[Callable[[], object]] = [
            lambda: collection.index([document("b", "bee")]),
            lambda: collection.remove(["d0"]),
            lambda: collection.change_settings(gamma=0.5),
            collection.refit,
        ]
        for change in changes:
            with pytest.raises(CollectionError, match="cannot be written to: permission denied, or it is read-only"):
                change()
    assert _names(closed) == before


def test_the_last_changes_of_a_living_writer_are_seen(closed: Path) -> None:
    with sqlite3.connect(closed / "collection.db") as writer:
        writer.execute("UPDATE documents SET title = 'new' WHERE key = 'd3'")
        writer.commit()
        with Collection.open(closed) as collection:
            assert {hit.title for hit in collection.similar("d0", k=40).hits if hit.key == "d3"} == {"new"}
    writer.close()


def test_who_writes_meanwhile_is_noticed(closed: Path, twin: Twin) -> None:
    with Collection.open(closed) as collection:
        collection.search("ant", k=3)
        with sqlite3.connect(closed / "collection.db") as writer:
            writer.execute("UPDATE documents SET title = 'new' WHERE key = 'd3'")
        writer.close()  # and the log goes into the file
        found = collection.search("ant bee", k=30)
        assert {hit.title for hit in found.hits if hit.key == "d3"} == {"new"}
        check_exact(found, twin.distances("ant bee"), 30)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop permissions and get them back")
def test_another_users_collection(collection: Collection, twin: Twin, tmp_path: Path) -> None:
    collection.index(twin.documents.values())
    collection.close()
    place = shutil.copytree(collection.path, tmp_path / "theirs")
    for path in [place, *place.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder = place
    while folder != folder.parent:  # pytest's own folders are closed to others
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
        folder = folder.parent
    before = _names(place)
    os.seteuid(65534)
    try:
        with Collection.open(place) as opened:
            check_exact(opened.search("ant bee", k=9), twin.distances("ant bee"), 9)
            with pytest.raises(CollectionError, match="cannot be written to"):
                opened.remove(["d0"])
        with pytest.raises(CollectionError, match="cannot be"):
            Collection.create(place / "new")
    finally:
        os.seteuid(0)
    assert _names(place) == before
