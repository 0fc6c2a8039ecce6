"""One state for all searches until `refresh`, whatever other writers do."""

import math

import pytest
from threadpoolctl import threadpool_info

from moverank import Collection, CollectionError, UnknownKey
from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.directory import DATABASE
from moverank.rerank.runtime.thread_pool import single_threaded_blas
from tests.indexer.world import Twin, check_exact, document, random_documents


@pytest.mark.usefixtures("always_compact")
def test_a_reader_keeps_its_state_while_another_writes(collection: Collection) -> None:
    collection.index(random_documents(8))
    with collection.reading() as reader:
        assert reader.document_count() == 8
        collection.remove(["d1"])
        collection.index([document("new", "ant")])
        assert (reader.document_count(), reader.revision(), reader.removed_ids(0)) == (8, 1, [])


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("change", ["remove", "update", "add"])
def test_results_are_of_the_old_state_or_the_new_one(collection: Collection, change: str) -> None:
    """Never of a mixture."""
    twin = Twin.of(random_documents(8))
    collection.index(twin.documents.values())
    with Collection.open(collection.path) as reader:
        old = twin.distances("ant bee")
        nearest = reader.search("ant bee", k=1).hits[0].key
        if change == "remove":
            collection.remove([nearest])
            del twin.documents[nearest]
        else:
            twin.add([document(nearest if change == "update" else "new", "lark")])
            collection.index(twin.documents.values())
        new = twin.distances("ant bee")
        results = {hit.key: hit.distance for hit in reader.search("ant bee", k=20).hits}
        assert any(
            results.keys() == state.keys()
            and all(math.isclose(results[key], state[key], rel_tol=1e-6) for key in state)
            for state in (old, new)
        )
        if change == "add" and not reader._store.shared:  # noqa: SLF001 - in PostgreSQL, searches follow changes
            with pytest.raises(UnknownKey):
                reader.similar("new", k=20)
            assert reader.changed()
            reader.refresh()
            assert reader.similar("new", k=20).hits
            assert not reader.changed()
    with Collection.open(collection.path) as reader:
        check_exact(reader.search("ant bee", k=20), new, 20)


@pytest.mark.sqlite("removes the file")
@pytest.mark.unix
def test_a_removed_database_is_reported(collection: Collection) -> None:
    collection.index([document("a", "ant")])
    (collection.path / DATABASE).unlink()
    with pytest.raises(CollectionError, match="was removed, or may not be read"):
        collection.changed()


def test_a_collection_sees_its_own_changes(collection: Collection) -> None:
    collection.index([document("a", "ant")])
    assert len(collection.search("bee").hits) == 1
    collection.index([document("b", "bee")])
    assert [hit.key for hit in collection.search("bee").hits] == ["b", "a"]
    collection.remove(["b"])
    assert [hit.key for hit in collection.search("bee").hits] == ["a"]


@pytest.mark.sqlite("an open collection in PostgreSQL follows the changes of others")
@pytest.mark.usefixtures("always_compact")
def test_an_open_collection_keeps_its_first_stage(collection: Collection) -> None:
    """Another process compacts, and removes the file of the index that candidates come from."""
    collection.index(random_documents(12))
    with Collection.open(collection.path) as reader:
        before = reader.search("ant bee", k=3)
        collection.index(random_documents(20, seed=3))
        ranking = reader.search("ant bee", k=3, depth=6)
        assert {hit.key for hit in ranking.hits} <= {f"d{i}" for i in range(12)}
        assert reader.search("ant bee", k=3).hits == before.hits


def test_blas_has_one_thread_while_a_collection_is_searched(collection: Collection) -> None:
    def threads() -> list[int]:
        # FAISS's own library counts threads separately in each thread that calls it.
        return [info["num_threads"] for info in threadpool_info() if info.get("threading_layer") == "pthreads"]

    collection.index([document("a", "ant bee")])
    with single_threaded_blas():
        pass  # loads all of the libraries
    before = threads()
    collection.search("ant")
    assert set(threads()) == {1}
    collection.close()
    assert threads() == before


def test_searches_end_while_another_process_damages_every_state(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection.index([document("a", "ant bee")])
    attempts: list[str] = []

    def damaged(*_: object) -> None:
        attempts.append("search")
        raise DamagedFile(collection.path / "weights", "is damaged")

    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.search.phases.Search.run", damaged)
        with pytest.raises(DamagedFile):
            collection.search("ant")
    assert 2 < len(attempts) < 10
    collection.refresh()
    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.state.snapshot_repair.SnapshotRepairer.open", lambda *_: None)
        with pytest.raises(CollectionError, match="all the time"):
            collection.search("ant")
    assert collection.search("ant").hits
