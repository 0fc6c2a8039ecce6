"""When a new snapshot replaces the old one and the tail."""

from typing import Any

import pytest

from moverank import Collection
from tests.indexer.stored_state import snapshots
from tests.indexer.world import MakeCollection, Twin, check_exact, document, random_documents, snapshot_above


def _removals(collection: Collection) -> list[int]:
    with collection.reading() as reader:
        return reader.removed_ids(0)


def test_a_short_tail_is_not_compacted(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot_above(monkeypatch, 10)
    collection.index(random_documents(10))
    assert snapshots(collection) == []
    collection.index(random_documents(11))
    assert snapshots(collection) == ["snapshot-2"]
    # Ten changes and removals are a short tail, eleven are not.
    collection.index(random_documents(6, seed=1))
    collection.remove(["d7", "d8", "d9", "d10"])
    assert snapshots(collection) == ["snapshot-2"]
    assert len(_removals(collection)) == 4
    collection.index([document("new", "ant")])
    assert snapshots(collection) == ["snapshot-5"]
    with collection.reading() as reader:  # another machine may have files from before them
        assert bool(_removals(collection)) == reader.shared


@pytest.mark.usefixtures("always_compact")
def test_a_tail_may_be_a_twentieth_of_the_snapshot(collection: Collection) -> None:
    collection.index(random_documents(60))
    collection.index(random_documents(3, seed=1))
    assert snapshots(collection) == ["snapshot-1"]
    collection.index([document("new", "ant")])
    assert snapshots(collection) == ["snapshot-3"]


@pytest.mark.usefixtures("always_compact")
def test_progress_is_reported(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[Any, ...]] = []
    monkeypatch.setattr("moverank.indexer.snapshot.segment._CHUNK", 4)
    collection.index(random_documents(10), progress=lambda *step: steps.append(step))
    assert steps[-1] == ("Writing the snapshot", 10, 10, "documents")
    assert [step[1] for step in steps if step[0] == "Writing the snapshot"] == [4, 8, 10]


@pytest.mark.usefixtures("always_compact")
def test_changed_settings_replace_the_snapshot(collection: Collection) -> None:
    twin = Twin.of(random_documents(8), weights="tfidf")
    collection.index(twin.documents.values())
    collection.change_settings(weights="tfidf", gamma=0.5, faiss="HNSW8")
    expected = twin.distances("ant bee", gamma=0.5)
    check_exact(collection.search("ant bee", k=3), expected, 3)
    collection.index([])
    check_exact(collection.search("ant bee", k=3), expected, 3)
    assert len(snapshots(collection)) == 1


@pytest.mark.usefixtures("always_compact")
def test_a_snapshot_may_have_wordless_documents_only(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection.index([document("none", "zorp")])
    snapshot_above(monkeypatch, 99)
    twin = Twin.of(random_documents(5))
    collection.index(twin.documents.values())
    check_exact(collection.search("ant", k=9), twin.distances("ant"), 9)
    assert len(collection.search("ant", k=1, depth=2).hits) == 1


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("faiss", ["IDMap2,Flat", "HNSW8", "IVF2,Flat", "SQ8", "PQ2x4"])
def test_a_snapshot_may_be_empty(make_collection: MakeCollection, faiss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = make_collection(random_documents(3), faiss=faiss)
    collection.remove(["d0", "d1", "d2"])
    assert collection.search("ant", k=3).hits == ()
    snapshot_above(monkeypatch, 99)
    collection.index(random_documents(5))
    assert len(collection.search("ant", k=1, depth=2).hits) == 1
