"""Snapshots are derived: whatever happens to them, the results are those of the store."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank import Collection, Document
from moverank.indexer.snapshot.snapshot_files import newest, remove_others, write
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.encoders.centroid import Centroid
from tests.indexer.world import Twin, check_exact, document, random_documents, snapshots

pytestmark = pytest.mark.usefixtures("always_compact")

_MADE_FOR = {"gamma": 0.0, "faiss": "IDMap2,Flat", "weights": "tf", "first_stage": "centroid"}
_OURS = "0123abcd"
_COUNTS = ("ids", "starts", "words", "counts")
_ARRAYS = (*_COUNTS, *(f"term_{name}" for name in _COUNTS), "weights", "word_ids", "all_word_ids", "vectors")
_FLAT_FILES = (*_ARRAYS, "first_stage.faiss", "encoder.npz", "meta.json")
_FILES = (*_FLAT_FILES, "ranks", "term_ranks", "bag_starts", "bag_words")


def _portion(first: int) -> tuple[NDArray[np.int64], PartCounts]:
    """Documents `first` and two more: words 0 and 1 in ranks 0 and 1; 3, and 2 without a vector; 2 only."""
    starts = np.array([0, 2, 4, 5])
    arrays = [np.array(values, np.int32) for values in ([0, 1, 2, 3, 2], [0, 1, 0, 0, 0], [1, 2, 5, 3, 6])]
    return np.arange(first, first + 3), PartCounts(starts, *arrays)


def _write(place: Path, revision: int = 1, gamma: float = 0.0) -> Path:
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    made_for = _MADE_FOR | {"gamma": gamma}
    words, known = np.array([1, 4, 6, 9]), np.array([1, 4, 9])
    portions = [_portion(3), _portion(7)]
    return write(place, revision, _OURS, made_for, portions, words, known, vectors, None, Centroid(2))


def _upto(latest: int) -> Callable[[int, str], bool]:
    return lambda revision, found: revision <= latest and found == _OURS


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert _write(tmp_path, 12) == tmp_path / "snapshot-12"
    found = newest(tmp_path, _MADE_FOR, _upto(12))
    assert found
    segment = found.segment
    assert (found.revision, found.path) == (12, tmp_path / "snapshot-12")
    assert segment.ids.tolist() == [3, 4, 7, 8]
    assert segment.counts.starts.tolist() == [0, 2, 3, 5, 6]
    assert segment.counts.words.tolist() == [0, 1, 2, 0, 1, 2]
    assert segment.counts.ranks.tolist() == [0, 1, 0, 0, 1, 0]
    assert segment.counts.counts.tolist() == [1, 2, 3, 1, 2, 3]
    assert found.bags().starts.tolist() == [0, 2, 3, 5, 6]
    assert found.bags().words.tolist() == [0, 1, 2, 0, 1, 2]
    assert found.bags().weights == pytest.approx([1 / 3, 2 / 3, 1, 1 / 3, 2 / 3, 1])
    assert segment.word_ids.tolist() == [1, 4, 9]
    assert segment.vectors.tolist() == [[0, 1], [2, 3], [4, 5]]
    terms = found.terms
    assert terms.ids.tolist() == [3, 4, 5, 7, 8, 9]
    assert terms.counts.starts.tolist() == [0, 2, 4, 5, 7, 9, 10]
    assert terms.counts.words.tolist() == [0, 1, 2, 3, 2] * 2
    assert terms.counts.ranks.tolist() == [0, 1, 0, 0, 0] * 2
    assert terms.counts.counts.tolist() == [1, 2, 5, 3, 6] * 2
    assert terms.word_ids.tolist() == [1, 4, 6, 9]
    assert {path.name for path in found.path.iterdir()} == {*_FILES}
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot-12"]


@pytest.mark.parametrize(("gamma", "first"), [(0.0, (4 / 3, 7 / 3)), (1.0, (1.0, 2.0))])
def test_the_first_stage_has_the_centroids_of_gamma(tmp_path: Path, gamma: float, first: tuple[float, float]) -> None:
    _write(tmp_path, gamma=gamma)
    found = newest(tmp_path, _MADE_FOR | {"gamma": gamma}, _upto(1))
    assert found
    nearest = found.stage.nearest(np.array(first, np.float32), 2, lambda ids: np.ones(len(ids), bool))
    assert sorted(nearest.ids.tolist()) == [3, 7]
    assert nearest.squares == pytest.approx([0, 0], abs=1e-6)


def test_the_newest_that_is_not_too_new_and_made_for_these_choices(tmp_path: Path) -> None:
    for revision in (2, 9, 10):
        _write(tmp_path, revision)

    def revision_of(until: int, gamma: float = 0.0) -> int | None:
        found = newest(tmp_path, _MADE_FOR | {"gamma": gamma}, _upto(until))
        return found.revision if found else None

    assert [revision_of(until) for until in (1, 2, 9, 99)] == [None, 2, 9, 10]
    assert revision_of(99, gamma=0.5) is None


def test_a_snapshot_of_the_same_revision_is_replaced(tmp_path: Path) -> None:
    _write(tmp_path, 3)
    _write(tmp_path, 3, gamma=0.5)
    assert newest(tmp_path, _MADE_FOR, _upto(3)) is None
    assert newest(tmp_path, _MADE_FOR | {"gamma": 0.5}, _upto(3))


def test_only_one_is_kept(tmp_path: Path) -> None:
    paths = [_write(tmp_path, revision) for revision in (1, 2, 3)]
    (tmp_path / "other").mkdir()
    remove_others(tmp_path, paths[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "snapshot-2"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> Iterator[tuple[NDArray[np.int64], PartCounts]]:
        yield _portion(1)
        raise RuntimeError

    words, known, vectors = np.array([1, 4, 6, 9]), np.array([1, 4, 9]), np.ones((3, 2), np.float32)
    with pytest.raises(RuntimeError):
        write(tmp_path, 1, _OURS, _MADE_FOR, fail(), words, known, vectors, None, Centroid(2))
    assert list(tmp_path.iterdir()) == []


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [Path.unlink, _truncate, _empty, _lengthen])
@pytest.mark.parametrize("name", _FILES)
def test_a_damaged_snapshot_is_ignored(collection: Collection, name: str, damage: Callable[[Path], None]) -> None:
    if (name, damage) in [("meta.json", _lengthen), ("first_stage.faiss", _lengthen)]:
        damage = _empty
    documents = [document(found.key, found.parts[0].text, "ant bee") for found in random_documents(12)]
    collection.index(documents)
    (folder,) = snapshots(collection)
    damage(collection.path / folder / name)
    _still_right(collection, documents)


@pytest.mark.parametrize("meta", ["{", "[]", "null", "{}", '"snapshot"', '{"format": 1}', '{"format": 99}'])
def test_a_snapshot_that_says_nothing_of_use_is_ignored(collection: Collection, meta: str) -> None:
    documents = random_documents(12)
    collection.index(documents)
    (folder,) = snapshots(collection)
    (collection.path / folder / "meta.json").write_text(meta)
    _still_right(collection, documents)


def _still_right(collection: Collection, documents: Sequence[Document]) -> None:
    twin = Twin()
    twin.add(documents)
    with Collection.open(collection.path) as reopened:
        ranking = reopened.search("ant bee cat", k=3, depth=5)
        assert len(ranking.hits) == 3
        check_exact(reopened.search("ant bee cat", k=20), twin.distances("ant bee cat"), 20)
        # The next change is no worse off, and mends it.
        twin.add([document("new", "ant bee")])
        reopened.index([document("new", "ant bee")])
        check_exact(reopened.search("ant bee cat", k=20), twin.distances("ant bee cat"), 20)


def test_a_missing_snapshot_is_written_again(collection: Collection) -> None:
    documents = random_documents(12)
    collection.index(documents)
    shutil.rmtree(collection.path / snapshots(collection)[0])
    _still_right(collection, documents)
    assert len(snapshots(collection)) == 1


@pytest.mark.parametrize(
    "name", ["snapshot-new-k2j4h_81", "snapshot-", "snapshot-x1", "snapshot-1_0", "snapshot-99999"]
)
def test_what_a_killed_writer_leaves_is_no_snapshot(collection: Collection, name: str) -> None:
    documents = random_documents(12)
    collection.index(documents)
    (collection.path / name).mkdir()
    _still_right(collection, documents)


def test_a_file_where_a_snapshot_should_be(collection: Collection) -> None:
    documents = random_documents(12)
    collection.index(documents)
    (collection.path / "snapshot-0").write_text("")
    (collection.path / "snapshot-77").write_text("")
    _still_right(collection, documents)


def test_a_snapshot_for_other_vectors_or_settings_is_ignored(make: Callable[..., Collection]) -> None:
    documents = random_documents(12)
    own, other = make(), make(gamma=0.5)
    own.index(documents)
    other.index(random_documents(9, seed=4))
    (name,) = snapshots(other)
    shutil.rmtree(own.path / snapshots(own)[0])
    shutil.copytree(other.path / name, own.path / name)
    _still_right(own, documents)


def test_a_snapshot_of_another_collection_is_ignored(make: Callable[..., Collection]) -> None:
    documents = random_documents(12)
    own, other = make(), make()
    own.index(documents)
    other.index(random_documents(12, seed=4))
    (name,) = snapshots(other)
    shutil.rmtree(own.path / name)
    shutil.copytree(other.path / name, own.path / name)
    _still_right(own, documents)


def test_a_snapshot_older_than_the_last_is_no_way_back_for_removed_documents(collection: Collection) -> None:
    documents = random_documents(12)
    collection.index(documents)
    (old,) = snapshots(collection)
    kept = shutil.copytree(collection.path / old, collection.path / "kept")
    collection.remove(["d0", "d5"])
    (new,) = snapshots(collection)
    shutil.rmtree(collection.path / new)
    kept.rename(collection.path / old)
    _still_right(collection, [found for found in documents if found.key not in ("d0", "d5")])


def test_a_snapshot_newer_than_a_restored_database_is_ignored(collection: Collection) -> None:
    documents = random_documents(12)
    collection.index(documents)
    collection.close()
    backup = (collection.path / "collection.db").read_bytes()
    with Collection.open(collection.path) as lost:
        lost.index([document("lost", "dog")])
    (collection.path / "collection.db").write_bytes(backup)
    _still_right(collection, documents)


def test_documents_of_one_rank_need_fewer_files(collection: Collection) -> None:
    collection.index(random_documents(12))
    (folder,) = snapshots(collection)
    assert {path.name for path in (collection.path / folder).iterdir()} == {*_FLAT_FILES}
    _still_right(collection, random_documents(12))


def test_the_files_are_described(collection: Collection) -> None:
    collection.index(random_documents(12))
    meta = json.loads((collection.path / snapshots(collection)[0] / "meta.json").read_text())
    assert meta["revision"] == collection.info()["revision"] == 1
    assert (meta["made_for"]["faiss"], meta["factory"]) == ("auto", "IDMap2,Flat")
    assert collection.info()["faiss_in_use"] == meta["factory"]
    assert meta["sizes"]["ids"] == 12
