"""Which snapshot is opened. It is derived: whatever happens to it, the results are those of the database."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, Settings
from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.checksums import checksummed_json
from moverank.indexer.snapshot.snapshot_files import made_for, opened_snapshot
from moverank.indexer.snapshot.snapshot_layout import FORMAT, newest_of
from moverank.indexer.vectors.open_vectors import open_vectors
from tests.indexer.snapshot.small_snapshot import FILES, open_newest, write
from tests.indexer.stored_state import only_snapshot, snapshots
from tests.indexer.world import (
    VECTORS,
    CollectionFactory,
    MakeCollection,
    Twin,
    check_exact,
    document,
    random_documents,
    vectors_in,
)
from tests.postgres_store import copied

pytestmark = pytest.mark.usefixtures("always_compact")

_DOCUMENTS = random_documents(12)
_THREADS = random_documents(12, "ant bee")


def test_the_newest_valid_snapshot_for_the_same_choices_is_opened(tmp_path: Path) -> None:
    for revision in (2, 9, 10):
        write(tmp_path, revision)

    def opened(latest: int, gamma: float = 0.0) -> int | None:
        snapshot = open_newest(tmp_path, latest, gamma=gamma)
        return snapshot.revision if snapshot else None

    assert [opened(latest) for latest in (1, 2, 9, 99)] == [None, 2, 9, 10]
    assert opened(99, gamma=0.5) is None


def test_a_snapshot_depends_on_settings_and_vectors(collection: Collection) -> None:
    embedding = open_vectors(vectors_in(collection.path))
    assert np.array_equal(embedding.vectors, VECTORS)
    key = made_for(Settings(gamma=0.5), embedding)
    assert (key["gamma"], key["embedding"]) == (0.5, embedding.fingerprint)


def _check_results(directory: Path, documents: Sequence[Document]) -> None:
    """Check that a collection gives the results of the documents, and does so after another change."""
    twin = Twin.of(documents)
    with Collection.open(directory) as reopened:
        ranking = reopened.search("ant bee cat", k=3, depth=5)
        assert len(ranking.hits) == 3
        check_exact(reopened.search("ant bee cat", k=20), twin.distances("ant bee cat"), 20)
        twin.add([document("new", "ant bee")])
        reopened.index([document("new", "ant bee")])
        check_exact(reopened.search("ant bee cat", k=20), twin.distances("ant bee cat"), 20)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.fixture(scope="module")
def threads(factory: CollectionFactory) -> Path:
    """Return the directory of a closed collection, whose snapshot has every kind of file; tests copy it."""
    return factory.closed(_THREADS)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [Path.unlink, _truncate, _empty, _lengthen])
def test_a_damaged_snapshot_is_not_used(
    threads: Path, tmp_path: Path, damage: Callable[[Path], None], subtests: pytest.Subtests
) -> None:
    for name in FILES:
        if damage is _lengthen and name in ("meta.json", "first_stage.faiss"):  # what follows their end is not read
            continue
        directory = copied(threads, tmp_path / name)
        (snapshot,) = directory.glob("snapshot-*")
        damage(snapshot / name)
        with subtests.test(name):
            _check_results(directory, _THREADS)


@pytest.mark.parametrize("meta", ["{", "[]", "null", "{}", '"snapshot"', '{"format": 1}', '{"format": 99}'])
def test_a_snapshot_with_invalid_metadata_is_not_used(threads: Path, tmp_path: Path, meta: str) -> None:
    directory = copied(threads, tmp_path / "copy")
    (snapshot,) = directory.glob("snapshot-*")
    (snapshot / "meta.json").write_text(meta)
    _check_results(directory, _THREADS)


def test_a_snapshot_of_one_rank_is_read(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    _check_results(collection.path, _DOCUMENTS)


def test_a_missing_snapshot_is_written_again(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    shutil.rmtree(only_snapshot(collection))
    _check_results(collection.path, _DOCUMENTS)
    assert len(snapshots(collection)) == 1


@pytest.mark.parametrize(
    "name", ["snapshot-new-k2j4h_81", "snapshot-", "snapshot-x1", "snapshot-1_0", "snapshot-99999"]
)
def test_an_unfinished_snapshot_is_not_used(threads: Path, tmp_path: Path, name: str) -> None:
    directory = copied(threads, tmp_path / "copy")
    (directory / name).mkdir()
    _check_results(directory, _THREADS)


def test_a_file_with_the_name_of_a_snapshot_is_not_used(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    (collection.path / "snapshot-0").write_text("")
    (collection.path / "snapshot-77").write_text("")
    _check_results(collection.path, _DOCUMENTS)


@pytest.mark.parametrize(("n", "choices"), [(9, {"gamma": 0.5}), (12, {})])
def test_a_snapshot_of_another_collection_or_other_settings_is_not_used(
    make_collection: MakeCollection, n: int, choices: dict[str, float]
) -> None:
    own, other = make_collection(), make_collection(**choices)
    own.index(_DOCUMENTS)
    other.index(random_documents(n, seed=4))
    shutil.rmtree(only_snapshot(own))
    shutil.copytree(only_snapshot(other), own.path / only_snapshot(other).name)
    _check_results(own.path, _DOCUMENTS)


def test_a_snapshot_older_than_the_record_of_removals_is_not_used(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    old = only_snapshot(collection)
    copy = shutil.copytree(old, collection.path / "copy")
    collection.remove(["d0", "d5"])
    shutil.rmtree(only_snapshot(collection))
    copy.rename(old)
    _check_results(collection.path, [one for one in _DOCUMENTS if one.key not in ("d0", "d5")])


@pytest.mark.sqlite("restores the file; a dump has another name")
def test_a_snapshot_newer_than_a_restored_database_is_not_used(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    backup = (collection.path / "collection.db").read_bytes()
    with Collection.open(collection.path) as changed:
        changed.index([document("lost", "dog")])
    (collection.path / "collection.db").write_bytes(backup)
    _check_results(collection.path, _DOCUMENTS)


@pytest.mark.parametrize("meta", [{}, {"format": FORMAT}, {"format": FORMAT, "made_for": {}}])
def test_incomplete_metadata_is_reported(tmp_path: Path, meta: dict[str, Any]) -> None:
    path = write(tmp_path) / "meta.json"
    path.write_bytes(checksummed_json(meta))
    damages: list[DamagedFile] = []
    assert newest_of(tmp_path, {}, lambda *_: True, opened_snapshot, damages.append) is None
    assert [damage.path for damage in damages] == [path]
