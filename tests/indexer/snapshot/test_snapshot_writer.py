"""Snapshots are written as a whole, and read back as written."""

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.snapshot.snapshot_writer import remove_other_snapshots
from tests.indexer.snapshot.small_snapshot import FILES, FLAT_FILES, Portion, open_newest, portion, write
from tests.indexer.stored_state import only_snapshot
from tests.indexer.world import random_documents


def test_a_snapshot_is_read_as_written(tmp_path: Path) -> None:
    assert write(tmp_path, 12) == tmp_path / "snapshot-12"
    snapshot = open_newest(tmp_path, 12)
    assert snapshot
    segment = snapshot.segment
    assert (snapshot.revision, snapshot.path) == (12, tmp_path / "snapshot-12")
    assert segment.ids.tolist() == [3, 4, 7, 8]
    assert segment.counts.starts.tolist() == [0, 2, 3, 5, 6]
    assert segment.counts.words.tolist() == [0, 1, 2, 0, 1, 2]
    assert segment.counts.ranks.tolist() == [0, 1, 0, 0, 1, 0]
    assert segment.counts.counts.tolist() == [1, 2, 3, 1, 2, 3]
    assert snapshot.bags().starts.tolist() == [0, 2, 3, 5, 6]
    assert snapshot.bags().words.tolist() == [0, 1, 2, 0, 1, 2]
    assert snapshot.bags().weights == pytest.approx([1 / 3, 2 / 3, 1, 1 / 3, 2 / 3, 1])
    assert segment.word_ids.tolist() == [1, 4, 9]
    assert segment.vectors.tolist() == [[0, 1], [2, 3], [4, 5]]
    terms = segment.terms
    assert terms.ids.tolist() == [3, 4, 5, 7, 8, 9]
    assert terms.counts.starts.tolist() == [0, 2, 4, 5, 7, 9, 10]
    assert terms.counts.words.tolist() == [0, 1, 2, 3, 2] * 2
    assert terms.counts.ranks.tolist() == [0, 1, 0, 0, 0] * 2
    assert terms.counts.counts.tolist() == [1, 2, 5, 3, 6] * 2
    assert terms.word_ids.tolist() == [1, 4, 6, 9]
    assert {path.name for path in snapshot.path.iterdir()} == {*FILES}
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot-12"]


@pytest.mark.parametrize(("gamma", "first"), [(0.0, (4 / 3, 7 / 3)), (1.0, (1.0, 2.0))])
def test_the_first_stage_holds_centroids_weighted_by_gamma(
    tmp_path: Path, gamma: float, first: tuple[float, float]
) -> None:
    write(tmp_path, gamma=gamma)
    snapshot = open_newest(tmp_path, 1, gamma=gamma)
    assert snapshot
    nearest = snapshot.first_stage.nearest(np.array(first, np.float32), 2, lambda ids: np.ones(len(ids), bool))
    assert sorted(nearest.ids.tolist()) == [3, 7]
    assert nearest.costs == pytest.approx([0, 0], abs=1e-6)


def test_a_snapshot_of_the_same_revision_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, 3)
    write(tmp_path, 3, gamma=0.5)
    assert open_newest(tmp_path, 3) is None
    assert open_newest(tmp_path, 3, gamma=0.5)


def test_where_open_files_stay_new_snapshots_are_put_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _target: Path) -> None:
        raise PermissionError(errno.EACCES, "in use", str(path))

    monkeypatch.setattr("moverank.indexer.snapshot.snapshot_layout.OPEN_FILES_STAY", True)
    paths = [write(tmp_path, 3, gamma=gamma) for gamma in (0.5, 0.5, 0.25)]
    assert [path.name for path in paths] == ["snapshot-3", "snapshot-3-2", "snapshot-3-3"]
    newest = open_newest(tmp_path, 3, gamma=0.5)
    assert newest
    assert newest.path == paths[1]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        remove_other_snapshots(tmp_path, paths[2])
    assert all(path.is_dir() for path in paths)
    assert open_newest(tmp_path, 3, gamma=0.5) is None
    remove_other_snapshots(tmp_path, paths[2])
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot-3-3"]


def test_all_other_snapshots_are_removed(tmp_path: Path) -> None:
    paths = [write(tmp_path, revision) for revision in (1, 2, 3)]
    (tmp_path / "other").mkdir()
    remove_other_snapshots(tmp_path, paths[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "snapshot-2"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def failing() -> Iterator[Portion]:
        yield portion(1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(tmp_path, portions=failing())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("always_compact")
def test_documents_of_one_rank_need_fewer_files(collection: Collection) -> None:
    collection.index(random_documents(12))
    assert {path.name for path in only_snapshot(collection).iterdir()} == {*FLAT_FILES}


@pytest.mark.usefixtures("always_compact")
def test_metadata_describes_the_files(collection: Collection) -> None:
    collection.index(random_documents(12))
    meta = json.loads((only_snapshot(collection) / "meta.json").read_text())
    assert meta["revision"] == collection.info()["revision"] == 1
    assert (meta["made_for"]["faiss"], meta["factory"]) == ("auto", "IDMap2,Flat")
    assert collection.info()["faiss_in_use"] == meta["factory"]
    assert meta["sizes"]["ids"] == 12
