"""Removing documents by key."""

import pytest

from moverank import Changes, Collection, UsageError
from moverank.indexer.values.search_options import Where
from tests.indexer.stored_state import stored_frequencies, stored_ids, stored_keys
from tests.indexer.world import document, random_documents


def test_unknown_keys_are_listed_and_nothing_is_removed(collection: Collection) -> None:
    collection.index(random_documents(3))
    with pytest.raises(KeyError, match="nothing was removed: no document has the key 'x', 'y'"):
        collection.remove(["d0", "x", "y"])
    assert stored_keys(collection) == {"d0", "d1", "d2"}
    assert collection.remove([]) == Changes(revision=1)
    assert collection.remove(["d0", "d0"]) == Changes(removed=1, revision=2)


def test_documents_are_removed_by_a_filter(collection: Collection) -> None:
    collection.index([document(f"d{i}", "ant bee", metadata={"n": i}) for i in range(6)])
    with Collection.open(collection.path) as other:
        assert other.remove(where="n>=4", dry_run=True) == Changes(removed=2, revision=1)
    assert collection.remove(where=["n>=4"]) == Changes(removed=2, revision=2)
    assert collection.remove(where={"n": 9}) == Changes(revision=2)
    assert stored_keys(collection) == {"d0", "d1", "d2", "d3"}
    assert [hit.key for hit in collection.search("ant", where="n>2").hits] == ["d3"]
    with pytest.raises(UsageError, match="all 4 documents pass the filter"):
        collection.remove(where="n<9")
    assert collection.remove(where="n<9", dry_run=True).removed == 4
    assert collection.remove(where="n<9", everything=True) == Changes(removed=4, revision=3)
    assert stored_frequencies(collection) == {}


@pytest.mark.parametrize("where", [[], {}, ""])
def test_a_filter_without_conditions_removes_nothing(collection: Collection, where: Where) -> None:
    collection.index(random_documents(2))
    for keys in ([], ["d0"]):
        with pytest.raises(UsageError, match="either by keys, or by conditions, a source or both"):
            collection.remove(keys, where=where, everything=True)
    with pytest.raises(UsageError, match="either by keys"):
        collection.remove(["d0"], where="label")
    assert len(collection) == 2


def test_document_ids_are_never_reused(collection: Collection) -> None:
    collection.index([document("a", "ant"), document("b", "bee")])
    ids = stored_ids(collection, ["a", "b"])
    collection.remove(["a", "b"])
    collection.index([document("b", "bee")])
    assert stored_ids(collection, ["b"])[0] > max(ids)


def test_frequencies_are_reduced_batch_by_batch(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.removal._BATCH", 4)
    collection.index(random_documents(10))
    assert collection.remove([f"d{i}" for i in range(10)]).removed == 10
    assert stored_frequencies(collection) == {}
