"""A backup is the complete state of a collection at one instant, whatever others do meanwhile."""

import shutil
import threading
from pathlib import Path

import pytest

from moverank import Collection, CollectionError
from moverank.indexer.maintenance.backup import back_up
from moverank.indexer.maintenance.check import check_collection
from tests.benchmarks.child_process import run_in_child
from tests.indexer.world import MakeCollection, Twin, check_exact, document, random_documents, vectors_in

pytestmark = pytest.mark.usefixtures("always_compact")


def test_a_backup_equals_the_collection(collection: Collection, tmp_path: Path) -> None:
    twin, target = Twin.of(random_documents(20)), tmp_path / "deep" / "copy"
    collection.index(twin.documents.values())
    assert back_up(collection.path, target) == 1
    assert check_collection(target).sentences() == ()
    assert [path.name for path in target.parent.iterdir()] == ["copy"]
    with Collection.open(target) as copy:
        check_exact(copy.search("ant bee", k=20), twin.distances("ant bee"), 20)
        copy.index([document("more", "ant")])
        assert collection.info()["documents"] == copy.info()["documents"] - 1


@pytest.mark.slow
def test_a_backup_during_changes_is_of_one_revision(collection: Collection, tmp_path: Path) -> None:
    done = threading.Event()

    def write() -> None:
        with Collection.open(collection.path) as own:
            for revision in range(1, 12):
                own.index([document(f"d{i}", "ant bee", title=str(revision)) for i in range(6)])
        done.set()

    collection.index([document(f"d{i}", "ant bee", title="0") for i in range(6)])
    writer = threading.Thread(target=write)
    writer.start()
    backups = 0
    while not done.is_set() or backups < 3:
        target = tmp_path / f"copy-{backups}"
        back_up(collection.path, target)
        assert check_collection(target).sentences() == ()
        with Collection.open(target) as copy:
            assert len({hit.title for hit in copy.search("ant", k=10).hits}) == 1
        backups += 1
    writer.join()


def test_a_collection_without_vectors_is_copied(make_collection: MakeCollection, tmp_path: Path) -> None:
    collection = make_collection([document("a", "one")], embedding="train")
    back_up(collection.path, tmp_path / "copy")
    with Collection.open(tmp_path / "copy") as copy:
        assert copy.info()["documents"] == 1


@pytest.mark.sqlite("makes the copy of the file fail")
def test_a_failed_backup_leaves_nothing_behind(collection: Collection, tmp_path: Path) -> None:
    collection.index(random_documents(5))
    (tmp_path / "there").mkdir()
    with pytest.raises(CollectionError, match="exists already"):
        back_up(collection.path, tmp_path / "there")
    with pytest.raises(CollectionError, match="there is no collection"):
        back_up(tmp_path / "there", tmp_path / "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(CollectionError, match="cannot be written"):
        back_up(collection.path, tmp_path / "file" / "new")
    shutil.rmtree(vectors_in(collection.path))
    with pytest.raises(CollectionError, match="cannot be written"):
        back_up(collection.path, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


@pytest.mark.unix
@pytest.mark.parametrize("largest_file", [4096, 20_000, 60_000])
def test_a_full_disk_is_one_error_and_leaves_nothing_behind(
    collection: Collection, tmp_path: Path, largest_file: int
) -> None:
    import resource

    collection.index(random_documents(20))

    def work() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        try:
            back_up(collection.path, tmp_path / "copy")
        except CollectionError as error:
            return str(error)
        return "done"

    message = run_in_child(work)
    assert "cannot be" in message
    assert "\n" not in message
    assert not list(tmp_path.glob(".copy*"))
    assert not (tmp_path / "copy").exists()
