from collections.abc import Callable
from typing import Any

import pytest

from moverank import Collection
from tests.indexer.world import Twin, check_exact, document, random_documents, snapshots, store_of


def _removals(collection: Collection) -> list[int]:
    store = store_of(collection)
    with store.reading() as reader:
        found = reader.removed_ids(0)
    store.close()
    return found


def test_a_short_tail_is_not_folded(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 10)
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
    assert _removals(collection) == []


def test_a_tail_may_be_a_twentieth_of_the_snapshot(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection.index(random_documents(60))
    collection.index(random_documents(3, seed=1))
    assert snapshots(collection) == ["snapshot-1"]
    collection.index([document("new", "ant")])
    assert snapshots(collection) == ["snapshot-3"]


@pytest.mark.usefixtures("always_compact")
def test_it_is_told_how_far_the_snapshot_is(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []
    monkeypatch.setattr("moverank.indexer.snapshot.segment._CHUNK", 4)
    collection.index(random_documents(10), progress=lambda *step: told.append(step))
    assert told[-1] == ("Writing the snapshot", 10, 10, "documents")
    assert [step[1] for step in told if step[0] == "Writing the snapshot"] == [4, 8, 10]


@pytest.mark.usefixtures("always_compact")
def test_changed_choices_make_another_snapshot(make: Callable[..., Collection]) -> None:
    collection = make()
    twin = Twin(weights="tfidf")
    twin.add(random_documents(8))
    collection.index(twin.documents.values())
    collection.change_settings(weights="tfidf", gamma=0.5, faiss="HNSW8")
    check_exact(collection.search("ant bee", k=3), twin.distances("ant bee", gamma=0.5), 3)
    collection.index([])
    check_exact(collection.search("ant bee", k=3), twin.distances("ant bee", gamma=0.5), 3)
    assert len(snapshots(collection)) == 1


@pytest.mark.usefixtures("always_compact")
def test_a_snapshot_of_wordless_documents_only(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection.index([document("none", "zorp")])
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 99)
    twin = Twin()
    twin.add(random_documents(5))
    collection.index(twin.documents.values())
    check_exact(collection.search("ant", k=9), twin.distances("ant"), 9)
    assert len(collection.search("ant", k=1, depth=2).hits) == 1


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("faiss", ["IDMap2,Flat", "HNSW8", "IVF2,Flat", "SQ8", "PQ2x4"])
def test_a_snapshot_of_nothing(make: Callable[..., Collection], faiss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = make(faiss=faiss)
    collection.index(random_documents(3))
    collection.remove(["d0", "d1", "d2"])
    assert collection.search("ant", k=3).hits == ()
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 99)
    collection.index(random_documents(5))
    assert len(collection.search("ant", k=1, depth=2).hits) == 1
