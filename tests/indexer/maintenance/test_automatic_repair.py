"""Whatever happens to a derived file, it is noticed, told and mended, and the results are those of the store."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.files.directory import locked
from tests.indexer.world import Twin, check_exact, check_honest, document, random_documents, snapshots

pytestmark = pytest.mark.usefixtures("always_compact")

Make = Callable[..., Collection]
_SAMPLES = 40


@pytest.fixture
def whole(make: Make) -> Collection:
    """A collection whose snapshot has every kind of file, closed."""
    collection = make(gamma=0.5)
    collection.index([document(found.key, found.parts[0].text, "ant bee") for found in random_documents(40)])
    collection.close()
    return collection


@pytest.fixture
def twin() -> Twin:
    made = Twin()
    made.add([document(found.key, found.parts[0].text, "ant bee") for found in random_documents(40)])
    return made


def _hurt(path: Path, rng: random.Random) -> None:
    """Flip a bit, overwrite some bytes, or cut a file, anywhere."""
    data = bytearray(path.read_bytes())
    place = rng.randrange(len(data))
    kind = rng.randrange(3)
    if kind == 0:
        data[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        length = min(len(data) - place, rng.randrange(1, 64))
        data[place : place + length] = bytes(byte ^ 0xFF for byte in data[place : place + length])
    else:
        del data[place:]
    path.write_bytes(data)


def _answers(collection: Collection, twin: Twin) -> None:
    """Ask so that every file is read."""
    expected = twin.distances("ant bee cat", gamma=0.5)
    check_exact(collection.search("ant bee cat", k=5), expected, 5)
    check_honest(collection.search("ant bee cat", k=3, depth=4), expected, 3)
    check_exact(collection.search("ant bee cat", k=5, gamma=2.0), twin.distances("ant bee cat", gamma=2.0), 5)
    assert len(collection.search("ant bee cat", k=3, distance="bm25").hits) == 3


def test_every_region_of_every_file(
    whole: Collection, twin: Twin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(5)  # noqa: S311 - a sample, no secret
    (name,) = snapshots(whole)
    files = sorted(path.name for path in (whole.path / name).iterdir())
    for sample in range(_SAMPLES):
        place = shutil.copytree(whole.path, tmp_path / str(sample))
        hurt = place / name / files[sample % len(files)]
        _hurt(hurt, rng)
        caplog.clear()
        with Collection.open(place) as collection:
            _answers(collection, twin)
        assert len(caplog.messages) == 1, (hurt.name, caplog.messages)
        assert f"{hurt} has " in caplog.text
        assert "the snapshot is made again from the database" in caplog.text
        caplog.clear()
        with Collection.open(place) as collection:  # it is mended
            _answers(collection, twin)
        assert not caplog.messages
        assert sorted(path.name for path in (place / name).iterdir()) == files


def test_many_questions_at_once(whole: Collection, twin: Twin, caplog: pytest.LogCaptureFixture) -> None:
    (name,) = snapshots(whole)
    for file in ("weights", "counts", "first_stage.faiss"):
        path = whole.path / name / file
        path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        with Collection.open(whole.path) as collection:
            for ranking in collection.search_many(["ant bee cat"] * 9, k=3, depth=4):
                check_honest(ranking, twin.distances("ant bee cat", gamma=0.5), 3)
        assert f"{path} has another checksum" in caplog.text


@pytest.mark.parametrize("name", ["weights", "counts", "ids", "first_stage.faiss"])
def test_who_cannot_write_reads_the_database(
    whole: Collection, twin: Twin, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (snapshot,) = snapshots(whole)
    path = whole.path / snapshot / name
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")
    with locked(whole.path), Collection.open(whole.path) as collection:
        _answers(collection, twin)
    assert "the database read instead" in caplog.text
    assert path.exists()
    caplog.clear()
    with Collection.open(whole.path) as collection:
        _answers(collection, twin)
    assert "made again" in caplog.text


def test_a_missing_snapshot_is_made_again(whole: Collection, twin: Twin, caplog: pytest.LogCaptureFixture) -> None:
    (name,) = snapshots(whole)
    shutil.rmtree(whole.path / name)
    with Collection.open(whole.path) as collection:
        _answers(collection, twin)
    assert "has no snapshot of what it holds now" in caplog.text
    assert snapshots(whole) == [name]


def test_a_foreign_snapshot_is_replaced(
    make: Make, whole: Collection, twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    other = make(gamma=0.5)
    other.index(random_documents(9, seed=4))
    (name,) = snapshots(whole)
    shutil.rmtree(whole.path / name)
    shutil.copytree(other.path / snapshots(other)[0], whole.path / name)
    with Collection.open(whole.path) as collection:
        _answers(collection, twin)
    assert "has no snapshot of what it holds now" in caplog.text


def test_a_small_collection_needs_no_snapshot(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 256)
    collection.index(random_documents(40))
    collection.search("ant")
    assert not snapshots(collection)
    assert not caplog.messages
