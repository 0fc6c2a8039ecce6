"""A backup is one instant of a collection, whole, whatever others do meanwhile."""

import resource
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from moverank import Collection, CollectionError
from moverank.indexer.maintenance import check
from moverank.indexer.maintenance.backup import backup
from tests.benchmarks.hard_life import forked
from tests.indexer.world import Twin, check_exact, document, random_documents

pytestmark = pytest.mark.usefixtures("always_compact")


def test_a_backup_is_the_collection(collection: Collection, tmp_path: Path) -> None:
    twin = Twin()
    twin.add(random_documents(20))
    collection.index(twin.documents.values())
    assert backup(collection.path, tmp_path / "deep" / "copy") == 1
    assert check(tmp_path / "deep" / "copy").told() == ()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["copy"]
    with Collection.open(tmp_path / "deep" / "copy") as copy:
        check_exact(copy.search("ant bee", k=20), twin.distances("ant bee"), 20)
        copy.index([document("more", "ant")])
        assert collection.info()["documents"] == copy.info()["documents"] - 1


def test_a_backup_while_another_writes(collection: Collection, tmp_path: Path) -> None:
    done = threading.Event()

    def write() -> None:
        with Collection.open(collection.path) as own:
            for revision in range(1, 12):
                own.index([document(f"d{i}", "ant bee", title=str(revision)) for i in range(6)])
        done.set()

    collection.index([document(f"d{i}", "ant bee", title="0") for i in range(6)])
    writer = threading.Thread(target=write)
    writer.start()
    made = 0
    while not done.is_set() or made < 3:
        target = tmp_path / f"copy-{made}"
        backup(collection.path, target)
        assert check(target).told() == ()
        with Collection.open(target) as copy:
            assert len({hit.title for hit in copy.search("ant", k=10).hits}) == 1
        made += 1
    writer.join()


def test_a_collection_without_vectors(make: Callable[..., Collection], tmp_path: Path) -> None:
    collection = make(embedding="train")
    collection.index([document("a", "one")])
    backup(collection.path, tmp_path / "copy")
    with Collection.open(tmp_path / "copy") as copy:
        assert copy.info()["documents"] == 1


def test_what_cannot_be_copied_leaves_nothing(collection: Collection, tmp_path: Path) -> None:
    collection.index(random_documents(5))
    (tmp_path / "there").mkdir()
    with pytest.raises(CollectionError, match="is there already"):
        backup(collection.path, tmp_path / "there")
    with pytest.raises(CollectionError, match="there is no collection"):
        backup(tmp_path / "there", tmp_path / "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(CollectionError, match="cannot be written"):
        backup(collection.path, tmp_path / "file" / "new")
    shutil.rmtree(collection.path / "vectors")
    with pytest.raises(CollectionError, match="cannot be written"):
        backup(collection.path, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


@pytest.mark.parametrize("room", [4096, 20_000, 60_000])
def test_a_copy_that_has_no_room_is_refused_in_a_sentence(collection: Collection, tmp_path: Path, room: int) -> None:
    collection.index(random_documents(20))

    def work() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            backup(collection.path, tmp_path / "copy")
        except CollectionError as error:
            return str(error)
        return "done"

    said = forked(work)
    assert "cannot be" in said
    assert "\n" not in said
    assert not list(tmp_path.glob(".copy*"))
    assert not (tmp_path / "copy").exists()
