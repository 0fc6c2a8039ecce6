"""A damaged or missing derived file is noticed, logged and rebuilt, and the results are those of the database."""

import random
import shutil
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.files.directory import remove_cached
from moverank.indexer.files.writer_lock import locked
from tests.indexer.snapshot.small_snapshot import FILES
from tests.indexer.stored_state import change_last_byte, snapshots
from tests.indexer.world import (
    CollectionFactory,
    MakeCollection,
    Twin,
    check_exact,
    check_sound,
    random_documents,
    snapshot_above,
)

pytestmark = pytest.mark.usefixtures("always_compact")

_QUERY = "ant bee cat"
_THREADS = random_documents(40, "ant bee")
_TWIN = Twin.of(_THREADS)
_DISTANCES = {gamma: _TWIN.distances(_QUERY, gamma=gamma) for gamma in (0.5, 2.0)}


@pytest.fixture(scope="module")
def intact(factory: CollectionFactory) -> Path:
    """Return the directory of a closed collection, whose snapshot has every kind of file; tests copy it."""
    return factory.closed(_THREADS, gamma=0.5)


@pytest.fixture
def directory(intact: Path, tmp_path: Path) -> Path:
    return shutil.copytree(intact, tmp_path / "copy")


@pytest.fixture
def snapshot(directory: Path) -> Path:
    """Return the path of the snapshot in `directory`."""
    (path,) = directory.glob("snapshot-*")
    return path


def _damage(path: Path, kind: int, rng: random.Random) -> None:
    """Flip a bit, overwrite some bytes, or truncate a file, anywhere."""
    data = bytearray(path.read_bytes())
    position = rng.randrange(len(data))
    if kind == 0:
        data[position] ^= 1 << rng.randrange(8)
    elif kind == 1:
        length = min(len(data) - position, rng.randrange(1, 64))
        data[position : position + length] = bytes(byte ^ 0xFF for byte in data[position : position + length])
    else:
        del data[position:]
    path.write_bytes(data)


def _check_results(directory: Path) -> None:
    """Check the results of searches that together read every file, if nothing is cached of them."""
    remove_cached(directory)
    with Collection.open(directory) as collection:
        check_exact(collection.search(_QUERY, k=5), _DISTANCES[0.5], 5)
        check_sound(collection.search(_QUERY, k=3, depth=4), _DISTANCES[0.5], 3)
        check_exact(collection.search(_QUERY, k=5, gamma=2.0), _DISTANCES[2.0], 5)
        assert len(collection.search(_QUERY, k=3, distance="bm25").hits) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_damage_anywhere_in_a_file_is_repaired(
    directory: Path, snapshot: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(name)  # noqa: S311 - a sample, no secret
    for kind in range(3):
        _damage(snapshot / name, kind, rng)
        caplog.clear()
        _check_results(directory)
        assert len(caplog.messages) == 1, caplog.messages
        assert f"{snapshot / name} " in caplog.text
        assert "the snapshot is rebuilt from the database" in caplog.text
        caplog.clear()
        _check_results(directory)
        assert not caplog.messages
        assert sorted(path.name for path in snapshot.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("name", ["weights", "counts", "first_stage.faiss", "encoder"])
def test_a_batch_notices_damage(directory: Path, snapshot: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    change_last_byte(snapshot / name)
    with Collection.open(directory) as collection:
        for ranking in collection.search_many([_QUERY] * 9, k=3, depth=4):
            check_sound(ranking, _DISTANCES[0.5], 3)
    assert f"{snapshot / name} does not match its checksum" in caplog.text


@pytest.mark.parametrize("name", ["weights", "counts", "ids", "first_stage.faiss"])
def test_without_the_lock_the_database_is_read(
    directory: Path, snapshot: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    change_last_byte(snapshot / name)
    with locked(directory):
        _check_results(directory)
    assert "the database is read instead" in caplog.text
    assert (snapshot / name).exists()
    caplog.clear()
    _check_results(directory)
    assert "rebuilt from the database" in caplog.text


def test_a_missing_snapshot_is_written_again(directory: Path, snapshot: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(snapshot)
    _check_results(directory)
    assert "has no snapshot of its current state" in caplog.text
    assert snapshot.is_dir()


def test_a_snapshot_of_another_collection_is_replaced(
    make_collection: MakeCollection, directory: Path, snapshot: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = make_collection(random_documents(9, seed=4), gamma=0.5)
    shutil.rmtree(snapshot)
    shutil.copytree(other.path / snapshots(other)[0], snapshot)
    _check_results(directory)
    assert "has no snapshot of its current state" in caplog.text


def test_a_small_collection_needs_no_snapshot(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot_above(monkeypatch, 256)
    collection.index(random_documents(40))
    collection.search("ant")
    assert not snapshots(collection)
    assert not caplog.messages
